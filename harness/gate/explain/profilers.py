"""Profilers: tools that profile a process, each by words before its command or by variables.

The first that sees anything of a program profiles both sides: operators of Millrace's own runs; of
Python, py-spy if it is on PATH, else samples that the process takes of itself; of other programs,
perf, else the instructions that Cachegrind counts by function.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.gate.cell import Program
from harness.gate.environment import clean_environment
from harness.gate.explain.profile import INSTRUCTIONS, NS_PER_TUPLE, SECONDS, Stack, StackProfile
from harness.gate.instructions import CACHEGRIND
from harness.gate.instructions import Counter as InstructionCounter
from harness.gate.probe.sitecustomize import PROBE_FOLDER, STACKS_VARIABLE
from harness.gate.sample import command_of
from harness.gate.session import run_session
from harness.gate.suite import MEASURE
from harness.gate.tree import Tree

SAMPLES_PER_S = 499  # of perf; not in step with what happens 100 or 1,000 times a second
SPY_RATE = 200  # samples of py-spy a second
FRAME = re.compile(r"^(.*) \((.*?)(?::(\d+))?\)$")  # of py-spy
INSTALLED = re.compile(r".*/(?:site|dist)-packages/")
LIBRARY = re.compile(r".*/lib/python[\d.]+/")

OPERATORS = """
import json, sys
from harness.engine import open_engine
from harness.measurement.spec import Run
from harness.measurement.subject import build_subject
run = Run.from_json(sys.stdin.read())
if run.simulated:
    raise SystemExit("a simulated run has no operators that run")
graph = build_subject(run).graph
window = {"profile": True, "profile_window_s": 1.0}
engine = open_engine(graph, run.model_of_repeat, run.place.machine, **window)
engine.start()
engine.sample(0.3)
seen = engine.sample(1.0)
engine.stop(drain=False, timeout_s=5.0)
ns = 1e9 * seen.cpu_s / max(1, seen.sink_tuples)
print(json.dumps(dict(zip(graph.operators, (ns * share for share in seen.operator_cost)))))
"""
"""A program that prints the CPU time of a tuple in each operator of a run [ns]."""


@dataclass(frozen=True)
class ProfilingTool:
    """A tool. `run` profiles one process; the profile is empty if the tool sees nothing."""

    name: str
    unit: str = SECONDS
    slowdown: float = 1.0

    def words(self, room: Path) -> list[str]:
        """Return the words to put before the command."""
        return []

    def variables(self, room: Path) -> dict[str, str]:
        """Return variables for the process."""
        return {}

    def read(self, room: Path, tree: Tree) -> StackProfile:
        """Return what the tool wrote into `room`."""
        raise NotImplementedError

    def run(
        self, tree: Tree, program: Program, environment: Mapping[str, str], pair: int
    ) -> StackProfile:
        """Return the profile of one process of a program."""
        with tempfile.TemporaryDirectory(prefix="millrace-") as name:
            room = Path(name)
            argv, stdin = command_of(tree, program, room, pair)
            variables = clean_environment({**environment, **self.variables(room)})
            timeout_s = program.timeout_s * self.slowdown
            try:
                run_session([*self.words(room), *argv], tree.directory, variables, timeout_s, stdin)
                return self.read(room, tree)
            except (OSError, ValueError):
                return StackProfile({}, self.unit)


class OfItself(ProfilingTool):
    """A Python process that samples its own stacks (`probe/sampler.py`)."""

    def variables(self, room: Path) -> dict[str, str]:
        return {"PYTHONPATH": PROBE_FOLDER, STACKS_VARIABLE: str(room / "stacks")}

    def read(self, room: Path, tree: Tree) -> StackProfile:
        frames = [
            ([(name, file, line) for name, file, line in stack], seconds)
            for path in room.glob("stacks.*[0-9]")
            for stack, seconds in json.loads(path.read_text(encoding="utf-8"))
        ]
        return of_python(frames, tree.directory)


class PySpy(ProfilingTool):
    """Py-spy, which reads the stacks of Python processes from outside."""

    def words(self, room: Path) -> list[str]:
        options = ["--function", "--full-filenames", "--subprocesses", "--format", "raw"]
        rate = ["--rate", str(SPY_RATE), "--output", str(room / "stacks")]
        return ["py-spy", "record", *options, *rate, "--"]

    def read(self, room: Path, tree: Tree) -> StackProfile:
        frames = []
        for line in (room / "stacks").read_text(encoding="utf-8", errors="replace").splitlines():
            stack, _, count = line.rpartition(" ")
            found = [FRAME.match(frame) for frame in stack.split(";")]
            functions = [(each[1], each[2], int(each[3] or 0)) for each in found if each]
            frames.append((functions, int(count) / SPY_RATE))
        return of_python(frames, tree.directory)


class Perf(ProfilingTool):
    """Perf, which samples the stacks of any process, in user mode."""

    def words(self, room: Path) -> list[str]:
        options = [
            "-q",
            "-F",
            str(SAMPLES_PER_S),
            "-g",
            "-e",
            "cpu-clock:u",
            "-o",
            str(room / "perf.data"),
        ]
        return ["perf", "record", *options, "--"]

    def read(self, room: Path, tree: Tree) -> StackProfile:
        command = ["perf", "script", "-i", str(room / "perf.data"), "-F", "comm,ip,sym,dso"]
        done = subprocess.run(command, capture_output=True, check=False, env=clean_environment())
        costs: Counter[Stack] = Counter()
        for stack in perf_stacks(done.stdout.decode(errors="replace")):
            costs[stack] += 1 / SAMPLES_PER_S
        return StackProfile(costs)


class Cachegrind(ProfilingTool):
    """Cachegrind, which counts the instructions of each function; without stacks."""

    def words(self, room: Path) -> list[str]:
        return InstructionCounter(CACHEGRIND, self.slowdown).words(room)

    def read(self, room: Path, tree: Tree) -> StackProfile:
        costs: Counter[Stack] = Counter()
        for path in room.glob("instructions*"):
            name = ""
            for line in path.read_text(errors="replace").splitlines():
                if line.startswith("fn="):
                    name = line.removeprefix("fn=")
                elif line[:1].isdigit() and name:
                    costs[(name,)] += int(line.split()[1])
        return StackProfile(costs, INSTRUCTIONS)


class Operators(ProfilingTool):
    """The CPU time of a tuple in each operator of one of Millrace's own runs."""

    def run(
        self, tree: Tree, program: Program, environment: Mapping[str, str], pair: int
    ) -> StackProfile:
        if program.argv != MEASURE:
            return StackProfile({}, self.unit)
        with tempfile.TemporaryDirectory(prefix="millrace-") as room:
            _, stdin = command_of(tree, program, Path(room), pair)
        argv = [tree.python, "-c", OPERATORS]
        variables = clean_environment(environment)
        try:
            ended = run_session(argv, tree.directory, variables, program.timeout_s, stdin)
            costs = json.loads(ended.output)
        except (OSError, ValueError):
            return StackProfile({}, self.unit)
        return StackProfile({(name,): cost for name, cost in costs.items()}, self.unit)


