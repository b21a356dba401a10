"""Suites: the programs and cells to compare, from YAML (config/gate/*.yaml, schema gate-suite). A
program is one of four kinds:

run       a topology under a model; the process is the tree's own measuring process
command   any program that prints one JSON object as the last line of its output
time      any program; the answer is what it takes: its duration, CPU time, memory, instructions
pytest    benchmarks of pytest-benchmark, all listed by name, so that a missing one is noticed
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.files.checked_yaml import Place, dotted, load_schema, read_checked, wrong
from harness.gate.cell import (
    BENCHMARKS,
    COUNT,
    INSTRUCTIONS,
    OUTCOMES_SUFFIX,
    RECORD,
    USE,
    USED,
    WALL_S,
    GateCell,
    Metric,
    Program,
    tail_of,
    with_tail,
)
from harness.gate.runs import DURATION_S, WARMUP_S, name_of, question, run_in
from harness.gate.verdict import ALPHA, FACTOR
from harness.models import OPTIONS
from harness.models.schemas import entry as option_entry

TIME_BUDGET_S = 540.0
BUILD, PYTHON = (("make", "build"),), ".venv/bin/python"
TIMEOUT_S = 120.0  # generous, but a hung process must not use up the whole time budget
TIMED_TIMEOUT_S = 3600.0  # of a command without a suite: it may be a whole build
LONGEST_NAME = 200  # characters; the same limit as in the schema

MEASURE = ("{python}", "-m", "harness.measurement.child")
PYTEST = (
    *(
        "{python}",
        "-m",
        "pytest",
        "--benchmark-only",
        "--benchmark-json={answer}",
        f"--junitxml={{answer}}{OUTCOMES_SUFFIX}",
    ),
    *("--maxfail=0", "-q", "-p", "no:cacheprovider"),
)
"""All tests run, whatever the tree's settings say about stopping at a failure."""

ERROR, INFORMATION = "error", "information"
"""Meaning, for the call, of a cell that one of the sides does not have."""

PROCESS = "process."  # before names of `USED` in a program that answers numbers of its own

UNITS = {"_per_s": "/s", "_s": "s", "_ms": "ms", "_us": "µs", "_ns": "ns", "_bytes": "bytes"}
"""Unit of a metric, by the ending of its name."""


@dataclass(frozen=True)
class Suite:
    """A suite: the programs, the terms of the verdict and the build. `build` commands run in a tree
    before it is measured; `python` is the tree's interpreter."""

    name: str
    programs: tuple[Program, ...]
    control: str  # the cell in which base is compared with itself
    build: tuple[tuple[str, ...], ...] = ()
    python: str = PYTHON
    factor: float = FACTOR
    alpha: float = ALPHA
    time_budget_s: float = TIME_BUDGET_S
    # a cell without a number in base is information; else it is an error
    new_is_information: bool = False
    # a cell that head does not know is information; else it is an error
    removed_is_information: bool = False
    title: str = ""  # purpose of the suite, for readers of reports

    @property
    def cells(self) -> tuple[GateCell, ...]:
        """Cells of all programs, in their order."""
        return tuple(cell for program in self.programs for cell in program.cells)

    def program_of(self, cell_name: str) -> Program:
        """Return the program that answers a cell. Raises KeyError if there is no such cell."""
        for program in self.programs:
            if any(cell.name == cell_name for cell in program.cells):
                return program
        raise KeyError(cell_name)

    def with_tail(self, tail: float | None) -> Suite:
        """Return the suite with this tail for all cells whose metrics name none."""
        programs = tuple(
            replace(program, cells=tuple(with_tail(cell, tail) for cell in program.cells))
            for program in self.programs
        )
        return replace(self, programs=programs)


