"""Numbers with a range, and comparisons of them that say what the range leaves open.

A *reading* is a value with the range in which it may lie: of a measured arm the 95 % interval over
its runs, of a simulated one the band over the constants of machine and software that were varied. A
*finding* is what a comparison says of readings: whether it holds at the values, and whether it has
one answer throughout the ranges (Kleene's three values: yes, no, open).

Ranges are taken as independent. The bands of two simulated arms are not: a constant moves both. So
an answer that is the same throughout really is, while one that is open here may still be the same
for every single constant.

An interval over runs is wrong in 5 %, and of many the one that looks best or worst is wrong far
more often. So an answer that rests on several intervals allows for all of them (Bonferroni): the
`greatest` of some numbers, and `every` and `some`. One check that fails refutes `every`, and it may
be the unluckiest one: it counts only with intervals that allow for all checks. To confirm `every`
takes all checks, each with its own interval, and no allowance (Berger, Technometrics 24(4), 1982).
For `some` it is the other way round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from harness.files.checked_yaml import load_schema
from harness.measurement import interval

LEAST_DIFFERENCE: float = load_schema("claims")["$defs"]["least_difference"]["default"]
"""Share by which numbers must differ for one to be above the other, where a claim does not say; the
schema says why.
"""


ONE_RUN = "one run says nothing of others"
"""Reason of a verdict that stays open, where a claim is about all runs, and there is one."""


class Missing(Exception):
    """Error: the tables lack what a claim asks for; the message says what."""


@dataclass(frozen=True)
class RangedNumber:
    """Number, and the range in which it may lie.

    `parts`: several numbers that make up this one, as the lowest and the highest level, each with
    its own range. `is_varied`: the range is known; false for a simulated arm whose constants were
    not varied. `is_unreached`: constants were varied, and none of them affects the number.
    `is_open`: the value is not known, as a run ended too early; it may be anything in the range.
    `lacks`: the levels or runs that the tables lack, if the value is open for that reason.
    `resolution`: smallest share of the number that can be distinguished, the width of a histogram's
    bucket. `runs`: number of runs. `is_sampled`: the range is a 95 % interval over them.
    """

    value: float
    low: float
    high: float
    runs: int = 1
    parts: tuple[RangedNumber, ...] = ()
    is_varied: bool = True
    is_open: bool = False
    is_unreached: bool = False
    lacks: str = ""
    resolution: float = 0.0
    is_sampled: bool = False

    def allowing(
        self, events: float, others: interval.PooledDeviation | None = None
    ) -> RangedNumber:
        """Return the reading with a range that holds among as many one-sided `events`, as
        `interval.allowing`; it is `self` if the range is no interval over runs.
        """
        if not self.is_sampled:
            return self
        ends = (self.low, self.high)
        low, high = interval.allowing(self.value, ends, self.runs, events, others)
        parts = tuple(part.allowing(events, others) for part in self.parts)
        return replace(self, low=low, high=high, parts=parts)

    def __truediv__(self, other: RangedNumber) -> RangedNumber:
        """Return the ratio of two numbers that are not negative. Raises Missing if the divisor is
        0.
        """
        if other.value == 0:
            raise Missing("a ratio to 0")
        low = 0.0 if math.isinf(other.high) else self.low / other.high
        high = math.inf if other.low <= 0 or math.isinf(self.high) else self.high / other.low
        flags = {
            **variation([self, other]),
            "is_open": self.is_open or other.is_open,
            "lacks": self.lacks or other.lacks,
            "resolution": max(self.resolution, other.resolution),
            "is_sampled": self.is_sampled or other.is_sampled,
        }
        return RangedNumber(
            self.value / other.value, max(low, 0.0), high, min(self.runs, other.runs), **flags
        )


def variation(readings: Sequence[RangedNumber]) -> dict[str, bool]:
    """Return `is_varied` and `is_unreached` of a result of some readings.

    It is varied if one reading was varied, and each other one was varied too or is not affected by
    the constants.
    """
    known = all(reading.is_varied or reading.is_unreached for reading in readings)
    varied = any(reading.is_varied for reading in readings)
    return {"is_varied": known and varied, "is_unreached": known and not varied}


def of_runs(points: Sequence[float]) -> RangedNumber:
    """Return the mean of one non-negative number of each run, with its 95 % interval, which has a
    width also if runs agree.

    The mean of one run may be anything. Raises Missing if there is no number.
    """
    finite = [float(point) for point in points if math.isfinite(point)]
    if not finite:
        raise Missing("no run has such a number")
    if len(finite) == 1:
        return RangedNumber(finite[0], 0.0, math.inf)
    return RangedNumber(*interval.level_interval(finite), len(finite), is_sampled=True)


def of_all(points: Sequence[float], runs: int) -> RangedNumber:
    """Return the reading that reaches from the least to the greatest of what runs had, which is
    known exactly. One run is open: others may have less or more, so that it can refute what is said
    of all runs, and cannot confirm it. Raises Missing if there is no number.
    """
    finite = [float(point) for point in points if math.isfinite(point)]
    if not finite:
        raise Missing("no run has such a number")
    least, greatest = (RangedNumber(end, end, end, runs) for end in (min(finite), max(finite)))
    if runs >= 2:
        return replace(together(least, greatest), is_varied=False)
    one_run = {"is_open": True, "lacks": ONE_RUN}
    least, greatest = (
        replace(least, low=0.0, **one_run),
        replace(greatest, high=math.inf, **one_run),
    )
    return replace(together(least, greatest), is_varied=False, **one_run)


def of_spread(spread: float, runs: int) -> RangedNumber:
    """Return the spread of runs, by their standard deviation or what is proportional to it, with
    its 95 % interval.

    The interval is that of the standard deviation of normal numbers. Other runs may differ from
    runs that agree by their whole value. The spread of one run may be anything, and is open.
    """
    if runs < 2:
        return RangedNumber(spread, 0.0, math.inf, runs, is_open=True, lacks=ONE_RUN)
    low, high = interval.spread_factors(runs)
    return RangedNumber(spread, low * spread, high * spread or 1.0, runs, is_sampled=True)


def together(lowest: RangedNumber, highest: RangedNumber) -> RangedNumber:
    """Return the reading that reaches from one number to another."""
    middle = (lowest.value + highest.value) / 2
    return RangedNumber(
        middle,
        lowest.low,
        highest.high,
        lowest.runs,
        parts=(lowest, highest),
        is_sampled=lowest.is_sampled,
    )


def greatest(readings: Sequence[RangedNumber]) -> RangedNumber:
    """Return the greatest of some numbers; its range is that of the maximum, and allows for the
    choice of the luckiest.
    """
    best = max(readings, key=lambda reading: reading.value)
    values, lows, highs, runs = _columns(readings)
    low, high = interval.greatest_interval(values, lows, highs, runs)
    flags = variation(readings) | {"is_sampled": any(reading.is_sampled for reading in readings)}
    return RangedNumber(best.value, low, high, best.runs, **flags)


def allowing_together(readings: Sequence[RangedNumber], events: float) -> list[RangedNumber]:
    """Return readings that are compared with each other, each as `RangedNumber.allowing` with the
    deviation of all of them.
    """
    values, _, highs, runs = _columns(readings)
    others = interval.pool(values, highs, runs)
    return [reading.allowing(events, others) for reading in readings]


def _columns(readings: Sequence[RangedNumber]) -> tuple[list, list, list, list]:
    """Return the values, ends and numbers of runs; one run for a range that is no interval."""
    return (
        [reading.value for reading in readings],
        [reading.low for reading in readings],
        [reading.high for reading in readings],
        [reading.runs if reading.is_sampled else 1 for reading in readings],
    )


@dataclass(frozen=True)
class Finding:
    """Result of a comparison: at the values, None if one is not known; and throughout the ranges,
    None if it varies there.
    """

    holds: bool | None
    throughout: bool | None


def greater(high: RangedNumber, low: RangedNumber, least: float = 0.0) -> Finding:
    """Compare: one number is greater than another, by more than the share `least`.

    The answer is open for numbers whose difference is below their resolution.
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


