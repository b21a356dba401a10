"""Measured and predicted throughput of a case, side by side."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from harness.measurement.rank_interval import median_interval
from harness.validation.cases import Case, number_name
from harness.validation.state import fits

STABLE_INTERVAL = 0.20
"""Share of its median beyond which an interval makes a case *unstable*. A single run, which has no
interval, makes it unstable, too. Unstable cases are reported, and marked."""

DISTURBED_SHARE = 0.05
"""Mean share of the CPUs that other processes took, above which a case is *disturbed*: the
simulator does not model other processes."""


@dataclass(frozen=True)
class CaseComparison:
    """Rates of a case at the sinks [tuples/s]; None if not known. `low` and `high`: ends of the
    median's interval.
    """

    case: Case
    measured: float | None = None
    low: float | None = None
    high: float | None = None
    runs: int = 0  # number of runs in the median
    failed: int = 0
    unsettled: int = 0
    # the median is of unsettled runs, since no run of the case settled
    unsettled_used: bool = False
    other_state: int = 0  # runs in another state of the machine than the profile describes
    other_state_used: bool = False  # the median is of such runs, since there are no others
    predicted: float | None = None  # the median of its runs
    predicted_low: float | None = None  # the least and the greatest of the predicting runs
    predicted_high: float | None = None
    predicted_unsettled: int = 0  # unsettled ones among the predicting runs
    failure: str | None = None  # why nothing was predicted
    # share of the CPUs that other processes took while it was measured, mean of the runs
    others: float = 0.0
    # naive predictions (harness/validation/baselines.py)
    bottleneck: float | None = None
    usl: float | None = None

    @property
    def attempted(self) -> int:
        """Number of all runs, whatever their outcome."""
        left_out = (0 if self.unsettled_used else self.unsettled) + (
            0 if self.other_state_used else self.other_state
        )
        return self.runs + self.failed + left_out

    @property
    def error(self) -> float | None:
        """Predicted over measured, less 1: -0.2 if the prediction is a fifth too low."""
        if not self.measured or self.predicted is None:
            return None
        return self.predicted / self.measured - 1

    @property
    def unstable(self) -> bool:
        """True if the runs differ too much to say what the right prediction is, or if a single run
        cannot show it.
        """
        return self.runs == 1 or _reaches_far(self.measured, self.low, self.high)

    @property
    def scattered(self) -> bool:
        """True if the predicting runs differ as much."""
        return _reaches_far(self.predicted, self.predicted_low, self.predicted_high)

    @property
    def disturbed(self) -> bool:
        """True if other processes were active during the measurement."""
        return self.others > DISTURBED_SHARE

    @property
    def doubtful(self) -> bool:
        """True if the measurement does not quite match the predicted situation, or if one of the
        two is of runs that never settled.
        """
        unsettled = self.unsettled_used or self.predicted_unsettled > 0
        return self.unstable or self.disturbed or self.other_state_used or unsettled


def _reaches_far(median: float | None, low: float | None, high: float | None) -> bool:
    if not median or low is None or high is None:
        return False
    return low < (1 - STABLE_INTERVAL) * median or high > (1 + STABLE_INTERVAL) * median


def compare(
    cases: Sequence[Case],
    measured: Iterable[dict[str, Any]],
    predicted: Iterable[dict[str, Any]],
    expected_ns: float | None = None,
) -> list[CaseComparison]:
    """Return a comparison for each case, from the records of both kinds.

    The median is over the runs that are correct, made in the state of the machine that the profile
    describes (a line's hand-off takes `expected_ns`), and settled; over the unsettled ones, or
    those of another state, if there are no others. The prediction is the median of its runs, and
    None if one of them failed.
    """
    runs: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in measured:
        runs[record["cell"], record["arm"]].append(record)
    forecasts: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in predicted:
        forecasts[record["cell"], record["arm"]].append(record)
    return [
        _compare(case, runs[case.cell, case.arm], forecasts[case.cell, case.arm], expected_ns)
        for case in cases
    ]


def _compare(
    case: Case,
    runs: Sequence[dict[str, Any]],
    forecasts: Sequence[dict[str, Any]],
    expected_ns: float | None,
) -> CaseComparison:
    good = [run for run in runs if _is_good(run)]
    here = [run for run in good if fits(run, expected_ns)]
    usable = here or good
    settled = [run for run in usable if run["settled"]]
    used = settled or usable
    middle = median_interval([case.rate(run) for run in used]) if used else (None, None, None)
    bad = next((each for each in forecasts if not _is_good(each)), None)
    failure = (
        None
        if bad is None
        else (bad["error"] or "the simulated run was not correct").splitlines()[0]
    )
    foreseen = [case.rate(each) for each in forecasts] if failure is None else []
    return CaseComparison(
        case,
        *middle,
        runs=len(used),
        failed=len(runs) - len(good),
        unsettled=len(usable) - len(settled),
        unsettled_used=bool(used) and not settled,
        other_state=len(good) - len(here),
        other_state_used=bool(good) and not here,
        predicted=statistics.median(foreseen) if foreseen else None,
        predicted_low=min(foreseen, default=None),
        predicted_high=max(foreseen, default=None),
        predicted_unsettled=sum(not each["settled"] for each in forecasts)
        if failure is None
        else 0,
        failure=failure,
        others=statistics.fmean(map(_others, used)) if used else 0.0,
    )


def _is_good(run: dict[str, Any]) -> bool:
    return run["correct"] and run["error"] is None and run["sink_tuples_per_s"] is not None


def _others(run: dict[str, Any]) -> float:
    samples = run["samples"]
    return statistics.fmean(sample["others_cpu"] for sample in samples) if samples else 0.0


@dataclass(frozen=True)
class Errors:
    """Summary of prediction errors over comparisons, at least one of which has an error."""

    cases: int
    median: float  # of the absolute errors
    worst: CaseComparison  # the one with the largest absolute error
    bias: float  # median of the signed errors
    within: float  # share of the cases whose absolute error is at most MEDIAN_TARGET


MEDIAN_TARGET = 0.15
WORST_TARGET = 0.40


def errors(comparisons: Iterable[CaseComparison]) -> Errors | None:
    """Return the errors of the comparisons that have one; None if none has."""
    known = [each for each in comparisons if each.error is not None]
    if not known:
        return None
    sizes = [abs(each.error) for each in known]
    return Errors(
        cases=len(known),
        median=statistics.median(sizes),
        worst=max(known, key=lambda each: abs(each.error)),
        bias=statistics.median(each.error for each in known),
        within=statistics.fmean(size <= MEDIAN_TARGET for size in sizes),
    )


GROUPINGS: dict[str, Callable[[Case], object]] = {
    "model": lambda case: case.arm,
    "topology": lambda case: case.topology,
    "cost": lambda case: number_name(case.cost),
    "payload": lambda case: number_name(case.payload),
    "graph": lambda case: case.kind,
}


def grouped(
    comparisons: Sequence[CaseComparison], names: Iterable[str]
) -> Iterator[tuple[str, object, list[CaseComparison]]]:
    """Yield the groups of comparisons by each of these names of `GROUPINGS`: the name, the value
    that the cases share, the comparisons.
    """
    for name in names:
        of = GROUPINGS[name]
        for value in dict.fromkeys(of(each.case) for each in comparisons):
            yield name, value, [each for each in comparisons if of(each.case) == value]


def errors_by(comparisons: Sequence[CaseComparison]) -> list[tuple[str, object, Errors]]:
    """Return the errors of cases that share a model, a topology, a cost, a payload or a kind of
    graph: the name of the group, its value, the errors.
    """
    found = ((name, value, errors(each)) for name, value, each in grouped(comparisons, GROUPINGS))
    return [row for row in found if row[2] is not None]
