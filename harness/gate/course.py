"""The results of one cell's blocks so far: values, p-values, the levels for these, and the decision
once there is one.

A deterministic metric is the same in every process of a tree, but for a thousandth
(`DETERMINISTIC_WITHIN`), because instruction counts differ by some millionths to 0.01 %. So one
block is enough and nothing is tested. How far the processes of a side differ counts against each
verdict. If they differ by more, the metric is not deterministic, and nothing is decided.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from harness.gate.block_ranks import RESOLUTION
from harness.gate.cell import GateCell
from harness.gate.means import Means, tolerated
from harness.gate.order import Pair, on_scale
from harness.gate.scale import as_ratio, limits
from harness.gate.sequential import Evidence, Looks
from harness.gate.step import ROUNDING_ERROR, are_copies, slack, step
from harness.gate.verdict import CellDecision, CellResult, Verdict
from harness.measurement.rank_interval import middle_of

DETERMINISTIC_WITHIN = 1e-3  # largest relative difference of a deterministic metric within a side
HYPOTHESES = ("regressed", "ok", "improved")
TWO_SPEEDS = "some processes are far slower than the others, and more blocks are needed"
FEW_IN_TAIL = "few processes are in that tail, and more blocks are needed"


class CellCourse:
    """A cell's values, block by block, and the evidence from them."""

    def __init__(self, cell: GateCell, looks: Looks) -> None:
        self.cell = cell
        self.base: list[float] = []
        self.head: list[float] = []
        by_difference = cell.metric.may_be_zero
        self.evidence = Evidence(
            looks, lambda: slack(self.base, self.head, by_difference), by_difference
        )

    def take_in(self, base_pair: Pair, head_pair: Pair) -> bool:
        """Add one block: the values of its two pairs. Return True if the evidence may have changed.

        Raises UserError for a value that cannot be compared.
        """
        (block,) = on_scale(self.cell, base_pair, head_pair)
        self.base += base_pair
        self.head += head_pair
        return self.evidence.add(block)

    def agrees(self) -> bool:
        """Return True if each side has given one value in all of its processes, or nearly so if the
        metric is deterministic."""
        limit = DETERMINISTIC_WITHIN if self.cell.metric.deterministic else ROUNDING_ERROR
        return all(
            max(side) - min(side) <= limit * max(side) for side in (self.base, self.head) if side
        )

    def spread(self) -> float:
        """Return how far the processes of a side are apart, at most, on the metric's scale."""
        blocks = self.evidence.blocks
        sides = [[value for block in blocks for value in block[at]] for at in (0, 1)]
        return max(max(side) - min(side) for side in sides)

    def estimate(self) -> float:
        """Return the estimate of the shift, on the metric's scale: exact if neither side scatters,
        nan without a block."""
        if not self.evidence.blocks:
            return math.nan
        if self.agrees():
            block = self.evidence.blocks[0]
            return block.head[0] - block.base[0]
        found = self.evidence.estimate()
        # a difference within the search's precision is no difference: it counts as 0
        near = RESOLUTION * max(*self.base, *self.head)
        return 0.0 if self.cell.metric.may_be_zero and abs(found) <= near else found

    def in_ratios(self, verdict: Verdict, low: float, high: float) -> CellDecision:
        """Return a decision in ratios, from bounds on the metric's scale. Unknown bounds are 0 and
        inf, an unknown ratio is nan."""
        metric, base = self.cell.metric, middle_of(self.base) if self.base else 1.0
        ratio, low, high = (as_ratio(metric, shift, base) for shift in (self.estimate(), low, high))
        return CellDecision(verdict, ratio, low, high, len(self.evidence.blocks))


