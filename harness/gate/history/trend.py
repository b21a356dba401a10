"""Series of a history: the results of a cell on a host, in the order of time, with the changes of
their level and the trend since the last change.

Results of two hosts (`harness.gate.host_key`) are never in one series unless `join_hosts` asks for
it, and such a series says so. A result counts if head gave numbers that can be trusted: its results
were not wrong, and the control had not failed. Other results are kept and drawn, but do not affect
any level, change or trend.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from harness.gate.history.change_points import ALPHA, ChangePoint, change_points
from harness.gate.verdict import Verdict

IDENTITY = ["suite", "cell", "metric", "unit", "lower_is_better"]
MIN_FOR_TREND = 8  # results; a guess. The test needs at least 5 to reach 0.05 at all
RESULTS_PER_TREND = 10  # results over which a trend is stated


@dataclass(frozen=True)
class Change:
    """A change of level between two results that follow each other in the series."""

    point: ChangePoint
    before: pd.Series  # row of the last result before it
    after: pd.Series  # row of the first result after it
    worse: bool

    @property
    def another_host(self) -> bool:
        """True if the two results are of two hosts, which happens only in a joined series."""
        return self.before["host_key"] != self.after["host_key"]


@dataclass(frozen=True)
class CellHistory:
    """Results of a cell on a host, or on several joined hosts."""

    suite: str
    cell: str
    metric: str
    unit: str
    lower_is_better: bool
    hosts: tuple[str, ...]
    rows: pd.DataFrame  # all results
    counted: pd.DataFrame  # those that can be trusted
    changes: tuple[Change, ...] = ()
    level: float | None = None  # [unit] median of the results since the last change
    level_results: int = 0  # number of results since the last change
    # growth since then, as a ratio over RESULTS_PER_TREND results; 1: none that is significant;
    # None: too few results
    trend: float | None = None

    @property
    def joined(self) -> bool:
        """True if the series contains results of several hosts."""
        return len(self.hosts) > 1

    @property
    def host(self) -> str:
        """Name of the host, as lines and panels show it."""
        return f"{len(self.hosts)} HOSTS JOINED" if self.joined else self.hosts[0]

    def is_worse(self, ratio: float) -> bool:
        """Return True if a ratio of later over earlier values is a change for the worse."""
        return _is_worse(ratio, self.lower_is_better)


def series_of(
    table: pd.DataFrame, *, join_hosts: bool = False, alpha: float = ALPHA
) -> list[CellHistory]:
    """Return the series of a history (`store.read`), by suite, cell and host.

    `alpha`: level of significance of the changes, and of the trend, of each series.
    """
    median = table["head_median"]
    # an infinite median is as useless as a missing one
    table = table.assign(head_median=median.where(np.isfinite(median)))
    keys = IDENTITY if join_hosts else [*IDENTITY, "host_key"]
    return [_series(rows, alpha) for _, rows in table.groupby(keys, sort=True)]


def _series(rows: pd.DataFrame, alpha: float) -> CellHistory:
    first = rows.iloc[0]
    untrusted = rows["control_failed"] | rows["verdict"].isin([Verdict.WRONG, Verdict.FAILED])
    counted = rows[rows["head_median"].gt(0) & ~untrusted]
    values = counted["head_median"].to_numpy(float)
    points = change_points(values, alpha)
    since = values[points[-1].index :] if points else values
    lower_is_better = bool(first["lower_is_better"])
    return CellHistory(
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


def _changes(
    points: Sequence[ChangePoint], counted: pd.DataFrame, lower_is_better: bool
) -> Iterator[Change]:
    for point in points:
        before, after = counted.iloc[point.index - 1], counted.iloc[point.index]
        yield Change(point, before, after, worse=_is_worse(point.ratio, lower_is_better))


def _is_worse(ratio: float, lower_is_better: bool) -> bool:
    return (ratio > 1) == lower_is_better


def trend(values: np.ndarray, alpha: float = ALPHA) -> float | None:
    """Return the growth of positive values over `RESULTS_PER_TREND` results, as a ratio.

    It follows from the slope of Theil and Sen over the logarithms of the values, or is 1 if
    Kendall's test finds no trend at `alpha`. None for fewer than `MIN_FOR_TREND` values.
    """
    from scipy.stats import kendalltau, theilslopes

    if len(values) < MIN_FOR_TREND:
        return None
    numbers = np.arange(len(values))
    if np.ptp(values) == 0 or kendalltau(numbers, values).pvalue > alpha:
        return 1.0
    return float(np.exp(RESULTS_PER_TREND * theilslopes(np.log(values), numbers).slope))
