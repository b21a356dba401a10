"""Line on standard error that is overwritten as a command goes on."""

from __future__ import annotations

import shutil
import sys
from typing import Self

from harness.terminal.output import tell


class OverwrittenLine:
    """Line on a terminal, gone at the end. Where stderr is no terminal nothing is written."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._overwrite("")

    def _overwrite(self, text: str) -> None:
        """Show a text in place of the one before; cut it, as a longer one would take a second line,
        which would stay.
        """
        if self._live:
            tell(f"\r\033[K{text[: shutil.get_terminal_size().columns - 1]}", end="")
