"""Line on standard error that is overwritten as a command goes on, drawn by `rich`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

BAR_WIDTH = 20  # characters


def terminal_on_stderr() -> Console | None:
    """Return a console on stderr; None if that is no terminal, or one that cannot go back."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console  # late: a log needs none, and it takes a while to import

    console = Console(file=sys.stderr, highlight=False, markup=False, emoji=False)
    return None if console.is_dumb_terminal or not console.is_terminal else console


class OverwrittenLine:
    """Line on a terminal, gone at the end. Where stderr is no terminal nothing is written."""

    def __init__(self) -> None:
        self._console = terminal_on_stderr()
        self._shown: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._overwrite("")

    @property
    def _live(self) -> bool:
        return self._console is not None

    def _overwrite(self, text: str, done: float = 0.0, total: float = 0.0) -> None:
        """Show a text in place of the one before, behind a bar if there is a total; cut it, as a
        longer one would take a second line. An empty text takes the line away.
        """
        if self._console is None:
            return
        try:
            if text:
                self._draw(text, done, total)
            elif self._shown is not None:
                shown, self._shown = self._shown, None
                shown.stop()
        except OSError:  # the terminal has gone; the command goes on
            self._console = self._shown = None

    def _draw(self, text: str, done: float, total: float) -> None:
        from rich.live import Live
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        line: Text | Table = Text(text, no_wrap=True, overflow="ellipsis")
        if total > 0:
            bar, words = ProgressBar(total, done, width=BAR_WIDTH), line
            line = Table.grid(padding=(0, 1, 0, 0))
            line.add_row(bar, words)
        if self._shown is None:
            # other output is not redirected: stdout may be a file
            self._shown = Live(
                console=self._console,
                auto_refresh=False,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._shown.start()
        self._shown.update(line, refresh=True)
