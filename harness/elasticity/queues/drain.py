"""Wait after queues were dropped, until they have drained and the costs are those of the state
without them.

A tuple that a dropped queue still holds is submitted once more on each stream on its way to the
sinks. So all have arrived once the scheduler threads have submitted as many tuples as full queues
would cause. Costs are shares over a window of the last periods (`measurement.laws`), so the first
costs of the new state alone come one window later.
"""

from __future__ import annotations

from collections.abc import Collection

from harness.elasticity.law import PROFILE_PERIODS, Reading
from harness.elasticity.layout import Layout

# Longest wait for tuples, in periods (a guess): the queues of a slow source may have been empty.
MOST_PERIODS = 20


class Drain:
    """Wait for dropped queues and for the window of costs; at first there is nothing to wait
    for.
    """

    def __init__(self, layout: Layout) -> None:
        self._sources = len(layout.sources)
        self._capacity = layout.queue_capacity
        # submissions that a tuple at an operator leads to, on average
        ahead = [0.0] * layout.operators
        for link in reversed(layout.links):  # whose sources are in the order of the streams
            if layout.tuples[link.source] > 0.0:
                ahead[link.source] += (
                    link.tuples / layout.tuples[link.source] * (1.0 + ahead[link.target])
                )
        self._ahead = [ahead[operator] for operator in layout.at]
        self._submissions = 0.0  # still to come from dropped queues
        self._periods = 0  # for which it may still wait for them
        self._stale = 0  # periods for which the costs still include the state before

    def begin(self, places: Collection[int]) -> None:
        """Start the wait: the queues at these places are dropped now."""
        self._submissions = self._capacity * sum(self._ahead[place] for place in places)
        self._periods, self._stale = (MOST_PERIODS, PROFILE_PERIODS) if places else (0, 0)

    def is_over(self, reading: Reading) -> bool:
        """Return True if this period began after the wait. Call it exactly once a period."""
        if self._periods > 0:
            # of the submissions; the others are the sources' own
            share = reading.threads / (reading.threads + self._sources)
            self._submissions -= share * reading.throughput * reading.elapsed_s
            done = self._submissions <= 0.0 or reading.throughput == 0.0
            self._periods = 0 if done else self._periods - 1
            return False
        if self._stale > 0:
            self._stale -= 1
            return False
        return True
