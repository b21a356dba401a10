"""Base of all sources here: a thread receives records, and the run takes those that have arrived.

BOUND  At most MOST_WAITING tuples wait for the run; then the receiving thread waits, and so does
       the sender.
ENDS   `close` interrupts the thread's wait, and every wait has a limit as well.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.connectors.json_text import fitted, from_json
from harness.errors import RunFailed, UserError
from harness.graph.schema import Schema
from harness.operators.compiled import shown_record

MOST_WAITING = 1024  # tuples
LONGEST_WAIT_S = 0.1  # for room
ENDING_S = 1.0  # for a thread to end; one that still connects ends by itself
MOST_RECORD = 2**20  # bytes
MOST_JOINED = 2**16  # bytes of a record of several lines

Values = Mapping[str, Any]
Parse = Callable[[bytes], Values | None]


class Received(ABC):
    """Source whose tuples come from outside, sent to `outputs` ports in turn.

    `parse` returns the values of a tuple for a record, which may be as those of JSON are; None for
    a record that is no tuple, such as a header. It raises ValueError for an unreadable one, which
    is counted as broken. By default a record is an object of JSON with the attributes of `schema`.
    """

    def __init__(self, schema: Schema, parse: Parse | None = None, outputs: int = 1) -> None:
        self.schema = schema
        self.parse = parse
        self.outputs = outputs
        self.received = self.broken = 0
        self.stopping = threading.Event()
        self._waiting: queue.Queue[Values | None] = queue.Queue(MOST_WAITING)
        self._problem: str | None = None
        self._example = ""
        self._taken_s = time.monotonic()  # when the run took the last tuple
        self.ended = False  # True: the run has taken the last tuple
        self._thread: threading.Thread | None = None

    @abstractmethod
    def records(self) -> Iterator[bytes]:
        """Yield the records as they arrive, in a separate thread. Raises OSError or RunFailed when
        no more can arrive.
        """

    def interrupt(self) -> None:  # noqa: B027 - a source that waits in bounded steps has nothing to end
        """End the wait of `records`; called from another thread."""

    def counts(self) -> dict[str, int]:
        """Return the number of records received, and of unreadable ones among them. Exact when the
        run is over.
        """
        return {"records": self.received, "broken": self.broken}

    def left_out(self) -> dict[str, int]:
        """Return the number of records that could not be read, if there were any; a run adds it to
        its totals.
        """
        return {"broken": self.broken} if self.broken else {}

    def examples(self) -> dict[str, str]:
        """Return the first record that could not be read: its number from 1, its beginning, and
        why.
        """
        return {"broken": self._example} if self._example else {}

    @property
    def live(self) -> bool:
        """True if records come as they are made, so that time goes on between them."""
        return True

    def idle_s(self) -> float:
        """Return for how long nothing has come [s]."""
        return time.monotonic() - self._taken_s if self._waiting.empty() else 0.0

    def open(self) -> None:
        """Begin to receive: a run calls this when it starts."""
        self._thread = threading.Thread(
            target=self._receive, name=f"receives {self.schema.name}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Stop receiving: a run calls this when it has stopped."""
        self.stopping.set()
        self.interrupt()
        if self._thread is not None:
            self._thread.join(ENDING_S)

    def __call__(self) -> Iterator[tuple[int, Values] | None]:
        """Yield each tuple that has arrived, and None while there is none."""
        output = 0
        while True:
            try:
                values = self._waiting.get_nowait()
            except queue.Empty:
                yield None
                continue
            if values is None:
                break
            self._taken_s = time.monotonic()
            yield output, values
            output = (output + 1) % self.outputs
        self.ended = True
        if self._problem is not None:
            raise RunFailed(self._problem)

    def lines(self) -> Lines:
        """Return a cutter of lines into records: those of `parse` may have several lines, if it has
        `goes_on`.
        """
        return Lines(getattr(self.parse, "goes_on", None))

    def _receive(self) -> None:
        try:
            for record in self.records():
                self.received += 1
                try:
                    values = self._read(record)
                except ValueError as problem:
                    if self.broken == 0:
                        shown = shown_record(record)
                        self._example = f"record {self.received}: {shown} ({problem})"
                    self.broken += 1
                    continue
                if values is not None and not self._put(values):
                    return
        except RunFailed as problem:
            self._problem = str(problem)
        except Exception as problem:  # any error of a library must end the run
            if not self.stopping.is_set():
                self._problem = f"{self}: {in_words(problem)}"
        self._put(None)

    def _read(self, record: bytes) -> Values | None:
        """Return the values of a record. Raises ValueError for a broken one, and RunFailed if the
        user's function fails in another way.
        """
        if self.parse is None:
            return from_json(self.schema, record)
        try:
            values = self.parse(record)
        except ValueError:
            raise
        except RunFailed as problem:
            raise RunFailed(f"{self}: {problem}") from None
        except Exception as problem:  # of any kind: the function is a user's
            raise RunFailed(
                f"{self}: parse raised {type(problem).__name__} at record {self.received}: "
                f"{in_words(problem)} (a record that cannot be read must be a ValueError)"
            ) from None
        return None if values is None else fitted(self.schema, values)

    def _put(self, values: Values | None) -> bool:
        """Add a tuple to the waiting ones. Return False if the source is closed."""
        while not self.stopping.is_set():
            try:
                self._waiting.put(values, timeout=LONGEST_WAIT_S)
            except queue.Full:
                continue
            return True
        return False


