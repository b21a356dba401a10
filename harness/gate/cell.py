"""What is compared: cells, each one number with a direction; and programs, each one fresh process that answers some of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

RECORD, BENCHMARKS, WALL = "record", "pytest-benchmark", "wall time"
OUTCOMES = ".xml"
"""What is put behind the name of the answer of a pytest program for the file in which pytest tells how its tests ended."""


@dataclass(frozen=True)
class Metric:
    """A number that a program answers. `name` is its field: dotted inside objects, as `elastic.period_s`."""

    name: str = "ns_per_hop"
    unit: str = "ns"
    lower_is_better: bool = True
    floor: float = 0.0  # [unit] differences up to this are never called regressed or improved, whatever their ratio


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


def positive(value: object) -> float | None:
    """A number that has a logarithm, as a float; None for anything else that JSON may hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) and number > 0.0 else None
