"""Memory that a run may take: the memory available on this host, and the rest of the cgroup's
limit.

If a cgroup exceeds its limit, the kernel kills one of its processes, which then can report nothing.
So a run that may need more memory than there is room for is refused before it takes any.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.machines.host.cgroup import ROOT, memory_limit


@dataclass(frozen=True)
class MemoryRoom:
    """Memory that could be taken now without swapping."""

    bytes: int
    reason: str  # why it is no more, for the end of an error message


def memory_room(root: Path = ROOT) -> MemoryRoom:
    """Return the room that the host and the cgroups leave, whichever is less."""
    import psutil

    available = psutil.virtual_memory().available
    limit = memory_limit(root)
    if limit is None or limit.bytes - limit.used >= available:
        return MemoryRoom(available, f"at most {_mib(available)} of memory are available")
    left = max(limit.bytes - limit.used, 0)
    return MemoryRoom(
        left, f"{limit.name} of its cgroup is {_mib(limit.bytes)}, of which {_mib(left)} are left"
    )


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"
