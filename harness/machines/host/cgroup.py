"""What a cgroup (v2 or v1) sets for this process: the CPU quota, what was used of it, and how long it was throttled for it; how
many threads there may be; and how much memory.

A limit of any ancestor counts, so all levels that this process can see are read. `root` stands for `/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")
V1 = {  # by controller
    "cpu": ("sys/fs/cgroup/cpu,cpuacct", "sys/fs/cgroup/cpu"),
    "pids": ("sys/fs/cgroup/pids",),
    "memory": ("sys/fs/cgroup/memory",),
}

MEMORY_FILES = (("memory.max", "memory.current", ""), ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"))
"""The files of v2 and v1 that have a limit and what is used of it, and how memory.stat counts all below in its names."""


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


def quota_use(root: Path = ROOT) -> list[tuple[float, float]]:
    """Of each level with a quota that tells what it used: the quota [CPUs] and the CPU time so far [s] of all its processes."""
    limited = ((_quota(level), _used_s(level)) for level in _levels(root))
    return [(quota, used_s) for quota, used_s in limited if quota is not None and used_s is not None]


def throttled_us(root: Path = ROOT) -> int | None:
    """Time for which this process's cgroups were throttled so far [µs], of the level that waited longest; None if not told."""
    times = [time for level in _levels(root) if (time := _throttled(level)) is not None]
    return max(times, default=None)


def pids_room(root: Path = ROOT) -> int | None:
    """How many more threads this process's cgroups allow for, of the level that allows for fewest; None without a limit."""
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
    used: int  # bytes that cannot be taken back: without what is kept of files, which makes room for others


def memory_limit(root: Path = ROOT) -> MemoryLimit | None:
    """The limit of this process's cgroups that leaves least room; None without one.

    Where nobody has set one, v2 has the word "max", and v1 a number that no machine can have.
    """
    limits = []
    for level in _levels(root, "memory"):
        for name, now, prefix in MEMORY_FILES:
            most, used = read_text(level / name), read_text(level / now)
            if most is None or used is None or not most.isdigit() or not used.isdigit():
                continue
            told = _stat(level, "memory.stat")
            files = sum(told.get(f"{prefix}{kind}_file", 0) for kind in ("active", "inactive"))
            limits.append(MemoryLimit(name, int(most), max(int(used) - files, 0)))
    return min(limits, key=lambda limit: limit.bytes - limit.used, default=None)


def _levels(root: Path, controller: str = "cpu") -> Iterator[Path]:
    """The directories of this process's cgroup of a controller and of its ancestors, v2's and v1's."""
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        hierarchy, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if hierarchy == "0" and not controllers:
            mounts: tuple[str, ...] = ("sys/fs/cgroup", "sys/fs/cgroup/unified")
        elif controller in controllers.split(","):
            mounts = V1[controller]
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
    told = _stat(level)
    if "throttled_usec" in told:
        return told["throttled_usec"]
    return told["throttled_time"] // 1000 if "throttled_time" in told else None  # v1, in ns


def _used_s(level: Path) -> float | None:
    told = _stat(level)
    if "usage_usec" in told:
        return told["usage_usec"] / 1e6
    used_ns = read_text(level / "cpuacct.usage")  # v1, where cpu and cpuacct are one hierarchy, as they are nearly everywhere
    return int(used_ns) / 1e9 if used_ns is not None and used_ns.isdigit() else None


def _stat(level: Path, name: str = "cpu.stat") -> dict[str, int]:
    lines = (line.split() for line in (read_text(level / name) or "").splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) == 2 and words[1].isdigit()}
