"""The CPU quota that a cgroup (v2 or v1) sets for this process, and how long it was throttled for it.

A limit of any ancestor counts, so all levels that this process can see are read. `root` stands for `/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/")
V1_CPU = ("sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpu")


def read_text(path: Path) -> str | None:
    """The file's text without surrounding space; None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def quota_cpus(root: Path = ROOT) -> float | None:
    """The smallest quota of all levels [CPUs]; None without one."""
    quotas = [quota for level in _levels(root) if (quota := _quota(level)) is not None]
    return min(quotas, default=None)


def throttled_us(root: Path = ROOT) -> int | None:
    """Time for which this process's cgroups were throttled so far [µs], of the level that waited longest; None if not told."""
    times = [time for level in _levels(root) if (time := _throttled(level)) is not None]
    return max(times, default=None)


def _levels(root: Path) -> Iterator[Path]:
    """The directories of this process's CPU cgroup and of its ancestors, v2's and v1's."""
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        hierarchy, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if hierarchy == "0" and not controllers:
            mounts: tuple[str, ...] = ("sys/fs/cgroup", "sys/fs/cgroup/unified")
        elif "cpu" in controllers.split(","):
            mounts = V1_CPU
        else:
            continue
        names = [name for name in path.split("/") if name and name != ".."]
        for mount in mounts:
            for depth in range(len(names), -1, -1):
                yield root.joinpath(mount, *names[:depth])


def _quota(level: Path) -> float | None:
    maximum = read_text(level / "cpu.max")
    if maximum is None:
        quota = read_text(level / "cpu.cfs_quota_us")
        maximum = f"{quota} {read_text(level / 'cpu.cfs_period_us')}"
    try:
        quota_us, period_us = (int(word) for word in maximum.split())
    except ValueError:  # "max", or no such file
        return None
    return quota_us / period_us if quota_us > 0 and period_us > 0 else None


def _throttled(level: Path) -> int | None:
    for line in (read_text(level / "cpu.stat") or "").splitlines():
        name, _, value = line.partition(" ")
        if name == "throttled_usec":
            return int(value)
        if name == "throttled_time":  # v1, in ns
            return int(value) // 1000
    return None
