"""Use of this process's CPUs by others while it was measured: stolen time, and other processes."""

from __future__ import annotations

from dataclasses import dataclass

from harness.machines.host.cpu import SHORTEST_S, CpuCounters


@dataclass(frozen=True)
class Disturbance:
    """Disturbance of a measured window by others; None where unknown."""

    steal_share: float | None = None  # of the time of the CPUs that this process may use, 0 .. 1
    # mean number of CPUs that other processes kept busy, among those that this one may use
    load_of_others: float | None = None
    throttled_us: int | None = None  # time for which a cgroup of this process was throttled

    @classmethod
    def between(cls, first: CpuCounters, last: CpuCounters, cpus: int) -> Disturbance:
        """Return the disturbance between two readings on `cpus` CPUs."""
        elapsed_s = last.clock_s - first.clock_s
        own_s = last.own_s - first.own_s
        steal = others = throttled = None
        system = (first.busy_s, last.busy_s, first.stolen_s, last.stolen_s)
        if elapsed_s >= SHORTEST_S and None not in system:
            busy_s = last.busy_s - first.busy_s
            # some sandboxes have a /proc/stat that never changes
            if busy_s > 0 or own_s < SHORTEST_S:
                steal = max(0.0, last.stolen_s - first.stolen_s) / (elapsed_s * cpus)
                others = max(0.0, busy_s - own_s) / elapsed_s
        if first.throttled_us is not None and last.throttled_us is not None:
            throttled = max(0, last.throttled_us - first.throttled_us)
        return cls(steal, others, throttled)