def not_below(high: RangedNumber, low: RangedNumber, factor: float = 1.0) -> Finding:
    """Compare: one number is at least `factor` times another."""
    if high.low >= factor * low.high:
        throughout: bool | None = True
    else:
        throughout = False if high.high < factor * low.low else None
    return _finding(high.value >= factor * low.value, throughout, high, low)


def within(reading: RangedNumber, at_least: float | None, at_most: float | None) -> Finding:
    """Compare: a number, or each of its `parts`, is within limits. The limits belong to the
    range.
    """
    if reading.parts:
        return all_of([within(part, at_least, at_most) for part in reading.parts])
    least = -math.inf if at_least is None else at_least
    most = math.inf if at_most is None else at_most

    def inside(low: float, high: float) -> bool | None:
        return (
            True if least <= low and high <= most else False if high < least or low > most else None
        )

    factor = 1 + reading.resolution
    return _finding(
        inside(reading.value / factor, reading.value * factor),
        inside(reading.low, reading.high),
        reading,
    )


def all_of(findings: Sequence[Finding]) -> Finding:
    """Combine findings: all hold."""

    def both(answers: Sequence[bool | None]) -> bool | None:
        return False if False in answers else None if None in answers else True

    return Finding(
        both([finding.holds for finding in findings]),
        both([finding.throughout for finding in findings]),
    )


