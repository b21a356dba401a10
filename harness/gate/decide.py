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

import math
import statistics
from collections.abc import Sequence

from harness.gate.cell import Cell, Metric
from harness.gate.holm import holm
from harness.gate.order import Pair, logs
from harness.gate.sequential import Evidence, Looks
from harness.gate.verdict import CellResult, Decision, Verdict


def limits(metric: Metric, factor: float, base: float) -> tuple[float, float]:
    """The log ratios, positive being worse, that head must be beyond to have improved and to have regressed.

    They are those of `factor` > 1, but at least those that a difference of the metric's floor makes at `base` [its unit]: a
    metric of 10 with a floor of 5 has regressed above 15 and improved below 5.
    """
    share = metric.floor / base
    up, down = math.log1p(share), -math.log1p(-share) if share < 1 else math.inf
    worse, better = (up, down) if metric.lower_is_better else (down, up)
    return -max(math.log(factor), better), max(math.log(factor), worse)


class Family:
    """The sequential test of all cells of one call."""

    def __init__(self, cells: Sequence[Cell], factor: float, alpha: float, looks: Looks) -> None:
        """`factor` > 1; 0 < `alpha` < 1 is the family's; `looks` are `sequential.declare`d for so many cells."""
        self.alpha = alpha
        self.looks = looks
        self._courses = {cell.name: _Course(cell, factor, looks, alpha / len(cells)) for cell in cells}

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
        for hypothesis in ("regressed", "ok", "improved"):
            levels = holm([course.p[hypothesis] for course in courses], self.alpha)
            for course, level in zip(courses, levels, strict=True):
                course.level[hypothesis] = level
        for course in courses:
            course.close_if_decided()


class _Course:
    """One cell's values, p-values, the levels that they are held against, and the decision once there is one."""

    def __init__(self, cell: Cell, factor: float, looks: Looks, level: float) -> None:
        self.cell = cell
        self.factor = factor
        self.evidence = Evidence(looks)
        self.base: list[float] = []
        self.head: list[float] = []
        self.p = dict.fromkeys(("regressed", "ok", "improved"), 1.0)
        self.level = dict.fromkeys(self.p, level)
        self.decided: Decision | None = None
        self.leans = False

    def add(self, base_pair: Pair, head_pair: Pair) -> bool:
        """True if the p-values are new."""
        if self.decided:
            return False
        (block,) = logs(self.cell, base_pair, head_pair)
        self.base += base_pair
        self.head += head_pair
        if not self.evidence.add(block):
            return False
        better, worse = limits(self.cell.metric, self.factor, statistics.median(self.base))
        self.leans = self.evidence.leans(worse)
        self.p["regressed"] = self.evidence.p_greater(worse)
        self.p["ok"] = self.evidence.p_less(worse)
        self.p["improved"] = self.evidence.p_less(better)
        return True

    def is_open(self) -> bool:
        return self.decided is None and self.evidence.looks.next(len(self.evidence.blocks)) is not None

    def verdict(self) -> Verdict:
        """Of the p-values and levels as they are now. Regressed and ok can hardly both be proven; then the bad news is told."""
        rejected = {hypothesis for hypothesis, p in self.p.items() if p <= self.level[hypothesis]}
        if not self.evidence.blocks:
            return Verdict.UNMEASURED
        if "regressed" in rejected:
            return Verdict.REGRESSED
        if "ok" in rejected:
            return Verdict.IMPROVED if "improved" in rejected else Verdict.OK
        return Verdict.INCONCLUSIVE

    def standing(self) -> Verdict:
        return self.decided.verdict if self.decided else self.verdict()

    def close_if_decided(self) -> None:
        if self.decided is None and self.verdict() not in (Verdict.UNMEASURED, Verdict.INCONCLUSIVE):
            self.decided = self.decision()

    def decision(self) -> Decision:
        if self.decided:
            return self.decided
        verdict = self.verdict()
        upper = "improved" if verdict is Verdict.IMPROVED else "ok"  # the bound that the verdict rests on
        low, high = self.evidence.low(self.level["regressed"]), self.evidence.high(self.level[upper])
        return _decision(verdict, self.evidence, low, high)

    def result(self) -> CellResult:
        return CellResult(self.cell, self.decision(), tuple(self.base), tuple(self.head))


class Control:
    """The test of base against itself, alone in its family and two-sided: ratio = 1, alpha / 2 to each side.

    Its bounds' distance from 1 says how well this host can tell anything: a slowdown within it could be the host's.
    """

    def __init__(self, cell: Cell, factor: float, alpha: float, looks: Looks) -> None:
        """As of `Family`."""
        self.cell = cell
        self.factor = factor
        self.level = alpha / 2
        self._evidence = Evidence(looks)
        self._base: list[float] = []
        self._again: list[float] = []

    def add(self, base_pair: Pair, again_pair: Pair) -> None:
        """One block: the values of its two pairs, both sides being base. UserError as of `Family.add`."""
        self._evidence.add(*logs(self.cell, base_pair, again_pair))
        self._base += base_pair
        self._again += again_pair

    @property
    def failed(self) -> bool:
        """Whether base was found to differ from itself. Once true it stays true."""
        low, high = self._bounds()
        return low > 0 or high < 0

    def result(self) -> CellResult:
        """Ok if the bounds are within the factor on both sides, else inconclusive; regressed or improved if it failed."""
        low, high = self._bounds()
        limit = math.log(self.factor)
        if not self._evidence.blocks:
            verdict = Verdict.UNMEASURED
        elif self.failed:
            verdict = Verdict.REGRESSED if low > 0 else Verdict.IMPROVED
        else:
            verdict = Verdict.OK if -limit < low and high < limit else Verdict.INCONCLUSIVE
        return CellResult(self.cell, _decision(verdict, self._evidence, low, high), tuple(self._base), tuple(self._again))

    def _bounds(self) -> tuple[float, float]:
        return self._evidence.low(self.level), self._evidence.high(self.level)


def _decision(verdict: Verdict, evidence: Evidence, low: float, high: float) -> Decision:
    """In ratios; unknown bounds are 0 and inf, an unknown ratio is nan."""
    return Decision(verdict, math.exp(evidence.estimate()), math.exp(low), math.exp(high), len(evidence.blocks))
