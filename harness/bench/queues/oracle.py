"""The best placement and thread level of a surface, by which laws are judged.

With few places, it tries every placement at every level. With more, it improves seeds at each level
of a ladder for a number of rounds. Each round applies the moves of a batch that help: a queue on,
off, or moved along a stream. Then come a short annealing from the best (Kirkpatrick, Gelatt and
Vecchi 1983) and a search of threads one by one. Seeds are no queues, all, every k-th by work, and
those of the level below. The tests compare it with an exhaustive search. The same surface and seed
give the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.bench.queues.surface import Surface
from harness.elasticity import Bounds

EXHAUSTIVE = 10  # places up to which all placements are tried
# difference, as a share of throughput, up to which fewer threads and then queues win
EQUAL_WITHIN = 0.001
MOVES_AT_ONCE = 256  # moves that are tried at once
ROUNDS_PER_SEED = 40  # rounds of moves from one seed
MANY_PLACES = 150  # places above which fewer levels and seeds are tried; the loss is less than 1 %
ANNEALING_MOVES = 600  # moves of the annealing
# of the annealing, as shares of throughput
LAST_TEMPERATURE, FIRST_TEMPERATURE = 0.0005, 0.02


@dataclass(frozen=True)
class BestPlacement:
    """Choice of an oracle: the fewest threads, and then queues, among the configurations that bring
    the most."""

    throughput: float  # tuples/s submitted over all operators
    threads: int
    queued: frozenset[int]

    @property
    def parts(self) -> int:
        """Number of queues."""
        return len(self.queued)


def best_of(surface: Surface, bounds: Bounds, seed: int = 0) -> BestPlacement:
    """Return the best placement and level within the bounds."""
    found = (
        _all(surface, bounds) if surface.places <= EXHAUSTIVE else _searched(surface, bounds, seed)
    )
    rates, placements, levels = found
    good = np.flatnonzero(rates >= (1.0 - EQUAL_WITHIN) * rates.max())
    least = good[np.lexsort((placements[good].sum(axis=1), levels[good]))[0]]
    queued = frozenset(np.flatnonzero(placements[least]).tolist())
    return BestPlacement(float(rates[least]), int(levels[least]), queued)


Found = tuple[np.ndarray, np.ndarray, np.ndarray]  # throughputs, placements, levels: a row each


def _all(surface: Surface, bounds: Bounds) -> Found:
    places = surface.places
    every = (np.arange(2**places)[:, None] >> np.arange(max(places, 1))[None, :places]) & 1
    found = []
    for level in range(bounds.minimum, bounds.maximum + 1):
        levels = np.full(len(every), level)
        found.append((surface.rates(every, levels), every, levels))
    return tuple(np.concatenate(each) for each in zip(*found, strict=True))


def _searched(surface: Surface, bounds: Bounds, seed: int) -> Found:
    draw = np.random.default_rng(seed)
    best: dict[int, tuple[float, np.ndarray]] = {}
    large = surface.places > MANY_PLACES
    for level in _ladder(bounds, 2.0 if large else 1.4):
        seeds = _seeds(surface, level)
        if best:
            seeds = np.concatenate(
                [seeds, max(best.values(), key=lambda each: each[0])[1][None, :]]
            )
        rates = surface.rates(seeds, np.full(len(seeds), level))
        for row in np.argsort(-rates)[: 1 if large else 2]:
            rate, placement = _climbed(surface, level, float(rates[row]), seeds[row], draw)
            if level not in best or rate > best[level][0]:
                best[level] = rate, placement
    top = max(best, key=lambda level: best[level][0])
    best[top] = _annealed(surface, top, *best[top], draw)
    for level in range(max(bounds.minimum, top // 2), min(bounds.maximum, 2 * top) + 1):
        rate = float(surface.rates(best[top][1][None, :], np.array([level]))[0])
        if level not in best or rate > best[level][0]:
            best[level] = rate, best[top][1]
    again = max(best, key=lambda level: best[level][0])
    best[again] = _climbed(surface, again, *best[again], draw)
    levels = np.array(list(best))
    return (
        np.array([best[level][0] for level in levels]),
        np.stack([best[level][1] for level in levels]),
        levels,
    )


def _ladder(bounds: Bounds, factor: float) -> list[int]:
    """Return levels that grow by a factor, with both bounds."""
    levels, level = {bounds.minimum, bounds.maximum}, float(bounds.minimum)
    while level < bounds.maximum:
        levels.add(round(level))
        level = max(level + 1.0, level * factor)
    return sorted(level for level in levels if level <= bounds.maximum)


def _seeds(surface: Surface, level: int) -> np.ndarray:
    """Return the first placements: no queues, all, those with the most work, and cuts into regions
    of equal work."""
    places = surface.places
    work = surface.shares()[list(surface.layout.at)]
    costliest, spread = np.argsort(-work, kind="stable"), np.cumsum(work) / work.sum()
    seeds = [np.zeros(places, dtype=np.uint8), np.ones(places, dtype=np.uint8)]
    for count in {1, 2, 4, level, 2 * level, 3 * level, 6 * level, 12 * level}:
        if count < places:
            some, cuts = np.zeros(places, dtype=np.uint8), np.zeros(places, dtype=np.uint8)
            some[costliest[:count]] = 1
            cuts[np.searchsorted(spread, (np.arange(count) + 0.5) / count).clip(0, places - 1)] = 1
            seeds += [some, cuts, some | cuts]
    return np.stack(seeds)


def _climbed(
    surface: Surface, level: int, rate: float, placement: np.ndarray, draw: np.random.Generator
) -> tuple[float, np.ndarray]:
    """Return a local optimum and its rate.

    Each round takes the best of many moves, or all moves together that help alone. A round without
    a helpful move is skipped.
    """
    for _ in range(ROUNDS_PER_SEED):
        moves = _moves(placement, draw, MOVES_AT_ONCE)
        rates = surface.rates(moves, np.full(len(moves), level))
        helps = np.flatnonzero(rates > rate * (1.0 + 1e-6))
        if not len(helps):
            continue
        together = placement.copy()
        for row in helps[np.argsort(-rates[helps])][: max(1, surface.places // 20)]:
            together ^= moves[row] ^ placement
        top = int(np.argmax(rates))
        joint = float(surface.rates(together[None, :], np.array([level]))[0])
        rate, placement = (
            (joint, together) if joint > rates[top] else (float(rates[top]), moves[top])
        )
    return rate, placement


def _moves(placement: np.ndarray, draw: np.random.Generator, width: int) -> np.ndarray:
    """Return neighbours of a placement: a queue on, off, or moved to a near place in the graph's
    order; a sample of many."""
    places = len(placement)
    chosen = np.arange(places) if places <= width else draw.choice(places, width, replace=False)
    flips = np.repeat(placement[None, :], len(chosen), axis=0)
    flips[np.arange(len(chosen)), chosen] ^= 1
    on = np.flatnonzero(placement)
    if not len(on) or len(on) == places:
        return flips
    on = on if len(on) <= width else draw.choice(on, width, replace=False)
    to = (on + draw.choice([-3, -2, -1, 1, 2, 3], len(on))) % places
    free = placement[to] == 0
    moved = np.repeat(placement[None, :], int(free.sum()), axis=0)
    rows = np.arange(len(moved))
    moved[rows, on[free]], moved[rows, to[free]] = 0, 1
    return np.concatenate([flips, moved])


def _annealed(
    surface: Surface, level: int, rate: float, placement: np.ndarray, draw: np.random.Generator
) -> tuple[float, np.ndarray]:
    best, here = (rate, placement), (rate, placement)
    for step in range(ANNEALING_MOVES):
        temperature = FIRST_TEMPERATURE * (LAST_TEMPERATURE / FIRST_TEMPERATURE) ** (
            step / ANNEALING_MOVES
        )
        moved = here[1].copy()
        moved[draw.integers(surface.places, size=draw.integers(1, 4))] ^= 1
        found = float(surface.rates(moved[None, :], np.array([level]))[0])
        if found > here[0] or draw.random() < np.exp((found / here[0] - 1.0) / temperature):
            here = found, moved
            best = max(best, here, key=lambda each: each[0])
    return best
