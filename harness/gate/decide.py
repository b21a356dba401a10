"""The family of tests of a call: which verdicts its blocks prove.

Each cell has three hypotheses. Each kind is tested in a family of its own over all cells, by Holm's
rule at alpha:

- "head is slower by at most the factor": if rejected, the cell has *regressed*;
- "head is slower by at least the factor": if rejected, it is *ok*;
- "head is faster by at most the factor": if rejected, it is ok and *improved*.

If neither of the first two is rejected, the cell is *inconclusive*: the numbers allow both. So
among calls whose cells are truly within the factor, at most a share alpha calls any of them
regressed. The same holds for a slowdown called ok, and for a false improvement.

The tests are declared before the first block: the cells, alpha and the looks. A decided cell is
closed: later blocks do not count, and nothing changes it. A cell that never gives a number stays in
its families with a p-value of 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.gate.cell import GateCell
from harness.gate.course import DETERMINISTIC_WITHIN, HYPOTHESES, CellCourse, Course
from harness.gate.holm import holm
from harness.gate.order import Pair
from harness.gate.scale import limits
from harness.gate.sequential import Looks
from harness.gate.verdict import CellDecision, CellResult, Verdict
from harness.measurement.rank_interval import middle_of


class Family:
    """The sequential test of all cells of one call."""

    def __init__(
        self, cells: Sequence[GateCell], factor: float, alpha: float, looks: Looks
    ) -> None:
        """`factor` > 1; 0 < `alpha` < 1 is that of the family; `looks` come from
        `sequential.declare` for this number of cells."""
        self.alpha = alpha
        self.looks = looks
        self._courses = {
            cell.name: Course(cell, factor, looks, alpha / len(cells)) for cell in cells
        }

    def add(self, cell_name: str, base_pair: Pair, head_pair: Pair) -> None:
        """Add one block of a cell: the values of its two pairs, in the metric's unit.

        A decided cell ignores it. Raises UserError for a value that cannot be compared
        (`cell.comparable`).
        """
        if self._courses[cell_name].add(base_pair, head_pair):
            self._judge()

    def leaning(self) -> list[str]:
        """Return the undecided cells whose estimate at their last look is beyond the factor."""
        return [name for name, course in self._courses.items() if course.leans and course.is_open()]

    def open(self) -> list[str]:
        """Return the cells that further blocks may decide: those without a decision and with a look
        to come."""
        return [name for name, course in self._courses.items() if course.is_open()]

    def verdict(self, cell_name: str) -> Verdict:
        """Return the verdict of `decision` without computing its bounds and estimate, which take a
        thousand times as long."""
        return self._courses[cell_name].standing()

    def decision(self, cell_name: str) -> CellDecision:
        """Return a cell's decision; for an open cell, its state at this moment."""
        return self._courses[cell_name].decision()

    def results(self) -> list[CellResult]:
        """Return every cell's result with the values that count, in the order of the cells. A cell
        without a block is unmeasured."""
        return [course.result() for course in self._courses.values()]

    def _judge(self) -> None:
        """Compare all cells' p-values with Holm's levels, and close the cells that this decides."""
        courses = list(self._courses.values())
        for hypothesis in HYPOTHESES:
            levels = holm([course.p[hypothesis] for course in courses], self.alpha)
            for course, level in zip(courses, levels, strict=True):
                course.level[hypothesis] = level
        for course in courses:
            course.close_if_decided()


class Control(CellCourse):
    """The test of base against itself: alone in its family and two-sided, ratio = 1, with alpha / 2
    on each side.

    A deterministic metric needs no test: all of its values must be equal, but for
    `DETERMINISTIC_WITHIN`.

    The distance of its bounds from 1 is the precision of this host: the host alone could cause a
    slowdown within it.
    """

    def __init__(self, cell: GateCell, factor: float, alpha: float, looks: Looks) -> None:
        """Same parameters as `Family`, for one cell."""
        super().__init__(cell, looks)
        self.factor = cell.metric.factor or factor
        self.level = alpha / 2

    def add(self, base_pair: Pair, again_pair: Pair) -> None:
        """Add one block: the values of its two pairs, where both sides are base. Raises UserError
        as `Family.add` does."""
        self.take_in(base_pair, again_pair)

    @property
    def failed(self) -> bool:
        """True if base was found to differ from itself. Once true it stays true."""
        if self.cell.metric.deterministic:
            values = (*self.base, *self.head)
            return bool(values) and max(values) - min(values) > DETERMINISTIC_WITHIN * max(values)
        low, high = self._bounds()
        return low > 0 or high < 0

    def result(self) -> CellResult:
        """Return the control's result: ok if both bounds are within the factor, else inconclusive;
        regressed or improved if it failed."""
        low, high = self._bounds()
        better, worse = (
            limits(self.cell.metric, self.factor, middle_of(self.base)) if self.base else (0.0, 0.0)
        )
        if not self.evidence.blocks:
            verdict = Verdict.UNMEASURED
        elif self.failed:
            verdict = Verdict.REGRESSED if low > 0 else Verdict.IMPROVED
        else:
            verdict = Verdict.OK if better < low and high < worse else Verdict.INCONCLUSIVE
        return CellResult(
            self.cell, self.in_ratios(verdict, low, high), tuple(self.base), tuple(self.head)
        )

    def _bounds(self) -> tuple[float, float]:
        if self.cell.metric.deterministic and self.evidence.blocks and not self.failed:
            return 0.0, 0.0
        return self.evidence.low(self.level), self.evidence.high(self.level)
