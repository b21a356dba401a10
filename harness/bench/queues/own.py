"""A user's own surface: a graph in a world, or throughput as a formula or table over the numbers of
threads and queues.

With a formula or table only the number of queues counts, not their places; laws see the graph.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from harness.bench.expression import Expression
from harness.bench.queues.oracle import EQUAL, Best
from harness.bench.queues.surface import Surface
from harness.bench.queues.world import Array, World
from harness.elasticity import Bounds, Layout, layout_of
from harness.graph import Graph
from harness.models import Dynamic

NAMES = ("n", "k", "q")  # variables of a formula: threads, queues, and queues over places


class Change(Protocol):
    """Change of costs and CPUs in a phase (`scenario.Phase`)."""

    scale: float
    others: float


@dataclass(frozen=True)
class Own:
    """A user's graph and throughput; `digest` identifies all of it.

    `formula`: tuples/s over `NAMES`. `table`: tuples/s, a row for each of `queues` and a column for
    each level. With neither, throughput is that of `Surface`.
    """

    digest: str
    graph: Graph = field(compare=False, repr=False)
    world: World = field(compare=False)
    seed: int = 0
    formula: str | None = None
    table: tuple[tuple[float, ...], ...] = ()
    queues: tuple[int, ...] = ()

    @functools.cached_property
    def layout(self) -> Layout:
        """The graph as a law knows it."""
        return layout_of(
            self.graph, Dynamic(threads=1, queued="none"), self.world.cpus, batch=self.world.batch
        )

    def surface(self, change: Change) -> Surface | CountSurface:
        """Return the surface during a phase."""
        if self.formula is None and not self.table:
            flop = [change.scale * each for each in self.layout.flop]
            return Surface(self.layout, self.world, self.seed, flop, change.others)
        return CountSurface(self.layout, self, (1.0 - change.others) / change.scale)


class CountSurface:
    """Throughput over the numbers of threads and queues, with the interface of `Surface`."""

    def __init__(self, layout: Layout, own: Own, factor: float) -> None:
        self.layout, self.places, self._factor = layout, len(layout.ports), factor
        self._formula = (
            Expression("throughput", own.formula, NAMES) if own.formula is not None else None
        )
        self._table, self._queues = np.array(own.table), own.queues
        self._value = functools.cache(self._worked_out)

    def throughput(self, queued: Collection[int], threads: int) -> float:
        """Return tuples/s. Raise UserError where the formula has no value."""
        return self._value(len(queued), threads)

    def dedicated(self) -> float:
        """Return tuples/s with all queues and a thread for each."""
        return self._value(self.places, max(1, self.places))

    def busy(self, queued: Collection[int], threads: int) -> float | None:
        """Return None: utilisation is unknown."""
        return None

    def shares(self) -> Array:
        """Return each operator's share of the work as the graph declares it; equal shares if it
        declares none."""
        work = np.asarray(self.layout.flop) * np.asarray(self.layout.tuples)
        return work / work.sum() if work.sum() > 0.0 else np.full(len(work), 1.0 / len(work))

    def best(self, bounds: Bounds) -> Best:
        """Return the best numbers of threads and queues; among equal ones, the fewest threads, and
        then queues."""
        where = [
            (level, count)
            for level in range(bounds.minimum, bounds.maximum + 1)
            for count in range(self.places + 1)
        ]
        top = max(self._value(count, level) for level, count in where)
        level, count = next(
            each for each in where if self._value(each[1], each[0]) >= (1.0 - EQUAL) * top
        )
        return Best(self._value(count, level), level, frozenset(range(count)))

    def _worked_out(self, queues: int, threads: int) -> float:
        if self._formula is not None:
            return max(
                0.0,
                self._factor * self._formula(n=threads, k=queues, q=queues / max(1, self.places)),
            )
        column = self._table[:, min(threads, self._table.shape[1]) - 1]
        return self._factor * float(np.interp(queues, self._queues, column))
