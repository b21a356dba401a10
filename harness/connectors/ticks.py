"""Clock of a live stream: its ticks end windows while no tuple comes."""

from __future__ import annotations

from collections.abc import Iterator

from harness.connectors.received import Received, Values
from harness.errors import UserError

NS = 10**9  # in a second


class Ticks:
    """Source of the schema `harness.operators.windows.IDLE`: while `stream` has had no tuple for
    `idle` seconds, event time goes on as a clock does.

    A file is not live: its clock ends at once, so that its results do not depend on when it is
    read.
    """

    def __init__(self, stream: Received, idle: float) -> None:
        if not isinstance(stream, Received):
            raise UserError(f"stream of a clock must be a source of connectors, not {stream!r:.60}")
        if not idle > 0.0:
            raise UserError(f"idle of a clock must be above 0 s, not {idle!r:.60}")
        self.stream, self.idle = stream, idle

    def __call__(self) -> Iterator[tuple[int, Values] | None]:
        """Yield a tick each half of `idle` seconds while the stream is idle, and None."""
        told_s = 0.0
        while self.stream.live and not self.stream.ended:
            idle_s = self.stream.idle_s()
            if idle_s < told_s:
                told_s = 0.0
            if idle_s >= self.idle and idle_s - told_s >= self.idle / 2:
                told_s = idle_s
                yield 0, {"idle": int(idle_s * NS)}
            else:
                yield None
