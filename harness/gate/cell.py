"""Cells and programs. A cell is one number with a direction; a program is one fresh process that
answers some cells."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace

RECORD, BENCHMARKS, USE, COUNT = "record", "pytest-benchmark", "use", "count"

INSTRUCTIONS, WALL_S = "instructions", "wall_s"
USED = (WALL_S, "cpu_s", "user_s", "system_s", "peak_bytes", INSTRUCTIONS)
"""Metrics of any process. `wall_s` is the time from before it starts until it has ended; the CPU
time is that of all that it has started; `peak_bytes` is the most memory that one of these had."""
OUTCOMES = ".xml"
"""Suffix added to a pytest program's answer file; it names the file in which pytest writes how its
tests ended."""

TAIL_RULE = "a percentile above p50 and below p100, as p95"
MIDDLE = 50.0  # percentile that is no tail
LARGEST = 1e300  # limit for numbers compared by their difference: sums of some of them stay finite


@dataclass(frozen=True)
class Metric:
    """A number that a program answers. `name` is its field; dots lead into objects, as in
    `elastic.period_s`."""

    name: str = "ns_per_hop"
    unit: str = "ns"
    lower_is_better: bool = True
    # [unit] differences up to this never count as regressed or improved, at any ratio
    floor: float = 0.0
    # 0 is a valid value: numbers are compared by their difference, not by their ratio
    may_be_zero: bool = False
    # every process of a tree gives nearly the same number, so one block is enough
    deterministic: bool = False
    factor: float | None = None  # head is fine up to this ratio; None: the factor of the call
    # share of processes that are better than a tail that must not be worse either; None: only means
    tail: float | None = None


@dataclass(frozen=True)
class Cell:
    """One row of the verdict. `key` is the benchmark's full name in the answer of a pytest program,
    and "" in a record."""

    name: str
    metric: Metric
    key: str = ""


@dataclass(frozen=True)
class Program:
    """One fresh process in the directory of a tree, which answers all of its cells or none.

    In `argv`, the word `{python}` stands for the tree's own interpreter, and `{answer}` for a file
    to which the process writes its answer. Without `{answer}`, the answer is the last line of
    stdout.
    """

    name: str
    argv: tuple[str, ...]
    cells: tuple[Cell, ...]
    # or BENCHMARKS: pytest-benchmark's JSON; USE: what the process took; COUNT: its instructions
    answers: str = RECORD
    stdin: str = ""
    timeout_s: float = 120.0


def with_tail(cell: Cell, tail: float | None) -> Cell:
    """Return a cell whose tail is this one, unless its metric names one or is deterministic."""
    metric = cell.metric
    if tail is None or metric.tail is not None or metric.deterministic:
        return cell
    return replace(cell, metric=replace(metric, tail=tail))


def tail_of(text: str) -> float | None:
    """Return the share of processes that are better than a tail: 0.95 of `p95`. None if the text
    names none."""
    if not re.fullmatch(r"p[5-9][0-9](\.[0-9]{1,3})?", text) or float(text[1:]) == MIDDLE:
        return None
    return float(text[1:]) / 100


def comparable(value: object, metric: Metric) -> float | None:
    """Return a value as a float if it can be compared under this metric; None for anything else
    that JSON may hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    if metric.may_be_zero:
        return number + 0.0 if 0.0 <= number <= LARGEST else None  # adding 0.0 turns -0.0 into 0.0
    return number if math.isfinite(number) and number > 0.0 else None


def rule(metric: Metric) -> str:
    """Return the rule that `comparable` applies, as words for a message."""
    return f"a number from 0 to {LARGEST:g}" if metric.may_be_zero else "a finite number above 0"
