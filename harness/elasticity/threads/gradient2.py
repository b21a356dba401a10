"""Netflix's Gradient2: the level follows the ratio of latency in the long run to present latency.

  g      = clamp(long / short, 0.5, 1)    short: this period's mean latency; long: its average over
                                          `window` periods
  level := 0.8 level + 0.2 (g level + `queue`)
  long  := 0.9 long where it is more than twice the short one; unchanged level while less than half
        of it is in use

So it climbs by at most 0.2 `queue` a period, and rests where latency has grown by `queue` / level.
The average begins as the plain mean of 10 periods. The source limits requests in flight; here the
limit is the level, and threads in use count as requests in flight. With an unknown latency the
level stays.

Source: `Gradient2Limit` of Netflix's concurrency-limits, with its defaults.
"""

from __future__ import annotations

from harness.elasticity.law import Decision, Law, Reading, Setting
from harness.elasticity.threads.aimd import in_use

WARM_UP = 10  # periods
MIN_GRADIENT = 0.5  # gradient


class Gradient2(Law):
    """Law whose level is a fraction; its whole part is the number of threads."""

    name = "gradient2"
    summary = "follows latency now over latency in the long run (Netflix concurrency-limits)"
    NEEDS = frozenset(("latency_s",))
    SETTINGS = (
        Setting("queue", 4.0, 0.0, 1e3, "threads", "more than the gradient allows"),
        Setting("smoothing", 0.2, 0.0, 1.0, "", "share of the new level in the next one"),
        Setting("window", 600, 1, 1_000_000, "periods", "of the latency in the long run"),
    )

    def begin(self) -> None:
        """Begin without a latency."""
        self._level = float(self.bounds.start)
        self._long = 0.0
        self._count = 0

    def decide(self, reading: Reading) -> Decision:
        """Return the next level."""
        short = reading.latency_s
        if short is None or short <= 0.0:
            return Decision(
                self.bounds.clamp(int(self._level)), "latency not known → stay", "settled"
            )
        long = self._average(short)
        if in_use(reading) < self._level / 2.0:
            return Decision(
                self.bounds.clamp(int(self._level)), "less than half in use → stay", "settled"
            )
        gradient = max(MIN_GRADIENT, min(1.0, long / short))
        share = float(self.set["smoothing"])
        wanted = gradient * self._level + float(self.set["queue"])
        wanted = (1.0 - share) * self._level + share * wanted
        self._level = max(float(self.bounds.minimum), min(float(self.bounds.maximum), wanted))
        level = self.bounds.clamp(int(self._level))
        state = (
            "settled"
            if level == reading.threads
            else "climbing"
            if level > reading.threads
            else "descending"
        )
        return Decision(level, f"gradient {gradient:.2f} → {self._level:.1f}", state)

    def _average(self, short: float) -> float:
        """Return the latency in the long run, this period included."""
        self._count += 1
        if self._count <= WARM_UP:
            self._long += (short - self._long) / self._count
        else:
            self._long += 2.0 / (float(self.set["window"]) + 1.0) * (short - self._long)
        long = self._long
        if long / short > 2.0:
            self._long *= 0.9
        return long


LAW = Gradient2
