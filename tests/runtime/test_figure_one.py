"""P17's Figure 1 with its own annotations: the composite LoginFailures, `@parallel(width=7)` and
`@parallel(width=4)`, and `@threading` of the graph that invokes it.
"""

from __future__ import annotations

import calendar
import random
import time

import pytest

from harness.engine import Totals, open_engine
from harness.graph import Graph, GraphError
from harness.graph.annotations import parallel, threading
from harness.graph.schema import Schema
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import until

pytestmark = pytest.mark.heavy

LINE = Schema("Line", {"line": "string[200]"})
LOG_LINE = Schema(
    "LogLine",
    {"time": "time", "hostname": "string[20]", "srvc": "string[20]", "msg": "string[160]"},
)
FAILURE = Schema(
    "Failure",
    dict.fromkeys(("uid", "euid", "tty", "rhost", "user"), "string[30]") | {"time": "time"},
)
MODELS = {
    "manual": Manual(),
    "dedicated": Dedicated(),
    "dedicated, short queues": Dedicated(queue_capacity=3),
    "dynamic": Dynamic(threads=3),
    "dynamic, short queues": Dynamic(threads=2, queue_capacity=3),
    "coroutine": Coroutine(threads=2),
    "coroutine, short queues": Coroutine(threads=2, queue_capacity=3),
}


def lines(count: int) -> list[str]:
    choose, made = random.Random(count), []
    for n in range(count):
        at = time.strftime("%b %d %H:%M:%S", time.gmtime(n))
        user = choose.choice(("", " user=root", " user=guest"))
        message = choose.choice(
            ("session opened", f"authentication failure; uid=0 euid={n} tty=ssh rhost=h{n}{user}")
        )
        made.append(f"{at} host{n % 3} {choose.choice(('sshd[1]:', 'cron[2]:'))} {message}")
    return made


def parsed(line: str) -> dict:
    tokens = line.split(" ")
    at = calendar.timegm(time.strptime("1970 " + " ".join(tokens[:3]), "%Y %b %d %H:%M:%S"))
    return {
        "time": at * 10**9,
        "hostname": tokens[3],
        "srvc": tokens[4],
        "msg": " ".join(tokens[5:]),
    }


def failed(entry: dict) -> bool:
    return "sshd" in entry["srvc"] and "authentication failure" in entry["msg"]


def failure_of(entry: dict) -> dict:
    found = dict(token.split("=") for token in entry["msg"].split() if "=" in token)
    values = {name: found.get(name, "") for name in ("uid", "euid", "tty", "rhost", "user")}
    return values | {"time": entry["time"]}


@parallel(width=7)
def parsed_lines(graph, inlet):
    parse = graph.typed(
        "parse", lambda port, t: [(0, parsed(t["line"]))], LINE, LOG_LINE, one_for_one=True
    )
    graph.connect(inlet, parse)
    return parse


@parallel(width=4)
def failures(graph, inlet):
    fields = graph.typed(
        "fields", lambda port, t: [(0, failure_of(t))], LOG_LINE, FAILURE, one_for_one=True
    )
    graph.connect(inlet, fields)
    return fields


def login_failures(graph, text):
    source = graph.typed_source("lines", lambda: [(0, {"line": line}) for line in text], LINE)
    raw = graph.typed_filter("failures_raw", failed, LOG_LINE)
    graph.connect(parsed_lines(graph, source), raw)
    return failures(graph, raw)


def run(graph: Graph, model: Model) -> Totals:
    engine = open_engine(graph, model)
    engine.start()
    until(engine, lambda sample: engine.finished())
    return engine.stop(drain=True, timeout_s=10.0)


@pytest.mark.parametrize("model", MODELS)
def test_figure_1_finds_the_failures_in_the_order_of_the_log(model):
    graph, found, text = Graph("figure_1"), [], lines(600)
    sink = graph.typed_sink("sink", lambda port, values: found.append(values), FAILURE)
    graph.connect(login_failures(graph, text), sink)
    totals = run(graph, MODELS[model])
    assert totals.correct and totals.drained and totals.in_flight == 0, totals
    expected = [failure_of(entry) for entry in map(parsed, text) if failed(entry)]
    assert found == expected and len(found) > 50


