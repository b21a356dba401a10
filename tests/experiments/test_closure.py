"""The files that results depend on: all that is really loaded or read, and all that is compiled, is
among them.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.bench.bench import LIBRARIES, SHOWN
from harness.elasticity import LAWS, Decides, law_class, law_module
from harness.experiments import freshness
from harness.experiments.experiment import Arm, Block, Cell
from harness.files.closure import ROOT, _source, closure, strings
from harness.machines.place import Place
from harness.measurement.spec import PeerModel
from harness.models import model_on
from harness.peers import find_peer
from harness.plots.figures import FIGURES
from tests.plots.made_tables import write_all

DRAWN = ("cstream_fig9", "mw19_fig14", "saso_placement")
"""Figures that are drawn, and not only imported: one of each kind, and the one that builds
graphs.
"""

ON_BENCH = {Decides.THREADS: "threads", Decides.QUEUES: "queues", Decides.REPLICAS: "replicas"}

HERE = Place()
XEON = Place("xeon:16", True, "millrace")
POWER8 = Place("power8", True, "streams-4.2")
NEVER_MATTERS = {
    "harness/files/closure.py",
    "harness/plots/figures.py",  # the workflow compares a figure's row
}


@dataclass(frozen=True)
class Task:
    """A function of `probe` with its arguments, and the files that its result depends on."""

    name: str
    arguments: dict[str, Any]
    files: Collection[Path]


def relative(files: Collection[Path]) -> set[str]:
    return {file.relative_to(ROOT).as_posix() for file in files}


def does_nothing(file: str) -> bool:
    """Tell whether it is an `__init__` with a docstring and constants: modules below it do not
    depend on these.
    """
    if not file.endswith("__init__.py"):
        return False
    active = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Call)
    return not any(
        isinstance(node, active)
        for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
    )


def answers(tasks: list[tuple[str, dict[str, Any]]], folder: Path) -> list[Any]:
    """Return what `probe` says of tasks."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.experiments.probe"],
        input=json.dumps(tasks),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"MILLRACE_LOCK": str(folder / "millrace.lock")},
    )
    told = json.loads(done.stdout)
    assert None not in told, done.stderr
    return told


def missed(used: Collection[str], found: Collection[Path]) -> set[str]:
    """Return what was used and not found."""
    return {file for file in set(used) - relative(found) - NEVER_MATTERS if not does_nothing(file)}


def check(
    tasks: dict[str, Task], folder: Path, modules: dict[str, Collection[Path]] | None = None
) -> None:
    """All that tasks use, and modules load, is among the files that they depend on."""
    words = [(task.name, task.arguments) for task in tasks.values()]
    *used, loaded = answers([*words, ("modules", {"names": list(modules or ())})], folder)
    wrong = {
        name: missed(files, task.files)
        for (name, task), files in zip(tasks.items(), used, strict=True)
    }
    wrong |= {
        name: missed(files, found)
        for (name, found), files in zip((modules or {}).items(), loaded, strict=True)
    }
    assert not any(wrong.values()), {name: files for name, files in wrong.items() if files}


def block(
    topology: str, parameters: dict[str, Any], model: str, place: Place = HERE, **arm: Any
) -> Block:
    """A short one."""
    window_s, period_s = (0.0005, 0.0002) if place.simulated else (0.05, 0.05)
    executes = PeerModel(model, arm["peer"]) if "peer" in arm else model_on(place, model, arm)
    cell = Cell("cell", topology, parameters)
    return Block("made", cell, [Arm("arm", executes)], 1, window_s, window_s, 1, place, period_s)


FOUR = {"operators": 4}
BLOCKS = {
    "simulated dynamic": block(
        "pipeline", FOUR, "dynamic", POWER8, elastic=True, law="pldi17", maximum=4
    ),
    "simulated multilevel": block("pipeline", FOUR, "multilevel", XEON, maximum=4),
    "simulated co-routines": block(
        "chain", FOUR, "coroutine", XEON, elastic=True, law="cstream", maximum=4
    ),
    "simulated balancer": block(
        "load-balance", {"elastic": "yes", "workers": 4}, "dedicated", XEON
    ),
    "simulated application": block("vwap", {}, "dynamic", XEON, threads=2),
    "measured multilevel": block("pipeline", FOUR, "multilevel", maximum=2),
    "measured co-routines": block(
        "replicated", {"width": 2}, "coroutine", threads=2, policy="random"
    ),
    "measured peer": block("pipeline", FOUR, "asyncio", peer=find_peer("asyncio").label),
}
TYPED = ("vwap",)


