"""Verdicts of other tools on the same samples, by their own default rules.

They pool all processes of a side; none of them forms pairs. Values are times (lower is better), at
least one on each side; for a metric where higher is better, pass reciprocals.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from scipy import stats

ALPHA = 0.05  # the default of all tools that test

Yardstick = Callable[[Sequence[float], Sequence[float]], bool]


def mean_5_percent(base: Sequence[float], head: Sequence[float]) -> bool:
    """Return True if head's mean is more than 5 % above base's: pytest-benchmark's
    `--benchmark-compare-fail=mean:5%`."""
    return statistics.fmean(head) > 1.05 * statistics.fmean(base)


def mann_whitney(base: Sequence[float], head: Sequence[float]) -> bool:
    """Return True if the two-sided Mann-Whitney U test rejects at 0.05 and head's median is higher:
    benchstat, and google benchmark's compare.py."""
    slower = statistics.median(head) > statistics.median(base)
    return slower and bool(stats.mannwhitneyu(base, head, alternative="two-sided").pvalue < ALPHA)


def welch(base: Sequence[float], head: Sequence[float]) -> bool:
    """Return True if Welch's two-sided t-test rejects at 0.05 and head's mean is higher:
    hyperfine's welch_ttest.py.

    pyperf uses Student's t: the same statistic if both sides have the same number of samples, with
    slightly more degrees of freedom.
    """
    if statistics.fmean(head) <= statistics.fmean(base):
        return False
    # values without scatter: t is infinite, unless there is one value on each side
    if len(set(base)) == len(set(head)) == 1:
        return min(len(base), len(head)) > 1
    return bool(stats.ttest_ind(base, head, equal_var=False).pvalue < ALPHA)


YARDSTICKS: Mapping[str, Yardstick] = {
    "mean:5%": mean_5_percent,
    "Mann-Whitney 0.05": mann_whitney,
    "Welch 0.05": welch,
}
