"""What others did to the CPUs of this process while it was measured: time stolen by the hypervisor, load of other processes.

Two readings, their difference is the answer. /proc/stat counts in ticks of about 10 ms: windows under `SHORTEST_S` say nothing.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from harness.measurement.cgroup import ROOT, read_text, throttled_us

SHORTEST_S = 0.1


@dataclass(frozen=True)
class Reading:
    """Counters at one moment; None where the system does not tell."""

    clock_s: float
    own_s: float  # CPU time of this process
    busy_s: float | None  # CPU time of all processes, on the CPUs that this one may use
    stolen_s: float | None
    throttled_us: int | None

    @classmethod
    def now(cls, root: Path = ROOT) -> Reading:
        """Read all counters."""
        busy, stolen = _stat(root)
        return cls(time.monotonic(), time.process_time(), busy, stolen, throttled_us(root))


@dataclass(frozen=True)
class Disturbance:
    """How others disturbed a measured window; None where unknown."""

    steal_share: float | None = None  # of the time of the CPUs that this process may use, 0 .. 1
    load_of_others: float | None = None  # CPUs that other processes kept busy, among those that this one may use
    throttled_us: int | None = None

    @classmethod
    def between(cls, first: Reading, last: Reading, cpus: int) -> Disturbance:
        """The difference of two readings on `cpus` CPUs."""
        elapsed_s = last.clock_s - first.clock_s
        own_s = last.own_s - first.own_s
        steal = others = throttled = None
        if elapsed_s >= SHORTEST_S and None not in (first.busy_s, last.busy_s, first.stolen_s, last.stolen_s):
            busy_s = last.busy_s - first.busy_s
            if busy_s > 0 or own_s < SHORTEST_S:  # some sandboxes show a /proc/stat that stands still
                steal = max(0.0, last.stolen_s - first.stolen_s) / (elapsed_s * cpus)
                others = max(0.0, busy_s - own_s) / elapsed_s
        if first.throttled_us is not None and last.throttled_us is not None:
            throttled = max(0, last.throttled_us - first.throttled_us)
        return cls(steal, others, throttled)


def allowed_cpu_numbers() -> set[int]:
    """The CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def _stat(root: Path) -> tuple[float | None, float | None]:
    """Busy and stolen seconds since boot, summed over the CPUs that this process may use."""
    allowed = {f"cpu{number}" for number in allowed_cpu_numbers()}
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    busy = stolen = 0
    found = False
    for line in (read_text(root / "proc/stat") or "").splitlines():
        name, *fields = line.split()
        if name in allowed and len(fields) >= 8:
            user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[:8])
            busy += user + nice + system + irq + softirq
            stolen += steal
            found = True
    return (busy / ticks_per_s, stolen / ticks_per_s) if found else (None, None)
