"""The search for the number of threads that one placement of queues makes best, as M19's other
primary adjustment has it (§3.2): P17's law from its lowest level, until it stays.

Source: Ni, Schneider, Pavuluri, Kaus and Wu, Middleware 2019, §3.2. M19 does not say when such a
search is over. Here it is when the law has stayed for `STAYS` periods in a row.
"""

from __future__ import annotations

from harness.elasticity.law import Decision, Reading
from harness.elasticity.threads.streams import Streams

STAYS = 2
"""Periods in a row at one level, after which the level is the one found. A guess, not tuned."""


class ThreadSearch:
    """Search from the lowest level to its end. `law` goes on afterwards."""

    def __init__(self, law: Streams, level: int) -> None:
        """Begin at a level, at which the law has seen nothing yet."""
        self.law, self.level = law, level
        self.throughput = 0.0  # of the last period [tuples/s]
        self._stays = 0

    @property
    def over(self) -> bool:
        """True if the level has been found."""
        return self._stays >= STAYS

    def step(self, reading: Reading) -> Decision:
        """Return the law's decision after a period, and count how long it has stayed. A climb that
        only waits for idle CPUs is no stay, unless it waits for as long.
        """
        decision = self.law.decide(reading)
        self._stays = self._stays + 1 if decision.threads == self.level else 0
        self.level, self.throughput = decision.threads, reading.throughput
        return decision
