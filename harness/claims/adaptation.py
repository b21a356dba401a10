"""How runs adapted that place queues: how long it took, what came of it, and what they did when their load changed (M19).

A period is a row of the timeline. When the load of a run changes, `harness.plots.mw19_fig13` says: there is one definition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

import numpy as np

from harness.claims.reading import Missing, Reading, of_runs
from harness.claims.timeline import Run

STILL = 10  # periods at a run's end in which nothing changes, if it has settled: as on the bench of placements


def settling(runs: Sequence[Run]) -> Reading:
    """Periods until the last one after which threads or queues changed. Raises Missing if a run never settled."""
    return of_runs([float(_settled_after(run) + 1) for run in runs])


def settling_s(runs: Sequence[Run]) -> Reading:
    """Seconds until neither threads nor queues changed any more. Raises Missing as above."""
    return of_runs([_seconds_until(run, _settled_after(run)) for run in runs])


def final_throughput(runs: Sequence[Run]) -> Reading:
    """Throughput at the sinks in a run's end."""
    return of_runs([float(_sink(run)[run.end].mean()) for run in runs])


def final_over_first(runs: Sequence[Run]) -> Reading:
    """Throughput at the sinks in a run's end over that of the first period in which a tuple arrived."""
    found = []
    for run in runs:
        rates = _sink(run)
        moving = rates[rates > 0]
        found.append(float(rates[run.end].mean() / moving[0]) if len(moving) else np.nan)
    return of_runs(found)


def final_queues(runs: Sequence[Run]) -> Reading:
    """Median number of ports with their queue in a run's end."""
    return of_runs([float(median(_queued(run)[run.end])) for run in runs])


def climb_on_change(runs: Sequence[Run]) -> Reading:
    """Level in a run's end over the median one in the last third of the time before its load changed."""
    return of_runs([run.final_level / _before(run, run.level) for run in runs])


def queues_on_change(runs: Sequence[Run]) -> Reading:
    """Ports with their queue in a run's end over the median number in the last third of the time before its load changed."""
    return of_runs([float(median(_queued(run)[run.end])) / max(_before(run, _queued(run)), 1.0) for run in runs])


def gain_on_change(runs: Sequence[Run]) -> Reading:
    """Throughput at the sinks in a run's end over that of the first whole period after its load changed."""
    found = []
    for run in runs:
        after = _sink(run)[_change(run) + 1 :]
        found.append(float(_sink(run)[run.end].mean() / after[0]) if len(after) and after[0] > 0 else np.nan)
    return of_runs(found)


def settling_on_change(runs: Sequence[Run]) -> Reading:
    """Periods from the change of the load until the last one after which threads or queues changed. Raises Missing as above."""
    return of_runs([float(max(0, _settled_after(run) + 1 - _change(run))) for run in runs])


def _sink(run: Run) -> np.ndarray:
    return run.rows["throughput_sink"].to_numpy(float)


def _queued(run: Run) -> np.ndarray:
    return run.rows["queued_ports"].to_numpy(float)


def _last_change(run: Run) -> int:
    """The last period after which threads or queues were others; -1: none."""
    moved = (np.diff(run.level) != 0) | (np.diff(_queued(run)) != 0)
    return int(np.flatnonzero(moved)[-1]) if moved.any() else -1


def _settled_after(run: Run) -> int:
    """The same of a run that has settled. Raises Missing if something changed in its last periods: it may go on for ever."""
    last = _last_change(run)
    if last >= 0 and len(run.level) - 1 - last < STILL:
        told = "was still changing threads or queues when it ended"
        raise Missing(f"a run of {run.experiment} {told}, after {len(run.level)} periods")
    return last


def _seconds_until(run: Run, period: int) -> float:
    return float(run.rows["time_s"].iloc[period]) if period >= 0 else 0.0


def _change(run: Run) -> int:
    """The period in which the load first changed. Raises Missing if the run ended before, or right after."""
    from harness.plots.mw19_fig13 import heavy_phases

    first = next(heavy_phases(run.rows), None)
    ends = run.rows["time_s"].to_numpy(float)
    if first is None or first.begin_s >= ends[-2:].min():
        raise Missing(f"the load of a run of {run.experiment} has not changed")
    return int(np.searchsorted(ends, first.begin_s, side="right"))


def _before(run: Run, values: np.ndarray) -> float:
    change = _change(run)
    if change == 0:
        raise Missing(f"a run of {run.experiment} has no whole period before its load changed")
    return float(median(values[2 * change // 3 : change]))


MEASURES: dict[str, tuple[str, Callable[[list[Run]], Reading]]] = {
    "settling": ("periods", settling),
    "settling_s": ("s", settling_s),
    "final_throughput": ("tuples/s", final_throughput),
    "final_over_first": ("ratio", final_over_first),
    "final_queues": ("ports", final_queues),
    "climb_on_change": ("ratio", climb_on_change),
    "queues_on_change": ("ratio", queues_on_change),
    "gain_on_change": ("ratio", gain_on_change),
    "settling_on_change": ("periods", settling_on_change),
}
"""Name -> unit and function."""
