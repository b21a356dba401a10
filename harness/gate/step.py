"""Coarse values: how far a recorded value may be from the measured one.

A clock with few digits, a counter or a bucket of a histogram records x as the next step below it,
so a value v stands for anything from v up to v + step. The true order of two values that are equal,
or neighbours, is then unknown. A slowdown smaller than a step can leave all values as they are;
with all ranks tied it would look like proof of no slowdown.

So bounds are moved outwards by one step. If each x is between v and v + step, the ranks of head's v
+ step against base's v are no lower than those of the x, and a test that rejects with the former
rejects with the latter.

The step is estimated from the values; the largest of these counts:

- Values on a grid differ by a step at least, so the smallest difference between two of them is at
  least one step. If most samples share their value with another one, but some lie in between, the
  values are not all on one grid: then the step is the median distance of such samples to their
  nearest neighbour.
- Ticks that jitter, or have a fine part, are never equal, but lie in groups. If most samples of a
  side are in groups that are far narrower than the gaps between them, the step is the median
  distance between neighbouring groups. Both sides together would also show groups if head merely
  differs. A program with two speeds looks the same, and the same follows: a slowdown
  may show only in how many processes are in each group.
- Values with few digits have a step that grows tenfold at each power of ten: 9.8, 9.9, 10, 11. If
  they lie on both sides of one, the step is that of the largest.

If none of this shows a step, it is small beside the noise, and bounds stay where they are. If all
samples have one value, the distance to the next value is unknown. Values that occur once on each
side, but on both sides, were copied instead of measured twice: nothing follows from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

import numpy as np

from harness.measurement.rank_interval import middle_of

ROUNDING_ERROR = 1e-9  # relative difference below which two values count as equal: rounding error
MAX_CHANCE_SHARE = 0.5  # largest share of equal values that chance explains
MAX_CHANCE_OF_COPIES = 1e-6  # chance of so many equal values below which they count as copies
MOST_PLACES = 10**9  # enough to make any agreement unlikely, and few enough for whole numbers
GROUP_GAP = 4.0  # least gap between groups, in widths of the widest
MIN_GROUP_SHARE = 0.1  # of the samples; fewer are outliers, not a group
MOST_CUTS = 50  # widest gaps that are tried as the gap between groups; it bounds the time
FEW_DIGITS = 4  # decimal digits; more have no step that matters
PRINTED_DIGITS = 12  # digits that survive a change of unit


class Slack(NamedTuple):
    """Distances by which bounds are moved: logs of ratios, or differences in the metric's unit."""

    differs: float  # for bounds that prove head slower, or faster
    same: float  # for the bound that proves head not slower; inf: all samples have one value


EXACT, UNKNOWN = Slack(0.0, 0.0), Slack(math.inf, math.inf)


def slack(base: Sequence[float], head: Sequence[float], by_difference: bool) -> Slack:
    """Return the slack for both sides' values: at least one each, above 0 unless `by_difference`.

    The proof that head differs rests on the step within a side. If both sides have only one value
    each, these count as exact. So does a count that base always gives, because head would give it
    too if it were base. The proof that head is not slower rests on all values.
    """
    together = [float(value) for value in (*base, *head)]
    if are_copies(base, head):
        return UNKNOWN
    is_tied = len(set(together)) < len(together)
    differs, same = smallest(base) if is_tied else 0.0, step(base, head)
    if max(len(set(base)), len(set(head))) > 1:
        # a side beyond a power of ten is rounded by more than the other shows
        differs = max(differs, _printed(together))
    if by_difference:
        # limit for counts, whose step is 1
        most = 1.0 if all(value.is_integer() for value in together) else math.inf
        return Slack(min(differs, most), min(same, most))
    least = min(together)
    if is_tied:
        differs = max(ROUNDING_ERROR, (differs or smallest(head)) / least)
    with np.errstate(over="ignore"):
        return Slack(float(np.log1p(differs)), float(np.log1p(np.divide(same, least))))