@pytest.mark.parametrize("annotation", ["dynamic", "dedicated"])
def test_who_invokes_the_composite_says_how_it_is_threaded(annotation):
    graph, found, text = Graph("main"), [], lines(300)

    @threading(model=annotation)
    def main(graph):
        return login_failures(graph, text)

    sink = graph.typed_sink("sink", lambda port, values: found.append(values), FAILURE)
    graph.connect(main(graph), sink)
    assert run(graph, Manual()).correct
    assert found == [failure_of(entry) for entry in map(parsed, text) if failed(entry)]


@pytest.mark.parametrize("model", ["manual", "dedicated", "dynamic, short queues", "coroutine"])
@pytest.mark.parametrize("ordered", [True, False])
def test_tuples_of_one_key_go_to_one_replica_in_order(model, ordered):
    item = Schema("item", {"key": "string[8]", "weight": "float64", "n": "uint32"})
    choose, graph, kept = random.Random(3), Graph("keyed"), []
    weights = [0.0, -0.0, float("nan"), -float("nan"), 1.5]
    items = [
        {"key": choose.choice("abc"), "weight": choose.choice(weights), "n": n} for n in range(900)
    ]
    replicas = []

    @parallel(width=3, partition_by=("key", "weight"), ordered=ordered)
    def counted(graph, inlet):
        place = len(replicas)
        replicas.append([])

        def count(port, values):
            replicas[place].append(values)
            return [(0, values)]

        counts = graph.typed("count", count, item, item, one_for_one=ordered)
        graph.connect(inlet, counts)
        return counts

    source = graph.typed_source("source", lambda: [(0, values) for values in items], item)
    graph.connect(
        counted(graph, source), graph.typed_sink("sink", lambda port, v: kept.append(v["n"]), item)
    )
    totals = run(graph, MODELS[model])
    assert totals.correct, totals
    assert sorted(kept) == list(range(900)) and (not ordered or kept == list(range(900)))

    def key(values):
        weight = values["weight"]
        return values["key"], "nan" if weight != weight else weight + 0.0

    owners: dict = {}
    for place, seen in enumerate(replicas):
        assert [values["n"] for values in seen] == sorted(values["n"] for values in seen)
        for values in seen:
            assert owners.setdefault(key(values), place) == place
    assert len(owners) == 9 and len(set(owners.values())) > 1


def test_a_promise_of_one_tuple_for_each_that_is_broken_fails_the_run():
    graph = Graph("broken")

    @parallel(width=2)
    def dropping(graph, inlet):
        drop = graph.typed(
            "drop",
            lambda port, t: [(0, t)] if t["line"] != "5" else None,
            LINE,
            LINE,
            one_for_one=True,
        )
        graph.connect(inlet, drop)
        return drop

    source = graph.typed_source("source", lambda: ((0, {"line": str(n)}) for n in range(99)), LINE)
    sink = graph.typed_sink("sink", lambda port, values: None, LINE)
    graph.connect(dropping(graph, source), sink)
    error = run(graph, Dedicated()).error
    assert error == (
        "operator 'dropping.2.drop' failed, since it is to send one tuple for each that it gets "
        "(tuple 2)"
    )


def dropping_region(**options):
    @parallel(width=2, **options)
    def dropping(graph, inlet):
        drop = graph.typed_filter("drop", lambda t: True, LINE)
        graph.connect(inlet, drop)
        return drop

    graph = Graph("wrong")
    return dropping(graph, graph.typed_source("source", lambda: (), LINE))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "operator 'dropping.1.drop' does not promise to pass on every tuple (one_for_one)"),
        ({"partition_by": 5}, "partition_by must name attributes of Line, not 5"),
        ({"partition_by": "time"}, "must name attributes of Line (line), not 'time'"),
        ({"partition_by": []}, "partition_by must name attributes, not []"),
        ({"partition_by": [3]}, "partition_by must name attributes, not [3]"),
    ],
)
def test_a_region_that_does_not_fit_is_told(options, told):
    with pytest.raises(GraphError) as raised:
        dropping_region(**options)
    assert told in str(raised.value)
