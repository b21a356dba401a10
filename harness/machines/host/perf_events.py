"""Hardware counters of this process's threads, read by `perf_event_open` of Linux."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
from contextlib import suppress
from pathlib import Path
from typing import Self

SYSCALLS = {"x86_64": 298, "aarch64": 241}
HARDWARE, RAW = 0, 4  # types of events

EVENTS = {"instructions": (HARDWARE, 1), "cycles": (HARDWARE, 0), "cache_misses": (HARDWARE, 3)}
"""Events by name: type and number."""

OF_INTEL = {"lines_of_other_cores": (RAW, 0x04D2)}
"""Loads that got a line which another core had changed: event D2H, mask 04H, of Skylake and all
later ones.
"""

INHERIT, EXCLUDE_KERNEL, EXCLUDE_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
MOST_PARANOID = 2  # at which a process may still count what it executes itself


class Attributes(ctypes.Structure):
    """`struct perf_event_attr` in its first version."""

    _fields_ = (
        ("type", ctypes.c_uint32),
        ("size", ctypes.c_uint32),
        ("config", ctypes.c_uint64),
        ("sample_period", ctypes.c_uint64),
        ("sample_type", ctypes.c_uint64),
        ("read_format", ctypes.c_uint64),
        ("flags", ctypes.c_uint64),
        ("wakeup_events", ctypes.c_uint32),
        ("bp_type", ctypes.c_uint32),
        ("bp_addr", ctypes.c_uint64),
    )


class PerfCounters:
    """Counts of this thread and of all threads that it starts from now on, outside the kernel.

    `problem` says in a few words why there are none.
    """

    def __init__(self, syscalls: dict[str, int] = SYSCALLS, paranoid: Path = PARANOID) -> None:
        self.problem: str | None = None
        self._files: dict[str, int] = {}
        number = syscalls.get(platform.machine())
        if platform.system() != "Linux" or number is None:
            self.problem = "there is no perf_event_open here"
            return
        events = EVENTS | (OF_INTEL if _is_intel() else {})
        for name, (kind, event) in events.items():
            file, error = _open(number, kind, event)
            if file >= 0:
                self._files[name] = file
            elif name in EVENTS and self.problem is None:
                self.problem = _reason(error, paranoid)
        if self._files:
            self.problem = None

    def read(self) -> dict[str, int]:
        """Return the counts so far, by name."""
        return {
            name: int.from_bytes(os.read(file, 8), "little") for name, file in self._files.items()
        }

    def close(self) -> None:
        """Stop counting."""
        for file in self._files.values():
            os.close(file)
        self._files = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _open(number: int, kind: int, event: int) -> tuple[int, int]:
    """Return a descriptor, below 0 if it is refused, and then the error's number."""
    attributes = Attributes(
        type=kind,
        size=ctypes.sizeof(Attributes),
        config=event,
        flags=INHERIT | EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
    )
    libc = ctypes.CDLL(None, use_errno=True)
    own_thread, any_cpu, no_group, no_flags = 0, -1, -1, 0
    file = libc.syscall(
        ctypes.c_long(number), ctypes.byref(attributes), own_thread, any_cpu, no_group, no_flags
    )
    return file, ctypes.get_errno() if file < 0 else 0


def _reason(error: int, paranoid: Path) -> str:
    with suppress(OSError, ValueError):
        level = int(paranoid.read_text())
        if level > MOST_PARANOID:
            return f"{paranoid} is {level}, and must be at most {MOST_PARANOID}"
    if error == errno.ENOENT:
        return "the CPU has none, or the virtual machine hides them"
    return f"the system refuses them ({os.strerror(error)})"


def _is_intel() -> bool:
    with suppress(OSError):
        return "GenuineIntel" in Path("/proc/cpuinfo").read_text(encoding="utf-8")
    return False
