"""Limits on the threads of a run: the room on this host, and a limit of our own that a user may
raise.

A host with so many threads that they wait for each other does little else, and it is hard to end
them. So a graph that needs too many threads is refused before the first one is made, as is a graph
whose queues do not fit in memory.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

from harness.errors import UserError
from harness.machines.host.cgroup import ROOT, pids_room, read_text
from harness.machines.host.memory_room import memory_room
from harness.models.layout import RunLayout

MOST_THREADS = 16_384
"""Threads of a run, unless its user allows for more (a choice: ten thousand start within seconds on
two CPUs).
"""

MOST_ALLOWED = 1_000_000
"""Most threads that a user may allow: as many as a graph may have operators."""

# of memory, that a thread takes: its stack, and the page before it that catches what overflows it
THREAD_MAPPINGS = 2

THREAD_BYTES = 40 * 1024
"""Memory that a thread takes before it does anything: a kernel stack of 16 KiB, what the kernel
keeps of it, and the first pages of its own stack (an estimate)."""


def check_threads(layout: RunLayout, allowed: int | None = None, root: Path = ROOT) -> None:
    """Raise UserError for a layout that begins with more threads than are `allowed` (None:
    MOST_THREADS), or than this host has room for.
    """
    wanted = layout.threads
    graph, model = layout.graph, layout.model
    needs = f"graph {graph.name!r} needs {wanted:,} threads under model {model.name}"
    most = MOST_THREADS if allowed is None else allowed
    if wanted > most:
        raise UserError(
            f"{needs}; at most {most:,} are allowed (--allow-threads {wanted}, or allow_threads in "
            "a profile, lifts that)"
        )
    for room, why in _rooms(root):
        if wanted > room:
            raise UserError(f"{needs}; this host has room for {max(room, 0):,} more: {why}")


def _rooms(root: Path) -> Iterator[tuple[int, str]]:
    """Yield the number of threads that each limit of the host leaves room for, and the limit's
    description.
    """
    # running/all
    running = _number((read_text(root / "proc/loadavg") or "").split("/")[-1].split(" ")[0])
    for name in ("threads-max", "pid_max"):
        limit = _number(read_text(root / "proc/sys/kernel" / name))
        if limit is not None:
            yield limit - (running or 0), f"kernel.{name} is {limit:,}"
    limit = _number(read_text(root / "proc/sys/vm/max_map_count"))
    if limit is not None:
        used = len((read_text(root / "proc/self/maps") or "").splitlines())
        yield (
            (limit - used) // THREAD_MAPPINGS,
            f"vm.max_map_count is {limit:,}, "
            f"and a thread takes {THREAD_MAPPINGS} mappings of memory",
        )
    room = pids_room(root)
    if room is not None:
        yield room, "pids.max of its cgroup"
    limit = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if limit != resource.RLIM_INFINITY and os.geteuid() != 0:  # which does not hold for root
        yield limit - _threads_of_user(root), f"ulimit -u is {limit:,}"
    memory = memory_room(root)
    yield (
        memory.bytes // THREAD_BYTES,
        f"{memory.reason}, and a thread takes {THREAD_BYTES >> 10} KiB",
    )


def _threads_of_user(root: Path) -> int:
    """Return the number of threads of all processes of this user."""
    threads, user = 0, str(os.getuid())
    for status in root.glob("proc/[0-9]*/status"):
        fields = dict(
            line.split(":", 1) for line in (read_text(status) or "").splitlines() if ":" in line
        )
        if fields.get("Uid", "").split()[:1] == [user]:
            threads += _number(fields.get("Threads", "").strip()) or 0
    return threads


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
