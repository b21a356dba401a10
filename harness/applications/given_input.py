"""Input of an application. A benchmark reads a file as a whole, so that it does not measure the
reading of a disk; a job reads it, or a pipe, as a stream. What begins as gzip is unpacked.
"""

from __future__ import annotations

import os
import select
import stat
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.engine.left_out import TRUNCATED
from harness.errors import RunFailed, UserError
from harness.files.encodings import unread_encoding
from harness.files.given import OTHER_KINDS, read_given
from harness.graph.functions.compiled import StepFunction
from harness.operators.compiled import Compiled

MOST_BYTES = 4 * 2**30
"""Largest input of a benchmark [bytes], packed or not: it is kept in memory."""

STANDARD = "-"
PIECE = 2**20  # bytes that a stream hands over at once
READ_BYTES = 2**16  # bytes read at a time
PATIENCE_S = 0.1  # for which a live stream gathers a piece, and waits for room
HEAD = 2**20  # bytes that are looked at before a job begins
GZIP = b"\x1f\x8b"
PACKED_BYTES_AT_ONCE = 2**14  # packed bytes that are unpacked at a time


Check = Callable[[str, bytes], None]
"""Raises UserError for a path whose first MiB is no input of an application."""


@dataclass(frozen=True)
class GivenInput:
    """Content of a file."""

    data: bytes
    truncated: bool  # True if a gzip file ends too early, or is damaged: `data` is the part before


class Unpacker:
    """Unpacker of gzip, one member after the other, with zeros between them. After damage it gives
    nothing more.
    """

    def __init__(self) -> None:
        self._member: zlib._Decompress | None = None
        self._damaged = self._any = False

    @property
    def truncated(self) -> bool:
        """True if a member has not ended, or was damaged."""
        return self._damaged or (self._member is not None and not self._member.eof)

    def pieces(self, packed: bytes | memoryview) -> Iterator[bytes]:
        """Yield what the next packed bytes hold, in little memory."""
        view = memoryview(packed)  # slices of it are no copies
        for at in range(0, len(view), PACKED_BYTES_AT_ONCE):
            piece: bytes | memoryview = view[at : at + PACKED_BYTES_AT_ONCE]
            while piece and not self._damaged:
                if self._member is None or self._member.eof:
                    piece = bytes(piece).lstrip(b"\0") if self._any else piece
                    if not piece:
                        break
                    self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
                before = self._member.copy()
                try:
                    content = self._member.decompress(piece)
                except zlib.error:
                    content, self._damaged = _before_damage(before, piece), True
                self._any = True
                yield content
                piece = self._member.unused_data


def read_input(path: str) -> GivenInput:
    """Return the bytes in a file, unpacked if it is gzip. Raises UserError for one that cannot be
    read or is too large, and for a pipe, which can be read only once.
    """
    if is_stream(path):
        raise UserError(
            f"{path}: can be read only once, so not by a benchmark; a job reads it: leave out "
            "cycles, --duration and --repeats"
        )
    data = read_given(path, MOST_BYTES)
    _check_encoding(path, data)
    if not data.startswith(GZIP):
        return GivenInput(data, False)
    pieces, size, unpacker = [], 0, Unpacker()
    for piece in unpacker.pieces(data):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise UserError(f"{path}: must have at most {MOST_BYTES} bytes unpacked")
    return GivenInput(b"".join(pieces), unpacker.truncated)


def read_or_generate(path: str, generate: Callable[[], bytes], check: Check) -> tuple[bytes, bool]:
    """Return what is in a file, checked by its first MiB, or what is generated if `path` is empty;
    and True if it is truncated. Raises UserError as `read_input` and `check`.
    """
    if not path:
        return generate(), False
    given = read_input(path)
    _check_lines(path, given.data[:HEAD], check)
    return given.data, given.truncated


def _check_lines(path: str, head: bytes, check: Check) -> None:
    """Check the beginning of an input of lines. One line that fills it says nothing about those
    behind it: a run counts that one as broken.
    """
    if len(head) < HEAD or b"\n" in head:
        check(path, head)


def is_stream(path: str) -> bool:
    """Return True for standard input, a pipe or a device."""
    if path == STANDARD:
        return True
    try:
        return stat.S_IFMT(Path(path).stat().st_mode) in OTHER_KINDS
    except (OSError, ValueError):
        return False


def _check_encoding(path: str, head: bytes) -> None:
    """Raise UserError for an input that begins in an encoding that is not read."""
    if (reason := unread_encoding(head)) is not None:
        raise UserError(f"{path}: {reason}")


def _before_damage(unpacker: zlib._Decompress, piece: bytes | memoryview) -> bytes:
    """Return the content of a piece before the byte that cannot be unpacked: a failed call returns
    none of the bytes it has unpacked.
    """
    found = []
    try:
        for place in range(len(piece)):
            found.append(unpacker.decompress(piece[place : place + 1]))
    except zlib.error:
        pass
    return b"".join(found)


