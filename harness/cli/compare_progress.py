"""Progress of comparisons on stderr: a live table on a terminal, else a line a block."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from harness.compare.contest import Contest
from harness.compare.report import heading, progress, table_lines
from harness.terminal.output import tell

LEAST_S = 0.1  # between two drawings


class _Lines:
    """Progress in a log: a line for each block."""

    def __init__(self, command: str) -> None:
        self._command = command
        self._contest: Contest | None = None
        self._blocks = 0

    def begin(self, contest: Contest, step: str = "") -> None:
        """Show the comparison that begins, or which step of several it is."""
        self._contest, self._blocks = contest, 0
        tell(f"{self._command}: {step or heading(contest)}")

    def phase(self, text: str) -> None:
        """See `Audience`."""

    def ran(self) -> None:
        """See `Audience`."""
        contest = self._contest
        if contest is not None and contest.blocks > self._blocks:
            self._blocks = contest.blocks
            leaders = ", ".join(arm.name for arm in contest.leaders)
            tell(f"{self._command}: {progress(contest)}; may be best: {leaders}")


class _Table:
    """Progress in a terminal: the table as it stands."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._contest: Contest | None = None
        self._text = self._step = ""
        self._next_s = 0.0

    def begin(self, contest: Contest, step: str = "") -> None:
        """See `_Lines.begin`."""
        self._contest, self._text, self._step = contest, "", step
        self.ran()

    def phase(self, text: str) -> None:
        """See `Audience`."""
        self._text = text
        self._draw()

    def ran(self) -> None:
        """See `Audience`."""
        self._next_s = 0.0
        self._draw()

    def _draw(self) -> None:
        contest, now_s = self._contest, time.monotonic()
        if contest is None or now_s < self._next_s:
            return
        self._next_s = now_s + LEAST_S
        lines = [heading(contest), progress(contest, self._text), self._step, *table_lines(contest)]
        self._live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"), refresh=True)


Progress = _Lines | _Table


@contextmanager
def stage(command: str) -> Iterator[Progress]:
    """Yield the receiver of a command's progress."""
    console = Console(stderr=True)
    if not console.is_terminal or console.is_dumb_terminal:
        yield _Lines(command)
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield _Table(live)