def any_of(findings: Sequence[Finding]) -> Finding:
    """Combine findings: at least one holds."""

    def either(answers: Sequence[bool | None]) -> bool | None:
        return True if True in answers else None if None in answers else False

    return Finding(
        either([finding.holds for finding in findings]),
        either([finding.throughout for finding in findings]),
    )


@dataclass(frozen=True)
class Check:
    """Comparison of one or two readings."""

    compare: Callable[..., Finding]
    readings: tuple[RangedNumber, ...]

    def finding(self) -> Finding:
        """Return the finding with the ranges as they are."""
        return self.compare(*self.readings)


def every(checks: Sequence[Check], families: float = 1) -> Finding:
    """Find whether all checks hold. `families`: number of such groups of checks of which one that
    fails refutes the claim.
    """
    plain = all_of([check.finding() for check in checks])
    refuted = all_of(_findings(checks, families * _ends(checks))).throughout is False
    return Finding(plain.holds, True if plain.throughout else False if refuted else None)


def some(checks: Sequence[Check], families: float = 1) -> Finding:
    """Find whether one check at least holds; `families` as above."""
    plain = any_of([check.finding() for check in checks])
    confirmed = any_of(_findings(checks, _ends(checks))).throughout is True
    refuted = any_of(_findings(checks, 2 * families)).throughout is False
    return Finding(plain.holds, True if confirmed else False if refuted else None)


def _findings(checks: Sequence[Check], events: float) -> list[Finding]:
    """Return the findings with ranges that allow for so many one-sided events."""
    readings = list(dict.fromkeys(reading for check in checks for reading in check.readings))
    wide = dict(zip(readings, allowing_together(readings, events), strict=True))
    return [check.compare(*(wide[reading] for reading in check.readings)) for check in checks]


def _ends(checks: Sequence[Check]) -> int:
    """Return the number of ends of ranges that can make one of some like checks wrong: one of each
    reading of a pair, both of a single one.
    """
    places = [set(readings) for readings in zip(*(check.readings for check in checks), strict=True)]
    return max(2, sum(map(len, places)) * (2 if len(places) == 1 else 1))


def _finding(holds: bool | None, throughout: bool | None, *readings: RangedNumber) -> Finding:
    """Return a finding. If a value is open only the ranges count; if the values leave it open, so
    do the ranges.
    """
    if any(reading.is_open for reading in readings):
        return Finding(throughout, throughout)
    return Finding(holds, throughout if holds is not None else None)
