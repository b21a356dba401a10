"""Whether the load is still the one that a law has settled under: two periods in a row that differ are another one.

Where bursts have been seen to pass, a change has to last two periods longer than the longest of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

DISTINCT = 4.0  # standard deviations that are more than noise
FADES = 0.03  # least weight of a new period


@dataclass
class Watch:
    """`expected`, `deviation`: of a period's logarithm of throughput. `still`: periods as expected so far."""

    expected: float
    deviation: float
    change: float  # least difference that counts, of throughput
    still: int = 0
    suspect: float | None = None
    longest: int = 0  # periods of a burst that passed
    off: int = 0  # periods in a row that differ

    def see(self, value: float) -> str:
        """`same` if it is as expected, which becomes clearer by it; else `burst`, or `changed` if the one before was off."""
        off = value - self.expected
        if abs(off) <= max(math.log1p(self.change), DISTINCT * self.deviation):
            self.longest, self.off, self.suspect = max(self.longest, self.off), 0, None
            self.still += 1
            share = max(1.0 / (self.still + 1.0), FADES)
            self.expected += share * off
            self.deviation = math.sqrt((1.0 - share) * self.deviation**2 + share * off**2)
            return "same"
        before, self.suspect = self.suspect, value
        self.off = 1 if before is None or (before - self.expected) * off < 0.0 else self.off + 1
        return "changed" if self.off >= 2 + self.longest else "burst"
