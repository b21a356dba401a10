"""Users' own scenarios of replicas: read as meant, or refused in one line that names the place, the rule and the value."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import pytest
import yaml

from harness.bench.bench import row_of
from harness.bench.replicas.user_graphs import KEYS, PHASE_KEYS, parse_graphs
from harness.bench.scenario import Configuration
from harness.cli import main
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.files.file import dump_graph

CHAIN = {
    "topology": "chain",
    "parameters": {"operators": 2},
    "costs": {"source": 1, "busy1": 40, "busy2": 20, "sink": 1},
}
PAGE = (Path(__file__).resolve().parents[3] / "docs/laws-bench.md").read_text(encoding="utf-8")
PART = PAGE.partition("### Replicas of your own graphs")[2].partition("\n## ")[0]


def one(**entry):
    return parse_graphs([CHAIN | entry])[0]


def rate(scenario, threads, *replicas, period=0):
    return scenario.throughput(period, Configuration(threads, replicas=replicas))


def refusal(document):
    with pytest.raises(UserError) as told:
        parse_graphs(document)
    line = str(told.value)
    assert line.isprintable() and len(line) < 300
    return line


def test_costs_say_what_threads_and_replicas_bring():
    own = one(max=8, name="mine", noise=0.02, drift=0.01, periods=50, seed=4)
    assert (own.name, own.kind, own.noise, own.drift, own.periods, own.seed) == (
        "mine",
        "own",
        0.02,
        0.01,
        50,
        4,
    )
    assert (own.bounds.maximum, own.world(0).cores, own.held_out) == (8, 8, False)
    assert rate(own, 1, 1, 1, 1, 1) == pytest.approx(1e6 / 62, rel=0.1), "62 µs of work a tuple"
    assert rate(own, 8, 1, 1, 1, 1) == pytest.approx(1e6 / 40, rel=0.1), "the heaviest operator"
    assert rate(own, 8, 1, 2, 1, 1) == pytest.approx(1e6 / 20, rel=0.15)


def test_operators_without_a_cost_take_as_long_as_their_work():
    own = one(topology="pipeline", parameters={"operators": 2, "cost": 20_000}, costs={"work2": 5})
    assert own.world(0).costs == pytest.approx((0.1e-6, 20e-6, 5e-6, 0.1e-6))


def test_work_that_replicas_can_only_do_one_after_the_other_and_cores_that_are_fewer_than_threads():
    locked = one(serial={"busy1": 1.0}, max=8)
    assert rate(locked, 8, 1, 4, 1, 1) <= 1.02 * rate(locked, 8, 1, 1, 1, 1)
    assert rate(one(max=8, cores=2), 8, 1, 4, 2, 1) < 0.3 * rate(one(max=8), 8, 1, 4, 2, 1)


def test_phases_change_target_and_costs_and_keep_the_rest():
    own = one(
        target=1000,
        phases=[{"at": 20, "target": 5000}, {"at": 40, "costs": {"busy2": 90}}],
        periods=60,
    )
    assert own.segments() == [(0, 20), (20, 40), (40, 60)] and own.event == "phases"
    assert [own.world(period).target for period in (0, 20, 40)] == [1000.0, 5000.0, 5000.0]
    assert own.world(40).costs == pytest.approx((1e-6, 40e-6, 90e-6, 1e-6)) and own.world(39).costs[
        2
    ] == pytest.approx(20e-6)


def test_a_graph_file_says_which_operators_may_have_replicas(tmp_path):
    graph = Graph("mine", 8)
    graph.chain(graph.source("source"), graph.work("work", 10), graph.sink("sink"))
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(dump_graph(graph)))
    own = parse_graphs([{"graph": str(file)}])[0]
    assert [own.layout.names[operator] for operator in own.layout.replicable] == ["work"]


def test_an_oracle_has_no_more_replicas_than_laws_may_ask_for():
    wide = parse_graphs(
        [
            {
                "topology": "chain",
                "parameters": {"operators": 200},
                "max": 24,
                "costs": {"busy7": 2000},
            }
        ]
    )[0]
    assert wide.layout.most_replicas == 3
    assert wide.best(0).throughput == pytest.approx(3 / 2000e-6, rel=0.05)


def test_laws_run_on_them_in_another_process_too():
    row = row_of("millrace", pickle.loads(pickle.dumps(one(max=8, target=45_000, periods=30))))
    assert (row.kind, row.operators, row.settled_threads, row.settled_parts) == ("own", 4, 3.0, 5.0)
    assert row.accuracy == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"topology": None}, "[0] must have either topology or graph"),
        (
            {"parameters": {"operators": 0}},
            "[0]: parameter operators of topology chain must be a whole number from 1",
        ),
        (
            {"parameters": {"operators": 2000}},
            "[0]: the graph must have at most 1000 operators, not 2002",
        ),
        ({"costs": 7}, "[0].costs must be a mapping of operators to numbers, not 7"),
        (
            {"costs": {"busy9": 7}},
            "[0].costs has no operator 'busy9'; operators are: source, busy1, busy2, sink",
        ),
        ({"costs": {5: 7}}, "[0].costs has no operator 5; operators are: source"),
        ({"costs": {"busy1": 0}}, "[0].costs.busy1 must be a number from 0.001 to 1e+09 µs, not 0"),
        (
            {"serial": {"busy1": 2}},
            "[0].serial.busy1 must be a number from 0 to 1 of the work, not 2",
        ),
        ({"target": 0}, "[0].target must be a number from 0.001 to 1e+12 tuples/s, not 0"),
        (
            {"target": [1, 2]},
            "[0].target must be a number from 0.001 to 1e+12 tuples/s, not [1, 2]",
        ),
        ({"max": 0}, "[0].max must be a whole number from 1 to 1024, not 0"),
        ({"cores": "many"}, "[0].cores must be a whole number from 1 to 1024, not 'many'"),
        ({"noise": 2}, "[0].noise must be a number from 0 to 1 of throughput, not 2"),
        ({"drift": True}, "[0].drift must be a number from 0 to 1 of throughput, not True"),
        ({"periods": 0}, "[0].periods must be a whole number from 1 to 100000, not 0"),
        ({"phases": {}}, "[0].phases must be a list, not {}"),
        ({"phases": [{"at": 80}]}, "[0].phases[0].at must be a whole number from 1 to 79, not 80"),
        (
            {"phases": [{"at": 9}, {"at": 5}]},
            "[0].phases[1].at must be behind period 9, where the phase before begins, not 5",
        ),
        ({"phases": [{"at": 9, "costs": {"x": 1}}]}, "[0].phases[0].costs has no operator 'x'"),
        (
            {"phases": [{"at": 9, "cores": 1}]},
            "[0].phases[0] has no key 'cores'; its keys are: at, target, costs",
        ),
        ({"name": ""}, "[0].name must be text on one line, not ''"),
        ({"speed": 1}, f"[0] has no key 'speed'; its keys are: {', '.join(KEYS[:3])}"),
    ],
)
def test_mistakes_are_told(change, told):
    assert told in refusal([CHAIN | change])


def test_an_operator_that_gets_no_tuples_is_told():
    nothing = {"topology": "chain", "parameters": {"operators": 1, "selectivity": 0}}
    assert "[0]: each operator must get tuples, and 'sink' gets none" in refusal([nothing])


@pytest.mark.parametrize("document", [None, {}, [], "x", [3], [CHAIN, CHAIN | {"name": "graph-1"}]])
def test_what_is_no_list_of_scenarios_is_refused(document):
    refusal(document)


def test_the_example_of_the_page_runs_and_has_every_key(tmp_path, monkeypatch, capsys):
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", PART, re.DOTALL | re.MULTILINE)
    document = yaml.safe_load(text)
    assert {key for entry in document for key in entry} == set(KEYS) - {"graph"}
    assert {key for entry in document for phase in entry.get("phases", []) for key in phase} == set(
        PHASE_KEYS
    )
    assert all(f"`{word}`" in PART for word in {*KEYS, *PHASE_KEYS} - {"name"})
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"^millrace (laws bench .*)$", PART, re.MULTILINE)
    assert main([*command.split(), "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert (
        "**your graphs** (2 scenarios)\n" in out
        and "\n| cstream " in out
        and "\n| millrace " in out
    )
