"""C-Stream's law of threads: it adds or removes one thread by their utilisation. It never looks at
the throughput.

U is the share of their time that the threads executed operators in the last period, averaged over
the threads.

  U > high        one thread more
  U < low         one thread less
  otherwise       stay

The thresholds are those of the paper's experiments (§5.2). They may be equal, as in its Figure 11,
although §4.1 has low < high: the rules exclude each other all the same. With an unknown utilisation
the level stays.

Source: Şahin and Gedik, TOPC 2018, §4.1.
"""

from __future__ import annotations

from harness.elasticity.law import Decision, Law, Reading, Setting
from harness.errors import UserError


class Utilisation(Law):
    """Law of C-Stream §4.1, without memory: the next level follows from the reading alone."""

    name = "utilisation"
    summary = "one thread more while threads are busy, one less while they idle (C-Stream §4.1)"
    NEEDS = frozenset(("utilisation",))
    SETTINGS = (
        Setting("low", 0.90, 0.0, 1.0, "", "one thread less below this share of busy time"),
        Setting("high", 0.95, 0.0, 1.0, "", "one thread more above this share of busy time"),
    )

    def begin(self) -> None:
        """Prepare the law. Raise UserError if low > high."""
        if self.set["low"] > self.set["high"]:
            raise UserError(
                f"low must be at most high, {self.set['high']:g}, not {self.set['low']:g}"
            )

    def decide(self, reading: Reading) -> Decision:
        """Return the next level, one from the level at which the period passed."""
        level, busy = self.bounds.clamp(reading.threads), reading.utilisation
        if busy is None:
            return Decision(level, "utilisation not known → stay", "settled")
        low, high = self.set["low"], self.set["high"]
        if busy > high:
            more = self.bounds.clamp(level + 1)
            if more == level:
                return Decision(
                    level, f"utilisation above {high:g} → up, but this is the maximum", "settled"
                )
            return Decision(more, f"utilisation above {high:g} → up", "climbing")
        if busy < low:
            fewer = self.bounds.clamp(level - 1)
            if fewer == level:
                return Decision(
                    level, f"utilisation below {low:g} → down, but this is the minimum", "settled"
                )
            return Decision(fewer, f"utilisation below {low:g} → down", "descending")
        return Decision(level, f"utilisation from {low:g} to {high:g} → stay", "settled")


LAW = Utilisation
