"""What other tools would have said of the same samples, by the rules that they come with.

They pool all processes of a side: none of them pairs. Values are times (lower is better), at least one a side; for a metric
where higher is better, pass reciprocals.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from scipy import stats

ALPHA = 0.05  # the default of all that test

Yardstick = Callable[[Sequence[float], Sequence[float]], bool]


def mean_5_percent(base: Sequence[float], head: Sequence[float]) -> bool:
    """Head's mean is more than 5 % above base's: pytest-benchmark's `--benchmark-compare-fail=mean:5%`."""
    return statistics.fmean(head) > 1.05 * statistics.fmean(base)


def mann_whitney(base: Sequence[float], head: Sequence[float]) -> bool:
    """Two-sided Mann-Whitney U at 0.05, and head's median is the higher: benchstat, and google benchmark's compare.py."""
    slower = statistics.median(head) > statistics.median(base)
    return slower and bool(stats.mannwhitneyu(base, head, alternative="two-sided").pvalue < ALPHA)


def welch(base: Sequence[float], head: Sequence[float]) -> bool:
    """Two-sided Welch's t at 0.05, and head's mean is the higher: hyperfine's welch_ttest.py.

    pyperf takes Student's t: the same statistic if both sides have as many samples, with hardly fewer degrees of freedom here.
    """
    if statistics.fmean(head) <= statistics.fmean(base):
        return False
    if len(set(base)) == len(set(head)) == 1:  # of values that do not scatter: t is infinite, unless there is one value a side
        return min(len(base), len(head)) > 1
    return bool(stats.ttest_ind(base, head, equal_var=False).pvalue < ALPHA)


YARDSTICKS: Mapping[str, Yardstick] = {"mean:5%": mean_5_percent, "Mann-Whitney 0.05": mann_whitney, "Welch 0.05": welch}
