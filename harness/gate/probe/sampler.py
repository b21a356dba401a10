"""Sampler of the stacks of all threads of a Python process, from its start, for `gate --explain`.

The explained programs load it, so it must run under any Python 3 and imports nothing of this
project. Each stack gets the time since the previous sample. The sampling thread itself is left out.
"""

from __future__ import annotations

import _thread
import atexit
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

PERIOD_S = 0.001
WRITING_S = 0.2  # between two writings: a process may end without `atexit`
MAX_FRAMES = 200  # innermost frames of a stack that are kept

Frame = "tuple[str, str, int]"
"""Name of a function, its file, and the first line of it there."""


class Sampler:
    """A thread that samples, and writes [[stack, seconds], ...] as JSON to `prefix.PID`."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.seconds: dict[tuple[Any, ...], float] = {}  # by stack
        self.lock = _thread.allocate_lock()

    def start(self) -> None:
        """Start the thread in this process; a forked process starts its own, from zero."""
        self.seconds, self.lock = {}, _thread.allocate_lock()
        # `threading` would wait for the thread to begin, and that wait would be a sample
        _thread.start_new_thread(self._sample, ())

    def _sample(self) -> None:
        mine = _thread.get_ident()
        last_s = written_s = time.perf_counter()
        while True:
            time.sleep(PERIOD_S)
            now_s = time.perf_counter()
            for thread, frame in sys._current_frames().items():
                if thread != mine:
                    stack = _stack(frame)
                    self.seconds[stack] = self.seconds.get(stack, 0.0) + now_s - last_s
            last_s = now_s
            if now_s - written_s > WRITING_S:
                self.write()
                written_s = time.perf_counter()

    def write(self) -> None:
        """Write all stacks so far."""
        with self.lock:
            samples = [[list(stack), seconds] for stack, seconds in self.seconds.copy().items()]
            file = Path(f"{self.prefix}.{os.getpid()}")
            new = Path(f"{file}.new")
            new.write_text(json.dumps(samples), encoding="utf-8")
            new.replace(file)


def _stack(frame: Any) -> tuple[Any, ...]:
    """Return the frames of a stack, the outermost first."""
    found = []
    while frame is not None and len(found) < MAX_FRAMES:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        found.append((name, code.co_filename, code.co_firstlineno))
        frame = frame.f_back
    return tuple(reversed(found))


def begin(prefix: str) -> None:
    """Sample this process, and those that it forks, until they end."""
    sampler = Sampler(prefix)
    sampler.start()
    atexit.register(sampler.write)
    os.register_at_fork(after_in_child=sampler.start)
