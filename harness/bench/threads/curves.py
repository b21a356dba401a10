"""Throughput over thread level, without noise: a curve is a tuple of numbers, for levels 1, 2, … up
to its length.

The shapes are those that the papers show or name: linear scaling, a peak with a decline behind it,
a plateau, the collapse on a shared sink, no effect at all, two humps (P17 Figures 9 to 11,
ElasticLoadBalance), work in equal shares, Gunther's Universal Scalability Law (Guerrilla Capacity
Planning, 2007), the knees of machines with SMT. Throughput at level 1 is 1,000 tuples/s in all of
them.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable

UNIT = 1000.0  # tuples/s at level 1

Shape = Callable[[int], float]


def sampled(shape: Shape, levels: int) -> tuple[float, ...]:
    """Return the throughputs at levels 1 … `levels` [tuples/s], scaled to `UNIT` at level 1."""
    return tuple(UNIT * shape(level) / shape(1) for level in range(1, levels + 1))


def rising(power: float = 1.0) -> Shape:
    """Return a curve that always rises; with power 1 it is proportional."""
    return lambda n: n**power


def peak(k: int, slope: float) -> Shape:
    """Return a curve, proportional up to level k, then falling by `slope` of a level's gain, down
    to a tenth of the peak."""
    return lambda n: n if n <= k else max(k - slope * (n - k), 0.1 * k)


def spike(k: int) -> Shape:
    """Proportional up to level k, then falling with the square of the level."""
    return lambda n: n if n <= k else k * (k / n) ** 2


def plateau(k: int) -> Shape:
    """Proportional up to level k, constant behind it."""
    return lambda n: min(n, k)


def collapse(k: int, loss: float) -> Shape:
    """Return the curve of a shared sink: k threads keep it busy, and each more makes accesses
    costlier by `loss` (P17 §5.2)."""
    return lambda n: min(n, k) / (1.0 + loss * max(0, n - k))


def usl(contention: float, coherence: float) -> Shape:
    """Universal Scalability Law: n / (1 + contention (n - 1) + coherence n (n - 1))."""
    return lambda n: n / (1.0 + contention * (n - 1) + coherence * n * (n - 1))


def sharing(share: float) -> Shape:
    """Return a curve, proportional from two threads on; each of them brings `share` of a single
    thread's throughput."""
    return lambda n: share * n if n > 1 else 1.0


def smt(cores: int, ways: int, share: float) -> Shape:
    """Proportional up to the number of cores; further hardware threads of a core bring `share` of
    one; nothing behind them."""
    return lambda n: min(n, cores) + share * max(0, min(n, cores * ways) - cores)


def humps(first: int, second: int, height: float) -> Shape:
    """Two peaks: at `first`, and one `height` times as high at `second`, with a dip of a fifth
    half-way between."""

    def shape(n: int) -> float:
        dip, low = (first + second) / 2, 0.8 * first
        if n <= first:
            return n
        if n <= dip:
            return first + (low - first) * (n - first) / (dip - first)
        if n <= second:
            return low + (height * first - low) * (n - dip) / (second - dip)
        return height * first * (second / n)

    return shape


def shares(parts: int) -> Shape:
    """Return the curve of work in equal parts that cannot be cut further: the others wait for a
    thread with one part more."""
    return lambda n: parts / math.ceil(parts / n)


def wandering(seed: int, levels: int) -> Shape:
    """A rise of random steepness to a random peak, a random decline, and a roughness of 2 % that no
    formula fits."""
    generator = random.Random(seed)
    k = round(levels ** generator.random())
    power, fall = generator.uniform(0.6, 1.0), generator.uniform(0.0, 1.5)
    rough = [generator.uniform(-0.02, 0.02) for _ in range(levels + 1)]
    return lambda n: (min(n, k) ** power) * (1.0 if n <= k else (k / n) ** fall) * (1.0 + rough[n])


def staircase(cores: int, sockets: int, far: float, ways: float) -> Shape:
    """Return a curve over cores, socket by socket; then come second threads, which bring `ways` of
    a core.

    A core of a further socket brings `far` of one of the first. A thread that begins a socket makes
    all share data over the distance, which costs a tenth of the throughput.
    """

    def shape(n: int) -> float:
        full, rest = divmod(min(n, cores * sockets), cores)
        brought = sum(cores * (1.0 if socket == 0 else far) for socket in range(full)) + rest * (
            1.0 if full == 0 else far
        )
        brought *= 0.9 ** max(0, full - 1 + (rest > 0))
        seconds = max(0, min(n, 2 * cores * sockets) - cores * sockets)
        return brought * (1.0 + ways * seconds / (cores * sockets))

    return shape


def teeth(width: int, depth: float, knee: int) -> Shape:
    """Proportional up to `knee` and flat behind it, less up to `depth` the further a level is above
    a multiple of `width`."""
    return lambda n: min(n, knee) * (1.0 - depth * (n % width) / width)


def late(begin: int, knee: int) -> Shape:
    """Return a curve that falls by a percent a level up to `begin`, is proportional from there to
    `knee`, and then flat."""
    return lambda n: (
        1.0 - 0.01 * (n - 1) if n <= begin else (1.0 - 0.01 * (begin - 1)) * min(n, knee) / begin
    )


def compact(cores: int, enough: int) -> Shape:
    """Return the curve of memory bandwidth where threads fill one NUMA domain after the other:
    `enough` threads of a domain's `cores` keep its memory busy."""
    return lambda n: n // cores * enough + min(n % cores, enough)


