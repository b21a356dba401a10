"""Changes of level in a series of results: their positions and sizes.

Candidates come from PELT (Killick, Fearnhead and Eckley, JASA 107(500), 2012), which finds the
segmentation of least cost, with the cost of ranks (Lung-Yut-Fong, Lévy-Leduc and Cappé, JSFdS
156(4), 2015). With ranks, one noisy night has at most the greatest rank, however noisy it was, and
cannot pay for a segment of its own. Both are in the library `ruptures`.

Penalty: one more change must lower the cost by 2 log n, as in the Bayesian information criterion,
for the two numbers that it adds: its position, and the level after it. (Where nothing changed, the
gain of one position is a chi-squared variable with one degree of freedom.) It proposes too many
changes rather than too few, because the test decides.

Position: ranks draw the highest results of a long segment into a short one after it. So each
candidate is moved, between its neighbours, to the position where the absolute deviations from the
medians of its two segments are least.

Test: Mann and Whitney's, two-sided, on two neighbouring segments. The position was chosen among n
because it looks best there, so alpha is shared among n positions. The least convincing candidate
goes first and its two segments become one, until all that are left are significant.

A segment has at least five results, so a change is reported five results after it happened, in a
series of 14 at the earliest. A slow drift has no position; it appears as a staircase, whose steps
add up to the drift. Noise is assumed to be independent from one result to the next: good and bad
weeks of a host are changes of level, too, and are reported as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# results; 2 / C(10, 5) = 0.008 is then the least p-value that two segments can have
MIN_SEGMENT = 5
ALPHA = 0.01
# results before x results after: up to here the exact null distribution is fast to compute
MAX_EXACT = 2_500


@dataclass(frozen=True)
class ChangePoint:
    """A change between results `index - 1` and `index` of a series. `ratio` is the median after it
    over the median before it, each over the segment that reaches to the next change."""

    index: int
    ratio: float
    # of the two segments alone; it must be at most alpha divided by the number of results
    p_value: float


def change_points(
    values: Sequence[float], alpha: float = ALPHA, min_segment: int = MIN_SEGMENT
) -> list[ChangePoint]:
    """Return the changes of level of positive values in the order of time; the chance of one too
    many is about `alpha`.

    Raises ValueError if a value is not positive and finite.
    """
    series = np.asarray(values, dtype=float)
    if not (np.isfinite(series).all() and (series > 0).all()):
        raise ValueError("the values of a series must be positive and finite")
    if len(series) < 2 * min_segment or np.ptp(series) == 0:
        return []
    logs = np.log(series)
    return _convincing(
        logs, _moved(logs, _candidates(series, min_segment), min_segment), alpha / len(series)
    )


def _candidates(series: np.ndarray, min_segment: int) -> list[int]:
    """Return the changes that PELT proposes. For standardised ranks, least squares equal the cost
    of ranks up to a constant, and `ruptures` computes them in C."""
    from ruptures import KernelCPD
    from scipy.stats import rankdata

    ranks = rankdata(series)
    standard = (ranks - ranks.mean()) / ranks.std()
    search = KernelCPD(kernel="linear", min_size=min_segment).fit(standard[:, np.newaxis])
    # the last one is the end
    return [int(index) for index in search.predict(pen=2 * math.log(len(series)))[:-1]]


def _moved(logs: np.ndarray, indices: list[int], min_segment: int) -> list[int]:
    ends = [0, *indices, len(logs)]
    for place in range(1, len(ends) - 1):
        begin, end = ends[place - 1], ends[place + 1]
        possible = range(begin + min_segment, end - min_segment + 1)
        ends[place] = min(
            possible, key=lambda index: _deviation(logs[begin:index]) + _deviation(logs[index:end])
        )
    return ends[1:-1]


def _deviation(values: np.ndarray) -> float:
    return float(np.abs(values - np.median(values)).sum())


def _convincing(logs: np.ndarray, indices: list[int], level: float) -> list[ChangePoint]:
    while indices:
        ends = [0, *indices, len(logs)]
        found = [
            _change(logs[begin:index], logs[index:end], index)
            for begin, index, end in zip(ends, indices, ends[2:], strict=False)
        ]
        worst = max(found, key=lambda change: change.p_value)
        if worst.p_value <= level:
            return found
        indices = [index for index in indices if index != worst.index]
    return []


def _change(before: np.ndarray, after: np.ndarray, index: int) -> ChangePoint:
    from scipy.stats import mannwhitneyu

    both = np.concatenate([before, after])
    # with ties there is no exact distribution
    exact = len(before) * len(after) <= MAX_EXACT and len(np.unique(both)) == len(both)
    p_value = mannwhitneyu(before, after, method="exact" if exact else "asymptotic").pvalue
    return ChangePoint(index, float(np.exp(np.median(after) - np.median(before))), float(p_value))
