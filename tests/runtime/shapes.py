"""Small graphs that reach every path of the runtime, and one way to run them to their end."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import psutil

from harness.engine import Engine, Sample, Totals, open_engine
from harness.graph import Graph, Operator, PortId, Threading
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model, Queue, port_queues

MODELS: dict[str, Model] = {
    "manual": Manual(),
    "dedicated": Dedicated(),
    "dedicated, queues of 1": Dedicated(queue_capacity=1),
    "dynamic 1": Dynamic(1),
    "dynamic 2": Dynamic(2),
    "dynamic 7": Dynamic(7),
    "dynamic 3, queues of 1": Dynamic(3, queue_capacity=1),
    "dynamic 3, queues of 5": Dynamic(3, queue_capacity=5),
    "coroutine 1": Coroutine(1),
    "coroutine 2, random": Coroutine(2, "random"),
    "coroutine 3, queues of 1": Coroutine(3, "least_recently_run", queue_capacity=1),
    "coroutine 3, queues of 5, preempted": Coroutine(
        3, "highest_rate", quantum_ms=0.02, queue_capacity=5
    ),
}


def chain(
    graph: Graph, start: object, length: int, cost: int = 1, prefix: str = "work"
) -> Operator:
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


def split_and_join(
    width: int = 5, depth: int = 2, payload: int = 96, ordered: bool = False, skew: bool = False
) -> Graph:
    """Source -> split -> `width` chains -> (merge ->) sink; with `skew` some branches are much
    slower than others.
    """
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
    """Fan-out (every tuple goes both ways), several input ports, two sources, two sinks, a
    round-robin operator.
    """
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
    """A splitter called from two sources, and an output that feeds two splitters by call: copies,
    locks, called fan-in.
    """
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
    """A splitter of many outputs that several port threads call, each with a call of its own region
    behind it.
    """
    graph = Graph("shared splitters", 8)
    split = graph.split("split", 30)
    for name in ("a", "b", "c"):
        graph.connect(chain(graph, graph.source(name), 1, prefix=f"{name}_work"), split)
    sink = graph.sink("sink")
    for port in range(30):
        graph.connect(split.output(port), sink)
    return graph


def control_cycle() -> Graph:
    """A loop that closes at a control port, beside a second one that is fed from another source."""
    graph = Graph("control cycle", 24)
    head, tail = graph.work("head", 2), graph.work("tail", 30)
    graph.connect(graph.source("source"), head)
    graph.connect(chain(graph, head, 2), tail)
    graph.connect(tail, graph.control(head))
    graph.connect(tail, graph.sink("sink"))
    graph.connect(graph.source("knob"), graph.control(tail))
    return graph


def selective() -> Graph:
    """Work that drops tuples: alone, in bursts of costs, with several output ports, and behind
    itself.
    """
    graph = Graph("selective", 16)
    head = graph.work("head", 1, selectivity=0.9)
    thin = graph.work("thin", costs=[(3, 1), (2, 50)], selectivity=0.5)
    spread, sink = graph.work("spread", 1, outputs=2, selectivity=0.7), graph.sink("sink")
    for source, target in (
        (graph.source("source"), head),
        (head, thin),
        (head, spread),
        (thin, sink),
    ):
        graph.connect(source, target)
    for port in range(2):
        graph.connect(spread.output(port), sink)
    return graph


def barriers() -> Graph:
    """Two sources that meet, and three ways of what comes of it that meet again; window punctuation
    on one of them.
    """
    graph = Graph("barriers", 16)
    first, second = graph.source("first", window=7), graph.source("second")
    near, meet, head = graph.work("near", 1), graph.barrier("meet"), graph.work("head", 1)
    left, right, far = graph.work("left", 50), graph.work("right", 1), graph.work("far", 5)
    again, sink = graph.barrier("again", 3), graph.sink("sink")
    for source, target in (
        (first, near),
        (near, meet.input(1)),
        (second, meet.input(0)),
        (meet, head),
        (head, left),
    ):
        graph.connect(source, target)
    for source, target in (
        (head, right),
        (right, far),
        (head, again.input(2)),
        (left, again.input(0)),
        (far, again.input(1)),
    ):
        graph.connect(source, target)
    graph.connect(again, sink)
    return graph


def filters() -> Graph:
    """Some pass, all pass, none pass; a fan-out before them."""
    graph = Graph("filters", 16)
    head, sink = graph.work("head", 1), graph.sink("sink", inputs=3)
    graph.connect(graph.source("source"), head)
    for port, share in enumerate((0.3, 1.0, 0.0)):
        sieve = graph.filter(f"filter{port}", share)
        graph.connect(head, sieve)
        graph.connect(chain(graph, sieve, 2, prefix=f"f{port}_"), sink.input(port))
    return graph


def keyed(ordered: bool = True) -> Graph:
    """Split by key: how many tuples a branch gets depends on the tuples."""
    graph = split_and_join(4, 2, ordered=ordered, skew=True)
    graph.operators["split"] = replace(graph.operators["split"], keys=7)
    return graph


def windows(ordered: bool = True) -> Graph:
    """Window punctuation from two sources through fan-out, a filter, a split with its merge,
    round-robin and fan-in.
    """
    graph = Graph("windows", 24)
    split = graph.split("split", 3)
    join = graph.merge("merge") if ordered else graph.work("join", 1)
    first, second = graph.source("first", window=7), graph.source("second", window=100)
    head, sieve = graph.work("head", 1), graph.filter("filter", 0.5)
    graph.connect(first, head)
    graph.connect(head, split)
    graph.connect(head, sieve)
    for branch in range(3):
        graph.connect(
            chain(graph, split.output(branch), 2, (1, 500, 1)[branch], f"w{branch}_"), join
        )
    spread, sink = graph.work("spread", 1, outputs=2), graph.sink("sink", inputs=2)
    graph.connect(join, spread)
    graph.connect(second, spread)
    for port in range(2):
        graph.connect(spread.output(port), sink.input(port))
    graph.connect(sieve, sink.input(1))
    return graph


def threaded_inside() -> Graph:
    """Threads placed by hand in a chain and before the join of a fan-out, with small queues."""
    graph = diamond()
    graph.threaded_port(graph.operators["left"], 3)
    graph.threaded_port(graph.operators["join"].input(1), 8)
    graph.threaded_port(graph.operators["near"], 1)
    return graph


def annotated() -> Graph:
    """A row of regions, each under a model of its own, with a fan-out and fan-in across them."""
    graph = Graph("annotated", 24)
    join = graph.work("join", 1, inputs=2)
    head = chain(graph, graph.source("source"), 3, prefix="plain")
    for port, models in enumerate(
        (("dedicated", "manual", "dynamic"), ("dynamic", "dynamic", "dedicated"))
    ):
        start = head
        for place, model in enumerate(models):
            start = chain(graph, start, 2, prefix=f"{model}{port}{place}_")
        graph.connect(start, join.input(port))
    graph.connect(join, graph.sink("sink"))
    for name in list(graph.operators):
        model = name.rstrip("_0123456789")
        if model in ("manual", "dedicated", "dynamic"):
            annotate(graph, name, Threading(model, threads=2 if model == "dynamic" else None))
    return graph


def several_sources() -> Graph:
    """Four sources that meet at an operator which they call, at a queue, and at an operator of two
    queues.
    """
    graph = Graph("several sources", 8)
    sources = [graph.source(f"source{index}") for index in range(4)]
    split = graph.split("split", 2)
    meet = graph.work("meet", 5)
    join = graph.work("join", 5, inputs=2)
    for source in sources[:3]:
        graph.connect(source, split)
    graph.connect(split.output(0), meet)
    graph.connect(split.output(1), meet)
    graph.connect(sources[2], meet)
    graph.connect(meet, join.input(0))
    graph.connect(sources[2], join.input(1))
    graph.connect(sources[3], join.input(1))
    graph.connect(chain(graph, join, 2), graph.sink("sink"))
    return graph


def bursts() -> Graph:
    """The cost of a tuple depends on its number."""
    graph = Graph("bursts", 8)
    burst = graph.work("burst", costs=[(50, 1), (3, 20_000)])
    spread = graph.work("spread", costs=[(7, 0), (7, 100)], outputs=3)
    sink = graph.sink("sink")
    graph.connect(graph.source("source"), burst)
    graph.connect(burst, spread)
    for port in range(3):
        graph.connect(spread.output(port), sink)
    return graph


def balanced(
    elastic: bool, ports: int = 4, buffer_size: int = 3, active: int | None = None
) -> Graph:
    """Source with windows -> load balance -> operators of very different cost -> one sink that all
    threads meet at.
    """
    graph = Graph("balanced", 24)
    if elastic:
        balance = graph.elastic_load_balance(
            "balance", ports, buffer_size, initial_active_ports=active
        )
    else:
        balance = graph.threaded_split("balance", ports, buffer_size)
    graph.connect(graph.source("source", window=50), balance)
    sink = graph.sink("sink")
    for port in range(ports):
        graph.connect(
            chain(graph, balance.output(port), 2, (1, 2000, 1)[port % 3], f"w{port}_"), sink
        )
    return graph


def balances_in_a_row() -> Graph:
    """Load balances behind each other, called by several threads, with a fan-out before and one of
    one port beside them.
    """
    graph = Graph("balances in a row", 8)
    first = graph.threaded_split("first", 3, 1)
    second = graph.elastic_load_balance("second", 5, 20, initial_active_ports=3)
    single = graph.elastic_load_balance("single", 1, 7)
    head = graph.split("head", 1)
    for name in ("a", "b"):
        graph.connect(graph.source(name), head)
    graph.connect(head, first)
    graph.connect(head, single)
    for port in range(3):
        graph.connect(first.output(port), second)
    sink = graph.sink("sink", inputs=2)
    graph.connect(single, sink.input(1))
    for port in range(5):
        graph.connect(second.output(port), sink.input(0))
    return graph


def annotate(graph: Graph, name: str, wish: Threading) -> None:
    graph.operators[name] = replace(graph.operators[name], threading=wish)


def native(
    graph: Graph,
    name: str,
    function: Callable[..., int],
    inputs: int = 1,
    preserves: bool = False,
    **promises: object,
) -> Operator:
    """An operator that calls `function(sequence, value, payload, bytes, control, state)` as it
    would a compiled one.
    """
    signature = ctypes.CFUNCTYPE(
        ctypes.c_int32,
        ctypes.c_uint64,
        ctypes.POINTER(ctypes.c_double),
        ctypes.POINTER(ctypes.c_char),
        ctypes.c_uint64,
        ctypes.c_double,
        ctypes.c_void_p,
    )
    return graph.native(name, signature(function), inputs=inputs, preserves=preserves, **promises)


def scheduled_ports(graph: Graph, model: Model) -> list[PortId]:
    """Those whose queues may be switched."""
    queues = zip(graph.input_ports(), port_queues(graph, model), strict=True)
    return [port for port, queue in queues if queue.kind is Queue.SCHEDULED]


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
    "control cycle": control_cycle,
    "filters": filters,
    "selective": selective,
    "barriers": barriers,
    "keys": lambda: keyed(ordered=False),
    "keys, merge": keyed,
    "windows": lambda: windows(ordered=False),
    "windows, merge": windows,
    "threaded ports": threaded_inside,
    "annotations": annotated,
    "several sources": several_sources,
    "bursts of cost": bursts,
    "threaded split": lambda: balanced(elastic=False),
    "load balance": lambda: balanced(elastic=True, active=2),
    "load balances in a row": balances_in_a_row,
}


def run_to_end(
    graph: Graph, model: Model, tuples: int, within_s: float = 300.0, **options: object
) -> Totals:
    """Send `tuples` from each source, let them drain, and return the account; `options` as of
    `open_engine`.
    """
    engine = open_engine(graph, model, tuples=tuples, **options)
    engine.start()
    passed = 0.0
    while not engine.finished() and passed < within_s:
        passed += engine.sample(0.1).elapsed_s
    return engine.stop(drain=True, timeout_s=60.0)


def until(
    engine: Engine, what: Callable[[Sample], bool], within_s: float = 60.0, period_s: float = 0.05
) -> Sample:
    """Sample until something is so: on a busy machine nobody knows when a thread gets a CPU."""
    end = time.monotonic() + within_s
    while True:
        sample = engine.sample(period_s)
        if what(sample):
            return sample
        assert time.monotonic() < end, sample


def comes_soon(engine: Engine, rare: int, steady: int, most: int) -> None:
    """Sample until four times in a row a tuple has come through operator `rare` before `most` have
    come through operator `steady`: what counts is not the time, which others' turns make longer.
    """
    gaps = [0]

    def soon(sample: Sample) -> bool:
        gaps[-1] += sample.processed[steady]
        if sample.processed[rare] > 0:
            gaps.append(0)
        return len(gaps) > 4 and sum(gaps[-5:]) > 0 and max(gaps[-5:]) < most

    until(engine, soon, period_s=0.02)


def eventually(what: Callable[[], bool], within_s: float = 60.0) -> bool:
    """Return True as soon as something is so, False if it never is."""
    end = time.monotonic() + within_s
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def at_most_threads(number: int) -> bool:
    """Return True if this process has so few threads. The system may list one for a while after it
    was joined.
    """
    return eventually(lambda: psutil.Process().num_threads() <= number)


def together(calls: list[Callable[[], object]]) -> list[object]:
    """Return what the calls return, each in a thread of its own, begun at once."""
    barrier = threading.Barrier(len(calls))

    def one(call: Callable[[], object]) -> object:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as threads:
        return [future.result() for future in [threads.submit(one, call) for call in calls]]
