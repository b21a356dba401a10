"""Whether queues fill or drain, and what a period's throughput is worth while they do.

Of the tuples that are submitted in a period a share arrives at the sinks: the same one in each, as long as queues hold what
they held. Fewer arrive while queues fill, for what is done to fill them has led nowhere yet; more while they drain. So
throughput over all operators and at the sinks, in the same unit, lie on either side of what the configuration will bring,
mostly; while queues drain, upstream of which nobody works, both may lie below it. How far they are apart says how little is
known (docs/laws-millrace.md has by how much).
"""

from __future__ import annotations

import math

BALANCED = 0.1  # of throughput by which the two may be apart where nothing is said to fill or drain; a guess, not tuned
SETTLES = 6  # periods after a switch from which on the share that arrives is taken for the usual one; a guess, not tuned
# Of that distance: how far the truth is from throughput over all operators, and the standard deviation of that. Measured on
# graphs that the bench does not simulate.
FILLING, DRAINING = (0.25, 0.35), (0.5, 0.6)
BEYOND = 1.25  # times as far above throughput over all operators as that at the sinks may the truth be; a guess, not tuned


class Balance:
    """The share that arrives at the sinks. That of the first period, before any queue, is taken for the usual one."""

    def __init__(self) -> None:
        self._usual: float | None = None  # in the logarithm

    def off(self, arrived: float | None, still: int) -> float | None:
        """By how much throughput at the sinks exceeds that over all operators, in the logarithm; None: not known.

        Below 0 queues fill, above they drain. `arrived`: tuples at the sinks over those submitted; `still`: periods since a
        switch of queues.
        """
        if not arrived:
            return None
        now = math.log(arrived)
        if self._usual is None or still >= SETTLES:
            self._usual = now
        return now - self._usual


def believed(value: float, off: float) -> tuple[float, float]:
    """What a period that is so far `off` is taken for, and the standard deviation of that; all in the logarithm."""
    share, doubt = FILLING if off < 0.0 else DRAINING
    return value + share * off, doubt * abs(off)


def undecided(value: float, off: float, best: float) -> bool:
    """Whether a period that is so far `off` leaves open if its configuration is better than the best one so far.

    `value`, `best`: throughput over all operators, in the logarithm.
    """
    return abs(off) >= BALANCED and min(value, value + off) <= best < max(value, value + BEYOND * off)
