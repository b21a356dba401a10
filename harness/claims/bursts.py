"""Reaction of load balancers to a change of load: bursts of expensive tuples, and silences of the
source.

`harness.experiments.load_changes` says where they are in a run, for the figures too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import numpy as np

from harness.claims.reading import Missing, RangedNumber, of_runs
from harness.claims.timeline import RunTimeline
from harness.experiments.load_changes import expensive_bursts, silences


def stretches(run: RunTimeline) -> list[np.ndarray]:
    """Return the periods whose middle lies in each burst of expensive tuples, or silence of the
    source.

    Raises Missing if the run has none, or begins with one.
    """
    found = (silences if run.experiment == "elb_bursty_rate" else expensive_bursts)(run.rows)
    chosen = [(run.middle_s >= burst.begin_s) & (run.middle_s < burst.end_s) for burst in found]
    chosen = [periods for periods in chosen if periods.any()]
    if not chosen or chosen[0][0]:
        raise Missing(f"no burst begins in a run of {run.experiment}")
    return chosen


def calm_level(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Median level before the first burst."""
    return of_runs([float(median(before.level)) for before, _, _ in map(_around, runs)])


def burst_throughput(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Throughput in the first period that lies in a burst, over that before it."""
    around = [_around(run) for run in runs]
    return of_runs(
        [within.rate[0] / before.rate.mean() for before, within, _ in around if before.rate.any()]
    )


def burst_level(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Highest level in the bursts."""
    return of_runs([_highest(run) for run in runs])


def burst_cpu(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Busy share of the machine's CPUs at the highest level in the bursts."""
    found = []
    for run in runs:
        bursting = np.any(stretches(run), axis=0)
        found.append(
            float(
                run.rows["system_cpu"]
                .to_numpy(float)[bursting & (run.level == _highest(run))]
                .mean()
            )
        )
    return of_runs(found)


def burst_climb(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Highest level in the bursts over the median one before them."""
    return of_runs(
        [
            _highest(run) / float(median(before.level))
            for run, (before, _, _) in zip(runs, map(_around, runs), strict=True)
        ]
    )


def burst_recovery(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Throughput in the second half of a burst over that of its first period."""
    found = []
    for run in runs:
        rate = run.rate[stretches(run)[0]]
        found.append(
            float(rate[len(rate) // 2 :].mean() / rate[0])
            if len(rate) > 2 and rate[0] > 0
            else np.nan
        )
    return of_runs(found)


def level_after_burst(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Last level after a burst, before the next one begins, over the highest from its beginning
    on; the greatest of a run's bursts.

    A burst counts if the periods that follow it are enough to come down to one port step by step.
    """
    return of_runs([max(_levels_after(run), default=math.nan) for run in runs])


def level_in_silence(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Lowest level in a silence of the source over the highest since the end of the silence before;
    the greatest of a run's silences.
    """
    return of_runs([max(_silent_levels(run), default=math.nan) for run in runs])


def level_on_return(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Highest level while the source sends again over the lowest in the silence before; the least
    of a run's silences.
    """
    return of_runs([min(_returning_levels(run), default=math.nan) for run in runs])


def silent_congestion(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Mean congestion in silences of the source over that while it sends."""
    found = []
    for run in runs:
        congestion, silent = run.rows["congestion"].to_numpy(float), np.any(stretches(run), axis=0)
        if congestion[~silent].any():
            found.append(float(congestion[silent].mean() / congestion[~silent].mean()))
    return of_runs(found)


def _around(run: RunTimeline) -> tuple[RunTimeline, RunTimeline, RunTimeline]:
    """Return the parts of a run before its first burst, in it, and from then to the next burst."""
    (begin, end, following), *_ = _bounds(run)
    parts = (slice(0, begin), slice(begin, end + 1), slice(end + 1, following))
    before, within, after = (
        RunTimeline(run.rows.iloc[part].reset_index(drop=True), run.experiment) for part in parts
    )
    return before, within, after


def _bounds(run: RunTimeline) -> list[tuple[int, int, int]]:
    """Return the first and the last period of each burst, and the first one of the next burst."""
    ends = [np.flatnonzero(burst)[[0, -1]] for burst in stretches(run)]
    following = [int(begin) for begin, _ in ends[1:]] + [len(run.rows)]
    return [(int(b), int(e), f) for (b, e), f in zip(ends, following, strict=True)]


def _levels_after(run: RunTimeline) -> Iterator[float]:
    for begin, end, following in _bounds(run):
        highest = run.level[begin:following].max()
        if following - end >= highest > 0:
            yield float(run.level[following - 1] / highest)


def _silent_levels(run: RunTimeline) -> Iterator[float]:
    since = 0
    for silence in stretches(run):
        begin, end = np.flatnonzero(silence)[[0, -1]]
        yield float(run.level[begin : end + 1].min() / run.level[since : end + 1].max())
        since = end + 1


def _returning_levels(run: RunTimeline) -> Iterator[float]:
    for begin, end, following in _bounds(run):
        if end + 1 < following:
            yield float(run.level[end + 1 : following].max() / run.level[begin : end + 1].min())


def _highest(run: RunTimeline) -> float:
    return float(max(run.level[burst].max() for burst in stretches(run)))


MEASURES: dict[str, tuple[str, Callable[[list[RunTimeline]], RangedNumber]]] = {
    "calm_level": ("threads", calm_level),
    "burst_throughput": ("ratio", burst_throughput),
    "burst_level": ("threads", burst_level),
    "burst_cpu": ("share", burst_cpu),
    "burst_climb": ("ratio", burst_climb),
    "burst_recovery": ("ratio", burst_recovery),
    "level_after_burst": ("ratio", level_after_burst),
    "level_in_silence": ("ratio", level_in_silence),
    "level_on_return": ("ratio", level_on_return),
    "silent_congestion": ("ratio", silent_congestion),
}
"""Name -> unit and function."""
