"""Detection of queues that fill or drain, and the correction of a period's throughput for it.

Of the tuples that are submitted in a period a share arrives at the sinks. The share is constant
while the content of the queues is constant. Fewer tuples arrive while queues fill, because the work
that fills them has not reached the sinks yet; more arrive while they drain. So throughput over all
operators and throughput at the sinks, in the same unit, mostly lie on either side of the throughput
that the configuration will reach. While queues drain and no thread works upstream of them, both may
lie below it. The larger their distance, the larger the uncertainty (docs/laws-millrace.md has
numbers).
"""

from __future__ import annotations

import math

# Distance of the two, as a share of throughput, up to which queues neither fill nor drain; a guess,
# not tuned.
BALANCED_WITHIN = 0.1
# Periods after a switch before the share that arrives counts as the usual one; a guess, not tuned.
SETTLING_PERIODS = 6
# As shares of that distance: how far the truth is from throughput over all operators, and its
# standard deviation. Measured on graphs that the bench does not simulate.
FILLING_ERROR, DRAINING_ERROR = (0.25, 0.35), (0.5, 0.6)
# Farthest that the truth may be from throughput over all operators, as a multiple of that distance;
# a guess, not tuned.
MAX_BALANCE_FACTOR = 1.25


class ArrivalShare:
    """Usual share of tuples that arrives at the sinks.

    At first it is the share of the first period, without any queue.
    """

    def __init__(self) -> None:
        self._usual: float | None = None  # in the logarithm

    def off(self, arrived: float | None, still: int) -> float | None:
        """Return the logarithm of throughput at the sinks over that of all operators; None if
        unknown.

        It is below 0 while queues fill and above 0 while they drain. `arrived`: tuples at the sinks
        over those submitted. `still`: periods since a switch of queues.
        """
        if not arrived:
            return None
        now = math.log(arrived)
        if self._usual is None or still >= SETTLING_PERIODS:
            self._usual = now
        return now - self._usual


def believed(value: float, off: float) -> tuple[float, float]:
    """Return the corrected value of a period that is `off` by so much, and its standard deviation;
    all are logarithms."""
    share, doubt = FILLING_ERROR if off < 0.0 else DRAINING_ERROR
    return value + share * off, doubt * abs(off)


def undecided(value: float, off: float, best: float) -> bool:
    """Return True if a period that is `off` by so much does not show whether its configuration
    beats the best one so far.

    `value`, `best`: logarithms of throughput over all operators.
    """
    return abs(off) >= BALANCED_WITHIN and min(value, value + off) <= best < max(
        value, value + MAX_BALANCE_FACTOR * off
    )
