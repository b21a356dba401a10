"""Numbers with a range, and comparisons of them that know what the range leaves open.

A *reading* is a value with the range in which it may lie: of a measured arm the 95 % interval over its runs, of a simulated one
the band over the constants of machine and software that were varied. A *finding* is what a comparison says of readings:
whether it holds at the values, and whether it has one answer throughout the ranges (Kleene's three values: yes, no, open).

Ranges are taken as independent. The bands of two simulated arms are not: a constant moves both. So an answer that is the same
throughout really is, while one that is open here may still be the same for every single constant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.measurement.interval import mean_interval, spread_factors


class Missing(Exception):
    """What a claim asks for is not in the tables; the message says what."""


@dataclass(frozen=True)
class Reading:
    """A number, and the range in which it may lie.

    `parts`: of a number that is several, the lowest and the highest level say, each of them, with its own range. `is_varied`:
    whether the range says anything; not that of a simulated arm whose constants were not varied. `is_open`: the value says
    nothing, as a run ended before it was known; it may be anything in the range. `runs`: how many runs are behind it.
    """

    value: float
    low: float
    high: float
    runs: int = 1
    parts: tuple[Reading, ...] = ()
    is_varied: bool = True
    is_open: bool = False

    def __truediv__(self, other: Reading) -> Reading:
        """The ratio of two numbers that are not negative. Raises Missing if the divisor is 0."""
        if other.value == 0:
            raise Missing("a ratio to 0")
        low = 0.0 if math.isinf(other.high) else self.low / other.high
        high = math.inf if other.low <= 0 or math.isinf(self.high) else self.high / other.low
        told = {"is_varied": self.is_varied and other.is_varied, "is_open": self.is_open or other.is_open}
        return Reading(self.value / other.value, max(low, 0.0), high, min(self.runs, other.runs), **told)


def of_runs(points: Sequence[float]) -> Reading:
    """The mean of numbers of single runs, one of each and none of them negative, with its 95 % interval. That of one run may be
    anything. Raises Missing if there is none.
    """
    finite = [float(point) for point in points if math.isfinite(point)]
    if not finite:
        raise Missing("no run has such a number")
    if len(finite) == 1:
        return Reading(finite[0], 0.0, math.inf)
    return Reading(*mean_interval(finite), len(finite))


def of_spread(spread: float, runs: int) -> Reading:
    """How far runs are from each other, by their standard deviation or what grows with it, with its 95 % interval: that of the
    standard deviation of normal numbers. One run shows no spread: it may be anything.
    """
    if runs < 2:
        return Reading(spread, 0.0, math.inf, runs)
    low, high = spread_factors(runs)
    return Reading(spread, low * spread, high * spread, runs)


def together(lowest: Reading, highest: Reading) -> Reading:
    """What reaches from one number to another."""
    middle = (lowest.value + highest.value) / 2
    return Reading(middle, lowest.low, highest.high, lowest.runs, parts=(lowest, highest))


def greatest(readings: Sequence[Reading]) -> Reading:
    """The greatest of some numbers, whichever it is."""
    best = max(readings, key=lambda reading: reading.value)
    low, high = (max(getattr(reading, end) for reading in readings) for end in ("low", "high"))
    return Reading(best.value, low, high, best.runs, is_varied=all(reading.is_varied for reading in readings))


@dataclass(frozen=True)
class Finding:
    """What a comparison says: at the values (None: one is not known), and throughout the ranges (None: it depends on where in
    them).
    """

    holds: bool | None
    throughout: bool | None


def greater(high: Reading, low: Reading) -> Finding:
    """Whether one number is greater than another."""
    if high.low > low.high:
        throughout: bool | None = True
    else:
        throughout = False if high.high <= low.low else None
    return _finding(high.value > low.value, throughout, high, low)


def not_below(high: Reading, low: Reading, factor: float = 1.0) -> Finding:
    """Whether one number is at least `factor` times another."""
    if high.low >= factor * low.high:
        throughout: bool | None = True
    else:
        throughout = False if high.high < factor * low.low else None
    return _finding(high.value >= factor * low.value, throughout, high, low)


def within(reading: Reading, at_least: float | None, at_most: float | None) -> Finding:
    """Whether a number is within limits, which belong to them; where it has `parts`, whether all of them are."""
    if reading.parts:
        return all_of([within(part, at_least, at_most) for part in reading.parts])
    least = -math.inf if at_least is None else at_least
    most = math.inf if at_most is None else at_most
    if least <= reading.low and reading.high <= most:
        throughout: bool | None = True
    else:
        throughout = False if reading.high < least or reading.low > most else None
    return _finding(least <= reading.value <= most, throughout, reading)


def all_of(findings: Sequence[Finding]) -> Finding:
    """Whether all hold."""

    def both(answers: Sequence[bool | None]) -> bool | None:
        return False if False in answers else None if None in answers else True

    return Finding(both([finding.holds for finding in findings]), both([finding.throughout for finding in findings]))


def any_of(findings: Sequence[Finding]) -> Finding:
    """Whether one at least holds."""

    def either(answers: Sequence[bool | None]) -> bool | None:
        return True if True in answers else None if None in answers else False

    return Finding(either([finding.holds for finding in findings]), either([finding.throughout for finding in findings]))


def _finding(holds: bool, throughout: bool | None, *readings: Reading) -> Finding:
    """Where a value says nothing there is only what the ranges say."""
    return Finding(throughout if any(reading.is_open for reading in readings) else holds, throughout)
