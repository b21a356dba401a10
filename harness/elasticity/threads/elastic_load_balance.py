"""The law of the ElasticLoadBalance operator: how many of its output ports are active, by
throughput and congestion.

A level is a number of active ports, 1, 2, 3 …; with `rapid_scaling` only 1, 2, 3, 4, 6, 8, 11, 16,
23, 32 …, 2^(i/2) rounded. T is the throughput on all output ports; "x beats y" means x - y >
tolerance · y. *Congested*: the buffers of the active ports are on average fuller than
`congestion_tolerance`. Noise is 1 at first. Each period:

  1. congestion changed?    other than last time at this level; or gone below a level that was
                            congested; or come above one that was not: no other level is trusted,
                            and T is this level's first throughput
  2. throughput changed?    stayed here: T differs from the level's *first* throughput by more than
                            the tolerance of the smaller; came from above: T beats the last one
                            there; came from below: the last one there beats T
         noise left         noise - 1; nothing recorded, stay
         none left          no other level is trusted, T is this level's first throughput
         not changed        noise = 1
  3. record                 last T, congestion and time; first T if the level was untrusted; it is
                            trusted now
  4. decide                 the first row that holds

       congested      T beats below, above untrusted | above beats T    up
                      | lowest level, above untrusted
       congested      below untrusted                                   down
       congested      otherwise                                         stay
       not congested                                                    down

Faults, kept as they are: on a plateau the law stays one level past the knee, since nothing makes it
step down; past a peak it takes the drop for a change in load and moves back and forth for ever; if
one level is congested and the next is not, it oscillates between them. With `rapid_scaling` there
are still as many levels as ports: levels whose number is too large leave the ports as they are,
ports beyond the last number that fits are never used, and the way back is as long as the way up.

Unlike the operator, which then never starts: with `rapid_scaling`, an initial number of ports that
is no level is made one. A congestion that is not known counts as congested.

Source: the operator (github.com/IBMStreams/streamsx.plumbing), and Schneider's article on it; the
law descends from Gedik et al., TPDS 25(6), 2014. How often to measure, and buffer sizes, are the
operator's business.
"""

from __future__ import annotations

from harness.elasticity.law import Bounds, Decision, Law, Reading, Setting
from harness.elasticity.threads.trends import LevelRecord, Trends, beats, differ

NOISE_LIMIT = 1  # samples


def levels_of(bounds: Bounds, rapid: bool) -> list[int]:
    """Return the number of active ports of each level, ascending."""
    if not rapid:
        return list(range(bounds.minimum, bounds.maximum + 1))
    sizes = [int(0.5 + 2.0 ** (i / 2)) for i in range(1, bounds.maximum + 1)]
    others = {bounds.minimum, bounds.start}.difference(sizes)
    largest = max(size for size in (*sizes, *others) if size <= bounds.maximum)
    return sorted([*(min(size, largest) for size in sizes if size >= bounds.minimum), *others])


