"""When a period tells of a state without queues: not before those that were dropped have drained, and costs are all of after.

A tuple that a dropped queue still holds is submitted once more on each stream on its way to the sinks. So all have arrived when
the scheduler threads have submitted as much as the tuples of full queues would be. Costs are shares over a window of the last
periods (`measurement.run`): the first that tell of nothing but the new state come a window later.
"""

from __future__ import annotations

from collections.abc import Collection

from harness.elasticity.law import Reading
from harness.elasticity.layout import Layout

COST_PERIODS = 4  # that the window of costs may reach back
MOST_PERIODS = 20  # for which it waits for tuples, at most (a guess): of a source that sends few the queues may have been empty


class Drain:
    """At first there is nothing to wait for."""

    def __init__(self, layout: Layout) -> None:
        self._sources = len(layout.sources)
        self._capacity = layout.queue_capacity
        ahead = [0.0] * layout.operators  # submissions that a tuple at an operator leads to, on average
        for link in reversed(layout.links):  # whose sources are in the order of the streams
            if layout.tuples[link.source] > 0.0:
                ahead[link.source] += link.tuples / layout.tuples[link.source] * (1.0 + ahead[link.target])
        self._ahead = [ahead[operator] for operator in layout.at]
        self._submissions = 0.0  # still to come from dropped queues
        self._periods = 0  # for which it may still wait for them
        self._stale = 0  # periods in which costs still tell of before

    def begin(self, places: Collection[int]) -> None:
        """The queues at these places are dropped now."""
        self._submissions = self._capacity * sum(self._ahead[place] for place in places)
        self._periods, self._stale = (MOST_PERIODS, COST_PERIODS) if places else (0, 0)

    def is_over(self, reading: Reading) -> bool:
        """Whether this period began after all that. To be asked once a period."""
        if self._periods > 0:
            share = reading.threads / (reading.threads + self._sources)  # of the submissions; the others are the sources' own
            self._submissions -= share * reading.throughput * reading.elapsed_s
            done = self._submissions <= 0.0 or reading.throughput == 0.0
            self._periods = 0 if done else self._periods - 1
            return False
        if self._stale > 0:
            self._stale -= 1
            return False
        return True
