"""Percentiles and mean of a latency histogram.

Buckets hold counts, so a percentile is known only up to its bucket: the bucket's *upper bound* is
reported, which never flatters, but no more than the longest latency seen. The last bucket has no
bound of its own: it reports that longest latency. The mean takes each latency for the middle of its
bucket, so it is known to half a bucket's width.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.measurement.record.declaration import PERCENTILES

BUCKET_WIDTH = 1 / 16
"""Width of a bucket, as a share of its lower end, at most (harness/native/histogram.hpp)."""


def add_histograms(histograms: Sequence[Sequence[int]]) -> list[int]:
    """Return the sum of histograms of the same buckets."""
    return [sum(column) for column in zip(*histograms, strict=True)]


def latency_summary(
    counts: Sequence[int], bounds_ns: Sequence[int], longest_ns: int
) -> dict[str, int | None]:
    """Return p50, p90, p99, mean, max [ns] and count of a histogram; None where it is empty.

    `bounds_ns`: upper bound of each bucket [ns]; `longest_ns`: the longest latency of the run, 0 if
    unknown.
    """
    total = sum(counts)
    summary: dict[str, int | None] = {}
    mean = round(_sum(counts, bounds_ns, longest_ns) / total) if total else None
    for percent in (*PERCENTILES, 100):
        name = "max" if percent == 100 else f"p{percent}"
        summary[name] = (
            _percentile(counts, bounds_ns, longest_ns, -(-total * percent // 100))
            if total
            else None
        )
    return {**summary, "mean": mean, "count": total}


def _sum(counts: Sequence[int], bounds_ns: Sequence[int], longest_ns: int) -> float:
    """Return the sum of all latencies [ns], each taken for the middle of its bucket."""
    total, low = 0.0, 0
    for bucket, count in enumerate(counts):
        high = int(bounds_ns[bucket])
        if longest_ns > 0:
            is_last = bucket == len(counts) - 1
            high = max(low, longest_ns) if is_last else min(high, max(low, longest_ns))
        total += count * (low + high) / 2
        low = high
    return total


def _percentile(counts: Sequence[int], bounds_ns: Sequence[int], longest_ns: int, rank: int) -> int:
    """Return the value reported for the `rank`-th smallest latency (from 1)."""
    bucket, below = 0, counts[0]
    while below < rank:
        bucket += 1
        below += counts[bucket]
    if longest_ns <= 0:
        return int(bounds_ns[bucket])
    return int(longest_ns if bucket == len(counts) - 1 else min(bounds_ns[bucket], longest_ns))
