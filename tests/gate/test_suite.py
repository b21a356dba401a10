"""Suites: what the file says becomes programs and cells; what is wrong with it is one line, before
anything is built.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.errors import UserError
from harness.gate.cell import BENCHMARKS, COUNT, RECORD, USE, GateCell, Metric
from harness.gate.suite import load_suite, suite_of_command
from harness.measurement.spec import Run

ROOT = Path(__file__).resolve().parents[2]
RUN = {"topology": "pipeline", "parameters": {"operators": 3, "cost": 10}, "model": "manual"}


GRAPH = """
from harness.graph import Graph

def graph(cost: int = 100):
    made = Graph("mine")
    made.connect(made.source("a"), made.sink("b"))
    return made
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a suite of these programs, and other keys, and returns its path."""

    def make(*programs: dict, **keys: object) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(
            yaml.safe_dump({"programs": list(programs), **keys}, sort_keys=False), encoding="utf-8"
        )
        return path

    return make


def test_run_asks_the_trees_measuring_process_for_nothing_but_what_the_suite_says(
    write: Callable[..., Path],
) -> None:
    suite = load_suite(write({"run": RUN | {"warmup": 0.1, "duration_s": 0.3}}))
    (program,) = suite.programs
    assert program.argv == ("{python}", "-m", "harness.measurement.child")
    assert json.loads(program.stdin) == {**RUN, "warmup": 0.1, "duration_s": 0.3}
    assert Run.from_json(program.stdin).model.name == "manual"
    assert program.name == "pipeline,operators=3,cost=10/manual"
    assert [(cell.name, cell.metric, cell.key) for cell in program.cells] == [
        (program.name, Metric(), "")
    ]
    assert (suite.name, suite.control, suite.build) == ("mine", program.name, (("make", "build"),))
    assert (suite.factor, suite.alpha, suite.time_budget_s, suite.python) == (
        1.02,
        0.01,
        540.0,
        ".venv/bin/python",
    )


def test_lengths_of_the_suite_are_those_of_real_runs_that_say_none(
    write: Callable[..., Path],
) -> None:
    elastic = {"topology": "pipeline", "model": "multilevel"}
    runs = [RUN, RUN | {"duration_s": 0.5}, elastic, RUN | {"machine": "xeon"}]
    suite = load_suite(
        write(
            *({"name": str(number), "run": run} for number, run in enumerate(runs)),
            warmup=0.2,
            duration_s=0.4,
        )
    )
    specs = [Run.from_json(program.stdin.replace("{pair}", "7")) for program in suite.programs]
    assert [(spec.warmup, spec.duration_s) for spec in specs] == [
        (0.2, 0.4),
        (0.2, 0.5),
        ("auto", 0.4),
        ("auto", 0.02),
    ]
    assert suite.programs[2].timeout_s > suite.programs[0].timeout_s == 120.0


@pytest.mark.parametrize(
    ("run", "threads", "maximum"),
    [
        ({"model": "dynamic"}, 16, None),
        ({"model": "coroutine"}, 16, None),
        ({"model": "dynamic", "threads": 3}, 3, None),
        ({"model": "manual"}, None, None),
        ({"model": "dynamic", "law": "pldi17"}, None, 16),
        ({"model": "dynamic", "elastic": True, "threads": 2, "maximum": 5}, 2, 5),
        ({"model": "multilevel"}, None, 16),
    ],
)
def test_a_simulated_run_that_says_no_level_has_the_cpus_of_its_machine(
    write: Callable[..., Path], run: dict, threads: int | None, maximum: int | None
) -> None:
    (program,) = load_suite(
        write({"run": {"topology": "pipeline", "machine": "xeon", "cpus": 16, **run}})
    ).programs
    spec = Run.from_json(program.stdin.replace("{pair}", "7"))
    assert [getattr(spec.model, each, None) for each in ("threads", "maximum")] == [
        threads,
        maximum,
    ]


@pytest.mark.parametrize(("length", "name"), [(200, "x" * 200), (201, "x" * 199 + "…")])
def test_a_command_is_a_suite_of_one_timed_program_with_a_name_that_fits(
    length: int, name: str
) -> None:
    suite = suite_of_command(["x" * length], [["make", "-j"]])
    (program,) = suite.programs
    assert (program.name, suite.control, program.argv, suite.build) == (
        name,
        name,
        ("x" * length,),
        (("make", "-j"),),
    )
    assert [cell.metric for cell in program.cells] == [Metric("wall_s", "s")]


def test_run_of_coroutines_may_adapt_or_have_replicas(write: Callable[..., Path]) -> None:
    chain = {"topology": "chain", "model": "coroutine", "policy": "random"}
    runs = [chain | {"law": "cstream", "maximum": 4}, chain | {"threads": 2, "replicas": 3}]
    suite = load_suite(write(*({"run": run} for run in runs)))
    assert [program.name for program in suite.programs] == [
        "chain/coroutine-elastic-cstream-random",
        "chain/coroutine-2-random-replicas-3",
    ]
    specs = [Run.from_json(program.stdin) for program in suite.programs]
    assert [
        (spec.model.elastic, spec.model.law, spec.warmup, spec.model.replicas) for spec in specs
    ] == [(True, "cstream", "auto", 1), (False, "millrace", specs[1].warmup, 3)]
    with pytest.raises(
        UserError, match="replicas must be at most 3 for graph 'chain', of each of 200 operators"
    ):
        load_suite(write({"run": chain | {"parameters": {"operators": 200}, "replicas": 4}}))


def test_simulated_run_measures_the_simulator_and_draws_other_chances_in_each_pair(
    write: Callable[..., Path],
) -> None:
    (program,) = load_suite(
        write({"run": {"topology": "mix", "model": "dynamic", "machine": "xeon", "cpus": 16}})
    ).programs
    assert program.name == "xeon+16-cpus~mix/dynamic-16"
    assert program.cells[0].metric == Metric("simulation.wall_s", "s")
    assert [
        Run.from_json(program.stdin.replace("{pair}", str(pair))).simulation_seed for pair in (0, 1)
    ] == [0, 1]


def test_graph_file_is_asked_for_by_its_path_and_may_differ_between_trees(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    graph = tmp_path / "graph.py"
    graph.write_text(GRAPH, encoding="utf-8")
    run = {"topology": str(graph), "parameters": {"cost": 7}, "model": "manual"}
    (program,) = load_suite(write({"run": run})).programs
    assert json.loads(program.stdin)["parameters"] == {"cost": 7}
    spec = Run.from_json(program.stdin)
    assert (spec.graph_file, spec.topology, spec.digest) == (str(graph), "mine", "")


def test_command_is_split_as_a_shell_would_and_has_a_cell_for_each_metric(
    write: Callable[..., Path],
) -> None:
    metrics = [
        {"name": "wall_s", "floor": 0.01},
        {"name": "tuples_per_s"},
        {"name": "score", "better": "higher", "unit": "points"},
    ]
    suite = load_suite(
        write(
            {"name": "mine", "command": "./bench --size 'a b'", "metrics": metrics, "timeout_s": 3}
        )
    )
    (program,) = suite.programs
    assert (program.argv, program.timeout_s, program.stdin) == (
        ("./bench", "--size", "a b"),
        3.0,
        "",
    )
    assert [cell.name for cell in program.cells] == [
        "mine:wall_s",
        "mine:tuples_per_s",
        "mine:score",
    ]
    assert [cell.metric for cell in program.cells] == [
        Metric("wall_s", "s", True, 0.01),
        Metric("tuples_per_s", "/s", False),
        Metric("score", "points", False),
    ]
    assert suite.build == ()  # nothing here needs our build


def test_pytest_has_a_cell_for_each_benchmark_named(write: Callable[..., Path]) -> None:
    names = ["tests/b.py::test_one", "tests/b.py::test_two[3]"]
    suite = load_suite(
        write(
            {"pytest": "tests/b.py -k one", "benchmarks": names},
            control=names[1],
            build=["true", ["make", "x"]],
        )
    )
    (program,) = suite.programs
    assert program.argv[:3] == ("{python}", "-m", "pytest")
    assert program.argv[-3:] == ("tests/b.py", "-k", "one")
    assert any("{answer}" in word for word in program.argv)
    assert program.answers == BENCHMARKS
    assert [(cell.name, cell.key, cell.metric) for cell in program.cells] == [
        (name, name, Metric("median", "s")) for name in names
    ]
    assert (suite.control, suite.build) == (names[1], (("true",), ("make", "x")))
    assert suite.program_of(names[0]) is program


def test_unit_is_told_by_what_a_name_ends_in(write: Callable[..., Path]) -> None:
    names = ["latency_ns.p99", "elastic.adaptation_s", "host.memory_bytes", "count"]
    (program,) = load_suite(
        write({"command": ["x"], "metrics": [{"name": name} for name in names]})
    ).programs
    assert [cell.metric.unit for cell in program.cells] == ["ns", "s", "bytes", ""]


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            {"run": RUN | {"topology": "pipelin"}},
            "programs[0].run: topology 'pipelin' is unknown (did you mean 'pipeline'?)",
        ),
        (
            {"run": RUN | {"parameters": {"wings": 2}}},
            "programs[0].run: topology pipeline has no parameter 'wings'",
        ),
        (
            {"run": RUN | {"parameters": {"cost": -1}}},
            "parameter cost of topology pipeline must be",
        ),
        (
            {"run": RUN | {"model": "magic"}},
            "programs[0].run: model 'magic' is unknown; models are: manual",
        ),
        ({"run": RUN | {"threads": 2}}, "threads applies to dynamic"),
        ({"run": RUN | {"machine": "xeno"}}, "machine 'xeno' is unknown (did you mean 'xeon'?)"),
        ({"run": RUN | {"software": "millrace"}}, "software applies to simulated machines only"),
        ({"run": RUN | {"model": "dynamic", "law": "magic"}}, "magic"),
        ({"run": RUN | {"model": "dynamic", "queued": "work99"}}, "work99"),
        ({"run": RUN | {"duration_s": 0.01}}, "duration_s must be 0.05 or more, not 0.01"),
        (
            {"run": RUN | {"duration": 1}},
            "programs[0].run.duration: unknown key (did you mean 'duration_s'?)",
        ),
        ({"run": {"topology": "none.yaml", "model": "manual"}}, "none.yaml: cannot be read"),
        ({"run": {"topology": "mix"}}, "programs[0].run.model: missing key"),
        (
            {"name": "nothing"},
            "programs[0]: must have one of run, command, time and pytest, not []",
        ),
        (
            {"run": RUN, "command": "x"},
            'programs[0]: must have one of run, command, time and pytest, not ["run", "command"]',
        ),
        (
            {"command": []},
            "programs[0].command: must be a text, or a list of texts, that is not empty",
        ),
        ({"command": " "}, "programs[0].command: must not be empty"),
        (
            {"command": "a 'b"},
            "programs[0].command: must be words as a shell would read them (No closing quotation)",
        ),
        (
            {"pytest": "x.py"},
            "programs[0].benchmarks: must be given for pytest, and for nothing else",
        ),
        (
            {"command": "x", "benchmarks": ["a"]},
            "programs[0].benchmarks: must be given for pytest, and for nothing else",
        ),
        (
            {"pytest": "x.py", "benchmarks": ["a", "a"]},
            "programs[0].benchmarks: must not name anything twice",
        ),
        (
            {"command": "x", "metrics": [{"name": "a", "better": "more"}]},
            "metrics[0].better: must be lower or higher, not 'more'",
        ),
        (
            {"command": "x", "metrics": [{"name": "a"}, {"name": "a"}]},
            "must not repeat the name of another program or cell",
        ),
        ({"command": "x", "timeout_s": 0}, "timeout_s: must be seconds above 0"),
        ({"command": "x", "factor": 1}, "programs[0].factor: must be a number above 1"),
        (
            {"command": "x", "metrics": [{"name": "a", "may_be_zero": 1}]},
            "metrics[0].may_be_zero: must be true or false",
        ),
    ],
)
def test_mistake_in_a_program_is_one_line_that_says_where(
    write: Callable[..., Path], program: dict, said: str
) -> None:
    path = write(program)
    with pytest.raises(UserError) as error:
        load_suite(path)
    assert said in str(error.value)
    assert str(error.value).startswith(f"{path}: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"programs": []}, "programs: must not be empty"),
        (
            {"control": "mix"},
            "control: must be a cell of the suite, one of pipeline,operators=3,cost=10/manual, not "
            "'mix'",
        ),
        ({"factor": 1.0}, "factor: must be a number above 1"),
        ({"alpha": 0.5}, "alpha: must be a number above 0 and below 0.5"),
        ({"time_budget_s": 0}, "time_budget_s: must be seconds above 0"),
        ({"build": "make"}, "build: must be a list"),
        ({"budget": 5}, "budget: unknown key"),
        ({"duration_s": 0.01}, "duration_s: must be seconds from 0.05"),
        ({"new": "fine"}, "new: must be error or information, not 'fine'"),
    ],
)
def test_mistake_in_a_suite_is_one_line(write: Callable[..., Path], keys: dict, said: str) -> None:
    with pytest.raises(UserError) as error:
        load_suite(write({"run": RUN}, **keys))
    assert said in str(error.value)


def test_cells_may_be_0_be_deterministic_and_have_factors_of_their_own(
    write: Callable[..., Path],
) -> None:
    metrics = [
        {"name": "wall_s"},
        {"name": "drops", "may_be_zero": True},
        {"name": "count", "deterministic": True, "factor": 1.5},
    ]
    suite = load_suite(
        write({"name": "x", "command": "x", "factor": 1.2, "metrics": metrics}, new="information")
    )
    told = [
        (cell.metric.factor, cell.metric.may_be_zero, cell.metric.deterministic)
        for cell in suite.cells
    ]
    assert told == [(1.2, False, False), (1.2, True, False), (1.5, False, True)]
    assert (suite.new_is_information, suite.removed_is_information) == (True, False)


def test_title_of_a_suite_is_kept(write: Callable[..., Path]) -> None:
    program = {"name": "a", "time": "true"}
    assert load_suite(write(program, title="calls")).title == "calls"
    assert load_suite(write(program)).title == ""


def test_programs_of_one_name_are_refused(write: Callable[..., Path]) -> None:
    with pytest.raises(
        UserError,
        match=r"programs\[1\]: must not repeat the name of another program or cell, not 'same'",
    ):
        load_suite(write({"name": "same", "command": "a"}, {"name": "same", "command": "b"}))


@pytest.mark.parametrize(("name", "cells", "budget_s"), [("default", 6, 420), ("short", 2, 90)])
def test_suites_of_the_project_can_be_loaded(name: str, cells: int, budget_s: float) -> None:
    suite = load_suite(ROOT / "config" / "gate" / f"{name}.yaml")
    assert (len(suite.cells), suite.time_budget_s) == (cells, budget_s)


def test_instructions_are_counted_in_processes_of_their_own(tmp_path: Path) -> None:
    metrics = [{"name": "wall_s"}, {"name": "peak_bytes"}, {"name": "instructions"}]
    suite = {
        "programs": [
            {"name": "a", "time": "./a", "metrics": metrics},
            {"name": "b", "command": "./b", "metrics": [{"name": "process.instructions"}]},
            {"name": "c", "command": "./c", "metrics": [{"name": "instructions"}]},
        ]
    }
    path = tmp_path / "suite.yaml"
    path.write_text(json.dumps(suite), encoding="utf-8")
    programs = load_suite(path).programs
    assert [(each.name, each.answers, each.argv) for each in programs] == [
        ("a", USE, ("./a",)),
        ("a:instructions", COUNT, ("./a",)),
        ("b", COUNT, ("./b",)),
        ("c", RECORD, ("./c",)),
    ]
    (cell,) = programs[1].cells
    assert cell == GateCell("a:instructions", Metric("instructions", "", deterministic=True))


def test_command_may_be_compared_by_several_metrics() -> None:
    suite = suite_of_command(["./a"], [], ["cpu_s", "instructions"])
    assert [cell.name for cell in suite.cells] == ["./a:cpu_s", "./a:instructions"]
    assert suite.control == "./a:cpu_s"