class Course(CellCourse):
    """One cell's evidence and its decision. A decided cell is closed: later blocks do not count."""

    def __init__(self, cell: GateCell, factor: float, looks: Looks, level: float) -> None:
        """`factor` is the call's; `level` is that of each hypothesis until Holm's rule sets
        another."""
        super().__init__(cell, looks)
        self.factor = cell.metric.factor or factor
        self.p = dict.fromkeys(HYPOTHESES, 1.0)
        self.level = dict.fromkeys(HYPOTHESES, level)
        self.decided: CellDecision | None = None
        self.leans = False

    def add(self, base_pair: Pair, head_pair: Pair) -> bool:
        """Add one block, the values of its two pairs. Return True if the p-values have changed."""
        if self.decided or not (
            self.take_in(base_pair, head_pair) or self.cell.metric.deterministic
        ):
            return False
        better, worse = self._limits()
        if self.cell.metric.deterministic:
            shift, spread = self.estimate(), self.spread()
            proven = {
                "regressed": shift - spread > worse + ROUNDING_ERROR,
                "ok": shift + spread <= worse + ROUNDING_ERROR,
                "improved": shift + spread < better - ROUNDING_ERROR,
            }
            self.p = {
                name: 0.0 if holds and self.agrees() else 1.0 for name, holds in proven.items()
            }
            return True
        self.leans = self.evidence.leans(worse)
        self.p["regressed"] = self.evidence.p_greater(worse)
        if self._contradicted(self.p["regressed"], worse):
            self.p["regressed"] = 1.0
        self.p["ok"] = self._checked(self.evidence.p_less(worse), worse)
        self.p["improved"] = self._checked(self.evidence.p_less(better, faster=True), worse)
        if self.cell.metric.may_be_zero and min(*self.base, *self.head) == max(
            *self.base, *self.head
        ):
            # equal counts are truly equal: a count is not rounded, as a clock is
            self.p["ok"] = min(self.p["ok"], self.evidence.least_p())
        return True

    def _means(self) -> Iterator[Means]:
        """Yield the means of both sides, and their tails if the metric names one."""
        yield Means(self.cell.metric, self.base, self.head)
        if self.cell.metric.tail is not None:
            yield Means(self.cell.metric, self.base, self.head, self.cell.metric.tail)

    def _checked(self, p: float, worse: float) -> float:
        """Return the p-value `p` of the ranks, or that of means, or tails, that are slower by more
        than is tolerated, if it is greater."""
        if p >= 0.5 or not self.evidence.is_seen:  # no level is so high
            return p
        limit = self._tolerated(worse)
        return max(p, *(self.evidence.weight * each.p_less(limit) for each in self._means()))

    def _tolerated(self, worse: float) -> float:
        return tolerated(self.cell.metric, middle_of(self.base), worse)

    def _contradicted(self, p: float, worse: float) -> bool:
        """Return True if means or tails contradict that head has regressed, which ranks say with
        p-value `p`."""
        return p <= self.level["regressed"] and self._contradiction(worse) is not None

    def _contradiction(self, worse: float) -> Means | None:
        """Return the means, or tails, that contradict a regression; None if they agree."""
        ranks = self.evidence.estimate()
        mean, *tails = self._means()
        if not mean.agree(ranks, max(self._tolerated(worse), (ranks - worse) / 2)):
            return mean
        return next((tail for tail in tails if tail.contradict()), None)

    def _too_slow(self, worse: float) -> Means | None:
        """Return the means, or tails, that may be slower by more than is tolerated."""
        limit, level = self._tolerated(worse), self.level["ok"] / self.evidence.weight
        return next((each for each in self._means() if each.p_less(limit) > level), None)

    def is_open(self) -> bool:
        """Return True if more blocks may decide the cell."""
        if self.cell.metric.deterministic and self.evidence.blocks:
            return False
        return (
            self.decided is None and self.evidence.looks.next(len(self.evidence.blocks)) is not None
        )

    def verdict(self) -> Verdict:
        """Return the verdict for the present p-values and levels. If regressed and ok are both
        significant (very unlikely), regressed wins."""
        rejected = {hypothesis for hypothesis, p in self.p.items() if p <= self.level[hypothesis]}
        if not self.evidence.blocks:
            return Verdict.UNMEASURED
        if "regressed" in rejected:
            return Verdict.REGRESSED
        if "improved" in rejected:
            return Verdict.IMPROVED
        return Verdict.OK if "ok" in rejected else Verdict.INCONCLUSIVE

    def standing(self) -> Verdict:
        """Return the verdict of the decision, or, if there is none, the verdict at this moment."""
        return self.decided.verdict if self.decided else self.verdict()

    def close_if_decided(self) -> None:
        """Make the decision if the present verdict is one."""
        if self.decided is None and self.verdict() not in (
            Verdict.UNMEASURED,
            Verdict.INCONCLUSIVE,
        ):
            self.decided = self.decision()

    def decision(self) -> CellDecision:
        """Return the decision, or, if the cell is open, the state at this moment as a decision."""
        if self.decided:
            return self.decided
        verdict = self.verdict()
        if self.cell.metric.deterministic and self.evidence.blocks:
            shift, spread = self.estimate(), self.spread() if self.agrees() else math.inf
            return self.in_ratios(verdict, shift - spread, shift + spread)
        faster = verdict is Verdict.IMPROVED
        # the bound of the hypothesis behind the verdict
        high = self.evidence.high(self.level["improved" if faster else "ok"], faster)
        return self.in_ratios(verdict, self.evidence.low(self.level["regressed"]), high)

    def result(self) -> CellResult:
        """Return the cell's result with all values that count."""
        return CellResult(
            self.cell, self.decision(), tuple(self.base), tuple(self.head), self._reason()
        )

    def _limits(self) -> tuple[float, float]:
        return limits(self.cell.metric, self.factor, middle_of(self.base))

    def _reason(self) -> str:
        """Return the reason why a cell is inconclusive if it is not noise, else ""."""
        if self.standing() is not Verdict.INCONCLUSIVE:
            return ""
        metric = self.cell.metric
        if metric.deterministic and self.agrees():
            return "its processes differ by as much as would decide it"
        if metric.deterministic:
            return f"said to be deterministic, but {self._differing()}"
        if not self.evidence.is_seen:
            return ""
        if are_copies(self.base, self.head):
            return (
                "most values of head are base's too, digit for digit: results of the same "
                "processes prove nothing"
            )
        if len({*self.base, *self.head}) == 1:
            return (
                f"all processes gave {self.base[0]:.6g} {metric.unit}".rstrip()
                + ": a clock that is too coarse does that; "
                "if the metric is exact, say deterministic: true"
            )
        _, worse = self._limits()
        if worse == 0.0:
            return "base is mostly 0, so every difference counts: give the metric a floor"
        if self.evidence.p_greater(worse) <= self.level["regressed"] and (
            found := self._contradiction(worse)
        ):
            return f"typical processes of head are slower, but {self._in_words(found)}"
        if self.evidence.steps_hide(worse, self.level["ok"]):
            width = step(self.base, self.head)
            return (
                f"its values come in steps or groups of about {width:.3g} {metric.unit}".rstrip()
                + f", the least is {min(*self.base, *self.head):.6g}: "
                "a slowdown of less than a step may not show, so it cannot be called ok"
            )
        if self.evidence.p_less(worse) <= self.level["ok"] and (found := self._too_slow(worse)):
            return f"typical processes of head are not slower, but {self._in_words(found)}"
        return ""

    def _in_words(self, found: Means) -> str:
        """Return the ratio of the means, or tails, with its 95 % interval, in words."""
        base = middle_of(self.base)
        ratio, low, high = (
            as_ratio(self.cell.metric, shift, base) for shift in (found.shift(), *found.interval())
        )
        finding = (
            f"the {found.name} of head is {ratio:.3g} times that of base, from {low:.3g} to "
            f"{high:.3g}"
        )
        return f"{finding}: {TWO_SPEEDS if found.tail is None else FEW_IN_TAIL}"

    def _differing(self) -> str:
        name, side = next(
            (name, side)
            for name, side in (("base", self.base), ("head", self.head))
            if max(side) - min(side) > DETERMINISTIC_WITHIN * max(side)
        )
        return f"{name} gave {min(side):.6g} and {max(side):.6g}"
