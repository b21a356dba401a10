"""The thread law that IBM Streams really has: P17's law with its own steps, its own test for a
change in load, and its faults.

This law is the baseline: in every step it does the same as the published implementation, faults
included. Do not correct it. T is the throughput; "x beats y" means x - y > 5 % of y; L is the
level, with a level `below` and `above` it that are not always its neighbours. At first below =
start/2, above = 2 · start, time = 0, noise = 5, and levels under the minimum, and from the maximum
(!) to 2 · start, are trusted with a throughput of 0.

Load change, at trusted levels from time 2 on (the first samples hold the filling of queues):

  the period before was at L too, and T differs from L's first trusted T by more than 20 % of the
  smaller:
      noise left          noise - 1; nothing recorded, stay
      none left           noise = 5; all levels from the minimum up untrusted, time = 0; nothing
                          recorded, stay
  otherwise               noise = 5; go on

Record: last T and time of L, its first T if it was untrusted; L is trusted; time + 1. Then the
first row that holds:

  T beats below, above untrusted | above beats T            up if the CPU limit allows it, else stay
    | L = minimum, above untrusted
  below untrusted or L = minimum | T does not beat below    down
  otherwise                                                 stay

Up, not from the maximum; P is the power of two above L; below := L.

  above trusted              L := above; the new above is 2P if P was above, else the first trusted
                             level up to P, else P
  else, L > 2                L := P, above := 2P if P is within the maximum, else L := maximum,
                             above := maximum + 1
  else                       L := 2L, above := 2 · above if 2L is within the maximum, else as in the
                             row before

Down, not from the minimum; above := L; Q is the power of two below L (L = 3 → 2 and 2 → 1 step by
one).

  candidates 1.5 Q, then less by Q/4, Q/8 … 1, 1 … to Q + 1; the first that is below L and untrusted
      is taken, below := Q
  a candidate not above the minimum    L := minimum, below stays as it was
  none is untrusted                    L := Q, below := Q/2

  From 32: 24, 20, 18, 17, 16. From 16: 12, 10, 9, 8. From 8: 6, 5, 4. From 4: 3, 2.

Faults that tests check: a maximum up to 2 · start freezes the level at the start, since `above`
counts as trusted (`untrust_above` and changes in load undo it); a minimum that is no power of two
is not reached again from above; a peak between powers of two is passed where the next power beats
the one before; a drift of less than 20 % adds up to a restart.

Source: IBM Streams as opened (github.com/IBMStreams/OSStreams), ElasticThreadAdapter; the law is
P17 §4.2.
"""

from __future__ import annotations

from harness.elasticity.cpu_limit import CpuLimit, SinceLastRequest
from harness.elasticity.law import Decision, Law, Reading
from harness.elasticity.threads.trends import LevelRecord, Trends, beats, differ

SENSITIVITY = 0.05
LOAD_CHANGE = 0.2
NOISE_LIMIT = 5  # samples
CPU_LIMIT = 0.8


