"""Operators that call functions run on simulated machines with the costs of a profile."""

import json
from dataclasses import replace

import pytest

from harness.cli import main
from harness.engine.profiled import Profiled
from harness.graph import Graph
from harness.graph.kinds import WORK
from harness.machines.machine import load_machine
from harness.measurement import profiling
from harness.measurement.profiling import load_profile, save_profile
from harness.measurement.simulable import simulable
from harness.measurement.subject import find_subject

MACHINE = "cstream"
UNTYPED = """\
from harness.graph import Graph


def graph():
    made = Graph("halves")
    source = made.source("source")
    half = made.python("half", lambda sequence, value: value if sequence % 2 else None)
    made.chain(source, half, made.sink("sink"))
    return made
"""
TYPED = """\
from harness.graph import Graph
from harness.graph.schema import Schema

NUMBER = Schema("number", {"number": "uint32"})


def numbers():
    yield 0, {"number": 1}


def graph():
    made = Graph("typed halves")
    source = made.typed_source("source", numbers, NUMBER)
    half = made.typed("half", lambda port, each: [], NUMBER, NUMBER)
    made.chain(source, half, made.typed_sink("sink", lambda port, each: None, NUMBER))
    return made
"""
LOOP = """\
from harness.graph import Graph


async def passes(ctx):
    async for value in ctx.input:
        await ctx.push(value)


def graph():
    made = Graph("loops")
    made.chain(made.source("source"), made.loop("waits", passes), made.sink("sink"))
    return made
"""
GRAPHS = {
    "untyped": UNTYPED,
    "typed": TYPED,
    "loop": LOOP,
    "balanced": LOOP.replace(
        "    return",
        "    shared = made.threaded_split('shared', 1, 9)\n"
        "    made.chain(made.operators['source'], shared, made.sink('other'))\n    return",
    ),
    "controlled": LOOP.replace(
        "    return",
        "    made.connect(made.operators['waits'], made.control(made.operators['waits']))\n    return",
    ),
}
COSTS = Profiled("that CPU", (10.0, 20_000.0, 10.0), ((1.0,), (0.5,), ()), (1000, 1000, 500))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Yield a folder of graph files; a profile of any of them is `COSTS`."""
    monkeypatch.setattr(profiling, "profile", lambda graph: COSTS)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    monkeypatch.setattr(profiling, "PROFILE_FOLDER", tmp_path / "profiled")
    for name, text in GRAPHS.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record_of(folder, *words):
    path = folder / "record.json"
    assert main(["run", *words, "--machine", MACHINE, "--json", str(path)]) == 0
    return json.loads(path.read_text())


@pytest.mark.parametrize(
    ("file", "model"),
    [("untyped.py", "dedicated"), ("typed.py", "dedicated"), ("loop.py", "coroutine")],
)
def test_an_operator_is_simulated_at_the_rate_of_its_profile(here, file, model):
    record = record_of(here, file, "--model", model, "--duration", "1")
    cost_ns = COSTS.on(load_machine(MACHINE)).cost_ns[1]
    assert record["correct"]
    assert record["sink_tuples_per_s"] == pytest.approx(0.5e9 / cost_ns, rel=0.03)
    assert record["simulation"]["profiled"] == COSTS.summary()


def test_a_profile_is_kept_and_used_again(here, capsys, monkeypatch):
    first = record_of(here, "untyped.py", "--model", "manual")
    told = capsys.readouterr().err
    (kept,) = (here / "profiled").iterdir()
    assert f"--profile {kept}" in told
    monkeypatch.setattr(profiling, "profile", lambda graph: pytest.fail("profiled again"))
    again = record_of(here, "untyped.py", "--model", "manual", "--profile", str(kept))
    assert again["sink_tuples_per_s"] == first["sink_tuples_per_s"]


def test_the_profile_command_writes_what_the_others_read(here, capsys):
    assert main(["profile", "untyped.py", "-o", "kept.json"]) == 0
    assert "20,000" in capsys.readouterr().out
    graph = find_subject("untyped.py", {}, 0).graph
    assert load_profile("kept.json", graph) == COSTS
    words = ["--profile", "kept.json", "--duration", "0.005", "--budget", "1s"]
    arms = ["--model", "manual", "--model", "dedicated"]
    assert main(["compare", "untyped.py", "--machine", MACHINE, *words, *arms]) == 0
    assert "simulated on cstream" in capsys.readouterr().out


def test_each_value_of_a_parameter_is_simulated_with_a_profile_of_its_own(here, monkeypatch):
    """Operators of the second value take ten times as long."""
    (here / "costly.py").write_text(UNTYPED.replace("graph():", "graph(cost=1):"))
    profiles = iter((COSTS, replace(COSTS, cost_ns=(10.0, 200_000.0, 10.0))))
    monkeypatch.setattr(profiling, "profile", lambda graph: next(profiles))
    words = ["--machine", MACHINE, "--set", "cost=1,10", "--budget", "20s", "--duration", "0.5"]
    arms = ["--model", "manual", "--model", "dedicated"]
    assert (
        main(["compare", "costly.py", *words, *arms, "--export", "json", "-o", "found.json"]) == 0
    )
    one, ten = json.loads((here / "found.json").read_text())
    rates = [each["arms"][0]["tuples_per_s"] for each in (one, ten)]
    assert rates[0] / rates[1] == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["balanced.py", "--model", "coroutine", "--machine", MACHINE],
            "operator 'shared' is of kind threaded_split: in a graph with loops it cannot be "
            "simulated, since a profile does not show what depends on a tuple's value or on the "
            "room in a buffer",
        ),
        (
            ["controlled.py", "--model", "coroutine", "--machine", MACHINE],
            "operator 'waits.control' is of kind control: in a graph with loops it cannot be",
        ),
        (
            ["typed.py", "--machine", MACHINE, "--profile", "kept.json"],
            "kept.json: must be a profile of typed",
        ),
        (["untyped.py", "--profile", "kept.json"], "--profile is for simulated runs"),
        (
            ["untyped.py", "--machine", MACHINE, "--profile", "untyped.py"],
            "untyped.py: must be a profile that this version of millrace profile writes",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused_in_one_line(here, words, told, capsys):
    subject = find_subject("untyped.py", {}, 0)
    save_profile("kept.json", subject.graph, subject.cell, COSTS)
    assert main(["run", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line


def changed(entry, value):
    def change(kept):
        kept[entry] = value

    return change


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (changed("waits", 3), "has an entry that no profile has: 'waits'"),
        (changed("format", "millrace-profile/1"), "must be a profile that this version of"),
        (changed("cost_ns", [1.0, -2.0, 3.0]), "cost_ns of operator 'half' must be from 0 to"),
        (changed("cost_ns", [1.0, "much", 3.0]), "must be a profile that this version of"),
        (changed("cost_ns", [1.0]), "cost_ns must have an entry for each of 3 operators"),
        (changed("sends", [[1.0], [0.5, 0.5], []]), "sends of operator 'half' must have 1 numbers"),
        (changed("sends", [[1.0], [1e9], []]), "sends of operator 'half' must be from 0 to 1e+07"),
        (changed("tuples", [1, -1, 1]), "tuples of operator 'half' must be 0 or more, not -1"),
        (changed("operators", ["source"]), "must be a profile of halves"),
    ],
)
def test_a_profile_that_does_not_fit_is_refused_in_one_line(here, change, told, capsys):
    subject = find_subject("untyped.py", {}, 0)
    save_profile("kept.json", subject.graph, subject.cell, COSTS)
    kept = json.loads((here / "kept.json").read_text())
    change(kept)
    (here / "kept.json").write_text(json.dumps(kept))
    assert main(["run", "untyped.py", "--machine", MACHINE, "--profile", "kept.json"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("millrace run: kept.json: ") and told in line


def test_an_operator_passes_on_the_share_that_its_profile_shows():
    graph, machine = Graph("two"), load_machine("local")
    left = graph.python("left", lambda sequence, value: value)
    right = graph.python("right", lambda sequence, value: value)
    kept = graph.python("kept", lambda sequence, value: value, preserves=True)
    both = graph.sink("both", inputs=2)
    graph.chain(graph.source("a"), left, both.input(0))
    graph.chain(graph.source("b"), kept, right, both.input(1))
    sends = {"left": (0.5,), "kept": (0.9997,), "right": (0.9995,), "a": (1.0,), "b": (1.0,)}
    profiled = Profiled(
        "that CPU",
        (1000.0,) * len(graph.operators),
        tuple(sends.get(each, ()) for each in graph.operators),
        (100,) * len(graph.operators),
    )
    made = simulable(graph, profiled, machine).operators
    shares = {each.name: each.selectivity for each in made.values() if each.kind is WORK}
    assert shares == {"left": 0.5, "right": 1.0, "kept": 1.0}
    assert made["left"].busy_us == 1.0
