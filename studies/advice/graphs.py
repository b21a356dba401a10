"""Graphs drawn by a seed: of five kinds in turn, with random sizes, costs and payloads."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from topologies.costs import SKEWED

PAYLOADS = (16, 128, 1024, 4096)  # bytes
CHEAPEST, DEAREST = 0.0, 4.0  # of an operator: powers of ten of FLOP a tuple
SKEWED_SHARE = 0.25  # of the graphs: operators of very different costs

Settings = dict[str, int | str]


@dataclass(frozen=True)
class DrawnGraph:
    """A topology with its parameters; `seed` draws the operators' costs if they are skewed."""

    topology: str
    settings: Mapping[str, int | str]
    seed: int

    @property
    def title(self) -> str:
        """The graph in words."""
        return " ".join([self.topology, *[f"{name}={v}" for name, v in self.settings.items()]])


def draw(number: int, seed: int) -> DrawnGraph:
    """Return one of the graphs of a seed; each depends on its own number alone."""
    chance = random.Random(f"advice/{seed}/{number}")
    topology = list(KINDS)[number % len(KINDS)]
    return DrawnGraph(topology, KINDS[topology](chance), number)


def _cost(chance: random.Random) -> int | str:
    if chance.random() < SKEWED_SHARE:
        return SKEWED
    return round(10 ** chance.uniform(CHEAPEST, DEAREST))


def _pipeline(chance: random.Random) -> Settings:
    return {"operators": chance.randint(2, 40)} | _work(chance)


def _data_parallel(chance: random.Random) -> Settings:
    return {"width": chance.randint(2, 32)} | _work(chance)


def _mix(chance: random.Random) -> Settings:
    return {"width": chance.randint(2, 6), "depth": chance.randint(2, 8)} | _work(chance)


def _tree(chance: random.Random) -> Settings:
    busy_us = round(10 ** chance.uniform(0.0, 1.5))
    branching, depth = chance.randint(2, 3), chance.randint(2, 3)
    return {"depth": depth, "branching": branching, "busy": busy_us, "payload": _payload(chance)}


def _work(chance: random.Random) -> Settings:
    return {"cost": _cost(chance), "payload": _payload(chance)}


def _payload(chance: random.Random) -> int:
    return chance.choice(PAYLOADS)


KINDS: dict[str, Callable[[random.Random], Settings]] = {
    "pipeline": _pipeline,
    "data-parallel": _data_parallel,
    "mix": _mix,
    "tree": _tree,
    "reverse-tree": _tree,
}