class ElasticLoadBalance(Law):
    """Law of the operator. Its bounds begin at 1 port and end with all of them."""

    name = "elastic_load_balance"
    summary = "active ports of ElasticLoadBalance, by throughput and congestion (streamsx.plumbing)"
    NEEDS = frozenset(("congestion",))
    SETTINGS = (
        Setting(
            "congestion_tolerance",
            0.5,
            0.0,
            1.0,
            "",
            "congested: buffers are on average fuller than this share",
        ),
        Setting(
            "throughput_tolerance",
            0.05,
            0.0,
            1.0,
            "",
            "differences in throughput up to this share are none",
        ),
        Setting(
            "rapid_scaling", False, 0, 1, "", "levels 1, 2, 3, 4, 6, 8, 11, 16 … instead of all"
        ),
    )

    def begin(self) -> None:
        """Begin with no trusted level; all levels count as congested."""
        self._levels = levels_of(self.bounds, bool(self.set["rapid_scaling"]))
        self._records = [LevelRecord() for _ in self._levels]
        self._was_congested = [True] * len(self._levels)
        self._at = self._levels.index(self.bounds.start)
        self._noise = NOISE_LIMIT
        self._time = 0

    def decide(self, reading: Reading) -> Decision:
        """Detect changes in load, record the period, and return the next level."""
        throughput = reading.throughput
        congested = (
            reading.congestion is None or reading.congestion > self.set["congestion_tolerance"]
        )
        notice = ""
        if self._congestion_changed(congested):
            self._untrust_others(throughput)
            notice = "congestion changed, other levels untrusted; "
        if self._throughput_changed(throughput):
            if self._noise > 0:
                self._noise -= 1
                return self._now("throughput changed, taken for noise → stay", "noise")
            self._untrust_others(throughput)
            notice = "throughput changed, other levels untrusted; "
        elif self._time > 0:
            self._noise = NOISE_LIMIT
        self._records[self._at].note(throughput, self._time)
        self._was_congested[self._at] = congested
        self._time += 1
        decision = self._move(self._trends(throughput), congested)
        return Decision(decision.threads, notice + decision.reason, decision.state)

    def _was_last_at(self, at: int) -> bool:
        """Return True if the last recorded period passed at a level; False for a level that does
        not exist."""
        return (
            0 <= at < len(self._levels)
            and self._time > 0
            and self._records[at].last_time == self._time - 1
        )

    def _congestion_changed(self, congested: bool) -> bool:
        here, below, above = self._at, self._at - 1, self._at + 1
        if self._was_last_at(here):
            return self._was_congested[here] != congested
        if self._was_last_at(above):
            return self._was_congested[above] and not congested
        return self._was_last_at(below) and not self._was_congested[below] and congested

    def _throughput_changed(self, throughput: float) -> bool:
        here, below, above = self._at, self._at - 1, self._at + 1
        tolerance = self.set["throughput_tolerance"]
        if self._was_last_at(here):
            return differ(throughput, self._records[here].first, tolerance)
        if self._was_last_at(above):
            return beats(throughput, self._records[above].last, tolerance)
        return self._was_last_at(below) and beats(self._records[below].last, throughput, tolerance)

    def _untrust_others(self, throughput: float) -> None:
        for at, record in enumerate(self._records):
            record.trusted = record.trusted and at == self._at
        self._records[self._at].first = throughput

    def _trends(self, throughput: float) -> Trends:
        nothing = LevelRecord()
        below = self._records[self._at - 1] if self._at > 0 else nothing
        above = self._records[self._at + 1] if self._at + 1 < len(self._levels) else nothing
        tolerance = self.set["throughput_tolerance"]
        return Trends(
            lowest=self._at == 0,
            trusts_below=below.trusted,
            trusts_above=above.trusted,
            below=below.trusted and beats(throughput, below.last, tolerance),
            above=above.trusted and beats(above.last, throughput, tolerance),
        )

    def _move(self, trends: Trends, congested: bool) -> Decision:
        up = trends.why_up()
        if congested and up:
            before = self._levels[self._at]
            self._at = min(self._at + 1, len(self._levels) - 1)
            if self._levels[self._at] == before:
                return self._now(f"congested, {up} → up, but no more ports", "settled")
            return self._now(f"congested, {up} → up", "climbing")
        if congested and trends.trusts_below:
            return self._now("congested, no reason to climb, below trusted → stay", "settled")
        why = "congested, below untrusted" if congested else "not congested"
        if self._at == 0:
            return self._now(
                "congested, no trend above → stay" if congested else f"{why}, lowest level → stay",
                "settled",
            )
        before = self._levels[self._at]
        self._at -= 1
        if self._levels[self._at] == before:
            return self._now(f"{why} → down, but from a level without ports", "settled")
        return self._now(f"{why} → down", "descending")

    def _now(self, reason: str, state: str) -> Decision:
        return Decision(self._levels[self._at], reason, state)


LAW = ElasticLoadBalance
