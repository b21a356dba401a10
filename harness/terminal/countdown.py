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
        self._told = False
        self._live = sys.stderr.isatty()

    def __enter__(self) -> Countdown:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._overwrite("")

    def show(self, text: str) -> None:
        """What is going on; terminals only. Any thread may call this."""
        self._overwrite(f"{self._head()}; {text}")

    def finished(self, estimated_s: float, text: str) -> None:
        """One more is done, of which `estimated_s` was expected. A log has the last one in any case."""
        self._add(estimated_s, 1, text, self._done + 1 == self._total)

    def reached(self, done: int, text: str) -> None:
        """So many are done; `estimated_s` was then their number, a second each. A log that has not begun stays empty."""
        more = done - self._done
        self._add(float(more), more, text, self._told and done == self._total)
        self.show(text)

    def _add(self, estimated_s: float, count: int, text: str, tell: bool) -> None:
        self._done += count
        self._left_s -= estimated_s
        now_s = time.monotonic()
        if not self._live and (tell or now_s - self._told_s >= QUIET_S):
            self._told_s, self._told = now_s, True
            print(f"millrace {self._command}: {self._head()}; {text}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """A line that stays."""
        self._overwrite("")
        print(f"millrace {self._command}: {text}", file=sys.stderr, flush=True)

    def _head(self) -> str:
        from harness.experiments.config import clock

        past_s = self._estimated_s - self._left_s
        stretch = (time.monotonic() - self._started_s) / past_s if past_s > 0 else 1.0  # by how wrong the estimate was so far
        return f"[{self._done}/{self._total}] {clock(self._left_s * stretch)} left"

    def _overwrite(self, text: str) -> None:
        if self._live:
            width = shutil.get_terminal_size().columns
            print(f"\r\033[K{text[: width - 1]}", end="", file=sys.stderr, flush=True)
