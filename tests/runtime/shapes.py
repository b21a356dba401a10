"""Small graphs that reach every path of the runtime, and one way to run them to their end."""

from __future__ import annotations

from harness.engine import Totals, open_engine
from harness.graph import Graph, Operator
from harness.models import Dedicated, Dynamic, Manual, Model

MODELS: dict[str, Model] = {
    "manual": Manual(),
    "dedicated": Dedicated(),
    "dedicated, queues of 1": Dedicated(queue_capacity=1),
    "dynamic 1": Dynamic(1),
    "dynamic 2": Dynamic(2),
    "dynamic 7": Dynamic(7),
    "dynamic 3, queues of 1": Dynamic(3, queue_capacity=1),
    "dynamic 3, queues of 5": Dynamic(3, queue_capacity=5),
}


def chain(graph: Graph, start: object, length: int, cost: int = 1, prefix: str = "work") -> Operator:
    """`length` work operators in a row behind `start`; the last one."""
    for index in range(length):
        operator = graph.work(f"{prefix}{index}", cost)
        graph.connect(start, operator)
        start = operator
    return start


def pipeline(length: int = 4, cost: int = 1, payload: int = 96) -> Graph:
    graph = Graph("pipeline", payload)
    graph.connect(chain(graph, graph.source("source"), length, cost), graph.sink("sink"))
    return graph


def split_and_join(width: int = 5, depth: int = 2, payload: int = 96, ordered: bool = False, skew: bool = False) -> Graph:
    """Source -> split -> `width` chains -> (merge ->) sink; with `skew` some branches are much slower than others."""
    graph = Graph("merge" if ordered else "mix", payload)
    split = graph.split("split", width)
    graph.connect(graph.source("source"), split)
    end = graph.sink("sink")
    if ordered:
        merge = graph.merge("merge")
        after = graph.work("after", 1)
        graph.connect(merge, after)
        graph.connect(after, end)
        end = merge
    for branch in range(width):
        cost = 2000 if skew and branch % 3 == 0 else 1
        graph.connect(chain(graph, split.output(branch), depth, cost, f"w{branch}_"), end)
    return graph


def diamond() -> Graph:
    """Fan-out (every tuple goes both ways), several input ports, two sources, two sinks, a round-robin operator."""
    graph = Graph("diamond", 40)
    first, second = graph.source("first"), graph.source("second")
    head = graph.work("head", 3)
    graph.connect(first, head)
    left, right = graph.work("left", 5), graph.work("right", 50)
    graph.connect(head, left)
    graph.connect(head, right)
    join = graph.work("join", 2, inputs=2)
    graph.connect(left, join.input(0))
    graph.connect(right, join.input(1))
    graph.connect(second, join.input(1))
    spread = graph.work("spread", 1, outputs=3)
    graph.connect(join, spread)
    near, far = graph.sink("near"), graph.sink("far", inputs=2)
    graph.connect(spread.output(0), near)
    graph.connect(spread.output(1), far.input(0))
    graph.connect(spread.output(2), far.input(1))
    return graph


def split_fan_out() -> Graph:
    """A splitter called from two sources, and an output that feeds two splitters by call: copies, locks, called fan-in."""
    graph = Graph("split fan-out", 8)
    entry = graph.split("entry", 2)
    for name in ("a", "b"):
        graph.connect(graph.source(name), entry)
    middle = graph.work("middle", 1)
    graph.connect(entry.output(0), middle)
    graph.connect(entry.output(1), middle)
    sink = graph.sink("sink")
    for name in ("left", "right"):
        split = graph.split(name, 3)
        graph.connect(middle, split)
        for port in range(3):
            graph.connect(split.output(port), sink)
    return graph


def shared_splitters() -> Graph:
    """A splitter of many outputs that several port threads call, each with a call of its own region behind it."""
    graph = Graph("shared splitters", 8)
    split = graph.split("split", 30)
    for name in ("a", "b", "c"):
        graph.connect(chain(graph, graph.source(name), 1, prefix=f"{name}_work"), split)
    sink = graph.sink("sink")
    for port in range(30):
        graph.connect(split.output(port), sink)
    return graph


GRAPHS = {
    "pipeline": pipeline,
    "one operator": lambda: pipeline(1),
    "no operator": lambda: pipeline(0),
    "data-parallel": lambda: split_and_join(40, 1),
    "width 1": lambda: split_and_join(1, 1),
    "mix": split_and_join,
    "merge": lambda: split_and_join(ordered=True),
    "merge, skewed": lambda: split_and_join(7, 3, ordered=True, skew=True),
    "diamond": diamond,
    "split fan-out": split_fan_out,
    "shared splitters": shared_splitters,
    "no payload": lambda: pipeline(3, payload=0),
    "payload of 5 bytes": lambda: pipeline(3, payload=5),
}


def run_to_end(graph: Graph, model: Model, tuples: int, within_s: float = 45.0) -> Totals:
    """Send `tuples` from each source, let them drain, and return the account."""
    engine = open_engine(graph, model, tuples=tuples)
    engine.start()
    passed = 0.0
    while not engine.finished() and passed < within_s:
        passed += engine.sample(0.1).elapsed_s
    return engine.stop(drain=True, timeout_s=5.0)