def scattered(domains: int, enough: int, far: float, loss: float) -> Shape:
    """Return the same curve where threads go round the domains.

    A thread is slower by `far` times the share of its data in other domains. Threads beyond
    `enough` a domain get in each other's way, by `loss` each.
    """

    def shape(n: int) -> float:
        reached, busy = min(n, domains), domains * enough
        speed = 1.0 - far * (reached - 1) / reached
        return speed * min(n, busy) / (1.0 + loss * max(0, n - busy))

    return shape


def quota(cpus: float, loss: float) -> Shape:
    """Return the curve under a quota of CPU time: more threads than `cpus` use it up early, and
    wait for the next slice, some of them with a lock, which costs up to `loss`."""
    return lambda n: min(n, cpus) * (1.0 - loss * max(0.0, n - cpus) / n)


def offered(load: float, shape: Shape) -> Shape:
    """Return a curve that the load limits: sources send no more than `load` threads can do."""
    return lambda n: min(shape(n), load)


def cusp(k: int, levels: int) -> Shape:
    """A point at level k, towards which throughput rises the more steeply the nearer it is, from
    both sides."""
    width = max(k - 1, levels - k)
    return lambda n: 1.0 - 0.95 * math.sqrt(abs(n - k) / width)


HELD_OUT = ("staircase", "teeth", "slow", "late", "heavy", "delayed")
HELD_OUT += ("throttled", "moving", "correlated", "measured", "scattered")
"""Held-out kinds of curves, noise, states and effects.

They only score: no constant of a law of ours may be chosen by them.
"""

STARVED = ("flat", "plateau", "knee", "shares", "offered")
"""Kinds of curves that are flat because there is no more work: further threads idle.

Threads are busy on all other curves, with work or with waiting for each other or for memory.
"""


def kind_of(name: str) -> str:
    """Return the kind of a curve: its name without numbers, and without the size of the machine."""
    found = re.match(r"(?:wide-)?([a-z]+)", name)
    return found.group(1) if found else name


def new_shapes(levels: int) -> dict[str, tuple[float, ...]]:
    """Return curves that our law was not made for.

    `cusp` is not held out, because a fault of the law was corrected by it.
    """
    half = levels // 2
    shapes: dict[str, Shape] = {
        "staircase-1": staircase(levels // 8, 4, 0.8, 0.2),
        "staircase-2": staircase(levels // 4, 2, 0.6, 0.3),
        "staircase-3": staircase(levels // 16, 8, 0.9, 0.1),
        "staircase-4": staircase(levels // 4, 2, 0.3, 0.0),
        "teeth-4": teeth(4, 0.2, half),
        "teeth-8": teeth(8, 0.3, levels),
        "teeth-6": teeth(6, 0.15, 3 * levels // 8),
        "teeth-16": teeth(16, 0.4, levels),
    }
    shapes |= {f"slow-{power}": rising(power) for power in (0.05, 0.1, 0.15, 0.25)}
    shapes |= {
        f"late-{begin}": late(begin, knee)
        for begin, knee in ((3, half), (6, levels), (10, half), (16, levels))
    }
    shapes |= {f"cusp-{k}": cusp(k, levels) for k in (5, 11, 19, 23, 37, 51)}
    return {name: sampled(shape, levels) for name, shape in shapes.items()}


def library(levels: int = 64) -> dict[str, tuple[float, ...]]:
    """Return the curves of the bench for a machine with `levels` thread levels, by name."""
    shapes: dict[str, Shape] = {
        "rising": rising(),
        "rising-0.9": rising(0.9),
        "rising-0.7": rising(0.7),
        "flat": lambda n: 1.0,
        "falling": collapse(1, 0.3),
        "collapse-2": collapse(2, 0.5),
        "collapse-3": collapse(3, 0.15),
        "usl-late": usl(0.02, 0.0005),
        "usl-contended": usl(0.1, 0.0002),
        "usl-early": usl(0.03, 0.003),
        "usl-serial": usl(0.25, 0.0),
        "usl-wide": usl(0.0, 0.0004),
        "smt-2": smt(levels // 2, 2, 0.3),
        "smt-4": smt(levels // 8, 4, 0.15),
        "humps-low": humps(levels // 8, levels // 2, 0.7),
        "humps-near": humps(levels // 8, 3 * levels // 16, 1.3),
        "humps-far": humps(levels // 8, levels // 2, 1.3),
        "shares-24": shares(24),
        "shares-60": shares(60),
    }
    shapes |= {f"peak-{k}": peak(k, 0.5) for k in range(1, levels + 1)}
    shapes |= {f"spike-{k}": spike(k) for k in range(2, levels + 1, 3)}
    shapes |= {f"plateau-{k}": plateau(k) for k in (2, 3, 5, 6, 7, 10, 13, 20, 27, 40, 48, 57)}
    shapes |= {f"wandering-{seed}": wandering(seed, levels) for seed in range(12)}
    return {name: sampled(shape, levels) for name, shape in shapes.items()}


def wide_library(levels: int = 256) -> dict[str, tuple[float, ...]]:
    """Return curves for big machines, with the knee at 176 hardware threads of P17's Xeon."""
    shapes: dict[str, Shape] = {
        "wide-rising": rising(),
        "wide-knee-176": plateau(176),
        "wide-smt-176": smt(88, 2, 0.3),
        "wide-peak-176": peak(176, 1.0),
        "wide-peak-100": peak(100, 0.5),
        "wide-spike-150": spike(150),
        "wide-usl": usl(0.005, 0.00005),
        "wide-collapse": collapse(10, 0.05),
        "wide-plateau-24": plateau(24),
        "wide-flat": lambda n: 1.0,
    }
    return {name: sampled(shape, levels) for name, shape in shapes.items()}
