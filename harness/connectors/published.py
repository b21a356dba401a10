"""Base of all network sinks: each subscriber has a queue, and never delays the run.

BOUND  A subscriber that is MOST_WAITING pieces behind loses the oldest of them; `lost` counts
       them.
ENDS   When the run has stopped, subscribers have ENDING_S to take their waiting pieces.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from harness.connectors.received import LONGEST_WAIT_S, Values

MOST_WAITING = 2**14  # pieces
ENDING_S = 2.0

Piece = TypeVar("Piece")


class Published(Generic[Piece]):
    """Sink that makes a piece of each tuple and passes it to all subscribers.

    `keep`: number of the last pieces that a new subscriber gets first.
    """

    def __init__(self, made: Callable[[Values], Piece], keep: int = 0) -> None:
        self.made = made
        self.published = self.lost = 0
        self.closing = threading.Event()
        self._kept: deque[Piece] = deque(maxlen=keep)
        self._subscribers: list[deque[Piece]] = []
        self._turn = threading.Lock()
        self._news = threading.Condition(self._turn)

    @property
    def subscribers(self) -> int:
        """Number of subscribers now."""
        return len(self._subscribers)

    def counts(self) -> dict[str, int]:
        """Return the number of published tuples, and of pieces that slow subscribers have lost.
        Exact when the run is over.
        """
        return {"published": self.published, "lost": self.lost}

    def __call__(self, port: int, values: Values) -> None:
        """Publish a tuple. Never waits for a subscriber."""
        with self._news:
            self.published += 1
            if not self._subscribers and self._kept.maxlen == 0:
                return
            piece = self.made(values)
            self._kept.append(piece)
            for waiting in self._subscribers:
                self.lost += len(waiting) == waiting.maxlen
                waiting.append(piece)
            self._news.notify_all()

    @contextmanager
    def subscribed(
        self, after: Callable[[Piece], bool] = lambda piece: True
    ) -> Iterator[Iterator[list[Piece]]]:
        """Yield an iterator over lists of available pieces until the run ends: first kept pieces
        for which `after` holds, then new ones.
        """
        with self._turn:
            waiting: deque[Piece] = deque(filter(after, self._kept), MOST_WAITING)
            self._subscribers.append(waiting)
        try:
            yield self._pieces(waiting)
        finally:
            with self._news:
                self._subscribers.remove(waiting)
                self._news.notify_all()

    def close(self) -> None:
        """Let subscribers take their waiting pieces, and end."""
        self.closing.set()
        end = time.monotonic() + ENDING_S
        with self._news:
            self._news.notify_all()
            while self._subscribers and time.monotonic() < end:
                self._news.wait(LONGEST_WAIT_S)

    def _pieces(self, waiting: deque[Piece]) -> Iterator[list[Piece]]:
        while True:
            with self._news:
                while not waiting and not self.closing.is_set():
                    self._news.wait(LONGEST_WAIT_S)
                pieces = list(waiting)
                waiting.clear()
            if not pieces:
                return
            yield pieces