def profilers() -> Iterator[ProfilingTool]:
    """Yield the profilers that are here, in the order in which they are tried."""
    path = clean_environment().get("PATH")
    yield Operators("the profiler of operators", NS_PER_TUPLE)
    if shutil.which("py-spy", path=path):
        yield PySpy("py-spy")
    yield OfItself("samples of its stacks")
    if shutil.which("perf", path=path):
        yield Perf("perf")
    if shutil.which("valgrind", path=path):
        yield Cachegrind("Cachegrind", INSTRUCTIONS, 50.0)


def of_python(
    stacks: Sequence[tuple[Sequence[tuple[str, str, int]], float]], directory: Path
) -> StackProfile:
    """Return the profile of stacks of (name, file, line). A function is named by its file within
    its tree or environment, without the line, so that both sides share the name."""
    costs: Counter[Stack] = Counter()
    places: dict[str, str] = {}
    root = os.path.realpath(directory)
    for frames, seconds in stacks:
        stack = []
        for name, file, line in frames:
            short = short_file(file, root)
            stack.append(f"{name} ({short})")
            places[stack[-1]] = f"{short}:{line}"
        if stack:
            costs[tuple(stack)] += seconds
    return StackProfile(costs, SECONDS, places)


def short_file(file: str, root: str) -> str:
    """Return a file's path in the tree, or in the environment, or its name."""
    path = file if file.startswith("<") else os.path.realpath(Path(root, file))
    for pattern in (INSTALLED, LIBRARY):
        if found := pattern.match(path):
            return path[found.end() :]
    inside = os.path.relpath(path, root) if Path(path).is_absolute() else file
    return Path(file).name if inside.startswith("..") else inside


def perf_stacks(text: str) -> Iterator[Stack]:
    """Yield the stacks that `perf script` prints: a line with the command, then a line a frame, the
    innermost first, and an empty line."""
    frames: list[str] = []
    for line in [*text.splitlines(), ""]:
        if not line.strip():
            if frames:
                yield tuple(reversed(frames))
            frames = []
        elif line[:1].isspace() and (words := line.split(maxsplit=1))[1:]:
            symbol, _, library = words[1].rpartition(" (")
            symbol = re.sub(r"\+0x[0-9a-f]+$", "", symbol.strip()) or "[unknown]"
            frames.append(f"{symbol} ({Path(library.rstrip(')')).name})")