class StreamedInput:
    """Reader of a file or a pipe, once, from its beginning to its end: it hands pieces to a
    compiled source. Raises UserError for one that cannot be read.

    A pipe without a writer waits for one. While `open` and `close` are called by a run, a thread
    reads.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._descriptor = os.dup(0) if path == STANDARD else os.open(path, os.O_RDONLY)
            mode = os.fstat(self._descriptor).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(21, os.strerror(21))
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise UserError(f"{path}: cannot be read: {reason}") from None
        self.live = not stat.S_ISREG(mode)
        self._unpacker: Unpacker | None = None
        self._begun = self._ended = False
        self._head = b""
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._problem: str | None = None
        self.source: Compiled | None = None

    def head(self, enough: Callable[[bytes], bool]) -> bytes:
        """Return the beginning of the input, as much as `enough` asks for, or there is, or HEAD.
        Of a pipe it waits for that.
        """
        while not self._ended and len(self._head) < HEAD and not enough(self._head):
            self._head += b"".join(self._read())
        return self._head

    def left_out(self) -> dict[str, int]:
        """Return 1 for an input that is truncated; a run adds it to its totals."""
        return {TRUNCATED: 1} if self.truncated else {}

    @property
    def truncated(self) -> bool:
        """True if a gzip input has ended too early, or was damaged."""
        return self._ended and self._unpacker is not None and self._unpacker.truncated

    def step_of(self, source: Compiled) -> StepFunction:
        """Return the step function of the source that gets the pieces."""
        self.source = source
        step = source.step
        return StreamedStep(
            step.address, step.state, owners=(self, *step.owners), meanings=step.meanings
        )

    def open(self) -> None:
        """Begin to read: a run calls this when it starts."""
        self._thread = threading.Thread(target=self._run, name="reads input", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop reading: a run calls this when it has stopped. Raises RunFailed if the input could
        not be read.
        """
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._problem is not None:
            raise RunFailed(self._problem)

    def _read(self) -> list[bytes]:
        """Return the content of the next bytes; none at the end, or if there are none in time."""
        if self.live and not select.select([self._descriptor], [], [], PATIENCE_S)[0]:
            return []
        raw = os.read(self._descriptor, READ_BYTES)
        self._ended = not raw
        if raw and not self._begun:
            self._begun = True
            _check_encoding(self.path, raw)
            self._unpacker = Unpacker() if raw.startswith(GZIP) else None
        return [raw] if self._unpacker is None else list(self._unpacker.pieces(raw))

    def _run(self) -> None:
        gathered = [self._head]
        size = len(self._head)
        self._head = b""
        try:
            while not self._stopping.is_set() and not self._ended:
                found = self._read()
                gathered += found
                size += sum(map(len, found))
                if size >= PIECE or (self.live and not found):
                    self._put(b"".join(gathered))
                    gathered, size = [], 0
        except OSError as problem:
            self._problem = f"{self.path}: cannot be read: {problem.strerror}"
        except UserError as problem:
            self._problem = str(problem)
        self._put(b"".join(gathered))
        self.source.end_pieces()

    def _put(self, content: bytes) -> None:
        for begin in range(0, len(content), PIECE):
            while not self.source.put_piece(content[begin : begin + PIECE], PATIENCE_S):
                if self._stopping.is_set():
                    return


def checked_stream(path: str, check: Check) -> StreamedInput:
    """Return an input of lines that is read once; its first MiB is checked unless there is nothing,
    or it arrives as time goes on. Raises UserError as `check`.
    """
    stream = StreamedInput(path)
    if not stream.live and (head := stream.head(lambda _: False)):
        _check_lines(path, head[:HEAD], check)
    return stream


def source_of(
    given: bytes | StreamedInput,
    truncated: bool,
    in_memory: Callable[[], Compiled],
    in_pieces: Callable[[], Compiled],
) -> tuple[Compiled, StepFunction]:
    """Return the source of an input, and its step function. `truncated`: the end of an input in
    memory is missing.
    """
    if isinstance(given, StreamedInput):
        source = in_pieces()
        return source, given.step_of(source)
    source = in_memory()
    if truncated:
        source.noted = {TRUNCATED: 1}
    return source, source.step


def truncated_inputs(step: StepFunction) -> int:
    """Return 1 if the input of a source was truncated, else 0. Exact when the run is over."""
    owners = [each for each in step.owners if hasattr(each, "left_out")]
    return max(each.left_out().get(TRUNCATED, 0) for each in owners)


class StreamedStep(StepFunction):
    """Step function of a source that gets its input from a StreamedInput, its first owner."""

    def open(self) -> None:
        """Begin to read."""
        self.owners[0].open()

    def close(self) -> None:
        """Stop reading."""
        self.owners[0].close()
