"""Files and standard input: a record for each line."""

from __future__ import annotations

import os
import select
from abc import abstractmethod
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness.connectors.json_text import to_json
from harness.connectors.received import LONGEST_WAIT_S, Lines, Received, Values, in_words
from harness.errors import RunFailed
from harness.files.given import open_at_once
from harness.graph.schema import Schema

READ_BYTES = 2**16  # bytes read at a time


class _Descriptor(Received):
    """Source that reads a file descriptor."""

    @abstractmethod
    def descriptor(self) -> int:
        """Return an open descriptor to read from."""

    def records(self) -> Iterator[bytes]:
        lines, descriptor = Lines(), self.descriptor()
        while not self.stopping.is_set():
            if not select.select([descriptor], [], [], LONGEST_WAIT_S)[0]:
                continue
            piece = os.read(descriptor, READ_BYTES)
            if not piece:
                break
            yield from lines.cut(piece)
        yield from lines.rest()


class StandardInput(_Descriptor):
    """Source of the lines of standard input, until it ends."""

    def __str__(self) -> str:
        return "standard input"

    def descriptor(self) -> int:
        return 0


class FileSource(_Descriptor):
    """Source of the lines of a file, or of a named pipe."""

    def __init__(
        self,
        path: str,
        schema: Schema,
        parse: Callable[[bytes], Values] | None = None,
        outputs: int = 1,
    ) -> None:
        super().__init__(schema, parse, outputs)
        self.path = path
        self._descriptor = -1

    def __str__(self) -> str:
        return self.path

    def open(self) -> None:
        try:
            self._descriptor = open_at_once(self.path, os.O_RDONLY)
        except OSError as problem:
            raise RunFailed(f"{self.path}: cannot be read: {in_words(problem)}") from None
        super().open()

    def descriptor(self) -> int:
        return self._descriptor

    def close(self) -> None:
        super().close()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class FileSink:
    """Sink that writes a line for each tuple. When the run has stopped, all lines are passed to the
    system.
    """

    def __init__(self, path: str, schema: Schema) -> None:
        self.path, self.schema = path, schema
        self._file: Any = None

    def open(self) -> None:
        """Create the file, or empty it. Raises RunFailed if the system refuses."""
        try:
            self._file = Path(self.path).open("w", encoding="utf-8")  # noqa: SIM115 - close() closes it
        except OSError as problem:
            raise RunFailed(f"{self.path}: cannot be written: {in_words(problem)}") from None

    def __call__(self, port: int, values: Values) -> None:
        """Write a tuple."""
        self._file.write(to_json(self.schema, values) + "\n")

    def close(self) -> None:
        """Write the remaining lines. Raises RunFailed if there is no room for them."""
        if self._file is not None:
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as problem:
                raise RunFailed(f"{self.path}: cannot be written: {in_words(problem)}") from None
