"""How much memory a run may take: what this host has available, and what the cgroup's limit leaves of it.

A cgroup that wants more than its limit has one of its processes killed, which then can say nothing. So a run that may keep more
than there is room for is refused before it takes any.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.machines.host.cgroup import ROOT, memory_limit


@dataclass(frozen=True)
class MemoryRoom:
    """Memory that could be taken now without swapping."""

    bytes: int
    reason: str  # that it is no more, for the end of an error


def memory_room(root: Path = ROOT) -> MemoryRoom:
    """What the host and the cgroups leave, whichever is less."""
    import psutil

    available = psutil.virtual_memory().available
    limit = memory_limit(root)
    if limit is None or limit.bytes - limit.used >= available:
        return MemoryRoom(available, f"at most {_mib(available)} of memory are available")
    left = max(limit.bytes - limit.used, 0)
    return MemoryRoom(left, f"{limit.name} of its cgroup is {_mib(limit.bytes)}, of which {_mib(left)} are left")


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
