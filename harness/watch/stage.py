"""Output of a story while it grows: a view in a terminal, or lines on standard output."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.live import Live

from harness.errors import RunFailed
from harness.terminal.output import say
from harness.watch import lines
from harness.watch.story import Story
from harness.watch.terminal import View

LEAST_S = 0.1  # between two drawings: a simulated run may have hundreds of periods a second


class Stage(Protocol):
    """Output that any thread may call; no method raises, as that thread must go on listening."""

    def period(self) -> None:
        """Show that the story has one more period."""

    def phase(self) -> None:
        """Show that the story is in another phase."""

    def notice(self, text: str) -> None:
        """Show why the run waits."""


@contextmanager
def stage(story: Story, limits_s: Mapping[str, float]) -> Iterator[Stage]:
    """Yield the stage on standard output. Raises RunFailed or BrokenPipeError at the end if that
    could not be written.
    """
    console = Console()
    if not console.is_terminal or console.is_dumb_terminal:
        printed = _Printed(story)
        printed.put("\n".join(lines.heading(story)))
        yield printed
        if printed.refusal is not None:
            raise printed.refusal
        return
    try:
        with Live(
            View(story, limits_s), console=console, auto_refresh=False, vertical_overflow="crop"
        ) as live:
            drawn = _Drawn(live)
            yield drawn
            drawn.phase()
            if drawn.refusal is not None:
                raise drawn.refusal
    except OSError as error:
        raise RunFailed(f"cannot write to standard output: {error.strerror}") from error


class _Drawn:
    """View in a terminal. `refusal`: the error after which nothing was drawn."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._next_s = 0.0
        self.refusal: Exception | None = None

    def period(self) -> None:
        """See `Stage`."""
        if time.monotonic() >= self._next_s:
            self.phase()

    def phase(self) -> None:
        """See `Stage`."""
        if self.refusal is None:
            try:
                self._live.refresh()
            except Exception as error:  # the run goes on, and its page will be written
                self.refusal = error
        self._next_s = time.monotonic() + LEAST_S

    def notice(self, text: str) -> None:
        """See `Stage`."""
        self._live.console.print(f"millrace watch: {text}", markup=False, highlight=False)


class _Printed:
    """Lines on standard output. `refusal`: the error after which nothing was printed."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self.refusal: RunFailed | BrokenPipeError | None = None

    def period(self) -> None:
        """See `Stage`."""
        self.put(lines.line(self._story, self._story.periods[-1]))

    def phase(self) -> None:
        """Do nothing: each line names its phase."""

    def notice(self, text: str) -> None:
        """See `Stage`."""
        print(f"millrace watch: {text}", file=sys.stderr, flush=True)

    def put(self, text: str) -> None:
        """Print lines."""
        if self.refusal is None:
            try:
                say(text)
            except (RunFailed, BrokenPipeError) as error:
                self.refusal = error
