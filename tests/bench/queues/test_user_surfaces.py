"""Users' own surfaces: read as meant, or refused in one line that names the place, the rule and the value."""

from __future__ import annotations

import json
import pickle

import pytest

from harness.bench.bench import row_of
from harness.bench.queues.scenario import Phase
from harness.bench.queues.user_surfaces import KEYS, parse_surfaces
from harness.errors import UserError
from harness.graph.files.file import dump_graph
from tests.bench.queues.small import pipeline

CHAIN = {"topology": "pipeline", "parameters": {"operators": 9, "cost": 1000}}
OF_FUNCTIONS = """
from harness.graph import Graph

def mine():
    graph = Graph("mine", 64)
    work, user = graph.work("work", {cost}), graph.python("user", lambda sequence, value: None)
    graph.connect(graph.source("source"), work)
    graph.connect(work, user)
    graph.connect(user, graph.sink("sink"))
    return graph
"""


def one(**entry):
    return parse_surfaces([CHAIN | entry])[0]


def refusal(document):
    with pytest.raises(UserError) as told:
        parse_surfaces(document)
    line = str(told.value)
    assert line.isprintable() and len(line) < 300
    return line


def test_a_topology_in_a_world():
    own = one(
        name="mine",
        machine="xeon",
        software="streams-4.2",
        cpus=8,
        smt=2,
        noise=0.03,
        periods=70,
        seed=4,
    )
    assert (own.name, own.noise, own.periods, own.seed, own.bounds.maximum) == (
        "mine",
        0.03,
        70,
        4,
        8,
    )
    assert len(own.layout.ports) == 10
    assert own.surface(0).throughput({5}, 2) > 1.5 * own.surface(0).throughput((), 1)
    assert own.best(0).throughput > own.surface(0).throughput((), 1)


def test_numbers_in_place_of_the_machines():
    usual, dear = one(), one(constants={"core.fmul_latency_cycles": 30.0})
    assert dear.surface(0).throughput((), 1) < 0.2 * usual.surface(0).throughput((), 1)


def test_a_graph_file(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(dump_graph(pipeline([5]))))
    own = parse_surfaces([{"graph": str(file)}])[0]
    assert [port.operator for port in own.layout.ports] == ["work1", "sink"]


def test_a_graph_with_functions_is_another_one_when_its_costs_are_others(tmp_path):
    file, digests = tmp_path / "mine.py", []
    for cost in (10, 10, 2000):
        file.write_text(OF_FUNCTIONS.format(cost=cost))
        digests.append(parse_surfaces([{"graph": f"{file}:mine"}])[0].own.digest)
    assert digests[0] == digests[1] != digests[2]


def test_a_formula_of_threads_queues_and_their_share():
    own = one(throughput="100 * min(n, k + 1) - 5 * k + q", cpus=4)
    surface = own.surface(0)
    assert surface.throughput({1, 5, 7}, 2) == pytest.approx(200 - 15 + 0.3)
    assert surface.throughput({0, 1, 2}, 2) == surface.throughput({7, 8, 9}, 2)
    best = own.best(0)
    assert (best.threads, len(best.queued)) == (4, 3)


def test_a_table_with_straight_lines_between_its_rows():
    own = one(queues=[0, 5, 10], throughput=[[100, 100], [180, 190], [170, 240]], cpus=4)
    surface = own.surface(0)
    assert surface.throughput((), 1) == 100
    assert surface.throughput(range(5), 2) == 190
    assert surface.throughput(range(7), 2) == pytest.approx(210)
    assert surface.throughput(range(10), 4) == 240  # as at the last level
    assert (own.best(0).threads, len(own.best(0).queued)) == (2, 10)


def test_phases_change_costs_and_cpus():
    own = one(phases=[{"at": 20, "scale": 10}, {"at": 40, "others": 0.5}], periods=60)
    assert own.phases == (Phase(0), Phase(20, scale=10.0), Phase(40, others=0.5))
    assert own.surface(20).throughput((), 1) < 0.2 * own.surface(0).throughput((), 1)
    formula = one(phases=[{"at": 20, "scale": 10}], periods=60, throughput="100")
    assert formula.surface(20).throughput((), 1) == 10.0


