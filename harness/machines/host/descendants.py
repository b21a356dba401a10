"""The descendants of a process, found in order to end them all, including those whose parent has
ended.
"""

from __future__ import annotations

import ctypes
from collections.abc import Set
from contextlib import suppress

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
LONGEST_S = 5.0  # that killed processes are waited for


def adopt_orphans() -> None:
    """Make orphaned descendants children of this process, so that it can end them. On Linux
    only.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants(pid: int) -> set[int]:
    """Return the ids of the processes that a process has started, and that these have."""
    import psutil

    try:
        return {process.pid for process in psutil.Process(pid).children(recursive=True)}
    except psutil.Error:
        return set()


def end_descendants(pid: int, but: Set[int] = frozenset()) -> None:
    """Kill them at once, but for some; those that are ours are waited for."""
    import psutil

    found = []
    for each in descendants(pid) - but:
        with suppress(psutil.Error):
            found.append(psutil.Process(each))
            found[-1].kill()
    psutil.wait_procs(found, timeout=LONGEST_S)
