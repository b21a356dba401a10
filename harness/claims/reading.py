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
    whether the range says anything; not that of a simulated arm whose constants were not varied. `is_unreached`: constants were
    varied, and none of them matters to it. `is_open`: the value says nothing, as a run ended before it was known; it may be
    anything in the range. `lacks`: the same because the tables lack levels, and which. `resolution`: share of the number below
    which nothing can be told, the width of a histogram's bucket. `runs`: how many runs are behind it.
    """

    value: float
    low: float
    high: float
    runs: int = 1
    parts: tuple[Reading, ...] = ()
    is_varied: bool = True
    is_open: bool = False
    is_unreached: bool = False
    lacks: str = ""
    resolution: float = 0.0

    def __truediv__(self, other: Reading) -> Reading:
        """The ratio of two numbers that are not negative. Raises Missing if the divisor is 0.

        Where levels are missing for one of them the ratio may be anything.
        """
        if other.value == 0:
            raise Missing("a ratio to 0")
        low = 0.0 if math.isinf(other.high) else self.low / other.high
        high = math.inf if other.low <= 0 or math.isinf(self.high) else self.high / other.low
        lacks = self.lacks or other.lacks
        told = {
            **variation([self, other]),
            "is_open": self.is_open or other.is_open,
            "lacks": lacks,
            "resolution": max(self.resolution, other.resolution),
        }
        ends = (0.0, math.inf) if lacks else (max(low, 0.0), high)
        return Reading(self.value / other.value, *ends, min(self.runs, other.runs), **told)


def variation(readings: Sequence[Reading]) -> dict[str, bool]:
    """Whether what follows from some numbers was varied: if one was, and the others too or out of reach of the constants."""
    known = all(reading.is_varied or reading.is_unreached for reading in readings)
    varied = any(reading.is_varied for reading in readings)
    return {"is_varied": known and varied, "is_unreached": known and not varied}


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
    return Reading(best.value, low, high, best.runs, **variation(readings))


@dataclass(frozen=True)
class Finding:
    """What a comparison says: at the values (None: one is not known), and throughout the ranges (None: it depends on where in
    them).
    """

    holds: bool | None
    throughout: bool | None


def greater(high: Reading, low: Reading, least: float = 0.0) -> Finding:
    """Whether one number is greater than another, by more than the share `least`. Numbers that are as close as can be told are
    neither.
    """
    resolution = max(high.resolution, low.resolution)
    holds: bool | None = high.value > low.value * (1 + max(least, resolution))
    if resolution > 0 and not holds and high.value * (1 + resolution) >= low.value:
        holds = None
    throughout: bool | None = None
    if holds and high.low > low.high:
        throughout = True
    elif holds is False and high.high <= low.low * (1 + least):
        throughout = False
    return _finding(holds, throughout, high, low)


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

    def inside(low: float, high: float) -> bool | None:
        return True if least <= low and high <= most else False if high < least or low > most else None

    factor = 1 + reading.resolution
    return _finding(inside(reading.value / factor, reading.value * factor), inside(reading.low, reading.high), reading)


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


def _finding(holds: bool | None, throughout: bool | None, *readings: Reading) -> Finding:
    """Where a value says nothing there is only what the ranges say; and these say nothing that the values leave open."""
    if any(reading.is_open for reading in readings):
        return Finding(throughout, throughout)
    return Finding(holds, throughout if holds is not None else None)