class Lines:
    """Cutter of pieces into lines. A line of more than MOST_RECORD bytes becomes b"".

    With `goes_on`, a record may have several lines, MOST_JOINED bytes at most: `goes_on(record)` is
    True if the next line is of the same record. If there is no end in reach, the first line is a
    record.
    """

    def __init__(self, goes_on: Callable[[bytes], bool] | None = None) -> None:
        self._begun = b""
        self._too_long = False
        self._goes_on = goes_on
        self._held: list[bytes] = []  # lines of a record that has begun
        self._held_bytes = 0

    def cut(self, piece: bytes) -> Iterator[bytes]:
        """Yield the records that end in this piece, without their line ends."""
        *whole, rest = (self._begun + piece).split(b"\n")
        for line in whole:
            yield from self._with(b"" if self._too_long or len(line) > MOST_RECORD else line)
            self._too_long = False
        self._too_long = self._too_long or len(rest) > MOST_RECORD
        self._begun = b"" if self._too_long else rest

    def rest(self) -> Iterator[bytes]:
        """Yield what has no line end, or no end."""
        if self._begun or self._too_long:
            yield from self._with(self._begun)
        while self._held:
            yield from self._without_end()

    def _with(self, line: bytes) -> Iterator[bytes]:
        """Yield the record that ends with this line, if one does."""
        if self._goes_on is None:
            yield line.removesuffix(b"\r")
            return
        self._held.append(line)
        self._held_bytes += len(line) + 1
        record = b"\n".join(self._held)
        if not self._goes_on(record):
            self._held, self._held_bytes = [], 0
            yield record.removesuffix(b"\r")
        elif self._held_bytes > MOST_JOINED:
            yield from self._without_end()

    def _without_end(self) -> Iterator[bytes]:
        """Yield the first line as a record, and those behind it that end."""
        first, *others = self._held
        self._held, self._held_bytes = [], 0
        yield first.removesuffix(b"\r")
        for line in others:
            yield from self._with(line)


def in_words(problem: BaseException) -> str:
    """Return the cause of an error, in one line."""
    while problem.__cause__ is not None and not isinstance(problem, OSError):
        problem = problem.__cause__
    number = getattr(problem, "errno", None) or 0
    words = (
        os.strerror(number)
        if number > 0
        else getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    )
    return " ".join(words.split())


class ReceivedFrom(Received):
    """Source of what comes from `url`."""

    SCHEMES: tuple[str, str]  # with which a URL may begin

    def __init__(
        self, url: str, schema: Schema, parse: Parse | None = None, outputs: int = 1
    ) -> None:
        super().__init__(schema, parse, outputs)
        if not url.startswith(self.SCHEMES):
            raise UserError(f"url must begin with {' or '.join(self.SCHEMES)}, not {url!r:.60}")
        self.url = url

    def __str__(self) -> str:
        return self.url
