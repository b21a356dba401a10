"""Test of whether a run is stationary. It takes samples and returns a verdict, without clock or
thread.

A run is stationary over two windows in a row if their sink rates agree, and if in each of them the
sinks receive as fast as the sources send (times the copies that a tuple becomes). The second
condition is what a filling pipeline breaks: its sinks may already be steady while the queues before
them still grow. Two rates agree if they differ by no more than the tolerance, relative to the
greater, or by no more than one tuple of the sources: windows count whole tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.engine import Sample

# a guess, not tuned; a stationary run on an idle 2-core VM varies by 1 to 3 % between windows
WINDOWS_AGREE_WITHIN = 0.05
# by how much the halves of a measured window may differ although the warm-up was over; a guess, not
# tuned
HALVES_AGREE_WITHIN = 0.2


@dataclass(frozen=True)
class FlowWindow:
    """Tuples that went in and came out in a stretch of time."""

    elapsed_s: float
    source_tuples: int
    sink_tuples: int

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> FlowWindow:
        """The samples as one window."""
        rows = [(sample.elapsed_s, sample.source_tuples, sample.sink_tuples) for sample in samples]
        return cls(*(sum(column) for column in zip(*rows, strict=True))) if rows else cls(0.0, 0, 0)


def stationary(
    first: FlowWindow,
    second: FlowWindow,
    copies: int | None,
    tolerance: float = WINDOWS_AGREE_WITHIN,
) -> bool:
    """Return True if the run was stationary over two windows in a row.

    `copies`: tuples at the sinks for each tuple sent, None if that depends on the tuple; sources
    are then not looked at.
    """
    if (
        min(first.elapsed_s, second.elapsed_s) <= 0.0
        or min(first.sink_tuples, second.sink_tuples) == 0
    ):
        return False
    quantum = 1 if copies is None else copies
    pairs = [(first.sink_tuples / first.elapsed_s, second.sink_tuples / second.elapsed_s)]
    if copies is not None:
        pairs += [
            (w.source_tuples * copies / w.elapsed_s, w.sink_tuples / w.elapsed_s)
            for w in (first, second)
        ]
    slack = quantum / min(first.elapsed_s, second.elapsed_s)
    return all(abs(a - b) <= max(tolerance * max(a, b), slack) for a, b in pairs)


def settled_within(
    samples: Sequence[Sample], copies: int | None, tolerance: float = WINDOWS_AGREE_WITHIN
) -> bool:
    """Return True if the two halves of a measured window agree: for a run whose warm-up was not
    watched.
    """
    middle = len(samples) // 2
    return stationary(
        FlowWindow.of(samples[:middle]), FlowWindow.of(samples[middle:]), copies, tolerance
    )


def stayed_settled(samples: Sequence[Sample], copies: int | None) -> bool:
    """Return True if the halves of a measured window differ by at most `HALVES_AGREE_WITHIN`, so
    that its warm-up was over.

    Two neighbouring windows of a warm-up agree by chance now and then while queues still fill. One
    sample says nothing.
    """
    return len(samples) < 2 or settled_within(samples, copies, HALVES_AGREE_WITHIN)


class WarmUp:
    """Is fed the samples of a warm-up; says when it is over and whether the run has settled.

    It is over when two windows in a row are stationary, or when `limit_s` seconds have been seen. A
    window is one sample, or the last third of the samples so far: that grows until it is longer
    than the bursts in which a deep graph moves its tuples.
    """

    def __init__(
        self, copies: int | None, limit_s: float, tolerance: float = WINDOWS_AGREE_WITHIN
    ) -> None:
        self.settled = False
        self.elapsed_s = 0.0
        self._copies = copies
        self._limit_s = limit_s
        self._tolerance = tolerance
        self.samples: list[Sample] = []

    def step(self, sample: Sample) -> bool:
        """Take the next sample; returns whether the warm-up is over."""
        self.samples.append(sample)
        self.elapsed_s += sample.elapsed_s
        self.settled = any(self._stationary(length) for length in {1, len(self.samples) // 3} - {0})
        return self.settled or self.elapsed_s >= self._limit_s

    def _stationary(self, length: int) -> bool:
        """Return True if the last two windows of `length` samples are stationary."""
        before, last = self.samples[-2 * length : -length], self.samples[-length:]
        return stationary(FlowWindow.of(before), FlowWindow.of(last), self._copies, self._tolerance)
