"""Intervals of `measurement.interval` as column functions. Spark has no quantile of the t
distribution, so it gets a table.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache

from pyspark.sql import Column
from pyspark.sql import functions as F

from harness.measurement.interval import t_quantile as quantile

DEGREES_OF_FREEDOM = (*range(1, 31), 40, 60, 120)
"""Degrees of freedom in the table. Between two of them the lower one is taken; its quantile is the
larger by 4 % at most."""


def t_quantile(
    freedom: Column, events: Sequence[int] = (2,), which: Column | None = None
) -> Column:
    """Return `measurement.interval.t_quantile` as a column, for element `which` of `events`,
    counted from 0; null below 1 degree of freedom, and if there is no such element.
    """
    # As text, which Spark reads once: thousands of literals slow down each step of its planning.
    rows = json.dumps([_row(count) for count in events])
    table = F.from_json(F.lit(rows), "array<array<double>>")
    row = F.lit(0) if which is None else which
    return F.get(F.get(table, row.cast("int")), _place(freedom) - 1)


def half_width(
    n: Column, deviation: Column, events: Sequence[int] = (2,), which: Column | None = None
) -> Column:
    """Return half of the interval of a mean of `n` values with the sample standard deviation
    `deviation`; null for n < 2.
    """
    return t_quantile(n - 1, events, which) * deviation / F.sqrt(n)


def mean_interval(n: Column, mean: Column, deviation: Column) -> tuple[Column, Column]:
    """Return both ends of the interval of a mean that is not negative, as
    `measurement.interval.mean_interval`; null for n < 2.
    """
    half = F.when(mean > 0, half_width(n, deviation) / mean).when(n >= 2, F.lit(0.0))
    return mean * F.exp(-half), mean * F.exp(half)


def level_interval(
    n: Column, mean: Column, deviation: Column, apart: Column, distinct: Column
) -> tuple[Column, Column]:
    """Return both ends of the interval of the mean of levels or counts, as
    `measurement.interval.level_interval`. `apart`: the greatest less the least; `distinct`: number
    of different ones.
    """
    low, high = mean_interval(n, mean, deviation)
    below = F.when(apart > 0, apart).otherwise(mean / 2)
    above = F.when(apart > 0, apart).when(mean > 0, mean).otherwise(1.0)
    share = 1 - F.pow(F.lit(0.025), 1 / n)
    repeat = (n >= 2) & (distinct < n)
    return (
        F.when(repeat, F.greatest(F.least(low, mean - share * below), F.lit(0.0))).otherwise(low),
        F.when(repeat, F.greatest(high, mean + share * above)).otherwise(high),
    )


def _place(freedom: Column) -> Column:
    """Return the position of the degrees of freedom in a row of the table, from 1 on; 0 for
    none.
    """
    known = F.array(*map(F.lit, DEGREES_OF_FREEDOM))
    return F.size(F.filter(known, lambda listed: listed <= freedom))


@cache
def _row(events: int) -> list[float]:
    return [quantile(freedom, events) for freedom in DEGREES_OF_FREEDOM]
