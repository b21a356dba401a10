"""When a run has become stationary. Samples in, verdict out: no clock, no thread.

A run is stationary over two windows in a row if their sink rates agree, and if in each of them the sinks receive as fast as
the sources send (times the copies that a tuple becomes). The second condition is what a filling pipeline breaks: its sinks may
already be steady while the queues before them still grow. Two rates agree if they differ by no more than the tolerance,
relative to the greater, or by no more than one tuple of the sources: windows count whole tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.engine import Sample

TOLERANCE = 0.05  # a guess, not tuned; a stationary run on an idle 2-core VM varies by 1 to 3 % between windows


@dataclass(frozen=True)
class Window:
    """What went in and came out in a stretch of time."""

    elapsed_s: float
    source_tuples: int
    sink_tuples: int

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> Window:
        """The samples as one window."""
        rows = [(sample.elapsed_s, sample.source_tuples, sample.sink_tuples) for sample in samples]
        return cls(*(sum(column) for column in zip(*rows, strict=True))) if rows else cls(0.0, 0, 0)


def stationary(first: Window, second: Window, copies: int | None, tolerance: float = TOLERANCE) -> bool:
    """Whether the run was stationary over two windows in a row.

    `copies`: tuples at the sinks for each tuple sent, None if that depends on the tuple; sources are then not looked at.
    """
    if min(first.elapsed_s, second.elapsed_s) <= 0.0 or min(first.sink_tuples, second.sink_tuples) == 0:
        return False
    quantum = 1 if copies is None else copies
    pairs = [(first.sink_tuples / first.elapsed_s, second.sink_tuples / second.elapsed_s)]
    if copies is not None:
        pairs += [(w.source_tuples * copies / w.elapsed_s, w.sink_tuples / w.elapsed_s) for w in (first, second)]
    slack = quantum / min(first.elapsed_s, second.elapsed_s)
    return all(abs(a - b) <= max(tolerance * max(a, b), slack) for a, b in pairs)


def settled_within(samples: Sequence[Sample], copies: int | None, tolerance: float = TOLERANCE) -> bool:
    """Whether the two halves of a measured window agree: the verdict on a run whose warm-up was not watched."""
    middle = len(samples) // 2
    return stationary(Window.of(samples[:middle]), Window.of(samples[middle:]), copies, tolerance)


class WarmUp:
    """Is fed the windows of a warm-up; says when it is over and whether the run has settled.

    Each sample is one window. It is over when two windows in a row are stationary, or when `limit_s` seconds have been seen.
    """

    def __init__(self, copies: int | None, limit_s: float, tolerance: float = TOLERANCE) -> None:
        self.settled = False
        self.elapsed_s = 0.0
        self._copies = copies
        self._limit_s = limit_s
        self._tolerance = tolerance
        self._previous: Window | None = None

    def step(self, sample: Sample) -> bool:
        """Take the next window; returns whether the warm-up is over."""
        window = Window.of([sample])
        self.elapsed_s += window.elapsed_s
        self.settled = self._previous is not None and stationary(self._previous, window, self._copies, self._tolerance)
        self._previous = window
        return self.settled or self.elapsed_s >= self._limit_s
