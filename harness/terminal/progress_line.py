"""Progress of `millrace run`: a line on the terminal, and its log."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Self, TextIO

from harness.errors import RunFailed
from harness.files.whole import open_for_writing
from harness.terminal.overwritten_line import OverwrittenLine


class ProgressLine(OverwrittenLine):
    """Line on stderr that is overwritten as the runs go on; silent if stderr is not a terminal.

    With a log every such line is also written there: "-" is stderr itself, where the lines then
    stay.
    """

    def __init__(self, log: str | None = None) -> None:
        super().__init__()
        if log == "-":
            self._console = None
        self._log = log
        self._file: TextIO | None = sys.stderr if log == "-" else None
        self._refusal: OSError | None = None

    def __enter__(self) -> Self:
        if self._log not in (None, "-"):
            try:
                self._file = os.fdopen(
                    open_for_writing(self._log, os.O_CREAT | os.O_TRUNC), "w", encoding="utf-8"
                )
            except OSError as error:
                raise RunFailed(f"cannot write {self._log}: {error.strerror}") from error
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.clear()
        if self._file not in (None, sys.stderr):
            with suppress(OSError):
                self._file.close()
        if self._refusal is not None and kind is None:
            raise RunFailed(
                f"cannot write {self._log}: {self._refusal.strerror}"
            ) from self._refusal

    def show(self, done: int, total: int, text: str) -> None:
        """Show the current run, and its work."""
        line = f"run {min(done + 1, total)}/{total}: {text}"
        self._overwrite(line)
        if self._file is not None and self._refusal is None:
            try:
                print(line, file=self._file, flush=True)
            except OSError as error:  # raised at the end: the calling thread must go on listening
                self._refusal = error

    def notify(self, notice: str) -> None:
        """Show why the run waits, on a line of its own, so that a log has it as well."""
        self.clear()
        print(f"millrace run: {notice}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Clear the line."""
        self._overwrite("")
