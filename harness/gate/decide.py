"""What the blocks of a call prove of each cell.

Three hypotheses of a cell, each tested in a family of its own over all cells by Holm's rule at alpha:

- "head is slower by at most the factor": rejected, the cell has *regressed*;
- "head is slower by at least the factor": rejected, it is *ok*;
- "head is faster by at most the factor": rejected, it is ok and *improved*.

Neither of the first two rejected is *inconclusive*: the numbers allow both. So in all calls whose cells are truly within the
factor, at most a share alpha calls any of them regressed, and likewise for a slowdown called ok, and for a false improvement.

What is tested is declared before the first block: the cells, alpha and the looks. A cell that is decided is closed: blocks that
come after are not counted, and nothing changes it. A cell that never gives a number stays in its families, as a p-value of 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.gate.cell import Cell
from harness.gate.course import HYPOTHESES, Course, Row
from harness.gate.holm import holm
from harness.gate.order import Pair
from harness.gate.scale import limits
from harness.gate.sequential import Looks
from harness.gate.verdict import CellResult, Decision, Verdict
from harness.measurement.rank_interval import middle_of


class Family:
    """The sequential test of all cells of one call."""

    def __init__(self, cells: Sequence[Cell], factor: float, alpha: float, looks: Looks) -> None:
        """`factor` > 1; 0 < `alpha` < 1 is the family's; `looks` are `sequential.declare`d for so many cells."""
        self.alpha = alpha
        self.looks = looks
        self._courses = {cell.name: Course(cell, factor, looks, alpha / len(cells)) for cell in cells}

    def add(self, cell_name: str, base_pair: Pair, head_pair: Pair) -> None:
        """One block of a cell: the values of its two pairs, in the metric's unit.

        Nothing happens if the cell is decided. UserError if a value is not a finite number above 0.
        """
        if self._courses[cell_name].add(base_pair, head_pair):
            self._judge()

    def leaning(self) -> list[str]:
        """Undecided cells whose estimate at their last look is beyond the factor."""
        return [name for name, course in self._courses.items() if course.leans and course.is_open()]

    def open(self) -> list[str]:
        """The cells that further blocks may decide: not decided, and with a look to come."""
        return [name for name, course in self._courses.items() if course.is_open()]

    def verdict(self, cell_name: str) -> Verdict:
        """As `decision` has it, without the bounds and the estimate, which take a thousand times as long."""
        return self._courses[cell_name].standing()

    def decision(self, cell_name: str) -> Decision:
        """As things stand; of a decided cell, as they stood when it was decided."""
        return self._courses[cell_name].decision()

    def results(self) -> list[CellResult]:
        """Every cell with the values that were counted, in the order of the cells. A cell without a block is unmeasured."""
        return [course.result() for course in self._courses.values()]

    def _judge(self) -> None:
        """Hold all cells' p-values against Holm's levels, and close those that they decide."""
        courses = list(self._courses.values())
        for hypothesis in HYPOTHESES:
            levels = holm([course.p[hypothesis] for course in courses], self.alpha)
            for course, level in zip(courses, levels, strict=True):
                course.level[hypothesis] = level
        for course in courses:
            course.close_if_decided()


class Control(Row):
    """The test of base against itself, alone in its family and two-sided: ratio = 1, alpha / 2 to each side.

    A metric that is the same in every process needs no test: it must be.

    Its bounds' distance from 1 says how well this host can tell anything: a slowdown within it could be the host's.
    """

    def __init__(self, cell: Cell, factor: float, alpha: float, looks: Looks) -> None:
        """As of `Family`."""
        super().__init__(cell, looks)
        self.factor = cell.metric.factor or factor
        self.level = alpha / 2

    def add(self, base_pair: Pair, again_pair: Pair) -> None:
        """One block: the values of its two pairs, both sides being base. UserError as of `Family.add`."""
        self.take_in(base_pair, again_pair)

    @property
    def failed(self) -> bool:
        """Whether base was found to differ from itself. Once true it stays true."""
        if self.cell.metric.deterministic:
            return len({*self.base, *self.head}) > 1
        low, high = self._bounds()
        return low > 0 or high < 0

    def result(self) -> CellResult:
        """Ok if the bounds are within the factor on both sides, else inconclusive; regressed or improved if it failed."""
        low, high = self._bounds()
        better, worse = limits(self.cell.metric, self.factor, middle_of(self.base)) if self.base else (0.0, 0.0)
        if not self.evidence.blocks:
            verdict = Verdict.UNMEASURED
        elif self.failed:
            verdict = Verdict.REGRESSED if low > 0 else Verdict.IMPROVED
        else:
            verdict = Verdict.OK if better < low and high < worse else Verdict.INCONCLUSIVE
        return CellResult(self.cell, self.told(verdict, low, high), tuple(self.base), tuple(self.head))

    def _bounds(self) -> tuple[float, float]:
        if self.cell.metric.deterministic and self.evidence.blocks and not self.failed:
            return 0.0, 0.0
        return self.evidence.low(self.level), self.evidence.high(self.level)
