"""Cells and programs. A cell is one number with a direction; a program is one fresh process that
answers some cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

RECORD, BENCHMARKS, USE, COUNT = "record", "pytest-benchmark", "use", "count"

INSTRUCTIONS, WALL_S = "instructions", "wall_s"
USED = (WALL_S, "cpu_s", "user_s", "system_s", "peak_bytes", INSTRUCTIONS)
"""Metrics of any process. `wall_s` is the time from before it starts until it has ended; the CPU
time is that of all that it has started; `peak_bytes` is the most memory that one of these had."""
OUTCOMES_SUFFIX = ".xml"
"""Suffix added to a pytest program's answer file; it names the file in which pytest writes how its
tests ended."""

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


@dataclass(frozen=True)
class GateCell:
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
    cells: tuple[GateCell, ...]
    # or BENCHMARKS: pytest-benchmark's JSON; USE: what the process took; COUNT: its instructions
    answers: str = RECORD
    stdin: str = ""
    timeout_s: float = 120.0


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
