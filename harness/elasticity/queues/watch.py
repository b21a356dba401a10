"""Detection of a new load after a law has settled: two periods in a row that differ are a new load.

Once bursts have passed, a change has to last two periods longer than the longest burst.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.elasticity.millrace_constants import LOAD_CHANGE_SIGMAS

LEAST_WEIGHT = 0.03  # of a new period in the mean


@dataclass
class Watch:
    """Watch over a settled load.

    `expected`, `deviation`: mean and standard deviation of a period's logarithm of throughput.
    `still`: periods as expected so far.
    """

    expected: float
    deviation: float
    change: float  # least difference that counts, of throughput
    still: int = 0
    suspect: float | None = None
    longest: int = 0  # periods of a burst that passed
    off: int = 0  # periods in a row that differ

    def see(self, value: float) -> str:
        """Return `same` if the period is as expected, and refine the expectation; else `burst` or
        `changed`.

        `changed`: as many periods in a row differ as a new load needs.
        """
        off = value - self.expected
        if abs(off) <= max(math.log1p(self.change), LOAD_CHANGE_SIGMAS * self.deviation):
            self.longest, self.off, self.suspect = max(self.longest, self.off), 0, None
            self.still += 1
            share = max(1.0 / (self.still + 1.0), LEAST_WEIGHT)
            self.expected += share * off
            self.deviation = math.sqrt((1.0 - share) * self.deviation**2 + share * off**2)
            return "same"
        before, self.suspect = self.suspect, value
        self.off = 1 if before is None or (before - self.expected) * off < 0.0 else self.off + 1
        return "changed" if self.off >= 2 + self.longest else "burst"