class Streams(Law):
    """Thread law of IBM Streams, fault for fault.

    It has no settings, because they are constants there.
    """

    name = "streams"
    summary = (
        "what IBM Streams really does: doubles up, bisects down, faults included "
        "(OSStreams, P17 §4.2)"
    )
    sensitivity = SENSITIVITY

    def begin(self) -> None:
        """Begin with the levels outside the bounds trusted to bring nothing, which is wrong for the
        maximum itself."""
        self._below = self.bounds.start // 2
        self._level = self.bounds.start
        self._above = 2 * self.bounds.start
        self._time = 0
        self._noise = NOISE_LIMIT
        self._records = [
            LevelRecord()
            if self.bounds.minimum <= level < self.bounds.maximum
            else LevelRecord(first=0.0, last=0.0, trusted=True)
            for level in range(self._above + 1)
        ]

    def cpu_limit(self) -> CpuLimit:
        """Return the limit of IBM Streams, which uses the mean since the last request and refuses
        the first one."""
        return SinceLastRequest(CPU_LIMIT)

    def untrust(self, lowest: int) -> None:
        """Forget the levels from this one up."""
        for record in self._records[lowest:]:
            record.trusted = False

    def untrust_above(self) -> None:
        """Forget the levels above the present one, as IBM Streams does when it has put queues
        somewhere (M19 §3.3)."""
        self.untrust(self._level + 1)

    def rebase(self, throughput: float) -> None:
        """Set the present level's first throughput, as IBM Streams does when it has put queues
        somewhere."""
        here = self._records[self._level]
        here.first, here.last_time = throughput, self._time

    def decide(self, reading: Reading) -> Decision:
        """Detect a change in load, record the period, and return the next level."""
        throughput = reading.throughput
        if self._off_the_first(throughput):
            if self._noise > 0:
                self._noise -= 1
                return self._now(
                    "throughput off by more than 20 %, taken for noise → stay", "noise"
                )
            self._noise, self._time = NOISE_LIMIT, 0
            self.untrust(self.bounds.minimum)
            return self._now(
                "throughput off by more than 20 %: load changed, nothing trusted → stay",
                "load changed",
            )
        self._records[self._level].note(throughput, self._time)
        self._time += 1
        return self._move(self._trends(throughput))

    def _off_the_first(self, throughput: float) -> bool:
        here = self._records[self._level]
        if self._time < 2 or not here.trusted:
            return False
        if here.last_time == self._time - 1 and differ(throughput, here.first, LOAD_CHANGE):
            return True
        self._noise = NOISE_LIMIT
        return False

    def _trends(self, throughput: float) -> Trends:
        below, above = self._records[self._below], self._records[self._above]
        lowest = self._level == self.bounds.minimum
        return Trends(
            lowest=lowest,
            trusts_below=below.trusted and not lowest,
            trusts_above=above.trusted,
            below=self._level > 1
            and below.trusted
            and beats(throughput, below.last, self.sensitivity),
            above=above.trusted and beats(above.last, throughput, self.sensitivity),
        )

    def _move(self, trends: Trends) -> Decision:
        before, up, down = self._level, trends.why_up(), trends.why_down()
        if up:
            if not self.cpu.acceptable():
                return self._now(f"{up}, climb refused by the CPU limit → stay", "refused")
            self._climb()
            if self._level == before:
                return self._now(f"{up} → up, but this is the maximum", "settled")
            return self._now(f"{up} → up", "climbing")
        if down:
            self._back_off()
            if self._level < before:
                return self._now(f"{down} → down", "descending")
        return self._now(f"{down or 'trend below, no trend above'} → stay", "settled")

    def _climb(self) -> None:
        old, most = self._level, self.bounds.maximum
        if old == most:
            return
        power = 1 << old.bit_length()
        self._below = old
        if self._records[self._above].trusted:
            self._level = self._above
            if power == self._above:
                self._above = 2 * power
            elif power <= len(self._records):
                between = range(self._level + 1, power + 1)
                self._above = next(
                    (level for level in between if self._records[level].trusted),
                    max(power, self._level),
                )
            else:
                self._above = power
        elif old > 2 and power <= most:
            self._level, self._above = power, 2 * power
        elif old <= 2 and 2 * old <= most:
            self._level, self._above = 2 * old, 2 * self._above
        else:
            self._level, self._above = most, most + 1
        self._records += [LevelRecord() for _ in range(self._above + 1 - len(self._records))]

    def _back_off(self) -> None:
        old, least = self._level, self.bounds.minimum
        if old == least:
            return
        self._above = old
        if old <= 3:
            self._below, self._level = old - 2, old - 1
            return
        power = 1 << ((old - 1).bit_length() - 1)
        gap = power // 2
        candidate = power + gap
        while candidate > power:
            if candidate <= least:
                self._level = least
                break
            self._level = candidate
            if candidate < old and not self._records[candidate].trusted:
                self._below = power
                break
            gap = max(1, gap // 2)
            candidate -= gap
        if self._level == power + 1:
            if power >= least and self._records[power + 1].trusted:
                self._below, self._level = power // 2, power
            else:
                self._below = power

    def _now(self, reason: str, state: str) -> Decision:
        return Decision(self._level, reason, state)


LAW = Streams
