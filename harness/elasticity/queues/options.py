"""Configurations that a law may choose, placements at thread levels, and the throughput that
hypotheses predict for each.

The graph and the costs of its operators give the placements (`cuts`); `near` adds more around the
best one. A level gets a row if the queues of the placement give work to that many threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from harness.elasticity.law import Bounds as Levels
from harness.elasticity.layout import Layout
from harness.elasticity.queues.cuts import Dominators, neighbours, placements
from harness.elasticity.queues.evidence import CORRELATION_LENGTHS, OWN_ERROR, SHARED_ERROR, Place
from harness.elasticity.queues.limits import Limits
from harness.elasticity.queues.regions import DirectedLayout, Vector

DENSE_LEVELS = 8  # levels up to here all get rows
LEVEL_RATIO = 1.2  # ratio of neighbouring levels above `DENSE_LEVELS`
NEAR_PLACEMENTS = 10  # placements of a kind that `near` adds around the best one
MAX_NEAR_OPERATORS = (
    4_000  # operators that those placements may have in sum, which bounds the time of a step
)


class Placements:
    """Facts about the placements of a graph that do not change while tuples flow."""

    def __init__(self, layout: Layout) -> None:
        self.flow = DirectedLayout(layout)
        self.tree = Dominators(self.flow)
        self.places = len(layout.ports)

    def suggested(self, shares: Vector, hop: float) -> list[frozenset[int]]:
        """Return placements that divide the work well, both if hops cost nothing and if each costs
        the share `hop` of all work."""
        return list(
            dict.fromkeys([*placements(self.tree, shares), *placements(self.tree, shares, hop)])
        )


class ConfigurationTable:
    """Table of configurations, one a row. Rows are only added, so a row keeps its meaning.

    `placement`, `level`: by row.
    """

    def __init__(self, graph: Placements, levels: Levels, shares: Vector, hop: float) -> None:
        """Begin with the placements that the graph suggests for these shares of the work and this
        cost of a hop."""
        self.shares = shares
        self._graph, self._levels = graph, levels
        self.placements: list[frozenset[int]] = []
        self._number: dict[frozenset[int], int] = {}
        self._stands: list[np.ndarray] = []  # by placement: 1 at places with a queue
        self._standing = np.empty((0, graph.places), dtype=np.float32)  # the same as one array
        self._limits = Limits(graph.flow, shares)
        self._length: Vector = np.empty(0)  # of each row of it, as a vector
        self._row: dict[tuple[int, int], int] = {}
        # `placement` and `level` as arrays
        self._numbers, self._levels_at = np.empty(0, dtype=int), np.empty(0, dtype=int)
        self.log_queues, self._log_busy = np.empty(0), np.empty(0)
        self.placement: list[int] = []
        self.level: list[int] = []
        self._turns: dict[int, int] = {}  # by row: calls of `near`
        self._found: set[int] = set()  # rows that `near` added
        self._gone = np.zeros(0, dtype=bool)  # rows that promised too little
        self._asked: Vector | None = None  # hypotheses whose predictions are kept
        self._said: dict[int, Vector] = {}
        for queued in graph.suggested(shares, hop):
            self._add(queued, _grid(levels))
        self._complete()

    # -- rows --------------------------------------------------------------------------------------

    def row(self, place: Place) -> int:
        """Return the row of a configuration; add it if there is none."""
        queued, level = place
        if (self._number.get(queued, -1), level) not in self._row:
            self._add(queued, [level], seen=True)
            self._complete()
        return self._row[self._number[queued], level]

    def place(self, row: int) -> Place:
        """Return the configuration of a row."""
        return self.queued(row), self.level[row]

    def queued(self, row: int) -> frozenset[int]:
        """Return the placement of a row."""
        return self.placements[self.placement[row]]

    def busy(self, row: int) -> int:
        """Return the number of threads that find work at a row."""
        return self._limits.busy(self.placement[row], self.level[row])

    def hops(self, row: int) -> float:
        """Return the number of hops over queues for a tuple of each source."""
        return self._limits.hops(self.placement[row])

    def formula(self, rows: Sequence[int] | np.ndarray, hypotheses: Vector) -> Vector:
        """Return the log throughput that hypotheses predict, row x hypothesis."""
        return self._limits.log_throughput(self._numbers[rows], self._levels_at[rows], hypotheses)

    def level_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the levels of rows."""
        return self._levels_at[rows]

    def measured(self, rows: Sequence[int], hypotheses: Vector) -> Vector:
        """Return the `formula` of measured rows.

        It is kept, because the law needs it in each period.
        """
        if self._asked is not hypotheses:
            self._asked, self._said = hypotheses, {}
        new = [row for row in dict.fromkeys(rows) if row not in self._said]
        if new:
            self._said |= zip(new, self.formula(new, hypotheses), strict=True)
        return np.stack([self._said[row] for row in rows])

    def near(self, row: int) -> None:
        """Add rows of levels and placements around a row; other ones with each call."""
        level, queued, turn = self.level[row], self.queued(row), self._turns.get(row, 0)
        self._turns[row], first = turn + 1, len(self.level)
        if turn == 0:
            self._add(queued, {level - 2, level - 1, level + 1, level + 2})
        most = max(2, min(NEAR_PLACEMENTS, MAX_NEAR_OPERATORS // (4 * len(self.shares))))
        for other in neighbours(self._graph.tree, self.shares, queued, most, turn):
            self._add(
                other, {level, level + (len(other) > len(queued)) - (len(other) < len(queued))}
            )
        self._found |= set(range(first, len(self.level)))
        self._complete()

    def within(self, level: int) -> np.ndarray:
        """Return the rows up to a level, without those that `keep` dropped."""
        return np.flatnonzero((self._levels_at <= level) & ~self._gone[: len(self._levels_at)])

    def keep(self, rows: np.ndarray) -> None:
        """Drop all rows that `near` added, except these."""
        kept = set(rows.tolist())
        self._gone[[row for row in self._found if row not in kept]] = True
        self._found &= kept

    def _add(self, queued: frozenset[int], levels: Iterable[int], seen: bool = False) -> None:
        if queued not in self._number:
            self._number[queued] = len(self.placements)
            self.placements.append(queued)
            self._limits.add(queued)
            stands = np.zeros(self._graph.places, dtype=np.float32)
            stands[list(queued)] = 1.0
            self._stands.append(stands)
        number = self._number[queued]
        for level in levels:
            allowed = self._levels.minimum <= level <= self._levels.maximum
            useful = seen or level <= max(len(queued), self._levels.minimum)
            if allowed and useful and (number, level) not in self._row:
                self._row[number, level] = len(self.level)
                self.placement.append(number)
                self.level.append(level)

    def _complete(self) -> None:
        """Compute the columns of new rows."""
        fresh = range(len(self._gone), len(self.level))
        if not fresh:
            return
        queues = [len(self.queued(row)) for row in fresh]
        self._numbers = np.concatenate([self._numbers, [self.placement[row] for row in fresh]])
        self._levels_at = np.concatenate([self._levels_at, [self.level[row] for row in fresh]])
        self.log_level = np.log2(self._levels_at)
        self.log_queues = np.concatenate([self.log_queues, np.log2(np.add(queues, 1.0))])
        self._log_busy = np.concatenate(
            [self._log_busy, np.log2([self.busy(row) for row in fresh])]
        )
        self._gone = np.concatenate([self._gone, np.zeros(len(fresh), dtype=bool)])
        if stands := self._stands[len(self._standing) :]:
            self._standing = np.concatenate([self._standing, stands])
            self._length = np.concatenate(
                [self._length, np.sqrt([1.0 + each.sum() for each in stands])]
            )

    # -- errors of the formula ---------------------------------------------------------------------

    def alike(self, rows: np.ndarray, others: np.ndarray) -> Vector:
        """Return the covariance of the formula's errors, rows x others."""
        threads = (self._log_busy[rows][:, None] - self._log_busy[others]) / CORRELATION_LENGTHS[0]
        queues = (self.log_queues[rows][:, None] - self.log_queues[others]) / CORRELATION_LENGTHS[1]
        mine, line = np.unique(self._numbers[rows], return_inverse=True)
        theirs, column = np.unique(self._numbers[others], return_inverse=True)
        elsewhere = self._elsewhere(mine, theirs)[line[:, None], column] / CORRELATION_LENGTHS[2]
        return SHARED_ERROR**2 * np.exp(
            -0.5 * (threads**2 + queues**2) - elsewhere
        ) + OWN_ERROR**2 * (rows[:, None] == others)

    def _elsewhere(self, some: np.ndarray, others: np.ndarray) -> Vector:
        """Return distances, placement x placement: 0 if all queues are the same, near 1 if none is.

        One minus the distance is a cosine, so it is a valid kernel.
        """
        alike = 1.0 + self._standing[some] @ self._standing[others].T
        return 1.0 - alike / (self._length[some][:, None] * self._length[others])


def _grid(levels: Levels) -> list[int]:
    """Return the levels that every placement gets rows for."""
    found = list(range(levels.minimum, min(levels.maximum, max(DENSE_LEVELS, levels.minimum)) + 1))
    while found[-1] < levels.maximum:
        found.append(min(levels.maximum, max(found[-1] + 1, round(found[-1] * LEVEL_RATIO))))
    return sorted({*found, levels.start})
