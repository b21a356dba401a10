"""CPU time that this process, others and the hypervisor used of the CPUs that this process may use,
between two readings.

/proc/stat counts in ticks of about 10 ms a CPU, so windows under `SHORTEST_S` are too short. A
process in a cgroup with a quota may use less than its CPUs: then the share of the quota that the
cgroup used counts.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.machines.host.cgroup import ROOT, quota_cpus, quota_use, read_text, throttled_us

SHORTEST_S = 0.1
"""Ten ticks: the shortest time between two readings that says something [s]."""


@dataclass(frozen=True)
class CpuCounters:
    """Counters at one moment; None where the system does not tell."""

    clock_s: float
    own_s: float  # CPU time of this process
    busy_s: float | None  # CPU time of all processes, on the CPUs that this one may use
    stolen_s: float | None  # that the hypervisor gave to others, of the same CPUs
    throttled_us: int | None
    idle_s: float | None = None  # of the same CPUs
    # of each cgroup with a quota: the quota [CPUs], CPU time of its processes [s]
    quotas: Sequence[tuple[float, float]] = ()

    @classmethod
    def now(cls, root: Path = ROOT) -> CpuCounters:
        """Read all counters."""
        busy, stolen, idle = _stat(root)
        return cls(
            time.monotonic(),
            time.process_time(),
            busy,
            stolen,
            throttled_us(root),
            idle,
            tuple(quota_use(root)),
        )


def system_share(first: CpuCounters, last: CpuCounters) -> float:
    """Return the busy share between two readings, 0 .. 1, by all processes: of the CPUs that this
    one may use, or of its quota, if that share is higher.

    Time that the hypervisor took counts as busy. 0 if nothing is known.
    """
    shares = [used_s / could_s for used_s, could_s in _of_quotas(first, last)]
    if (ticks := _ticks(first, last)) is not None:
        busy_s, stolen_s, idle_s = ticks
        shares.append((busy_s + stolen_s) / (busy_s + stolen_s + idle_s))
    return min(1.0, max(shares, default=0.0))


def others_share(first: CpuCounters, last: CpuCounters) -> float:
    """Return the busy share of other processes alone, without the time that the hypervisor took."""
    own_s = last.own_s - first.own_s
    shares = [(used_s - own_s) / could_s for used_s, could_s in _of_quotas(first, last)]
    if (ticks := _ticks(first, last)) is not None:
        shares.append((ticks[0] - own_s) / sum(ticks))
    return min(1.0, max(0.0, *shares)) if shares else 0.0


def allowed_cpu_numbers() -> set[int]:
    """Return the numbers of the CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return os.sched_getaffinity(0)
    return set(range(os.cpu_count() or 1))


def allowed_cpus() -> int:
    """Return the CPUs that this process may use: its affinity mask where the system has one, else
    all.
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_cpus(root: Path = ROOT) -> int:
    """Return the number of CPUs that this process can keep busy: those of its affinity mask, or the
    quota of its cgroup, rounded up, if that is less.
    """
    allowed, quota = len(allowed_cpu_numbers()), quota_cpus(root)
    return allowed if quota is None else max(1, min(allowed, math.ceil(quota)))


def _of_quotas(first: CpuCounters, last: CpuCounters) -> list[tuple[float, float]]:
    """Return, for each quota, the CPU time used between the readings and the time allowed [s];
    empty if the quotas changed.
    """
    elapsed_s = last.clock_s - first.clock_s
    if len(first.quotas) != len(last.quotas):
        return []
    pairs = zip(first.quotas, last.quotas, strict=True)
    of = [
        (max(0.0, used_s - before_s), cpus * elapsed_s) for (_, before_s), (cpus, used_s) in pairs
    ]
    return [(used_s, could_s) for used_s, could_s in of if could_s > 0.0]


def _ticks(first: CpuCounters, last: CpuCounters) -> tuple[float, float, float] | None:
    """Return the busy, stolen and idle time between the readings [s]; None if no tick has passed,
    or ticks are not counted.
    """
    before, after = (
        (reading.busy_s, reading.stolen_s, reading.idle_s) for reading in (first, last)
    )
    if None in before or None in after:
        return None
    busy_s, stolen_s, idle_s = (max(0.0, b - a) for a, b in zip(before, after, strict=True))
    return (busy_s, stolen_s, idle_s) if busy_s + stolen_s + idle_s > 0.0 else None


def _stat(root: Path) -> tuple[float | None, float | None, float | None]:
    """Return the busy, stolen and idle seconds since boot of all CPUs that this process may use."""
    allowed = {f"cpu{number}" for number in allowed_cpu_numbers()}
    ticks_per_s = os.sysconf("SC_CLK_TCK")
    busy = stolen = idle = 0
    found = False
    for line in (read_text(root / "proc/stat") or "").splitlines():
        name, *fields = line.split()
        if name in allowed and len(fields) >= 8:
            user, nice, system, unused, iowait, irq, softirq, steal = map(int, fields[:8])
            busy += user + nice + system + irq + softirq
            stolen += steal
            idle += unused + iowait
            found = True
    return (
        (busy / ticks_per_s, stolen / ticks_per_s, idle / ticks_per_s)
        if found
        else (None, None, None)
    )
