"""Finals of a block: the best arms run again, and only these later runs compare them.

Of many arms the luckiest looks best. A comparison of the best of ours with the best of the peers by
the runs that chose them would favour the side with more arms. Later runs of the chosen arms did not
choose them, so their means need no allowance for the arms that were not chosen.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.measurement.records import rate_of

FINALISTS = 3
"""Arms of ours, and as many of peers, that run again: as many as the answers for readers show."""

KEPT_UP = 0.98
"""Share of the offered rate that must reach the sinks: as `harness.compare` has it."""

Record = Mapping[str, Any]


@dataclass(frozen=True)
class Finals:
    """Rule: the finalists run `repeats` times more, interleaved."""

    repeats: int

    def arms(self, records: Sequence[Record]) -> list[str]:
        """Return the finalists: the best of our arms and the best peers, by the records that are of
        no final run. An arm without a correct run is none.
        """
        runs: dict[str, list[Record]] = defaultdict(list)
        for record in records:
            if record["error"] is None and record["correct"] and not record.get("final"):
                runs[record["arm"]].append(record)
        ranked = sorted(runs, key=lambda arm: (_rank(runs[arm]), arm))
        sides = [
            [arm for arm in ranked if (runs[arm][0].get("peer") is None) is ours]
            for ours in (True, False)
        ]
        return [arm for side in sides for arm in side[:FINALISTS]]


def count_of(arms: int) -> int:
    """Return the number of finalists among so many arms of one side."""
    return min(arms, FINALISTS)


def _rank(runs: Sequence[Record]) -> tuple[bool, float]:
    """Return what is less for a better arm: at a rate that it keeps up with, the 99th percentile of
    latency; else the mean throughput, below all that keep up.
    """
    mean = statistics.fmean(rate_of(run) or 0.0 for run in runs)
    offered = runs[0]["parameters"].get("rate", 0)
    if not offered or mean < KEPT_UP * offered:
        return True, -mean
    latencies = [run["latency_ns"]["p99"] for run in runs]
    return False, statistics.median(math.inf if p99 is None else p99 for p99 in latencies)
