"""Coarse values: how far a recorded value may be from the measured one.

A clock with few digits, a counter or a bucket of a histogram records x as the next step below it,
so a value v stands for anything from v up to v + step. The true order of two values that are equal,
or neighbours, is then unknown. A slowdown smaller than a step can leave all values as they are;
with all ranks tied it would look like proof of no slowdown.

So bounds are moved outwards by one step. If each x is between v and v + step, the ranks of head's v
+ step against base's v are no lower than those of the x, and a test that rejects with the former
rejects with the latter.

The step is estimated from the values. If no two samples are equal, it is small beside the noise,
and bounds stay where they are. Values on a grid differ by a step at least, so the smallest
difference between two of them is at least one step. If most samples share their value with another
one, but some lie in between, the values are not all on one grid: then the step is the median
distance of such samples to their nearest neighbour. If all samples have one value, the distance to
the next value is unknown. Values that occur once on each side, but on both sides, were copied
instead of measured twice: nothing follows from them.
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
    if len(set(together)) == len(together):
        return EXACT
    differs, same = smallest(base), step(together)
    if by_difference:
        # limit for counts, whose step is 1
        most = 1.0 if all(value.is_integer() for value in together) else math.inf
        return Slack(min(differs, most), min(same, most))
    differs, least = differs or smallest(head), min(together)
    with np.errstate(over="ignore"):
        return Slack(
            float(np.log1p(max(ROUNDING_ERROR, differs / least))),
            float(np.log1p(np.divide(same, least))),
        )


def are_copies(base: Sequence[float], head: Sequence[float]) -> bool:
    """True if most values of head are also base's, though no side has one twice, and if that many
    equal values would hardly come by chance among values of so few digits."""
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


def step(values: Sequence[float]) -> float:
    """Return the step of coarse values, in their unit; inf if all are equal."""
    places, counts = _distinct(values)
    if len(places) == 1:
        return math.inf
    gaps = np.diff(places)
    nearest = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
    shared = counts > 1
    found = float(gaps.min())
    if counts[shared].sum() > MAX_CHANCE_SHARE * len(values):
        found = max(found, middle_of(np.repeat(nearest[shared], counts[shared]).tolist()))
    return found


def _distinct(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return the values that differ by more than rounding error, rising, and the number of samples
    with each."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    is_new = np.append(True, np.diff(ordered) > ROUNDING_ERROR * np.abs(ordered[1:]))
    return ordered[is_new], np.bincount(np.cumsum(is_new) - 1)
