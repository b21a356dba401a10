"""Progress of a long command, and the time left: a line on the terminal, or now and then one in a
log.
"""

from __future__ import annotations

import sys
import time

from harness.terminal.overwritten_line import OverwrittenLine

QUIET_S = 15.0  # between two lines in a log


class Countdown(OverwrittenLine):
    """Line on stderr, overwritten on a terminal, else a new one every `QUIET_S`: done, in all, time
    left, current work.
    """

    def __init__(self, command: str, estimated_s: float, total: int) -> None:
        super().__init__()
        self._command = command
        self._estimated_s = self._left_s = estimated_s
        self._total = total
        self._done = 0
        self._started_s = time.monotonic()
        self._printed_s = self._started_s
        self._has_printed = False

    def show(self, text: str) -> None:
        """Show the current work; terminals only. Any thread may call this."""
        self._overwrite(f"{self._head()}; {text}", self._done, self._total)

    def finished(self, estimated_s: float, text: str) -> None:
        """Count one more as done, which was expected to take `estimated_s`. A log has the last one
        in any case.
        """
        self._add(estimated_s, 1, text, self._done + 1 == self._total)

    def reached(self, done: int, text: str) -> None:
        """Count `done` as done, where the estimate is a second each. A log that has not begun stays
        empty.
        """
        more = done - self._done
        self._add(float(more), more, text, self._has_printed and done == self._total)
        self.show(text)

    def _add(self, estimated_s: float, count: int, text: str, tell: bool) -> None:
        self._done += count
        self._left_s -= estimated_s
        now_s = time.monotonic()
        if not self._live and (tell or now_s - self._printed_s >= QUIET_S):
            self._printed_s, self._has_printed = now_s, True
            print(f"millrace {self._command}: {self._head()}; {text}", file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Write a line that stays."""
        self._overwrite("")
        print(f"millrace {self._command}: {text}", file=sys.stderr, flush=True)

    def _head(self) -> str:
        from harness.experiments.config import clock

        past_s = self._estimated_s - self._left_s
        # actual time over estimated time so far
        stretch = (time.monotonic() - self._started_s) / past_s if past_s > 0 else 1.0
        return f"[{self._done}/{self._total}] {clock(self._left_s * stretch)} left"
