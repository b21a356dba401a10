"""Elastic runs over time: numbers of single runs, from the timeline table.

The level is the number of active scheduler threads, or of active output ports where a load balancer
decides. The *end* of a run is the last third of its time: P17 (§5) measures the last 25 s of runs,
and does not say how long they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, median
from typing import TYPE_CHECKING

import numpy as np

from harness.claims.evidence import Wanted
from harness.claims.reading import Missing, RangedNumber, of_runs, of_spread, together

if TYPE_CHECKING:
    import pandas as pd

END_SHARE = 1 / 3  # of a run's time
BUSY_CPU_SHARE = 0.8  # of the CPUs: P17 (§4.2.3) does not climb above
# throughputs that differ by less are the same, to P17 (§4.2.2) and to ElasticLoadBalance
SAME_THROUGHPUT_WITHIN = 0.05


@dataclass(frozen=True)
class RunTimeline:
    """Periods of one run in the order of time."""

    rows: pd.DataFrame
    experiment: str

    @cached_property
    def level(self) -> np.ndarray:
        """Active threads, or active ports, of each period."""
        column = "active_ports" if self.is_balanced else "threads_active"
        return self.rows[column].to_numpy(float)

    @cached_property
    def rate(self) -> np.ndarray:
        """Throughput of each period [tuples/s]: over all operators (P17 §5.4), with a balancer at
        the sinks (ELB).
        """
        return self.rows[
            "throughput_sink" if self.is_balanced else "throughput_submitted"
        ].to_numpy(float)

    @cached_property
    def is_balanced(self) -> bool:
        """True if a load balancer decides on the level."""
        return bool(self.rows["active_ports"].notna().any())

    @cached_property
    def middle_s(self) -> np.ndarray:
        """Middle of each period [s since the run's start]."""
        return (self.rows["time_s"] - self.rows["elapsed_s"] / 2).to_numpy(float)

    @cached_property
    def end(self) -> np.ndarray:
        """Mask of the periods in the end of the run."""
        last = float(self.rows["time_s"].iloc[-1])
        chosen = self.middle_s >= (1 - END_SHARE) * last
        return chosen if chosen.any() else np.arange(len(self.rows)) == len(self.rows) - 1

    def mean_rate_at(self) -> dict[float, float]:
        """Return the mean throughput at each level [tuples/s]."""
        return {
            float(level): float(self.rate[self.level == level].mean())
            for level in np.unique(self.level)
        }

    @cached_property
    def final_level(self) -> float:
        """Median level of the run's end."""
        return float(median(self.level[self.end]))

    @cached_property
    def final_rate(self) -> float:
        """Mean throughput of the run's end [tuples/s]."""
        return float(self.rate[self.end].mean())


def runs_of(timeline: pd.DataFrame, arm: str, wanted: Wanted) -> list[RunTimeline]:
    """Return the runs of an arm that did not fail. Raises Missing if there is none."""
    rows = timeline[(timeline["arm"] == arm)] if len(timeline) else timeline
    if rows.empty:
        raise Missing(f"no run of {arm} over time in {wanted.name}")
    good = rows[~rows["failed"].astype(bool)]
    if good.empty:
        raise Missing(f"all runs of {arm} over time failed in {wanted.name}")
    runs = good.sort_values("time_s", kind="stable").groupby("run_id", sort=True)
    return [RunTimeline(run.reset_index(drop=True), wanted.experiment) for _, run in runs]


def first_level(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Level of the first period."""
    return of_runs([run.level[0] for run in runs])


def highest_level(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Highest level that a run explored."""
    return of_runs([run.level.max() for run in runs])


def final_level(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Median level of a run's end."""
    return of_runs([run.final_level for run in runs])


def final_levels(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Lowest and highest level of a run's end."""
    lowest, highest = (
        of_runs([float(end(run.level[run.end])) for run in runs]) for end in (np.min, np.max)
    )
    return together(lowest, highest)


def level_range(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Highest less lowest level in the ends of all runs, over the mean final level."""
    levels = np.concatenate([run.level[run.end] for run in runs])
    return of_spread(float(np.ptp(levels)) / fmean(run.final_level for run in runs), len(runs))


def highest_less_final(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Highest level less the final one."""
    return of_runs([run.level.max() - run.final_level for run in runs])


def back_off(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Highest level over the final one."""
    return of_runs([run.level.max() / run.final_level for run in runs if run.final_level > 0])


def ramp(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Share of a run's time that has passed when its highest level is first reached."""
    return of_runs(
        [run.middle_s[int(run.level.argmax())] / run.rows["time_s"].iloc[-1] for run in runs]
    )


def highest_over_final(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Mean throughput at the highest level over that of the run's end."""
    return of_runs(
        [run.mean_rate_at()[run.level.max()] / run.final_rate for run in runs if run.final_rate > 0]
    )


def final_over_best(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Mean throughput at the final level over that of the best level which the run explored."""
    shares = []
    for run in runs:
        rates = run.mean_rate_at()
        nearest = min(rates, key=lambda level: abs(level - run.final_level))
        shares.append(rates[nearest] / max(rates.values()) if max(rates.values()) > 0 else np.nan)
    return of_runs(shares)


def throughput_range(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Greatest less least throughput of the runs' ends, over their mean."""
    rates = [run.final_rate for run in runs]
    if len(rates) < 2 or fmean(rates) <= 0:
        raise Missing("one run shows no variation between runs")
    return of_spread((max(rates) - min(rates)) / fmean(rates), len(runs))


def changes(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Share of the periods of a run's end that change the level."""
    return of_runs(
        [float((np.diff(run.level[run.end]) != 0).mean()) for run in runs if run.end.sum() > 1]
    )


def oscillation(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Greatest rise of the level within a run's end, or its greatest fall if that is less."""
    return of_runs([min(_rise(end), _rise(-end)) for end in (run.level[run.end] for run in runs)])


def _rise(values: np.ndarray) -> float:
    """Return the most by which a value is above one before it."""
    return float((values - np.minimum.accumulate(values)).max())


def noise(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Relative standard deviation of throughput between successive periods at one level."""
    found = []
    for run in runs:
        stays = (np.diff(run.level) == 0) & (run.rate[1:] > 0) & (run.rate[:-1] > 0)
        if stays.sum() >= 3:  # fewer say nothing
            steps = np.diff(np.log(np.maximum(run.rate, 1e-300)))[stays]
            # the difference of two has twice the variance
            found.append(float(np.sqrt((steps**2).mean() / 2)))
    return of_runs(found)


def paying_climbs(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Share of the steps up, until the highest level, after which throughput was higher by more
    than 5 %.
    """
    found = []
    for run in runs:
        until = int(run.level.argmax())
        ups = np.flatnonzero(np.diff(run.level[: until + 1]) > 0)
        if len(ups):
            found.append(
                float((run.rate[ups + 1] > (1 + SAME_THROUGHPUT_WITHIN) * run.rate[ups]).mean())
            )
    return of_runs(found)


def busy_climbs(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Steps up before which the CPUs were busier than 80 %, however long a law looks back: but not
    beyond its last step up.

    Raises Missing if the CPUs of no run were ever so busy, as nothing then kept a law from it.
    """
    found = []
    for run in runs:
        cpu = run.rows["system_cpu"].to_numpy(float)
        if (cpu > BUSY_CPU_SHARE).any():
            ups = np.flatnonzero(np.diff(run.level) > 0)
            since = [0, *(ups[:-1] + 1)]
            found.append(
                float(
                    sum(
                        _least_mean(cpu[begin : up + 1]) > BUSY_CPU_SHARE
                        for begin, up in zip(since, ups, strict=False)
                    )
                )
            )
    if not found:
        raise Missing(
            f"no run of {runs[0].experiment} found the CPUs busier than {BUSY_CPU_SHARE:.0%}"
        )
    return of_runs(found)


def _least_mean(values: np.ndarray) -> float:
    """Return the least of the means of the last value, the last two, and so on."""
    latest = values[::-1]
    return float((latest.cumsum() / np.arange(1, len(latest) + 1)).min())


def cpu(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Busy share of the machine's CPUs in a run's end."""
    return of_runs([float(run.rows["system_cpu"].to_numpy(float)[run.end].mean()) for run in runs])


def submitted_over_sink(runs: Sequence[RunTimeline]) -> RangedNumber:
    """Throughput over all operators over that at the sinks, whole runs."""
    sums = [run.rows[["throughput_submitted", "throughput_sink"]].sum() for run in runs]
    return of_runs(
        [
            each["throughput_submitted"] / each["throughput_sink"]
            for each in sums
            if each["throughput_sink"] > 0
        ]
    )


MEASURES: dict[str, tuple[str, Callable[[list[RunTimeline]], RangedNumber]]] = {
    "first_level": ("threads", first_level),
    "highest_level": ("threads", highest_level),
    "final_level": ("threads", final_level),
    "final_levels": ("threads", final_levels),
    "level_range": ("share", level_range),
    "highest_less_final": ("threads", highest_less_final),
    "back_off": ("ratio", back_off),
    "ramp": ("share", ramp),
    "highest_over_final": ("ratio", highest_over_final),
    "final_over_best": ("ratio", final_over_best),
    "throughput_range": ("share", throughput_range),
    "changes": ("share", changes),
    "oscillation": ("threads", oscillation),
    "noise": ("share", noise),
    "paying_climbs": ("share", paying_climbs),
    "busy_climbs": ("steps", busy_climbs),
    "cpu": ("share", cpu),
    "submitted_over_sink": ("ratio", submitted_over_sink),
}
"""Name -> unit and function."""
