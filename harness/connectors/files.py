"""Files and standard input: a record for each line. What begins as gzip is unpacked."""

from __future__ import annotations

import os
import select
import threading
import zlib
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.connectors.json_text import to_json
from harness.connectors.received import LONGEST_WAIT_S, Parse, Received, Values, in_words
from harness.errors import RunFailed
from harness.files.encodings import unread_encoding
from harness.files.given import open_at_once
from harness.graph.schema import Schema

READ_BYTES = 2**16  # bytes read at a time
GZIP = b"\x1f\x8b"
PACKED = 2**12  # bytes of gzip that are unpacked at a time
LONGEST_UNWRITTEN_S = 0.5  # that a line of a sink waits for others


class _Descriptor(Received):
    """Source that reads a file descriptor. Gzip that ends too early counts as truncated."""

    truncated = False

    @abstractmethod
    def descriptor(self) -> int:
        """Return an open descriptor to read from."""

    def counts(self) -> dict[str, int]:
        return super().counts() | ({"truncated": 1} if self.truncated else {})

    def left_out(self) -> dict[str, int]:
        return super().left_out() | ({"truncated": 1} if self.truncated else {})

    def records(self) -> Iterator[bytes]:
        lines, descriptor, unpacked = self.lines(), self.descriptor(), None
        while not self.stopping.is_set():
            if not select.select([descriptor], [], [], LONGEST_WAIT_S)[0]:
                continue
            piece = os.read(descriptor, READ_BYTES)
            if not piece:
                self.truncated = isinstance(unpacked, Unpacked) and not unpacked.whole
                break
            if unpacked is None:
                if (reason := unread_encoding(piece)) is not None:
                    raise OSError(reason)
                unpacked = Unpacked() if piece.startswith(GZIP) else _as_it_is
            for part in unpacked(piece):
                yield from lines.cut(part)
        yield from lines.rest()


def _as_it_is(piece: bytes) -> Iterator[bytes]:
    yield piece


class Unpacked:
    """Unpacker of gzip, member after member. Raises OSError for what is none."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)

    @property
    def whole(self) -> bool:
        """True if what has come ends where a member does."""
        return self._member.eof

    def __call__(self, piece: bytes) -> Iterator[bytes]:
        """Yield what a piece holds, a packed part after the other, in little memory."""
        for begin in range(0, len(piece), PACKED):
            part = piece[begin : begin + PACKED]
            while part:
                if self._member.eof:
                    part = part.lstrip(b"\0")  # there may be zeros between members
                    self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
                try:
                    yield self._member.decompress(part)
                except zlib.error as problem:
                    raise OSError(f"damaged gzip: {problem}") from None
                part = self._member.unused_data


class StandardInput(_Descriptor):
    """Source of the lines of standard input, until it ends."""

    def __str__(self) -> str:
        return "standard input"

    def descriptor(self) -> int:
        return 0


class FileSource(_Descriptor):
    """Source of the lines of a file, or of a named pipe."""

    def __init__(
        self, path: str, schema: Schema, parse: Parse | None = None, outputs: int = 1
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

    @property
    def live(self) -> bool:
        return not Path(self.path).is_file()

    def descriptor(self) -> int:
        return self._descriptor

    def close(self) -> None:
        super().close()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


class FileSink:
    """Sink that writes a line for each tuple, and passes it to the system within half a second."""

    def __init__(self, path: str, schema: Schema) -> None:
        self.path, self.schema = path, schema
        self._file: Any = None
        self._closing = threading.Event()

    def open(self) -> None:
        """Create the file, or empty it. Raises RunFailed if the system refuses."""
        try:
            self._file = Path(self.path).open("wb")  # noqa: SIM115 - close() closes it
        except OSError as problem:
            raise RunFailed(f"{self.path}: cannot be written: {in_words(problem)}") from None
        self._closing.clear()
        self._writer = threading.Thread(target=self._flush, name="writes", daemon=True)
        self._writer.start()

    def __call__(self, port: int, values: Values) -> None:
        """Write a tuple."""
        self._file.write((to_json(self.schema, values) + "\n").encode())

    def close(self) -> None:
        """Write the remaining lines. Raises RunFailed if there is no room for them."""
        if self._file is not None:
            self._closing.set()
            self._writer.join()
            file, self._file = self._file, None
            try:
                file.close()
            except OSError as problem:
                raise RunFailed(f"{self.path}: cannot be written: {in_words(problem)}") from None

    def _flush(self) -> None:
        while not self._closing.wait(LONGEST_UNWRITTEN_S):
            try:
                self._file.flush()
            except OSError:
                return  # close() says so
