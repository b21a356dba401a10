"""Where a series of results changed its level, and by how much.

Candidates come from PELT (Killick, Fearnhead and Eckley, JASA 107(500), 2012), which finds the segmentation of least cost, with
the cost of ranks (Lung-Yut-Fong, Lévy-Leduc and Cappé, JSFdS 156(4), 2015): one noisy night has the greatest rank, however
noisy it was, and cannot pay for a segment of its own. Both are of the library `ruptures`.

PENALTY  what one more change must bring: 2 log n, as in the Bayesian information criterion, for the two numbers that it adds:
         its place, and the level behind it. (Where nothing changed, the gain of one place is a chi-squared variable of one
         degree of freedom.) It proposes too much rather than too little, since the test decides.
PLACE    ranks draw the highest results of a long segment into a short one behind it, so that each candidate is moved, between
         its neighbours, to where the absolute deviations from the medians of its two segments are least.
TEST     of two neighbouring segments: Mann and Whitney's, two-sided. The place was chosen among n because it looks best there,
         so that alpha is shared among n places. The least convincing candidate goes first and its two segments become one,
         until all that are left convince.

A segment has at least five results: a change is told five results after it happened, in a series of 14 at the earliest. A slow
drift has no place; it appears as a staircase, whose steps say how much in all. Noise is taken to be independent from one result
to the next: where a host has good and bad weeks, these are changes of level, too, and are reported as such.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

MIN_SEGMENT = 5  # results; 2 / C(10, 5) = 0.008 is then the least p-value that two segments can have
ALPHA = 0.01
MAX_EXACT = 2_500  # results before x results after: up to here the exact null distribution is quick


@dataclass(frozen=True)
class ChangePoint:
    """Between results `index - 1` and `index` of a series. `ratio` is the median behind it over the median before it, each of
    the segment that reaches to the next change.
    """

    index: int
    ratio: float
    p_value: float  # of the two segments alone: what it is compared with is alpha over the number of results


def change_points(values: Sequence[float], alpha: float = ALPHA, min_segment: int = MIN_SEGMENT) -> list[ChangePoint]:
    """The changes of level of positive values in the order of time; with probability alpha, about, there is one too many.

    Raises ValueError if a value is not positive and finite.
    """
    series = np.asarray(values, dtype=float)
    if not (np.isfinite(series).all() and (series > 0).all()):
        raise ValueError("the values of a series must be positive and finite")
    if len(series) < 2 * min_segment or np.ptp(series) == 0:
        return []
    logs = np.log(series)
    return _convincing(logs, _moved(logs, _candidates(series, min_segment), min_segment), alpha / len(series))


def _candidates(series: np.ndarray, min_segment: int) -> list[int]:
    """Of standardised ranks, least squares are the cost of ranks but for a constant, and `ruptures` has them in C."""
    from ruptures import KernelCPD
    from scipy.stats import rankdata

    ranks = rankdata(series)
    standard = (ranks - ranks.mean()) / ranks.std()
    search = KernelCPD(kernel="linear", min_size=min_segment).fit(standard[:, np.newaxis])
    return [int(index) for index in search.predict(pen=2 * math.log(len(series)))[:-1]]  # the last one is the end


def _moved(logs: np.ndarray, indices: list[int], min_segment: int) -> list[int]:
    ends = [0, *indices, len(logs)]
    for place in range(1, len(ends) - 1):
        begin, end = ends[place - 1], ends[place + 1]
        possible = range(begin + min_segment, end - min_segment + 1)
        ends[place] = min(possible, key=lambda index: _deviation(logs[begin:index]) + _deviation(logs[index:end]))
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
    exact = len(before) * len(after) <= MAX_EXACT and len(np.unique(both)) == len(both)  # with ties there is no exact one
    p_value = mannwhitneyu(before, after, method="exact" if exact else "asymptotic").pvalue
    return ChangePoint(index, float(np.exp(np.median(after) - np.median(before))), float(p_value))
