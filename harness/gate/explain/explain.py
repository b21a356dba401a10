"""Explanations: both sides of a program run again in turns, first as they are, then profiled."""

from __future__ import annotations

import random
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.files.whole import write_whole
from harness.gate.cell import Program
from harness.gate.environment import clean_environment
from harness.gate.explain.flame_graph import flame_graph
from harness.gate.explain.profile import Growth, StackProfile, grown, mean
from harness.gate.explain.profilers import ProfilingTool, profilers
from harness.gate.instructions import PERF, counter
from harness.gate.sample import command_of
from harness.gate.series import HASH_SEED, HASH_SEEDS
from harness.gate.session import run_session
from harness.gate.suite import Suite
from harness.gate.tree import Role, Tree
from harness.gate.verdict import CellResult, Comparison, Verdict

SIDES: tuple[Role, Role] = ("base", "head")
PROCESSES_PER_SIDE = 5  # processes of a side, plain and profiled
LONGEST_S = 60.0  # of each of the two; a process that takes longer runs once a side
FUNCTIONS = 5
EVENTS = ("instructions", "branches", "branch-misses", "cache-misses")
EVENT = re.compile(r"^(\d+),[^,]*,([\w-]+)", re.M)


@dataclass(frozen=True)
class Use:
    """Something that a process takes, as a median of the processes of each side."""

    name: str
    unit: str
    base: float
    head: float


@dataclass(frozen=True)
class Explanation:
    """Profile and use of a program on both sides. Without a profiler, `grown` is empty and `file`
    is "".
    """

    program: str
    profiler: str  # "": none here sees anything of the program
    unit: str
    processes: int  # profiled, on each side
    grown: tuple[Growth, ...]
    uses: tuple[Use, ...]
    file: str  # with the flame graph


def to_explain(comparison: Comparison, suite: Suite) -> list[Program]:
    """Return the programs to explain: those with a cell that has regressed, or else the one with
    the worst ratio of the cells that are not ok."""
    by_cell = {cell.name: program for program in suite.programs for cell in program.cells}
    slower = [each for each in comparison.cells if each.verdict is Verdict.REGRESSED]
    if not slower:
        doubtful = [each for each in comparison.cells if each.verdict is Verdict.INCONCLUSIVE]
        slower = sorted(doubtful, key=_ratio)[-1:]
    found = [by_cell[each.cell.name] for each in slower if each.cell.name in by_cell]
    return list({(*program.argv, program.stdin): program for program in found}.values())


def _ratio(result: CellResult) -> float:
    return result.decision.ratio if result.decision.ratio > 0.0 else 0.0


def explain(
    trees: Mapping[Role, Tree],
    programs: Iterable[Program],
    folder: Path,
    notify: Callable[[str], None],
    seed: int,
) -> list[Explanation]:
    """Explain programs; their flame graphs go into `folder`. Raises RunFailed if it cannot be
    written."""
    draw = random.Random(seed)
    found = []
    for program in programs:
        notify(f"explaining {program.name}")
        uses = _uses(trees, program, draw)
        profiler, sides = _profiled(trees, program, draw)
        profiler_name = profiler.name if profiler else ""
        file, functions, count = "", (), 0
        if profiler:
            base, head, count = mean(sides["base"]), mean(sides["head"]), len(sides["base"])
            functions = tuple(grown(base, head, FUNCTIONS))
            path = folder / f"{_slug(program.name)}.svg"
            write_whole(
                path, flame_graph(base, head, f"{program.name}, by {profiler_name}").encode()
            )
            file = str(path)
        unit = profiler.unit if profiler else ""
        found.append(Explanation(program.name, profiler_name, unit, count, functions, uses, file))
    return found


def check_folder(text: str) -> Path:
    """Return the folder for explanations; it is made, and git ignores it: a head with files that
    git does not know counts as changed. Raises UserError if it cannot be made."""
    try:
        if not Path(text).is_dir():
            Path(text).mkdir(parents=True)
            Path(text, ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"--explain {text!r}: cannot be made: {error.strerror}") from error
    return Path(text)


def _rounds(draw: random.Random) -> Iterator[tuple[int, tuple[Role, Role], dict[str, str]]]:
    """Yield the number of a pair, the order of the sides, and the variables that they share, until
    there are enough or the time is up."""
    end_s = time.monotonic() + LONGEST_S
    for pair in range(PROCESSES_PER_SIDE):
        if pair and time.monotonic() > end_s:
            return
        order = SIDES if draw.random() < 0.5 else (SIDES[1], SIDES[0])
        yield pair, order, {HASH_SEED: str(draw.randrange(HASH_SEEDS))}


def _uses(trees: Mapping[Role, Tree], program: Program, draw: random.Random) -> tuple[Use, ...]:
    """Return what processes of both sides take."""
    counts = counter()
    has_events = counts is not None and counts.name == PERF
    seen: dict[str, dict[Role, list[float]]] = {}
    for pair, order, variables in _rounds(draw):
        for role in order:
            for name, value in _used(trees[role], program, variables, pair, has_events).items():
                seen.setdefault(name, {"base": [], "head": []})[role].append(value)
    return tuple(
        Use(name, _unit(name), *(statistics.median(values[role]) for role in SIDES))
        for name, values in seen.items()
        if all(values[role] for role in SIDES)
    )


def _used(
    tree: Tree, program: Program, variables: Mapping[str, str], pair: int, has_events: bool
) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="millrace-") as name:
        room = Path(name)
        argv, stdin = command_of(tree, program, room, pair)
        file = room / "events"
        events = ",".join(f"{event}:u" for event in EVENTS)
        before = ["perf", "stat", "-x,", "-e", events, "-o", str(file), "--"] if has_events else []
        environment = clean_environment(variables)
        try:
            ended = run_session(
                [*before, *argv], tree.directory, environment, program.timeout_s, stdin
            )
        except OSError:
            return {}
        counted = EVENT.findall(file.read_text(errors="replace")) if file.exists() else ()
        return ended.used | {event: float(count) for count, event in counted}


def _profiled(
    trees: Mapping[Role, Tree], program: Program, draw: random.Random
) -> tuple[ProfilingTool | None, dict[Role, list[StackProfile]]]:
    """Return the first profiler that sees anything of head, and its profiles of both sides."""
    plain = {HASH_SEED: str(draw.randrange(HASH_SEEDS))}
    for profiler in profilers():
        if not profiler.run(trees["head"], program, plain, 0).costs:
            continue
        found: dict[Role, list[StackProfile]] = {"base": [], "head": []}
        for pair, order, variables in _rounds(draw):
            for role in order:
                found[role].append(profiler.run(trees[role], program, variables, pair))
        return profiler, found
    return None, {}


def _unit(name: str) -> str:
    return "s" if name.endswith("_s") else "bytes" if name.endswith("_bytes") else ""


def _slug(name: str) -> str:
    """Return a name for a file."""
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")[:80] or "program"
