"""Parameters of topologies: defaults, text from the command line, and every way to get one
wrong.
"""

from __future__ import annotations

import sys

import pytest

import topologies
from harness.errors import UserError

DEFAULTS = {
    "pipeline": {"operators": 100, "cost": 100, "payload": 128, "rate": 0},
    "data-parallel": {"width": 100, "cost": 100, "payload": 128, "rate": 0},
    "mix": {"width": 10, "depth": 10, "cost": 100, "payload": 128, "rate": 0},
    "bushy": {"width": 3, "depth": 4, "cost": 100, "payload": 128},
    "chain": {"operators": 12, "busy": 100, "selectivity": 100, "read": 0, "payload": 128},
    "tree": {"depth": 6, "branching": 2, "busy": 100, "payload": 128},
    "reverse-tree": {"depth": 6, "branching": 2, "busy": 100, "payload": 128},
    "unbalanced-tree": {"depth": 8, "cost": 100, "payload": 128},
    "replicated": {"width": 12, "busy": 100, "merge": "ordered", "payload": 128},
    "phase-change": {
        "operators": 100,
        "before": 10,
        "after": 90,
        "phase": 1_000_000,
        "payload": 128,
    },
    "load-balance": {
        "workers": 32,
        "buffer": 100,
        "cost": 1000,
        "payload": 128,
        "load": "constant",
        "cycle": 100_000_000,
        "burst": 60_000,
        "silence": 300_000,
        "elastic": "yes",
        "initial": "auto",
        "congestion": 50,
        "tolerance": 5,
        "period": 5000,
        "rapid": "no",
    },
    "login-failures": {
        "form": "figure",
        "records": 100_000,
        "input": "generated",
        "cycles": "endless",
        "lateness": 3600,
        "jump": 3600,
        "placement": "none",
    },
    "packet-analysis": {
        "sources": 1,
        "records": 100_000,
        "input": "generated",
        "cycles": "endless",
        "lateness": 3600,
        "jump": 3600,
        "listed": "built-in",
        "services": "built-in",
        "own": "none",
        "placement": "none",
    },
    "vwap": {"records": 100_000, "input": "generated", "cycles": "endless", "placement": "none"},
    "wiki-word-count": {
        "records": 20_000,
        "input": "generated",
        "url": "none",
        "port": "none",
        "cycles": "endless",
        "lateness": 10,
        "jump": 3600,
        "placement": "none",
    },
    "nexmark-q1": {"records": 100_000, "cycles": "endless"},
    "nexmark-q2": {"records": 100_000, "cycles": "endless"},
    "nexmark-q5": {"records": 100_000, "cycles": "endless"},
    "nexmark-q8": {"records": 100_000, "cycles": "endless"},
    "word-count": {"records": 10_000, "input": "generated", "cycles": "endless"},
    "spike-detection": {
        "records": 60_000,
        "input": "generated",
        "cycles": "endless",
        "value": "temperature",
    },
    "fraud-detection": {
        "records": 50_000,
        "input": "generated",
        "cycles": "endless",
        "model": "built-in",
    },
}
NAMES = ", ".join(sorted(DEFAULTS))


def test_the_topologies_of_the_papers_are_there():
    assert sorted(topologies.TOPOLOGIES) == sorted(DEFAULTS)


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_is_not_given_has_its_default(name):
    assert topologies.build(name, {}, 0)[1] == DEFAULTS[name]


def test_numbers_may_come_as_text():
    assert topologies.build("mix", {"width": "007", "cost": "skewed", "payload": 0}, 0)[1] == {
        "width": 7,
        "depth": 10,
        "cost": "skewed",
        "payload": 0,
        "rate": 0,
    }