def runs() -> dict[str, Task]:
    specs = {name: next(iter(each.runs_by_arm().values())) for name, each in BLOCKS.items()}
    return {
        name: Task(
            "run",
            {"typed": spec.topology in TYPED, **json.loads(spec.to_json())},
            freshness.of_block(BLOCKS[name]),
        )
        for name, spec in specs.items()
    }


def drawings(names: Collection[str], tables: Path) -> dict[str, Task]:
    write_all(tables)
    return {
        f"drawn {name}": Task(
            "figure",
            {"name": name, "tables": str(tables)},
            freshness.of_figure(FIGURES[name].module),
        )
        for name in names
    }


def benches() -> dict[str, Task]:
    return {
        f"bench of {name}": Task(
            "bench", {"library": name, "laws": None, "place": 0}, freshness.of_bench(name)
        )
        for name in LIBRARIES
    }


def laws_alone() -> dict[str, Task]:
    """Each law on a scenario; on no bench those that need more than a scenario shows."""
    tasks = {}
    named = strings("harness.bench.queues.scenario")
    for decides, laws in LAWS.items():
        library = ON_BENCH[decides]
        shared = closure(
            "harness.bench.bench",
            "harness.bench.report",
            f"harness.bench.{LIBRARIES[library]}",
            names=named,
        )
        for law in laws:
            if decides is not Decides.THREADS or law_class(law).NEEDS <= SHOWN:
                arguments = {"library": library, "laws": [law], "place": 0}
                tasks[f"{library} {law}"] = Task(
                    "bench", arguments, shared | closure(law_module(law, decides))
                )
    return tasks


@pytest.mark.heavy
def test_results_depend_on_all_that_making_them_loads(tmp_path):
    figures = {
        f"harness.plots.{row.module}": freshness.of_figure(row.module) for row in FIGURES.values()
    }
    first = [law_module(next(iter(laws)), decides) for decides, laws in LAWS.items()]
    claims = {"claims": Task("claims", {"tables": str(tmp_path)}, freshness.of_claims())}
    check(
        {**runs(), **drawings(DRAWN, tmp_path), **claims},
        tmp_path,
        figures | {law: closure(law) for law in first},
    )


@pytest.mark.slow
def test_every_figure_drawn_and_every_law_stepped_alone_loads_no_more(tmp_path):
    names = [law_module(name, decides) for decides, laws in LAWS.items() for name in laws]
    check(
        {**drawings(FIGURES, tmp_path), **laws_alone(), **benches()},
        tmp_path,
        {law: closure(law) for law in names},
    )


SHARED = "harness/native"
RUNTIME = "harness/runtime/native"
OPERATORS = "harness/operators/native"
COMPILED = {
    "harness/runtime/protocol": [RUNTIME, SHARED],
    "harness/simulator/engine": ["harness/simulator/native", RUNTIME, SHARED],
    "harness/applications/packets": ["harness/applications/native", OPERATORS, RUNTIME, SHARED],
}


def built_from(module: str) -> frozenset[Path]:
    """Return the files that a compiled module itself is made of, without those that it imports."""
    return _source(module.replace("/", ".")).files


@pytest.mark.parametrize("module", COMPILED)
def test_headers_are_those_that_the_compiler_reads(module):
    folders = [sysconfig.get_path("include"), *(str(ROOT / folder) for folder in COMPILED[module])]
    words = [
        "g++",
        "-std=c++20",
        "-MM",
        *(f"-I{folder}" for folder in folders),
        '-DMILLRACE_FLAGS=""',
    ]
    done = subprocess.run(
        [*words, str(ROOT / f"build/cython/{module}.cpp")],
        capture_output=True,
        text=True,
        check=True,
    )
    read = {
        Path(os.path.normpath(word))
        for word in done.stdout.split()
        if word.endswith((".h", ".hpp"))
    }
    ours = {path for path in read if path.is_relative_to(ROOT / "harness")}
    named = {path for path in built_from(module) if path.suffix in (".h", ".hpp")}
    assert ours == named <= closure(module.replace("/", "."))
