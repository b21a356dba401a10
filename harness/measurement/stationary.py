"""Stationary or not: the one test of measured and of simulated runs.

A run is stationary over two windows in a row if their sink rates agree, and if in each of them the
sinks receive as fast as the sources send (times the copies that a tuple becomes). The second
condition is what a filling pipeline breaks: its sinks may already be steady while the queues before
them still grow. Two rates agree if they differ by no more than the tolerance, relative to the
greater, or by no more than one tuple of the sources: windows count whole tuples.

A simulated run has no noise of a host, and its time costs little. So it goes on until the last two
thirds of it are stationary, and these are what is measured: `Settling`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.engine import Sample

# a guess, not tuned; a stationary run on an idle 2-core VM varies by 1 to 3 % between windows
WINDOWS_AGREE_WITHIN = 0.05
# by how much the halves of a measured window may differ although the warm-up was over; a guess, not
# tuned
HALVES_AGREE_WITHIN = 0.2
# that a simulated run has before it is looked at: two may agree by chance
SAMPLES_AT_LEAST = 12
# by how much of their length the mean fill of all queues may differ between the windows of a
# simulated run; a guess, not tuned
FILLS_AGREE_WITHIN = 0.02


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


def is_settled(samples: Sequence[Sample], copies: int | None, warm_up: bool | None) -> bool:
    """Return True if a measured window is stationary. `warm_up`: its warm-up ended so; None: of
    fixed length, so nobody looked.
    """
    if warm_up is None:
        return settled_within(samples, copies)
    return warm_up and stayed_settled(samples, copies)


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


class Settling:
    """Is fed the samples of a simulated run from its beginning, and says when it is stationary.

    It is when the sink rates of its second and its last third agree, by events; sinks received in
    both together as fast as sources sent; the fill of the queues has stayed the same; and as many
    tuples were executed as all queues hold. Else a flow that only seems steady while thousands of
    tuples are left to drain would pass.
    """

    def __init__(self, copies: int | None, capacity: int) -> None:
        """`capacity`: tuples a queue."""
        self.settled = False
        self.events = 0
        self._copies = copies
        self._capacity = capacity
        self._samples: list[Sample] = []
        self._until: list[int] = []  # events by the end of each sample

    def step(self, sample: Sample, events: int) -> None:
        """Take the next sample, which took so many events."""
        self.events += events
        self._samples.append(sample)
        self._until.append(self.events)
        middle, last = self._windows()
        whole = FlowWindow.of((*middle, *last))
        self.settled = (
            len(self._samples) >= SAMPLES_AT_LEAST
            and stationary(FlowWindow.of(middle), FlowWindow.of(last), None)
            # a source may send in bursts that are longer than a window
            and stationary(whole, whole, self._copies)
            and abs(_fill(middle) - _fill(last)) <= FILLS_AGREE_WITHIN
            and sum(sum(each.processed) for each in (*middle, *last))
            >= len(sample.queue_fill) * self._capacity
        )

    @property
    def before(self) -> list[Sample]:
        """Samples before the window."""
        return self._samples[: self._place(1 / 3)]

    @property
    def window(self) -> list[Sample]:
        """Samples of the last two thirds of the events."""
        return self._samples[self._place(1 / 3) :]

    def _windows(self) -> tuple[list[Sample], list[Sample]]:
        middle = self._place(2 / 3)
        return self._samples[self._place(1 / 3) : middle], self._samples[middle:]

    def _place(self, share: float) -> int:
        """Return the number of samples that end within a share of the events."""
        return bisect_right(self._until, share * self.events)


def _fill(samples: Sequence[Sample]) -> float:
    """Return the mean fill of all queues, over samples of about one length; 0 if there are none."""
    fills = [fill for sample in samples for fill in sample.queue_fill]
    return sum(fills) / len(fills) if fills else 0.0
