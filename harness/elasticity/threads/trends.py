"""Records of levels and comparisons of neighbours, for the laws that learn a curve by records.

`pldi17`, `streams` and `elastic_load_balance` keep one `LevelRecord` a level (P17 Figure 7) and
climb for the same three reasons (P17 Figure 8). They differ in which levels are neighbours, what is
a change in load, and when they step down.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class LevelRecord:
    """Record of one level; throughputs in tuples/s, times in steps of the law."""

    first: float = math.nan  # the first throughput since the level was last untrusted
    last: float = math.inf
    last_time: int = -1
    trusted: bool = False

    def note(self, throughput: float, time: int) -> None:
        """Record an observation, and trust the level from now on."""
        self.last, self.last_time = throughput, time
        if not self.trusted:
            self.first = throughput
        self.trusted = True


def beats(this: float, that: float, margin: float) -> bool:
    """Return True if a throughput exceeds another by more than a share of the other.

    Anything but 0 beats 0.
    """
    return this > that and this - that > margin * that


def differ(this: float, that: float, margin: float) -> bool:
    """Return True if two throughputs differ by more than a share of the smaller one."""
    return beats(this, that, margin) or beats(that, this, margin)


@dataclass(frozen=True, slots=True)
class Trends:
    """Comparison of a level's throughput with the trusted throughputs of the levels next to it."""

    lowest: bool  # there is no level below
    trusts_below: bool
    trusts_above: bool
    below: bool  # the level below is trusted, and the throughput here beats its last one
    above: bool  # the level above is trusted, and its last throughput beats the one here

    def why_up(self) -> str:
        """Return the reason to climb; empty if there is none."""
        if self.below and not self.trusts_above:
            return "trend below, above untrusted"
        if self.above:
            return "trend above"
        if self.lowest and not self.trusts_above:
            return "lowest level, above untrusted"
        return ""

    def why_down(self) -> str:
        """Return the reason to step down; empty if there is none."""
        if not self.trusts_below:
            return "lowest level" if self.lowest else "below untrusted"
        return "" if self.below else "no trend below"
