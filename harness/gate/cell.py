"""What is compared: cells, each one number with a direction; and programs, each one fresh process that answers some of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

RECORD, BENCHMARKS, WALL = "record", "pytest-benchmark", "wall time"
OUTCOMES = ".xml"
"""What is put behind the name of the answer of a pytest program for the file in which pytest tells how its tests ended."""

LARGEST = 1e300  # of numbers that are compared by their difference: sums of some of them stay finite


@dataclass(frozen=True)
class Metric:
    """A number that a program answers. `name` is its field: dotted inside objects, as `elastic.period_s`."""

    name: str = "ns_per_hop"
    unit: str = "ns"
    lower_is_better: bool = True
    floor: float = 0.0  # [unit] differences up to this are never called regressed or improved, whatever their ratio
    may_be_zero: bool = False  # 0 is a value as good as any other: numbers are compared by their difference, not their ratio
    deterministic: bool = False  # every process of a tree gives the same number: one block says all there is to say
    factor: float | None = None  # head is fine up to this ratio; None: the call's


@dataclass(frozen=True)
class Cell:
    """One row of the verdict. `key` is the benchmark's full name in the answer of a pytest program, "" in a record's."""

    name: str
    metric: Metric
    key: str = ""


@dataclass(frozen=True)
class Program:
    """One fresh process in the directory of a tree, which answers all of its cells or none.

    In `argv`, the word `{python}` stands for the tree's own interpreter and `{answer}` for a file that the process writes its
    answer to; without `{answer}` it is the last line of stdout.
    """

    name: str
    argv: tuple[str, ...]
    cells: tuple[Cell, ...]
    answers: str = RECORD  # or BENCHMARKS: pytest-benchmark's JSON; or WALL: how long it took is the answer [s]
    stdin: str = ""
    timeout_s: float = 120.0


def comparable(value: object, metric: Metric) -> float | None:
    """A number that can be compared as this metric's, as a float; None for anything else that JSON may hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if metric.may_be_zero:
        return number + 0.0 if 0.0 <= number <= LARGEST else None  # of -0.0 that makes 0.0
    return number if math.isfinite(number) and number > 0.0 else None


def rule(metric: Metric) -> str:
    """What `comparable` demands, for a message."""
    return f"a number from 0 to {LARGEST:g}" if metric.may_be_zero else "a finite number above 0"
