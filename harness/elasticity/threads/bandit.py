"""A bandit whose arms are levels on a logarithmic grid (discounted UCB).

  arms     the lowest level, and each further one `GRID` times the one before, up to the highest
  next     the arm with the highest mean + `width` x sqrt(ln(sum of counts) / count), where the mean
           is over that of the best arm; arms that were never tried come first, from below
  after    each period counts and sums are multiplied by `memory`, so that old periods are forgotten

Source: Garivier and Moulines, ALT 2011, with a narrower width than theirs, since throughputs differ
less from period to period than rewards of 0 and 1 do.
"""

from __future__ import annotations

import math

from harness.elasticity.law import Decision, Law, Reading, Setting

GRID = math.sqrt(2.0)  # ratio of two arms


class Bandit(Law):
    """Law that weighs what an arm has brought against how seldom it was tried."""

    name = "bandit"
    summary = "levels on a logarithmic grid as arms of a bandit (discounted UCB, ALT 2011)"
    SETTINGS = (
        Setting("width", 0.05, 0.0, 10.0, "of throughput", "weight of arms that were seldom tried"),
        Setting("memory", 0.99, 0.5, 1.0, "", "share of the past that each period leaves"),
    )

    def begin(self) -> None:
        """Lay out the grid."""
        level, self._arms = float(self.bounds.minimum), [self.bounds.minimum]
        while self._arms[-1] < self.bounds.maximum:
            level = max(level * GRID, self._arms[-1] + 1.0)
            self._arms.append(min(round(level), self.bounds.maximum))
        self._counts = dict.fromkeys(self._arms, 0.0)
        self._sums = dict.fromkeys(self._arms, 0.0)

    def decide(self, reading: Reading) -> Decision:
        """Return the arm of the next period."""
        level = self.bounds.clamp(reading.threads)
        if reading.throughput <= 0.0:
            return Decision(level, "no tuples → stay", "idle")
        memory = float(self.set["memory"])
        for arm in self._arms:
            self._counts[arm] *= memory
            self._sums[arm] *= memory
        arm = min(self._arms, key=lambda each: abs(each - level))
        self._counts[arm] += 1.0
        self._sums[arm] += reading.throughput
        wanted = next((each for each in self._arms if not self._counts[each]), None)
        if wanted is not None:
            return Decision(wanted, f"{wanted} was never tried", "searching")
        means = {each: self._sums[each] / self._counts[each] for each in self._arms}
        top, periods = max(means.values()), max(math.e, sum(self._counts.values()))

        def promise(each: int) -> float:
            seldom = math.sqrt(math.log(periods) / self._counts[each])
            return means[each] / top + float(self.set["width"]) * seldom

        wanted = max(self._arms, key=promise)
        why = f"{wanted} promises {promise(wanted):.0%} of the best mean"
        return Decision(wanted, why, "settled" if wanted == level else "searching")


LAW = Bandit
