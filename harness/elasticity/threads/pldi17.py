"""P17's law, as Figures 7 and 8 print it.

Levels are 1, 2, 3 … threads, or those of a step function. T is the throughput. "x beats y" means
x - y > SENS · y. Each period:

  1. change in load?    then no level is trusted any more
  2. record             last T and time of this level; its first T too, if it was not trusted; it is
                        trusted now
  3. decide             the first row that holds, and whose CPU question is answered with yes

       T beats below, above untrusted      CPU?   up
       above beats T                       CPU?   up
       lowest level, above untrusted       CPU?   up
       below untrusted, or not beaten             down
       otherwise                                  stay

A refused climb goes on to the last two rows, as printed: it may end in a step down. `streams`
stays.

The figures leave open:
  * `changeInLoad`. The text names its arguments: a throughput, the throughputs known *of that
    level*, and SENS (§4.2.2). It says that the function is like Algorithm 3 of Gedik et al.,
    "Elastic Scaling for Data Stream Processing", TPDS 25(6), 2014. We take the part of that
    algorithm that looks at one level: the level is trusted, the period before passed at it too, and
    T differs from the level's *first* trusted T by more than SENS of the smaller. So a slow drift
    adds up, and after the law returns to a level, the first period there is not compared with
    earlier ones.
  * `level == 1` is the lowest level: the minimum, which §4.2.3 makes higher than one where
    operators have many inputs.
  * The highest level has nothing above it: no trend, no trust, and a climb from it goes nowhere.
  * The step function. The levels are the minimum, the function's value for it, and so on up to the
    maximum. The start is a level too, if it is not among them. The levels next to the present one
    are those before and after it in this list.

Source: Schneider and Wu, PLDI 2017, §4.2, Figures 7 and 8.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from harness.elasticity.cpu_limit import CpuLimit, LastPeriod
from harness.elasticity.law import P17_CPU_LIMIT, Bounds, Decision, Law, Reading, Setting
from harness.elasticity.layout import Layout
from harness.elasticity.threads.trends import LevelRecord, Trends, beats, differ
from harness.errors import UserError


def one_more(level: int) -> int:
    """Return the next level by the step function of P17's description: 1, 2, 3 …"""
    return level + 1


def twice(level: int) -> int:
    """Return the next level by doubling: 1, 2, 4 …"""
    return 2 * level


def levels_of(bounds: Bounds, next_level: Callable[[int], int]) -> list[int]:
    """Return all levels of a law, ascending. Raise UserError if the step function does not
    climb.
    """
    levels = {bounds.minimum, bounds.start, bounds.maximum}
    level = bounds.minimum
    while level < bounds.maximum:
        levels.add(level)
        higher = next_level(level)
        if higher <= level:
            raise UserError(
                f"next_level must be more than the level it is given, {level}, not {higher}"
            )
        level = higher
    return sorted(levels)


class Pldi17(Law):
    """Law of P17's Figures 7 and 8."""

    name = "pldi17"
    summary = (
        "climbs while throughput grows, trusting what it saw; steps by one (P17 Figures 7 and 8)"
    )
    SETTINGS = (
        Setting("sensitivity", 0.05, 0.0, 1.0, "", "SENS: differences up to this share are none"),
        P17_CPU_LIMIT,
        Setting("doubling", False, 0, 1, "", "steps to the double level instead of one more"),
    )

    def __init__(
        self,
        bounds: Bounds,
        cpu: CpuLimit | None = None,
        settings: Mapping[str, object] | None = None,
        layout: Layout | None = None,
        *,
        next_level: Callable[[int], int] | None = None,
    ) -> None:
        """Prepare the law.

        `next_level`: step function from a level to the next; None: the one that `doubling` chooses.
        """
        super().__init__(bounds, cpu, settings, layout)
        self._levels = levels_of(
            bounds, next_level or (twice if self.set["doubling"] else one_more)
        )
        self._records = [LevelRecord() for _ in self._levels]
        self._at = self._levels.index(bounds.start)
        self._time = 0

    def cpu_limit(self) -> CpuLimit:
        """Return P17's limit, which looks at the last period and counts all processes."""
        return LastPeriod(self.set["cpu_limit"])

    def decide(self, reading: Reading) -> Decision:
        """Return the next level: `updateThreadLevel` of Figure 8."""
        throughput = reading.throughput
        changed = self._load_changed(throughput)
        if changed:
            for record in self._records:
                record.trusted = False
        self._records[self._at].note(throughput, self._time)
        self._time += 1
        decision = self._move(self._trends(throughput))
        if changed:
            return Decision(
                decision.threads,
                f"load changed, nothing trusted; {decision.reason}",
                decision.state,
            )
        return decision

    def _load_changed(self, throughput: float) -> bool:
        here = self._records[self._at]
        stayed = here.trusted and here.last_time == self._time - 1
        return stayed and differ(throughput, here.first, self.set["sensitivity"])

    def _trends(self, throughput: float) -> Trends:
        nothing = LevelRecord()
        below = self._records[self._at - 1] if self._at > 0 else nothing
        above = self._records[self._at + 1] if self._at + 1 < len(self._levels) else nothing
        margin = self.set["sensitivity"]
        return Trends(
            lowest=self._at == 0,
            trusts_below=below.trusted,
            trusts_above=above.trusted,
            below=below.trusted and beats(throughput, below.last, margin),
            above=above.trusted and beats(above.last, throughput, margin),
        )

    def _move(self, trends: Trends) -> Decision:
        up, down, refused = trends.why_up(), trends.why_down(), ""
        if up and self.cpu.acceptable():
            if self._at + 1 == len(self._levels):
                return self._now(f"{up} → up, but this is the maximum", "settled")
            self._at += 1
            return self._now(f"{up} → up", "climbing")
        if up:
            refused = f"{up}, climb refused by the CPU limit; "
        if down and self._at > 0:
            self._at -= 1
            return self._now(f"{refused}{down} → down", "descending")
        return self._now(
            f"{refused}{down or 'trend below, no trend above'} → stay",
            "refused" if up else "settled",
        )

    def _now(self, reason: str, state: str) -> Decision:
        return Decision(self._levels[self._at], reason, state)


LAW = Pldi17
