"""Additive increase, multiplicative decrease: one thread more while latency is short enough, a
tenth less otherwise.

  latency > `bound`                      level := max(1, min(level - 1, floor(`backoff` level)))
  at least half of the threads in use    level := level + 1
  otherwise                              stay

The source limits requests in flight; here the limit is the level, and threads in use count as
requests in flight. A stream drops no tuple, so a latency above the bound counts as a drop; in the
source it is a timeout. An unknown latency is no drop, and with an unknown utilisation all threads
count as in use.

Source: `AIMDLimit` of Netflix's concurrency-limits, with its defaults; the rule is Chiu and Jain's
(1989).
"""

from __future__ import annotations

from harness.elasticity.law import Decision, Law, Reading, Setting


class Aimd(Law):
    """Law without memory: the next level follows from the reading alone."""

    name = "aimd"
    summary = (
        "a thread more while latency is within a bound, a tenth less beyond it (Netflix "
        "concurrency-limits)"
    )
    NEEDS = frozenset(("latency_s",))
    SETTINGS = (
        Setting("bound", 5.0, 0.0, 1e6, "s", "mean latency beyond which the level falls"),
        Setting("backoff", 0.9, 0.5, 1.0, "", "what is left of the level then"),
    )

    def decide(self, reading: Reading) -> Decision:
        """Return the next level."""
        level, bound = reading.threads, float(self.set["bound"])
        if reading.latency_s is not None and reading.latency_s > bound:
            fewer = self.bounds.clamp(
                max(1, min(level - 1, int(level * float(self.set["backoff"]))))
            )
            return Decision(
                fewer,
                f"latency above {bound:g} s → down",
                "descending" if fewer < level else "settled",
            )
        if 2.0 * in_use(reading) < level:
            return Decision(self.bounds.clamp(level), "less than half in use → stay", "settled")
        more = self.bounds.clamp(level + 1)
        return Decision(
            more, f"latency within {bound:g} s → up", "climbing" if more > level else "settled"
        )


def in_use(reading: Reading) -> float:
    """Return the mean number of threads that execute operators; all threads if it is unknown."""
    return reading.threads if reading.utilisation is None else reading.threads * reading.utilisation


LAW = Aimd