def load_suite(path: Path) -> Suite:
    """Load the suite from a file. Raises UserError, in one line, for a file that cannot be read or
    breaks a rule.

    Topologies, parameters, models and machines are looked up here, before anything is built, as
    `millrace run` would.
    """
    values = read_checked(path, suite_schema())
    if "programs" not in values:
        raise UserError(f"{path}: programs: must be given: its terms are for files of results only")
    warmup, duration_s = values.get("warmup", WARMUP_S), float(values.get("duration_s", DURATION_S))
    programs = tuple(
        part
        for index, entry in enumerate(values["programs"])
        for part in _parts(_program(path, ("programs", index), entry, warmup, duration_s))
    )
    _check_names(path, programs)
    cells = [cell.name for program in programs for cell in program.cells]
    control = values.get("control", cells[0])
    if control not in cells:
        raise wrong(
            path,
            ("control",),
            f"must be a cell of the suite, one of {', '.join(cells)}",
            control,
            cells,
        )
    runs = any("run" in entry for entry in values["programs"])
    build = (
        [_words(path, ("build", index), each) for index, each in enumerate(values["build"])]
        if "build" in values
        else None
    )
    return Suite(
        name=path.stem,
        programs=programs,
        control=control,
        build=tuple(build) if build is not None else BUILD if runs else (),
        python=values.get("python", PYTHON),
        factor=float(values.get("factor", FACTOR)),
        alpha=float(values.get("alpha", ALPHA)),
        time_budget_s=float(values.get("time_budget_s", TIME_BUDGET_S)),
        new_is_information=values.get("new", ERROR) == INFORMATION,
        removed_is_information=values.get("removed", ERROR) == INFORMATION,
        title=values.get("title", ""),
    )


@cache
def suite_schema() -> dict[str, Any]:
    """Return the schema of a suite, with the models' options of its runs."""
    schema = load_schema("gate-suite")
    schema["$defs"]["run"]["properties"] |= {name: option_entry(name) for name in OPTIONS}
    return schema


def suite_of_command(
    words: Sequence[str], build: Sequence[Sequence[str]], metrics: Sequence[str] = (WALL_S,)
) -> Suite:
    """Return a suite of one program, of which these metrics of `USED` are cells; `build` as in a
    suite."""
    name = shlex.join(words)
    name = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    entry = {"metrics": [{"name": metric} for metric in metrics]}
    cells = _cells(entry, name, WALL_S)
    program = Program(name, tuple(words), cells, USE, timeout_s=TIMED_TIMEOUT_S)
    commands = tuple(tuple(command) for command in build)
    return Suite("command", _parts(program), cells[0].name, commands)


def _parts(program: Program) -> tuple[Program, ...]:
    """Return a program, and as one of its own the count of its instructions, because counting makes
    it slower."""
    if program.answers not in (RECORD, USE) or program.stdin:
        return (program,)
    counted = tuple(
        replace(cell, metric=replace(cell.metric, name=INSTRUCTIONS))
        for cell in program.cells
        if cell.metric.name.removeprefix(PROCESS) == INSTRUCTIONS
        and (program.answers == USE or cell.metric.name.startswith(PROCESS))
    )
    if not counted:
        return (program,)
    names = {cell.name for cell in counted}
    others = tuple(cell for cell in program.cells if cell.name not in names)
    count = replace(program, name=counted[0].name, cells=counted, answers=COUNT)
    return (replace(program, cells=others), count) if others else (count,)


def _program(
    path: Path, where: Place, entry: Mapping[str, Any], warmup: float | str, duration_s: float
) -> Program:
    kinds = [kind for kind in ("run", "command", "time", "pytest") if kind in entry]
    if len(kinds) != 1:
        raise wrong(path, where, "must have one of run, command, time and pytest", kinds)
    if ("benchmarks" in entry) != (kinds == ["pytest"]):
        raise UserError(
            f"{path}: {dotted((*where, 'benchmarks'))}: must be given for pytest, and for nothing "
            "else"
        )
    if kinds == ["run"]:
        return _run(path, where, entry, warmup, duration_s)
    words = _words(path, (*where, kinds[0]), entry[kinds[0]])
    name, timeout_s = entry.get("name", shlex.join(words)), float(entry.get("timeout_s", TIMEOUT_S))
    if kinds == ["command"]:
        return Program(name, words, _cells(entry, name, "ns_per_hop"), timeout_s=timeout_s)
    if kinds == ["time"]:
        for place, metric in enumerate(entry.get("metrics", ())):
            if metric["name"] not in USED:
                raise wrong(
                    path,
                    (*where, "metrics", place, "name"),
                    f"must be one of {', '.join(USED)} of a program that is timed",
                    metric["name"],
                    USED,
                )
        return Program(name, words, _cells(entry, name, WALL_S), USE, timeout_s=timeout_s)
    cells = tuple(
        cell for each in entry["benchmarks"] for cell in _cells(entry, each, "median", key=each)
    )
    return Program(name, PYTEST + words, cells, BENCHMARKS, timeout_s=timeout_s)