WIDTH = "parameter width of topology mix must be a whole number from 1 to 100000, not "
COST = "parameter cost of topology mix must be a whole number from 0 to 1000000000 or skewed, not "
PAYLOAD = "parameter payload of topology mix must be a whole number from 0 to 67108864, not "
BAD = [
    ("mix", {"width": "abc"}, WIDTH + "'abc'"),
    ("mix", {"width": ""}, WIDTH + "''"),
    ("mix", {"width": "0"}, WIDTH + "'0'"),
    ("mix", {"width": "-3"}, WIDTH + "'-3'"),
    ("mix", {"width": "100001"}, WIDTH + "'100001'"),
    ("mix", {"width": "1.5"}, WIDTH + "'1.5'"),
    ("mix", {"width": "1e3"}, WIDTH + "'1e3'"),
    ("mix", {"width": "1_000"}, WIDTH + "'1_000'"),
    ("mix", {"width": " 5"}, WIDTH + "' 5'"),
    ("mix", {"width": "٣"}, WIDTH + "'٣'"),
    ("mix", {"width": "skewed"}, WIDTH + "'skewed'"),
    ("mix", {"width": "9" * 5000}, WIDTH + "'" + "9" * 59 + "…"),
    ("mix", {"width": 0}, WIDTH + "0"),
    ("mix", {"width": 2.0}, WIDTH + "2.0"),
    ("mix", {"width": True}, WIDTH + "True"),
    ("mix", {"width": None}, WIDTH + "None"),
    ("mix", {"cost": "-1"}, COST + "'-1'"),
    ("mix", {"cost": "1000000001"}, COST + "'1000000001'"),
    ("mix", {"cost": "Skewed"}, COST + "'Skewed'"),
    (
        "load-balance",
        {"load": "bursty"},
        "parameter load of topology load-balance must be constant or bursty-cost or bursty-rate, "
        "not 'bursty'",
    ),
    (
        "load-balance",
        {"elastic": "1"},
        "parameter elastic of topology load-balance must be yes or no, not '1'",
    ),
    (
        "load-balance",
        {"elastic": 1},
        "parameter elastic of topology load-balance must be yes or no, not 1",
    ),
    (
        "load-balance",
        {"workers": 2, "initial": 3},
        "parameter initial must be at most 2, which is workers, not 3 (topology load-balance)",
    ),
    ("mix", {"payload": "67108865"}, PAYLOAD + "'67108865'"),
    (
        "pipeline",
        {"operators": "999999"},
        "parameter operators of topology pipeline must be a whole number from 0 to 999998, not "
        "'999999'",
    ),
    (
        "data-parallel",
        {"width": "1000001"},
        "parameter width of topology data-parallel must be a whole number from 1 to 1000000, not "
        "'1000001'",
    ),
    (
        "mix",
        {"width": "100000", "depth": "10"},
        "topology mix must have at most 1000000 operators, not more with width=100000, depth=10",
    ),
    (
        "bushy",
        {"width": "2", "depth": "19"},
        "topology bushy must have at most 1000000 operators, not more with width=2, depth=19",
    ),
    (
        "bushy",
        {"width": "1000000", "depth": "499999"},
        "topology bushy must have at most 1000000 operators, not more with width=1000000, "
        "depth=499999",
    ),
    (
        "mix",
        {"widht": "3"},
        "topology mix has no parameter 'widht' (did you mean 'width'?); its parameters are: width, "
        "depth, cost, payload, rate",
    ),
    (
        "pipeline",
        {"zzz": "3"},
        "topology pipeline has no parameter 'zzz'; its parameters are: operators, cost, payload, rate",
    ),
    (
        "data_parallel",
        {},
        "topology 'data_parallel' is unknown (did you mean 'data-parallel'?); topologies are: "
        f"{NAMES}",
    ),
    ("?", {}, f"topology '?' is unknown; topologies are: {NAMES}"),
]


@pytest.mark.parametrize(("name", "values", "told"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_is_told_in_one_line(name, values, told):
    with pytest.raises(UserError) as caught:
        topologies.build(name, values, 0)
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("name", "values"),
    [("mix", {"width": 100_000, "depth": 9}), ("bushy", {"width": 2, "depth": 18})],
)
def test_the_largest_graphs_are_within_bounds(name, values):
    topology = topologies.TOPOLOGIES[name]
    assert topology.size(**topology.values(values)) <= topologies.MAX_OPERATORS


@pytest.mark.parametrize("name", DEFAULTS)
def test_defaults_keep_their_own_rule(name):
    for parameter in topologies.TOPOLOGIES[name].takes:
        assert parameter.parse(name, parameter.default) == parameter.default
        assert all(parameter.parse(name, word) == word for word in parameter.words)
        if parameter.low is not None:
            assert parameter.parse(name, str(parameter.low)) == parameter.low
            assert parameter.parse(name, str(parameter.high)) == parameter.high


NEW_MODULE = """
from harness.graph import Graph
from topologies import PAYLOAD, Topology


def build(payload, seed):
    graph = Graph("{name}", payload)
    graph.connect(graph.source("source"), graph.sink("sink"))
    return graph


TOPOLOGY = Topology("{name}", "a source and a sink", "here", (PAYLOAD,), lambda **_: 2, build)
"""


@pytest.fixture
def new_folder(tmp_path, monkeypatch):
    """A folder whose modules belong to the package for the time of a test."""
    monkeypatch.setattr(topologies, "__path__", [*topologies.__path__, str(tmp_path)])
    known = set(sys.modules)
    yield tmp_path
    for name in [
        name for name in sys.modules if name.startswith("topologies.") and name not in known
    ]:
        del sys.modules[name]
        delattr(topologies, name.removeprefix("topologies."))


def test_a_new_module_is_found_by_itself_under_its_own_name(new_folder):
    (new_folder / "added_by_test.py").write_text(NEW_MODULE.format(name="added-by-test"))
    found = type(topologies.TOPOLOGIES)()
    assert list(found) == sorted(["added-by-test", *DEFAULTS])
    assert len(found["added-by-test"].build(payload=1, seed=0).operators) == 2
