"""What all sources here have in common: a thread receives records, and the run takes what is at hand.

BOUND  At most MOST_WAITING tuples wait for the run; who receives waits then, and so does who sends to it.
ENDS   `close` interrupts whatever the thread waits for, and every wait has a limit besides.
"""

from __future__ import annotations

import os
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from harness.connectors.json_text import from_json
from harness.errors import RunFailed
from harness.graph.schema import Schema

MOST_WAITING = 1024  # tuples
LONGEST_WAIT_S = 0.1  # for room
ENDING_S = 1.0  # that a thread is given to end; one that still connects ends by itself
MOST_RECORD = 2**20  # bytes

Values = Mapping[str, Any]


class Received(ABC):
    """A source whose tuples come from outside, sent to `outputs` ports in turn.

    `parse` makes the values of a tuple of a record, and raises ValueError for one that cannot be read: it is counted as broken.
    By default a record is an object of JSON with the attributes of `schema`.
    """

    def __init__(self, schema: Schema, parse: Callable[[bytes], Values] | None = None, outputs: int = 1) -> None:
        self.schema = schema
        self.parse = parse or (lambda record: from_json(schema, record))
        self.outputs = outputs
        self.received = self.broken = 0
        self.stopping = threading.Event()
        self._waiting: queue.Queue[Values | None] = queue.Queue(MOST_WAITING)
        self._problem: str | None = None
        self._thread: threading.Thread | None = None

    @abstractmethod
    def records(self) -> Iterator[bytes]:
        """The records, as they come; in a thread of its own. Raises OSError or RunFailed when there can be no more."""

    def interrupt(self) -> None:  # noqa: B027 - a source that waits in bounded steps has nothing to end
        """End what `records` waits for; from another thread."""

    def counts(self) -> dict[str, int]:
        """Records received, and those of them that could not be read. Exact when the run is over."""
        return {"records": self.received, "broken": self.broken}

    def open(self) -> None:
        """Begin to receive: a run does it when it starts."""
        self._thread = threading.Thread(target=self._receive, name=f"receives {self.schema.name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it: a run does it when it has stopped."""
        self.stopping.set()
        self.interrupt()
        if self._thread is not None:
            self._thread.join(ENDING_S)

    def __call__(self) -> Iterator[tuple[int, Values] | None]:
        """What is at hand, and None where nothing is."""
        output = 0
        while True:
            try:
                values = self._waiting.get_nowait()
            except queue.Empty:
                yield None
                continue
            if values is None:
                break
            yield output, values
            output = (output + 1) % self.outputs
        if self._problem is not None:
            raise RunFailed(self._problem)

    def _receive(self) -> None:
        try:
            for record in self.records():
                self.received += 1
                try:
                    values = self.parse(record)
                except ValueError:
                    self.broken += 1
                    continue
                if not self._put(values):
                    return
        except RunFailed as problem:
            self._problem = str(problem)
        except Exception as problem:  # of a library: whatever it is, the run must hear of it
            if not self.stopping.is_set():
                self._problem = f"{self}: {in_words(problem)}"
        self._put(None)

    def _put(self, values: Values | None) -> bool:
        """False: it is over."""
        while not self.stopping.is_set():
            try:
                self._waiting.put(values, timeout=LONGEST_WAIT_S)
            except queue.Full:
                continue
            return True
        return False


class Lines:
    """Cuts what comes into lines. Of a line of more than MOST_RECORD bytes only b"" is left."""

    def __init__(self) -> None:
        self._begun = b""
        self._too_long = False

    def cut(self, piece: bytes) -> Iterator[bytes]:
        """The lines that end in this piece, without their ends."""
        *whole, rest = (self._begun + piece).split(b"\n")
        for line in whole:
            yield b"" if self._too_long or len(line) > MOST_RECORD else line.removesuffix(b"\r")
            self._too_long = False
        self._too_long = self._too_long or len(rest) > MOST_RECORD
        self._begun = b"" if self._too_long else rest

    def rest(self) -> Iterator[bytes]:
        """The last line, if it has no end."""
        if self._begun or self._too_long:
            yield self._begun


def in_words(problem: BaseException) -> str:
    """What went wrong, in one line."""
    while problem.__cause__ is not None and not isinstance(problem, OSError):
        problem = problem.__cause__
    number = getattr(problem, "errno", None) or 0
    words = os.strerror(number) if number > 0 else getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
    return " ".join(words.split())
