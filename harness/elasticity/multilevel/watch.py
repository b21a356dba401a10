"""Whether the load is still the one that a law has settled under: two periods in a row that differ are another one."""

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

    def see(self, value: float) -> str:
        """`same` if it is as expected, which becomes clearer by it; else `burst`, or `changed` if the one before was off."""
        off = value - self.expected
        if abs(off) <= max(math.log1p(self.change), DISTINCT * self.deviation):
            self.suspect = None
            self.still += 1
            share = max(1.0 / (self.still + 1.0), FADES)
            self.expected += share * off
            self.deviation = math.sqrt((1.0 - share) * self.deviation**2 + share * off**2)
            return "same"
        before, self.suspect = self.suspect, value
        return "burst" if before is None or (before - self.expected) * off < 0.0 else "changed"