def test_contestants_run_on_them_in_another_process_too():
    own = pickle.loads(pickle.dumps(one(throughput="100 * min(n, k + 1, 3)", cpus=4, periods=30)))
    row = row_of("dynamic", own)
    assert (row.kind, row.places, row.best_threads, row.best_parts) == ("own", 10, 3, 2)
    assert row.accuracy > 0.95
    assert row_of("manual", own).accuracy == pytest.approx(1 / 3)


def test_the_same_entry_is_the_same_truth_and_another_is_not():
    assert one().own == one().own
    assert one().own != one(cpus=8).own


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"topology": None}, "[0] must have either topology or graph"),
        ({"graph": "x.yaml"}, "[0] must have either topology or graph"),
        ({"topology": "pipline"}, "[0]: topology 'pipline' is unknown (did you mean pipeline?)"),
        (
            {"parameters": {"operators": 0}},
            "[0]: parameter operators of topology pipeline must be a whole number from 1",
        ),
        ({"parameters": [1]}, "[0].parameters must be a mapping of names, not [1]"),
        ({"machine": "cray"}, "[0]: machine 'cray' is unknown"),
        ({"machine": 7}, "[0].machine must be a name or file, not 7"),
        ({"software": "storm"}, "[0]: software 'storm' is unknown"),
        ({"constants": {"core.x": 1}}, "[0]: constants: 'core.x' is no constant"),
        ({"constants": 3}, "[0].constants must be a mapping of paths to numbers, not 3"),
        ({"cpus": 0}, "[0].cpus must be a whole number from 1 to 1024, not 0"),
        ({"smt": 9}, "[0].smt must be a whole number from 1 to 8, not 9"),
        ({"noise": 2}, "[0].noise must be a number from 0 to 1 of throughput, not 2"),
        ({"periods": 0}, "[0].periods must be a whole number from 1"),
        ({"phases": 3}, "[0].phases must be a list, not 3"),
        ({"phases": [{"at": 0}]}, "[0].phases[0].at must be a whole number from 1 to 149, not 0"),
        ({"phases": [{"at": 9}, {"at": 9}]}, "[0].phases[1].at must be behind period 9"),
        ({"phases": [{"at": 9, "costs": "skewed"}]}, "[0].phases[0] has no key 'costs'"),
        (
            {"phases": [{"at": 9, "others": 1}]},
            "[0].phases[0].others must be a number from 0 to 0.95 of the CPUs, not 1",
        ),
        (
            {"throughput": "import os"},
            "[0].throughput must be an expression of n, k and q, not 'import os'",
        ),
        ({"throughput": "m + 1"}, "[0].throughput may hold n, k, q, numbers"),
        ({"throughput": "1 / k"}, "has no value at n=1, k=0, q=0"),
        ({"throughput": "0 * n"}, "[0].throughput must be more than 0 somewhere, not '0 * n'"),
        (
            {"throughput": [[1, 2]]},
            "[0].queues must be a number of queues for each of 1 rows, not None",
        ),
        (
            {"throughput": [[1], [2]], "queues": [5, 0]},
            "[0].queues must grow from row to row, not [5, 0]",
        ),
        (
            {"throughput": [[1], [2, 3]], "queues": [0, 5]},
            "[0].throughput must be rows of the same length",
        ),
        (
            {"throughput": [[1], [-1]], "queues": [0, 5]},
            "[0].throughput[1][0] must be a number from 1e-09",
        ),
        ({"queues": [0]}, "[0].queues goes with a table of throughputs only, not [0]"),
        ({"name": "a\nb"}, "[0].name must be text on one line"),
        ({"speed": 1}, f"[0] has no key 'speed'; its keys are: {', '.join(KEYS[:3])}"),
    ],
)
def test_mistakes_are_told(change, told):
    assert told in refusal([CHAIN | change])


@pytest.mark.parametrize(
    "document", [None, {}, [], "x", [3], [CHAIN, CHAIN | {"name": "surface-1"}]]
)
def test_what_is_no_list_of_scenarios_is_refused(document):
    refusal(document)
