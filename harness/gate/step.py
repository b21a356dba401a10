"""Coarse values: how far what was recorded may be from what was measured.

A clock of few digits, a counter or a bucket of a histogram records x as the next step below it, so a value v stands for
anything from v up to v + step. Whatever lies in there, the order of two values that are the same, or neighbours, is not known.
A slowdown smaller than a step can leave all values as they are; with all ranks tied it would look like proof of no slowdown.

So bounds are moved outwards by one step: if each x is between v and v + step, ranks of head's v + step against base's v are no
lower than those of the x, and a test that rejects with the former rejects with the latter.

The step is not told, it is seen. If no two samples are the same, it is small beside the noise, and bounds stay where they are.
Values that lie on a grid differ by a step at least, so the smallest difference between two of them is no smaller than it.
If most samples share their value with another one, but some lie in between, the grid is not all there is: then the step is the
median distance of such samples to their nearest neighbour. If all samples are one value, nothing tells how far the next is.
And values that no side has twice, but both sides have, were not measured twice: nothing follows from them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from harness.measurement.rank_interval import middle_of

DUST = 1e-9  # relative difference below which two values are one: what is left of rounding
HEAVY = 0.5  # share of samples that share their value, from which on ties are more than chance


class Slack(NamedTuple):
    """How far bounds are moved: logs of ratios, or differences in the metric's unit."""

    differs: float  # those that prove head slower, or faster
    same: float  # the one that proves head not slower; inf: all samples are one value


EXACT, UNKNOWN = Slack(0.0, 0.0), Slack(math.inf, math.inf)


def slack(base: Sequence[float], head: Sequence[float], by_difference: bool) -> Slack:
    """Of both sides' values, at least one each, above 0 unless `by_difference`.

    That head differs rests on the step within a side: where both have one value only they are taken at their word, and so is a
    count that base always gives, for if head were base, head would give it, too. That head is not slower rests on all values.
    """
    together = [float(value) for value in (*base, *head)]
    if are_copies(base, head):
        return UNKNOWN
    if len(set(together)) == len(together):
        return EXACT
    differs, same = smallest(base), step(together)
    if by_difference:
        most = 1.0 if all(value.is_integer() for value in together) else math.inf  # of counts, which go by ones
        return Slack(min(differs, most), min(same, most))
    differs, least = differs or smallest(head), min(together)
    with np.errstate(over="ignore"):
        return Slack(float(np.log1p(max(DUST, differs / least))), float(np.log1p(np.divide(same, least))))


def are_copies(base: Sequence[float], head: Sequence[float]) -> bool:
    """Whether most values of head are base's too, though no side has one twice: two measurements do not agree like that."""
    return all(len(set(side)) == len(side) > 1 for side in (base, head)) and len({*base} & {*head}) > HEAVY * len(head)


def smallest(values: Sequence[float]) -> float:
    """The smallest difference between two values that are not the same; 0 if there is one value only."""
    places, _ = _distinct(values)
    return float(np.diff(places).min()) if len(places) > 1 else 0.0


def step(values: Sequence[float]) -> float:
    """How coarse values are, in their unit; inf if all are the same."""
    places, counts = _distinct(values)
    if len(places) == 1:
        return math.inf
    gaps = np.diff(places)
    nearest = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
    shared = counts > 1
    found = float(gaps.min())
    if counts[shared].sum() > HEAVY * len(values):
        found = max(found, middle_of(np.repeat(nearest[shared], counts[shared]).tolist()))
    return found


def _distinct(values: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """The values that differ by more than dust, rising, and how many samples have each."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    is_new = np.append(True, np.diff(ordered) > DUST * np.abs(ordered[1:]))
    return ordered[is_new], np.bincount(np.cumsum(is_new) - 1)