def are_copies(base: Sequence[float], head: Sequence[float]) -> bool:
    """Return True if most values of head are also base's, though no side has one twice, and if that
    many equal values would hardly come by chance among values of so few digits."""
    both = {*base} & {*head}
    if not all(len(set(side)) == len(side) > 1 for side in (base, head)):
        return False
    if len(both) <= MAX_CHANCE_SHARE * len(head):
        return False
    # Chernoff's bound on the chance of so many equal values, where `expected` come by chance
    count, expected = len(both), len(base) * len(head) / _places({*base, *head})
    log_chance = count - expected - count * math.log(count / expected)
    return count > expected and log_chance < math.log(MAX_CHANCE_OF_COPIES)


def _places(values: set[float]) -> int:
    """Return the number of values with as few decimal digits as these, from the least to the
    largest of these."""
    digits = max(-int(Decimal(repr(value)).normalize().as_tuple().exponent) for value in values)
    return max(len(values), min(MOST_PLACES, round((max(values) - min(values)) * 10.0**digits) + 1))


def smallest(values: Sequence[float]) -> float:
    """Return the smallest difference between two values that are not equal; 0 if there is one value
    only."""
    places, _ = _distinct(values)
    return float(np.diff(places).min()) if len(places) > 1 else 0.0


def step(base: Sequence[float], head: Sequence[float] = ()) -> float:
    """Return the step of coarse values, in their unit; inf if all are equal, 0 if they show
    none.
    """
    values = (*base, *head)
    places, counts = _distinct(values)
    if len(places) == 1:
        return math.inf
    groups = [_grouped(*_distinct(side)) for side in (base, head) if side]
    return max(_tied(places, counts), *groups, _printed(values))


def _tied(places: np.ndarray, counts: np.ndarray) -> float:
    """Return the step that equal values show."""
    shared = counts > 1
    if not shared.any():
        return 0.0
    gaps = np.diff(places)
    found = float(gaps.min())
    if counts[shared].sum() > MAX_CHANCE_SHARE * counts.sum():
        nearest = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
        found = max(found, middle_of(np.repeat(nearest[shared], counts[shared]).tolist()))
    return found


def _grouped(places: np.ndarray, counts: np.ndarray) -> float:
    """Return the median distance between neighbouring groups of a side; 0 if there are none."""
    gaps, samples = np.diff(places), int(counts.sum())
    widest = np.append(np.unique(gaps)[::-1], 0.0)
    # a gap between groups stands out from the gaps within them
    for gap in widest[:-1][2 * widest[1:] <= widest[:-1]][:MOST_CUTS]:
        ends = np.flatnonzero(np.append(gaps >= gap, True))
        starts = np.append(0, ends[:-1] + 1)
        sizes = np.add.reduceat(counts, starts)
        is_group = sizes >= max(2.0, MIN_GROUP_SHARE * samples)
        if sizes[is_group].sum() <= MAX_CHANCE_SHARE * samples:
            break
        widths = (places[ends] - places[starts])[is_group]
        if len(widths) > 1 and GROUP_GAP * widths.max() <= gap:
            middles = (places[ends] / 2 + places[starts] / 2)[is_group]
            return middle_of(np.diff(middles).tolist())
    return 0.0


def _printed(values: Sequence[float]) -> float:
    """Return the unit of the last digit of the largest value, if the values have few digits and lie
    on both sides of a power of ten; else 0."""
    most, powers = 1, set[int]()
    for value in filter(None, values):
        digits, power = _digits(value)
        if digits > FEW_DIGITS:
            return 0.0
        most = max(most, digits)
        powers.add(power)
    return 10.0 ** (max(powers) - most + 1) if len(powers) > 1 else 0.0


def _digits(value: float) -> tuple[int, int]:
    """Return the number of significant digits of a number, and its power of ten."""
    number, _, power = f"{value:.{PRINTED_DIGITS - 1}e}".partition("e")
    return max(1, len(number.lstrip("-").replace(".", "").rstrip("0"))), int(power)


def _distinct(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the values that differ by more than rounding error, rising, and the number of samples
    with each."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    is_new = np.append(True, np.diff(ordered) > ROUNDING_ERROR * np.abs(ordered[1:]))
    return ordered[is_new], np.bincount(np.cumsum(is_new) - 1)
