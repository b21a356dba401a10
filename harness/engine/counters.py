"""All counts of a run at one time, as the compiled code of each engine reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Counters(NamedTuple):
    """All counts since the start of a run; times are in ticks (`Core.tick_s`) but where a name says
    otherwise.
    """

    time_s: float
    processed: list[int]  # tuples through each operator
    emitted: list[int]  # tuples that each operator has sent on, of those that count them
    part_latencies: list[list[int]]  # histogram at the sinks of each of `RunLayout.parts`
    # by queue: pushes, and those that found the queue full or its producer side taken
    pushes: list[int]
    blocked: list[int]
    cpu_s: float
    kernel_s: float  # of `cpu_s`, what the kernel took
    switches: int  # context switches
    # of each thread of the pool: time that it was allowed to run, and in which it was idle
    pool: list[tuple[int, int]]
    useful_ns: Sequence[int]  # of each operator, in which it was executed; empty: not measured
    full: Sequence[int]  # of each queue, in which it was full; empty: not measured
    host: Any  # of all processes, for `Core.cpu_shares`

    @property
    def latency(self) -> list[int]:
        """Histogram at all sinks."""
        if len(self.part_latencies) == 1:
            return self.part_latencies[0]
        return [sum(column) for column in zip(*self.part_latencies, strict=True)]
