"""How far a long command is, and how long the rest will take: a line on the terminal, or now and then one in a log."""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType

QUIET_S = 15.0  # between two lines where nobody looks on


class Countdown:
    """One line on stderr, overwritten on a terminal, else a new one every `QUIET_S`: done, in all, time left, what is on."""

    def __init__(self, command: str, estimated_s: float, total: int) -> None:
        self._command = command
        self._estimated_s = self._left_s = estimated_s
        self._total = total
        self._done = 0
        self._started_s = time.monotonic()
        self._told_s = self._started_s
        self._live = sys.stderr.isatty()

    def __enter__(self) -> Countdown:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._overwrite("")

    def show(self, text: str) -> None:
        """What is going on; terminals only. Any thread may call this."""
        self._overwrite(f"{self._head()}; {text}")

    def finished(self, estimated_s: float, text: str) -> None:
        """One more is done, of which `estimated_s` was expected."""
        self._done += 1
        self._left_s -= estimated_s
        now_s = time.monotonic()
        if not self._live and (now_s - self._told_s >= QUIET_S or self._done == self._total):
            self._told_s = now_s
            print(f"millrace {self._command}: {self._head()}; {text}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """A line that stays."""
        self._overwrite("")
        print(f"millrace {self._command}: {text}", file=sys.stderr, flush=True)

    def _head(self) -> str:
        from harness.config import clock

        past_s = self._estimated_s - self._left_s
        stretch = (time.monotonic() - self._started_s) / past_s if past_s > 0 else 1.0  # by how wrong the estimate was so far
        return f"[{self._done}/{self._total}] {clock(self._left_s * stretch)} left"

    def _overwrite(self, text: str) -> None:
        if self._live:
            width = shutil.get_terminal_size().columns
            print(f"\r\033[K{text[: width - 1]}", end="", file=sys.stderr, flush=True)
