"""Limits that cgroups (v2 or v1) set for this process: the CPU quota, with the time used of it and
the time throttled; the number of threads; and the memory.

A limit of any ancestor counts, so all levels that this process can see are read. `root` replaces
`/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
V1_FOLDERS = {  # by controller
    "cpu": ("sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpu"),
    "pids": ("sys/fs/cgroup/pids",),
    "memory": ("sys/fs/cgroup/memory",),
}

MEMORY_FILES = (
    ("memory.max", "memory.current", ""),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
)
"""The files of v2 and v1 that have the limit and the memory used, and the prefix of memory.stat's
names for the whole subtree.
"""


def read_text(path: Path) -> str | None:
    """Return the file's text without surrounding space; None if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def quota_cpus(root: Path = ROOT) -> float | None:
    """Return the smallest quota of all levels [CPUs]; None without one."""
    quotas = [quota for level in _levels(root) if (quota := _quota(level)) is not None]
    return min(quotas, default=None)


def quota_use(root: Path = ROOT) -> list[tuple[float, float]]:
    """Return, for each level with a quota and a usage, the quota [CPUs] and the CPU time so far [s]
    of all its processes.
    """
    limited = ((_quota(level), _used_s(level)) for level in _levels(root))
    return [
        (quota, used_s) for quota, used_s in limited if quota is not None and used_s is not None
    ]


def throttled_us(root: Path = ROOT) -> int | None:
    """Return the time for which this process's cgroups were throttled so far [µs], of the level
    that waited longest; None if no level reports it.
    """
    times = [time for level in _levels(root) if (time := _throttled(level)) is not None]
    return max(times, default=None)


def pids_room(root: Path = ROOT) -> int | None:
    """Return the number of threads that this process's cgroups still allow, at the strictest level;
    None without a limit.
    """
    rooms = []
    for level in _levels(root, "pids"):
        most, now = read_text(level / "pids.max"), read_text(level / "pids.current")
        if most is not None and most.isdigit() and now is not None and now.isdigit():
            rooms.append(int(most) - int(now))
    return min(rooms, default=None)


@dataclass(frozen=True)
class MemoryLimit:
    """A limit of the memory of all processes of a cgroup."""

    name: str  # of the file that has it
    bytes: int
    used: int  # bytes that cannot be reclaimed: without the file cache


def memory_limit(root: Path = ROOT) -> MemoryLimit | None:
    """Return the limit of this process's cgroups that leaves least room; None without one.

    If no limit is set, v2 has the word "max", and v1 a number that no machine can have.
    """
    limits = []
    for level in _levels(root, "memory"):
        for name, now, prefix in MEMORY_FILES:
            most, used = read_text(level / name), read_text(level / now)
            if most is None or used is None or not most.isdigit() or not used.isdigit():
                continue
            stat = _stat(level, "memory.stat")
            files = sum(stat.get(f"{prefix}{kind}_file", 0) for kind in ("active", "inactive"))
            limits.append(MemoryLimit(name, int(most), max(int(used) - files, 0)))
    return min(limits, key=lambda limit: limit.bytes - limit.used, default=None)


def _levels(root: Path, controller: str = "cpu") -> Iterator[Path]:
    """Yield the directories of a controller's cgroup of this process and of its ancestors, in v2
    and v1.
    """
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        hierarchy, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if hierarchy == "0" and not controllers:
            mounts: tuple[str, ...] = ("sys/fs/cgroup", "sys/fs/cgroup/unified")
        elif controller in controllers.split(","):
            mounts = V1_FOLDERS[controller]
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
    stat = _stat(level)
    if "throttled_usec" in stat:
        return stat["throttled_usec"]
    return stat["throttled_time"] // 1000 if "throttled_time" in stat else None  # v1, in ns


def _used_s(level: Path) -> float | None:
    stat = _stat(level)
    if "usage_usec" in stat:
        return stat["usage_usec"] / 1e6
    # v1, where cpu and cpuacct are one hierarchy, as they are nearly everywhere
    used_ns = read_text(level / "cpuacct.usage")
    return int(used_ns) / 1e9 if used_ns is not None and used_ns.isdigit() else None


def _stat(level: Path, name: str = "cpu.stat") -> dict[str, int]:
    lines = (line.split() for line in (read_text(level / name) or "").splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) == 2 and words[1].isdigit()}
