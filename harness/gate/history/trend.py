"""Series of a history: a cell on a host, in the order of time, with its changes of level and the trend since the last one.

Hosts stay apart: numbers of two hosts (`harness.gate.host_key`) are never in one series unless `join_hosts` asks for it, and
such a series says so. Results count if head gave numbers that can be trusted: not where its results were wrong, and not where
the control had failed. Those are kept and drawn, and enter no level, change or trend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from harness.gate.history.change_points import ALPHA, ChangePoint, change_points
from harness.gate.verdict import Verdict

IDENTITY = ["suite", "cell", "metric", "unit", "lower_is_better"]
MIN_FOR_TREND = 8  # results: a guess; the test needs 5 at least to reach 0.05 at all
PER = 10  # results that a trend is told for


@dataclass(frozen=True)
class Change:
    """A change of level: after the result `before` and up to the result `after` (rows of the series), by `point.ratio`."""

    point: ChangePoint
    before: pd.Series
    after: pd.Series
    worse: bool

    @property
    def another_host(self) -> bool:
        """Whether the two results beside it are of two hosts: only in a joined series."""
        return self.before["host_key"] != self.after["host_key"]


@dataclass(frozen=True)
class Series:
    """A cell's results on a host, or on several that were joined. `rows`: all of them; `counted`: those that can be trusted."""

    suite: str
    cell: str
    metric: str
    unit: str
    lower_is_better: bool
    hosts: tuple[str, ...]
    rows: pd.DataFrame
    counted: pd.DataFrame
    changes: tuple[Change, ...] = field(default=())
    level: float | None = None  # [unit] median of the results since the last change
    level_results: int = 0  # how many those are
    trend: float | None = None  # ratio over PER results since then; 1: none that is significant; None: too few to say

    @property
    def joined(self) -> bool:
        """Whether results of several hosts are in it."""
        return len(self.hosts) > 1

    @property
    def host(self) -> str:
        """What every line and panel about it says of its host."""
        return f"{len(self.hosts)} HOSTS JOINED" if self.joined else self.hosts[0]

    def is_worse(self, ratio: float) -> bool:
        """Whether a ratio of later over earlier values is bad news."""
        return (ratio > 1) == self.lower_is_better


def series_of(table: pd.DataFrame, *, join_hosts: bool = False, alpha: float = ALPHA) -> list[Series]:
    """The series of a history (`store.read`), by suite, cell and host. `alpha` holds for each of them."""
    median = table["head_median"]
    table = table.assign(head_median=median.where(np.isfinite(median)))  # an infinite one is as good as none
    keys = IDENTITY if join_hosts else [*IDENTITY, "host_key"]
    return [_series(rows, alpha) for _, rows in table.groupby(keys, sort=True)]


def _series(rows: pd.DataFrame, alpha: float) -> Series:
    first = rows.iloc[0]
    untrusted = rows["control_failed"] | rows["verdict"].isin([Verdict.WRONG, Verdict.FAILED])
    counted = rows[rows["head_median"].gt(0) & ~untrusted]
    values = counted["head_median"].to_numpy(float)
    points = change_points(values, alpha)
    since = values[points[-1].index :] if points else values
    lower_is_better = bool(first["lower_is_better"])
    return Series(
        suite=first["suite"],
        cell=first["cell"],
        metric=first["metric"],
        unit=first["unit"],
        lower_is_better=lower_is_better,
        hosts=tuple(sorted(rows["host_key"].unique())),
        rows=rows,
        counted=counted,
        changes=tuple(_changes(points, counted, lower_is_better)),
        level=float(np.median(since)) if len(since) else None,
        level_results=len(since),
        trend=trend(since, alpha),
    )


def _changes(points: Sequence[ChangePoint], counted: pd.DataFrame, lower_is_better: bool) -> Iterator[Change]:
    for point in points:
        before, after = counted.iloc[point.index - 1], counted.iloc[point.index]
        yield Change(point, before, after, worse=(point.ratio > 1) == lower_is_better)


def trend(values: np.ndarray, alpha: float = ALPHA) -> float | None:
    """How much values grow in `PER` results, as a ratio: the slope of Theil and Sen over their logarithms, or 1 if Kendall's
    test for an order finds none at `alpha`. None for fewer than `MIN_FOR_TREND` values.
    """
    from scipy.stats import kendalltau, theilslopes

    if len(values) < MIN_FOR_TREND:
        return None
    places = np.arange(len(values))
    if np.ptp(values) == 0 or kendalltau(places, values).pvalue > alpha:
        return 1.0
    return float(np.exp(PER * theilslopes(np.log(values), places).slope))
