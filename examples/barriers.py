"""A barrier of two ports, in Python: as a loop, and as functions that are called (C-Stream, §2.3).

The loop waits for a tuple of each port. The functions need a buffer for each port, a lock, since
threads bring tuples to both ports at the same time, and back-pressure. They do not keep the order
of what they send: two threads may overtake each other between the lock and the next queue.
`barrier_events.c` has them in C.
"""

from __future__ import annotations

import threading
from collections import deque
from typing import Any


async def barrier(ctx: Any) -> None:
    """Send the sum of a tuple of each input port (C-Stream, Listing 2)."""
    while await ctx.wait_all(1):
        await ctx.push(sum(port.pop() for port in ctx.inputs))


class Barrier:
    """Barrier as one function for each port, `process(port, ...)` (C-Stream, Listing 3)."""

    def __init__(self, ports: int = 2, capacity: int = 1000) -> None:
        self.buffers: list[deque[float]] = [deque() for _ in range(ports)]
        self.capacity = capacity
        self.not_full = threading.Condition()
        self.stopping = False

    def process(self, port: int, sequence: int, value: float) -> float | None:
        """Take a tuple of a port; return the sum if it completes a pair, else None."""
        with self.not_full:
            while len(self.buffers[port]) == self.capacity and not self.stopping:
                self.not_full.wait()  # back-pressure
            if self.stopping:
                return None
            self.buffers[port].append(value)
            if not all(self.buffers):
                return None
            was_full = any(len(buffer) == self.capacity for buffer in self.buffers)
            total = sum(buffer.popleft() for buffer in self.buffers)
            if was_full:
                self.not_full.notify_all()
            return total

    def stop(self) -> None:
        """Let go of all waiting threads; called before the run is stopped."""
        with self.not_full:
            self.stopping = True
            self.not_full.notify_all()