def _run(
    path: Path, where: Place, entry: Mapping[str, Any], warmup: float | str, duration_s: float
) -> Program:
    try:
        run = run_in(entry["run"], warmup, duration_s)
        name = entry.get("name", name_of(run))
    except UserError as error:
        raise UserError(f"{path}: {dotted((*where, 'run'))}: {error}") from error
    limit_s = TIMEOUT_S if run.simulated or run.timeout_s is None else max(TIMEOUT_S, run.timeout_s)
    cells = _cells(entry, name, "simulation.wall_s" if run.simulated else "ns_per_hop")
    return Program(
        name, MEASURE, cells, RECORD, question(run), float(entry.get("timeout_s", limit_s))
    )


def _cells(
    entry: Mapping[str, Any], name: str, default: str, key: str = ""
) -> tuple[GateCell, ...]:
    """Return a cell for each metric. Its name is that of the program or benchmark, and of the
    metric too if there are several."""
    common = {name: entry[name] for name in ("factor",) if name in entry}
    metrics = [
        _metric(common | values, bool(key)) for values in entry.get("metrics", [{"name": default}])
    ]
    if len(metrics) == 1:
        return (GateCell(name, metrics[0], key),)
    return tuple(GateCell(f"{name}:{metric.name}", metric, key) for metric in metrics)


def _metric(values: Mapping[str, Any], of_benchmark: bool) -> Metric:
    """Return a metric from its entry. `of_benchmark`: it is a field of pytest-benchmark's
    statistics, which are in seconds except for `ops`."""
    name = values["name"]
    rate = name.endswith("_per_s") or (of_benchmark and name == "ops")
    default = ("/s" if rate else "s") if of_benchmark else _unit(name)
    better = values.get("better", "higher" if rate else "lower")
    floor, factor = float(values.get("floor", 0.0)), values.get("factor")
    is_count = not of_benchmark and name.removeprefix(PROCESS) == INSTRUCTIONS
    flags = {
        "may_be_zero": values.get("may_be_zero", False),
        "deterministic": values.get("deterministic", is_count),
    }
    unit = values.get("unit", default)
    return Metric(
        name,
        unit,
        better == "lower",
        floor,
        **flags,
        factor=None if factor is None else float(factor),
        tail=tail_of(values.get("tail", "")),
    )


def _unit(name: str) -> str:
    """Return the unit in the last part of a dotted name that implies one: `ns` for `ns_per_hop`,
    `latency_ns` and `latency_ns.p99`."""
    for step in reversed(name.split(".")):
        if step == "ns_per_hop":
            return "ns"
        for ending, unit in UNITS.items():
            if step.endswith(ending):
                return unit
    return ""


def _words(path: Path, where: Place, command: str | Sequence[str]) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command) if isinstance(command, str) else command)
    except ValueError as error:  # a quotation that does not end
        raise wrong(
            path, where, f"must be words as a shell would read them ({error})", command
        ) from error
    if not words:
        raise wrong(path, where, "must not be empty", command)
    return words


def _check_names(path: Path, programs: Iterable[Program]) -> None:
    """Raise UserError for a program or cell whose name is used twice."""
    seen: set[str] = set()
    for place, name in _names(programs):
        if name in seen:
            raise wrong(path, place, "must not repeat the name of another program or cell", name)
        seen.add(name)


def _names(programs: Iterable[Program]) -> Iterator[tuple[Place, str]]:
    """Yield the names of programs and their cells. The only cell of a program may share its
    name."""
    for index, program in enumerate(programs):
        yield ("programs", index), program.name
        yield from (
            (("programs", index), cell.name) for cell in program.cells if cell.name != program.name
        )
