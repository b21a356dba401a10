"""Rates of the calls' verdicts, with their intervals.

When a recording is used up, calls begin again in it and share its processes. Such calls are not
independent, however many there are. So an interval is made of the disjoint calls alone (Clopper and
Pearson, Biometrika 26(4), 1934: exact, and never too narrow). The rate beside it is that of all
calls, because their fresh coins average out the random labels. In A/A calls the coins alone decide
which process is base, so the calls are independent given the recording. There a second interval,
over all calls, holds for this recording and no other.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.gate.block_ranks import Blocks
from harness.gate.cell import GateCell
from harness.gate.order import BASE, HEAD, on_scale
from harness.gate.verdict import Exit, Verdict
from studies.gate_error_rates.recording import RecordedBlock
from studies.gate_error_rates.replay import Call
from studies.gate_error_rates.yardsticks import YARDSTICKS

LEVEL = 0.95


class RateInterval(NamedTuple):
    """The two ends of an interval."""

    low: float
    high: float


@dataclass(frozen=True)
class Rate:
    """Number of calls, of `calls`, in which something happened, and the interval of its chance,
    from the disjoint calls alone.

    `in_recording` is the interval over all calls as if they were independent.
    """

    count: int
    calls: int
    interval: RateInterval
    in_recording: RateInterval

    @property
    def share(self) -> float:
        """Share of the calls, 0 .. 1; nan without calls."""
        return self.count / self.calls if self.calls else math.nan


@dataclass(frozen=True)
class Effect:
    """Injected ratio over all recorded blocks: the estimate of `block_ranks` and its 95 %
    interval."""

    ratio: float
    low: float
    high: float
    blocks: int


@dataclass(frozen=True)
class ConditionResult:
    """Results of the calls of one condition. Without an effect it is base against itself."""

    condition: str
    calls: int
    disjoint: int
    exits: dict[Exit, Rate]
    # of the injected cell: regressed, inconclusive, ok (or improved), unstable
    verdicts: dict[str, Rate]
    others_regressed: Rate  # calls in which a cell with nothing injected was called regressed
    yardsticks: dict[str, Rate]
    median_s: float
    effect: Effect | None = None
    wanted: float | None = None

    @property
    def false_alarms(self) -> Rate:
        """Rate of the calls of base against itself that ended as regressed."""
        return self.exits[Exit.REGRESSED]


def clopper_pearson(count: int, trials: int, level: float = LEVEL) -> RateInterval:
    """Return the exact interval of a chance that came true in `count` of `trials`; 0 to 1 without
    trials."""
    from scipy.stats import beta

    if not 0 <= count <= trials:
        raise ValueError(f"{count} of {trials}")
    miss = (1 - level) / 2
    low = 0.0 if count == 0 else float(beta.ppf(miss, count, trials - count + 1))
    high = 1.0 if count == trials else float(beta.ppf(1 - miss, count + 1, trials - count))
    return RateInterval(low, high)


def rate(calls: Sequence[Call], happened: Callable[[Call], bool]) -> Rate:
    """Return the rate at which something happened."""
    disjoint = [call for call in calls if call.disjoint]
    count = sum(map(happened, calls))
    return Rate(
        count,
        len(calls),
        clopper_pearson(sum(map(happened, disjoint)), len(disjoint)),
        clopper_pearson(count, len(calls)),
    )


def row(
    condition: str,
    calls: Sequence[Call],
    cell: GateCell | None = None,
    *,
    program_cells: Iterable[GateCell] = (),
    effect: Effect | None = None,
    wanted: float | None = None,
) -> ConditionResult:
    """Return the results of the calls of a condition. `cell` has the injected work, and so have all
    cells of its program (`program_cells`).

    A call that ended as unstable says nothing about the cell, whatever its numbers: it counts as
    unstable only.
    """
    injected = {one.name for one in program_cells}
    return ConditionResult(
        condition,
        len(calls),
        sum(call.disjoint for call in calls),
        {code: rate(calls, lambda call, code=code: call.exit_code == code) for code in Exit},
        {}
        if cell is None
        else {word: rate(calls, _said(cell.name, word)) for word in CELL_RESULTS},
        rate(
            calls,
            lambda call: (
                call.exit_code is not Exit.HOST_UNSTABLE
                and any(
                    said is Verdict.REGRESSED
                    for name, said in call.verdicts.items()
                    if name not in injected
                )
            ),
        ),
        {name: rate(calls, lambda call, name=name: call.slower[name]) for name in YARDSTICKS},
        statistics.median(call.seconds for call in calls) if calls else math.nan,
        effect,
        wanted,
    )


CELL_RESULTS = ("regressed", "inconclusive", "ok", "unstable")
"""Possible results of a call for the injected cell. `ok` includes improved, which would be a worse
error."""


def said(call: Call, cell: str) -> str:
    """Return one of CELL_RESULTS. Raises ValueError if the call has no such verdict, which cannot
    happen in a replay."""
    if call.exit_code is Exit.HOST_UNSTABLE:
        return "unstable"
    match call.verdicts[cell]:
        case Verdict.REGRESSED:
            return "regressed"
        case Verdict.INCONCLUSIVE:
            return "inconclusive"
        case Verdict.OK | Verdict.IMPROVED:
            return "ok"
        case other:
            raise ValueError(f"{cell}: {other}")


def _said(cell: str, word: str) -> Callable[[Call], bool]:
    return lambda call: said(call, cell) == word


def effect_of(cell: GateCell, blocks: Iterable[RecordedBlock]) -> Effect | None:
    """Return the measured ratio; None without blocks."""
    base: list[float] = []
    head: list[float] = []
    for block in blocks:
        base += block.of(cell.name, BASE)
        head += block.of(cell.name, HEAD)
    if not base:
        return None
    measured = Blocks(on_scale(cell, base, head))
    low, high = measured.low((1 - LEVEL) / 2), measured.high((1 - LEVEL) / 2)
    return Effect(
        math.exp(measured.estimate()),
        math.exp(low),
        math.exp(high) if high < 700 else math.inf,
        measured.n,
    )
