"""Percentiles of a latency histogram.

Buckets hold counts, so a percentile is known only up to its bucket: the bucket's *upper bound* is
reported, which never flatters, but no more than the longest latency seen. The last bucket has no
bound of its own: it reports that longest latency.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.measurement.record.declaration import LATENCY, PERCENTILES
from harness.measurement.record.kinds import build


def add_histograms(histograms: Sequence[Sequence[int]]) -> list[int]:
    """The sum of histograms of the same buckets."""
    return [sum(column) for column in zip(*histograms, strict=True)]


def latency_summary(
    counts: Sequence[int], bounds_ns: Sequence[int], longest_ns: int
) -> dict[str, int | None]:
    """p50, p90, p99 and max [ns] and the count of a histogram; None where nothing was counted.

    `bounds_ns`: upper bound of each bucket [ns]; `longest_ns`: the longest latency of the run, 0 if
    unknown.
    """
    total = sum(counts)
    summary: dict[str, int | None] = {}
    for percent in (*PERCENTILES, 100):
        name = "max" if percent == 100 else f"p{percent}"
        summary[name] = (
            _percentile(counts, bounds_ns, longest_ns, -(-total * percent // 100))
            if total
            else None
        )
    return build(LATENCY, {**summary, "count": total})


def _percentile(counts: Sequence[int], bounds_ns: Sequence[int], longest_ns: int, rank: int) -> int:
    """The value reported for the `rank`-th smallest latency (from 1)."""
    bucket, below = 0, counts[0]
    while below < rank:
        bucket += 1
        below += counts[bucket]
    if longest_ns <= 0:
        return int(bounds_ns[bucket])
    return int(longest_ns if bucket == len(counts) - 1 else min(bounds_ns[bucket], longest_ns))
