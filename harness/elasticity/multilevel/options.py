"""The configurations that a law may choose: placements at thread levels, and what hypotheses say of each.

Placements are found from the graph and the costs of its operators (`cuts`), around the best one more of them as it becomes
known (`near`). A level is worth a row if the queues of the placement give work to so many threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from harness.elasticity.law import Bounds as Levels
from harness.elasticity.layout import Layout
from harness.elasticity.multilevel.cuts import Dominators, middle, neighbours, placements
from harness.elasticity.multilevel.evidence import FAR, OWN, SMOOTH, Place
from harness.elasticity.multilevel.limits import Limits
from harness.elasticity.multilevel.regions import Flow, Vector

DENSE = 8  # levels up to here are all looked at; above it those that are so many times apart
STEP = 1.2
BESIDE = (0.85, 0.92, 1.08, 1.15)  # levels around the best one that are looked at
DEAR = 0.03  # of the work of an operator: from there on a hop changes where queues should stand
NEAR = 10  # placements of a kind that are looked at around the best one
WORK = 4_000  # operators that placements around the best one may have in sum: what a step has time for


class Placements:
    """The placements of a graph: what does not change while tuples flow."""

    def __init__(self, layout: Layout) -> None:
        self.flow = Flow(layout)
        self.tree = Dominators(self.flow)
        self.places = len(layout.ports)

    def suggested(self, shares: Vector, hop: float) -> list[frozenset[int]]:
        """Those that divide the work well, if a hop over a queue takes so much of the time that all work takes."""
        found = dict.fromkeys(placements(self.tree, shares))
        if hop * self.places > DEAR:
            found |= dict.fromkeys(placements(self.tree, shares, hop))
        return list(found)


class Options:
    """Rows; they only grow, so that a row stays what it is. `placement`, `level`: of each. `middle`: the graph cut in two."""

    def __init__(self, graph: Placements, levels: Levels, shares: Vector, hop: float) -> None:
        """With the placements that the graph suggests under these shares of the work, and for hops that take about so long."""
        self.shares = shares
        self.middle = middle(graph.tree, shares)
        self._graph, self._levels = graph, levels
        self.placements: list[frozenset[int]] = []
        self._number: dict[frozenset[int], int] = {}
        self._stands: list[np.ndarray] = []  # by placement: 1 where a queue stands
        self._standing = np.empty((0, graph.places), dtype=np.float32)  # the same in one
        self._limits = Limits(graph.flow, shares)
        self._row: dict[tuple[int, int], int] = {}
        self.placement: list[int] = []
        self.level: list[int] = []
        self._turns: dict[int, int] = {}  # by row: how often it was looked for more around it
        self._found: set[int] = set()  # rows around others
        self._gone: set[int] = set()  # that promised too little
        self._asked: Vector | None = None  # whose formula of rows is kept
        self._said: dict[int, Vector] = {}
        for queued in graph.suggested(shares, hop):
            self._add(queued, _grid(levels))
        self._complete()

    # -- rows -----------------------------------------------------------------------------------------------------------------

    def row(self, place: Place) -> int:
        """The row of a configuration, a new one if need be."""
        queued, level = place
        if (self._number.get(queued, -1), level) not in self._row:
            self._add(queued, [level], seen=True)
            self._complete()
        return self._row[self._number[queued], level]

    def place(self, row: int) -> Place:
        """The configuration of a row."""
        return self.queued(row), self.level[row]

    def queued(self, row: int) -> frozenset[int]:
        """The placement of a row."""
        return self.placements[self.placement[row]]

    def busy(self, row: int) -> int:
        """Threads that find work there."""
        return self._limits.busy(self.placement[row], self.level[row])

    def hops(self, row: int) -> float:
        """Over queues, for a tuple of each source."""
        return self._limits.hops(self.placement[row])

    def formula(self, rows: Sequence[int] | np.ndarray, hypotheses: Vector) -> Vector:
        """What hypotheses say of rows: row x hypothesis."""
        return self._limits.log_throughput(
            np.array(self.placement)[rows], np.array(self.level)[rows], np.ascontiguousarray(hypotheses)
        )

    def measured(self, rows: Sequence[int], hypotheses: Vector) -> Vector:
        """The same for rows that periods passed at: kept, as they are asked for in each period."""
        if self._asked is not hypotheses:
            self._asked, self._said = hypotheses, {}
        new = [row for row in dict.fromkeys(rows) if row not in self._said]
        if new:
            self._said |= zip(new, self.formula(new, hypotheses), strict=True)
        return np.stack([self._said[row] for row in rows])

    def near(self, row: int) -> None:
        """Look also at levels and placements around a row; at others each time."""
        level, queued, turn = self.level[row], self.queued(row), self._turns.get(row, 0)
        self._turns[row], first = turn + 1, len(self.level)
        if turn == 0:
            self._add(queued, {level - 2, level - 1, level + 1, level + 2, *(round(level * factor) for factor in BESIDE)})
        most = max(2, min(NEAR, WORK // (4 * len(self.shares))))
        for other in neighbours(self._graph.tree, self.shares, queued, most, turn):
            self._add(other, {level, level + (len(other) > len(queued)) - (len(other) < len(queued))})
        self._found |= set(range(first, len(self.level)))
        self._complete()

    def within(self, level: int) -> np.ndarray:
        """Rows up to a level, but those around others that were let go."""
        return np.array([row for row, at in enumerate(self.level) if at <= level and row not in self._gone], dtype=int)

    def keep(self, rows: np.ndarray) -> None:
        """Of those that were found around others, let all go but these, and those that nobody has looked at yet."""
        self._gone |= self._found - set(rows.tolist())
        self._found -= self._gone

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
        """Where the rows stand."""
        self.log_level: Vector = np.log2(np.array(self.level, dtype=float))
        self.log_queues: Vector = np.log2([1.0 + len(self.queued(row)) for row in range(len(self.level))])
        self._log_busy: Vector = np.log2([self.busy(row) for row in range(len(self.level))])
        if self._standing.shape[0] < len(self._stands):
            self._standing = np.stack(self._stands)
            self._length: Vector = np.sqrt(1.0 + self._standing.sum(axis=1))

    # -- errors of the formula ------------------------------------------------------------------------------------------------

    def alike(self, rows: Sequence[int] | None, others: Sequence[int]) -> Vector:
        """Covariance of the formula's errors, rows x others; None: all rows."""
        mine = np.arange(len(self.level)) if rows is None else np.array(rows)
        theirs = np.array(others)
        threads = (self._log_busy[mine][:, None] - self._log_busy[theirs]) / FAR[0]
        queues = (self.log_queues[mine][:, None] - self.log_queues[theirs]) / FAR[1]
        numbers = np.array(self.placement)
        chosen, column = np.unique(numbers[theirs], return_inverse=True)
        elsewhere = self._elsewhere(chosen)[numbers[mine]][:, column] / FAR[2]
        same = mine[:, None] == theirs
        return SMOOTH**2 * np.exp(-0.5 * (threads**2 + queues**2) - elsewhere) + OWN**2 * same

    def _elsewhere(self, chosen: np.ndarray) -> Vector:
        """Placement x chosen placement: 0 where all queues are the same, near 1 where none is. A cosine: a valid kernel."""
        alike = 1.0 + self._standing @ self._standing[chosen].T
        return 1.0 - alike / (self._length[:, None] * self._length[chosen])


def _grid(levels: Levels) -> list[int]:
    """Levels that are looked at with every placement."""
    found = list(range(levels.minimum, min(levels.maximum, max(DENSE, levels.minimum)) + 1))
    while found[-1] < levels.maximum:
        found.append(min(levels.maximum, max(found[-1] + 1, round(found[-1] * STEP))))
    return sorted({*found, levels.start})
