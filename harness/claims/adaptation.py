"""Adaptation of runs that place queues: its length, its result, and the reaction to a change of
load (M19).

A period is a row of the timeline. A law saw the throughput over all operators (M19 §2.1); its
result is the throughput at the sinks (§4), which says nothing while new queues fill.
`harness.experiments.load_changes` says when the load of a run changes, for the figures too.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean, median

import numpy as np

from harness.claims.reading import Missing, RangedNumber, of_runs
from harness.claims.timeline import RunTimeline
from harness.experiments.load_changes import heavy_phases

# periods without a change at the end of a settled run, as on the bench of placements
SETTLED_PERIODS = 10


def settling(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Periods until the last one after which threads or queues changed; open upwards if a run still
    did so in its last ten.
    """
    return _bounded(runs, [float(_last_change(run) + 1) for run in runs])


def settling_s(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Seconds until neither threads nor queues changed any more; open as above."""
    return _bounded(runs, [_seconds_until(run, _last_change(run)) for run in runs])


def final_throughput(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Throughput at the sinks in a run's end."""
    return of_runs([float(_sink(run)[run.end].mean()) for run in runs])


def final_over_first(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Throughput at the sinks in a run's end over that of the first period in which a tuple
    arrived.
    """
    found = []
    for run in runs:
        rates = _sink(run)
        moving = rates[rates > 0]
        found.append(float(rates[run.end].mean() / moving[0]) if len(moving) else np.nan)
    return of_runs(found)


def final_queues(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Median number of ports with their queue in a run's end."""
    return of_runs([float(median(_queued(run)[run.end])) for run in runs])


def final_replicas(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Median over a run's end of the replicas of an operator, the mean of those that ever had more
    than one (C-Stream, §5.2).
    """
    return of_runs([float(median(_replicas(run)[run.end])) for run in runs])


def thread_swing(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Factor between throughputs over all operators in successive periods where threads change,
    median.
    """
    return of_runs([_swing(run, np.diff(run.level) != 0) for run in runs])


def queue_swing(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Factor between throughputs over all operators in successive periods where only queues change,
    median.
    """
    return of_runs(
        [_swing(run, (np.diff(run.level) == 0) & (np.diff(_queued(run)) != 0)) for run in runs]
    )


def unsearched_climbs(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Levels higher than any before at which the queues stayed as they were."""
    return of_runs([float(len(_unsearched(run))) for run in runs])


def unsearched_gain(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Throughput over all operators in the first period at such a level over that before it, the
    least of a run.
    """
    gains = [
        [run.rate[up] / run.rate[up - 1] for up in _unsearched(run) if run.rate[up - 1] > 0]
        for run in runs
    ]
    return of_runs([float(min(each)) for each in gains if each])


def highest_over_before(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Throughput at the sinks in the last period of a run's first stay at its highest level over
    that in the one before it.
    """
    found = []
    for run in runs:
        up = int(run.level.argmax())
        if up > 0 and _sink(run)[up - 1] > 0:
            found.append(float(_sink(run)[_until_next(run, up) - 1] / _sink(run)[up - 1]))
    return of_runs(found)


def switch_peak(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Highest throughput at the sinks in a period for which queues came or went, over that of all
    other periods.
    """
    found = []
    for run in runs:
        switched = np.diff(_queued(run)) != 0
        rates = _sink(run)[1:]
        if switched.any() and not switched.all() and rates[~switched].max() > 0:
            found.append(float(rates[switched].max() / rates[~switched].max()))
    return of_runs(found)


def climb_on_change(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Level in a run's end over the median one in the last third of the time before its load
    changed.
    """
    return of_runs([run.final_level / _before(run, run.level) for run in runs])


def queues_on_change(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Ports with their queue in a run's end over the median number in the last third of the time
    before its load changed.
    """
    return of_runs(
        [
            float(median(_queued(run)[run.end])) / max(_before(run, _queued(run)), 1.0)
            for run in runs
        ]
    )


def gain_on_change(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Throughput at the sinks in a run's end over that of the first whole period after its load
    changed.
    """
    found = []
    for run in runs:
        after = _sink(run)[_change(run) + 1 :]
        found.append(
            float(_sink(run)[run.end].mean() / after[0]) if len(after) and after[0] > 0 else np.nan
        )
    return of_runs(found)


def settling_on_change(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Periods from the change of the load until the last one after which threads or queues changed;
    open as above.

    Raises Missing if a run changed neither from then on.
    """
    return _bounded(runs, [float(_reaction(run)) for run in runs])


def _sink(run: RunTimeline) -> np.ndarray:
    return run.rows["throughput_sink"].to_numpy(float)


def _replicas(run: RunTimeline) -> np.ndarray:
    """Return the mean replicas of each period, over the operators that ever had more than one; the
    table lists an operator only then.
    """
    counts = [json.loads(words or "{}") for words in run.rows["replicas"].fillna("")]
    names = set().union(*counts) or {""}
    return np.array([fmean(each.get(name, 1) for name in names) for each in counts])


def _queued(run: RunTimeline) -> np.ndarray:
    return run.rows["queued_ports"].to_numpy(float)


def _swing(run: RunTimeline, chosen: np.ndarray) -> float:
    """Return the median factor between successive periods, over the chosen steps."""
    rates = run.rate
    steps = np.abs(np.log(np.maximum(rates[1:], 1e-300) / np.maximum(rates[:-1], 1e-300)))
    known = chosen & (rates[1:] > 0) & (rates[:-1] > 0)
    return float(np.exp(np.median(steps[known]))) if known.any() else np.nan


def _unsearched(run: RunTimeline) -> list[int]:
    """Return the periods that begin a level higher than any before, if no queue comes or goes at
    that level.
    """
    ups = [up for up in range(1, len(run.level)) if run.level[up] > run.level[:up].max()]
    return [up for up in ups if not np.diff(_queued(run)[up - 1 : _until_next(run, up)]).any()]


def _until_next(run: RunTimeline, period: int) -> int:
    """Return the first later period with another level than this one, or the number of periods."""
    moved = np.flatnonzero(run.level[period:] != run.level[period])
    return period + int(moved[0]) if len(moved) else len(run.level)


def _last_change(run: RunTimeline) -> int:
    """Return the last period after which threads or queues changed; -1 if none."""
    moved = (np.diff(run.level) != 0) | (np.diff(_queued(run)) != 0)
    return int(np.flatnonzero(moved)[-1]) if moved.any() else -1


def _bounded(runs: Sequence[RunTimeline], times: Sequence[float]) -> RangedNumber:
    """Return the mean of the times until the last changes; open upwards if a run changed something
    in its last periods.
    """
    reading = of_runs(times)
    if all(
        len(run.level) - 1 - _last_change(run) >= SETTLED_PERIODS or _last_change(run) < 0
        for run in runs
    ):
        return reading
    return replace(reading, high=math.inf, is_open=True)


def _reaction(run: RunTimeline) -> int:
    periods = _last_change(run) + 1 - _change(run)
    if periods <= 0:
        raise Missing(
            f"a run of {run.experiment} changed neither threads nor queues after its load had "
            "changed"
        )
    return periods


def _seconds_until(run: RunTimeline, period: int) -> float:
    return float(run.rows["time_s"].iloc[period]) if period >= 0 else 0.0


def _change(run: RunTimeline) -> int:
    """Return the period in which the load first changed. Raises Missing if the run ended before, or
    right after.
    """
    first = next(heavy_phases(run.rows), None)
    ends = run.rows["time_s"].to_numpy(float)
    if first is None or first.begin_s >= ends[-2:].min():
        raise Missing(f"the load of a run of {run.experiment} has not changed")
    return int(np.searchsorted(ends, first.begin_s, side="right"))


def _before(run: RunTimeline, values: np.ndarray) -> float:
    change = _change(run)
    if change == 0:
        raise Missing(f"a run of {run.experiment} has no whole period before its load changed")
    return float(median(values[2 * change // 3 : change]))


MEASURES: dict[str, tuple[str, Callable[[list[RunTimeline]], RangedNumber]]] = {
    "settling": ("periods", settling),
    "settling_s": ("s", settling_s),
    "final_throughput": ("tuples/s", final_throughput),
    "final_over_first": ("ratio", final_over_first),
    "final_queues": ("ports", final_queues),
    "final_replicas": ("replicas", final_replicas),
    "thread_swing": ("factor", thread_swing),
    "queue_swing": ("factor", queue_swing),
    "unsearched_climbs": ("levels", unsearched_climbs),
    "unsearched_gain": ("ratio", unsearched_gain),
    "highest_over_before": ("ratio", highest_over_before),
    "switch_peak": ("ratio", switch_peak),
    "climb_on_change": ("ratio", climb_on_change),
    "queues_on_change": ("ratio", queues_on_change),
    "gain_on_change": ("ratio", gain_on_change),
    "settling_on_change": ("periods", settling_on_change),
}
"""Name -> unit and function."""
