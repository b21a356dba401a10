"""Loops and typed operators that send several ways: a graph that can end does so, and another one
says who waits for what.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from examples.building import shared_library
from harness.engine import Totals, open_engine
from harness.graph import Graph, Threading
from harness.graph.annotations import in_force
from harness.graph.schema import Schema
from harness.models import Coroutine, Dedicated, Dynamic, Manual
from tests.runtime.shapes import until

pytestmark = pytest.mark.heavy

NUMBER = Schema("number", {"n": "uint64"})
WORD = 2**64


class Step(ctypes.Structure):
    _fields_ = (("pushes", ctypes.c_uint32), ("port", ctypes.c_uint32), ("count", ctypes.c_uint32))


class Script(ctypes.Structure):
    _fields_ = (
        ("steps", ctypes.c_uint32),
        ("step", Step * 16),
        ("sum", ctypes.c_uint64),
        ("nap_ns", ctypes.c_uint64),
    )


TAKE, PUSH, PUSH_ONCE = 0, 1, 2


def script(*steps: tuple[int, int, int], nap_ns: int = 0) -> Script:
    return Script(len(steps), (Step * 16)(*(Step(*step) for step in steps)), 0, nap_ns)


@cache
def compiled(name: str) -> ctypes._CFuncPtr:
    library = ctypes.CDLL(str(shared_library(Path(__file__).parent / "scripted_loops.c")))
    function = library[name]
    function.argtypes, function.restype = (ctypes.c_void_p, ctypes.c_void_p), ctypes.c_int32
    return function


def scripted(*steps: tuple[int, int, int]) -> object:
    """The loop of scripted_loops.c, in Python."""

    async def loop(ctx):
        total = 0
        while True:
            for pushes, port, count in steps:
                if pushes:
                    for k in range(count):
                        await ctx.push({"n": (total * 7 + port + k) % WORD}, port)
                    continue
                if not await ctx.wait_all({port: count}):
                    return
                for _ in range(count):
                    total = (total * 31 + ctx.inputs[port].pop()["n"]) % WORD

    return loop


def add_loop(
    graph: Graph, language: str, inputs: int, outputs: int, *steps: tuple[int, int, int]
) -> object:
    name, takes, gives = f"loop{len(graph.operators)}", (NUMBER,) * inputs, (NUMBER,) * outputs
    if language == "Python":
        return graph.typed_loop(name, scripted(*steps), takes, gives)
    return graph.typed_loop(name, compiled("scripted"), takes, gives, script(*steps))


def numbers(count: int) -> object:
    return lambda: ((0, {"n": n}) for n in range(count))


def run(graph: Graph, model: object, seconds: float = 100.0) -> Totals:
    """To the end, if it comes to one."""
    engine = open_engine(graph, model)
    engine.start()
    end = time.monotonic() + seconds
    while not engine.finished() and time.monotonic() < end:
        engine.sample(0.01)
    finished = engine.finished()
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert finished or totals.error, "it has not come to its end"
    return totals


# -- graphs that come to their end -----------------------------------------------------------------


@pytest.mark.parametrize("language", ("Python", "C"))
@pytest.mark.parametrize("capacity", (2, None))
def test_a_header_that_was_sent_before_many_lines_arrives_before_them(capacity, language):
    def document(port, row):
        yield 1, row
        for n in range(12 * at_once):
            yield 0, {"n": n}

    at_once = capacity or 200
    graph, kept = Graph("document"), []
    reader = add_loop(
        graph, language, 2, 1, (TAKE, 1, 1), *((TAKE, 0, at_once),) * 12, (PUSH, 0, 1)
    )
    sender = graph.typed("document", document, NUMBER, (NUMBER, NUMBER))
    graph.connect(graph.typed_source("source", numbers(20), NUMBER), sender)
    graph.connect(sender.output(0), reader.input(0))
    graph.connect(sender.output(1), reader.input(1))
    graph.connect(reader, graph.typed_sink("sink", lambda port, row: kept.append(row), NUMBER))
    totals = run(graph, Coroutine(2, queue_capacity=capacity))
    assert totals.correct and totals.order_checked and len(kept) == 20


@pytest.mark.parametrize("languages", (("Python", "C"), ("C", "Python"), ("C", "C")))
@pytest.mark.parametrize("capacity", (1, 3, 31))
def test_a_loop_that_takes_by_turns_what_another_one_sends_by_turns_needs_no_long_queue(
    capacity, languages
):
    graph, kept = Graph("turns"), []
    sends = add_loop(graph, languages[0], 1, 2, (TAKE, 0, 1), *((PUSH, 0, 1), (PUSH, 1, 1)) * 7)
    takes = add_loop(graph, languages[1], 2, 1, (TAKE, 1, 1), (TAKE, 0, 1), (PUSH, 0, 1))
    graph.connect(graph.typed_source("source", numbers(100), NUMBER), sends)
    graph.connect(sends.output(0), takes.input(0))
    graph.connect(sends.output(1), takes.input(1))
    graph.connect(takes, graph.typed_sink("sink", lambda port, row: kept.append(row), NUMBER))
    totals = run(graph, Coroutine(2, queue_capacity=capacity))
    assert totals.correct and len(kept) == 700


@pytest.mark.parametrize("capacity", (1, 5, None))
@pytest.mark.parametrize("annotation", (None, Threading("dedicated"), Threading("manual")), ids=str)
def test_two_subscribers_of_one_output_may_meet_again(annotation, capacity):
    graph, kept = Graph("rhombus"), []
    sender = graph.typed("sender", lambda port, row: [(0, row)] * 100, NUMBER, NUMBER)
    graph.connect(graph.typed_source("source", numbers(10), NUMBER), sender)
    with in_force(annotation):
        way = graph.typed("way", lambda port, row: [(0, row)], NUMBER, NUMBER)
    join = add_loop(graph, "C", 2, 1, (TAKE, 1, 1), (TAKE, 0, 1), (PUSH, 0, 1))
    graph.connect(sender, join.input(0))
    graph.connect(sender, way)
    graph.connect(way, join.input(1))
    graph.connect(join, graph.typed_sink("sink", lambda port, row: kept.append(row), NUMBER))
    totals = run(graph, Coroutine(2, queue_capacity=capacity))
    assert totals.correct and len(kept) == 1000


@pytest.mark.parametrize(
    "model",
    (Manual(), Dedicated(queue_capacity=2), Dynamic(2, queue_capacity=2)),
    ids=lambda model: model.name,
)
def test_typed_operators_that_send_several_ways_end_under_every_model(model):
    def spread(port, row):
        yield 1, row
        for _ in range(100):
            yield 0, row

    graph, kept = Graph("several"), []
    sender = graph.typed("sender", spread, NUMBER, (NUMBER, NUMBER))
    join = graph.typed(
        "join", lambda port, row: [(0, row)] if port == 1 else (), (NUMBER, NUMBER, NUMBER), NUMBER
    )
    graph.connect(graph.typed_source("source", numbers(200), NUMBER), sender)
    for port, output in enumerate((0, 1, 1)):
        graph.connect(sender.output(output), join.input(port))
    graph.connect(join, graph.typed_sink("sink", lambda port, row: kept.append(row["n"]), NUMBER))
    totals = run(graph, model)
    assert totals.correct and kept == list(range(200))


# -- at random, beside a reference that sends each tuple by itself ---------------------------------


@dataclass
class Node:
    kind: str  # source, operator, called, Python, C
    inputs: list[tuple[int, int]]  # node and output port that each input port subscribes to
    outputs: int
    steps: list[tuple[int, int, int]] = field(
        default_factory=list
    )  # of a loop; else what is sent for a tuple: PUSH, output, count

    def sent_for(self, n: int) -> Iterator[tuple[int, int]]:
        for _, output, count in self.steps:
            for k in range(count):
                yield output, (n * 3 + output + k) % WORD


END = object()


class Reference:
    """Runs a graph with one tuple at a time (C-Stream, Algorithms 1 to 3); final punctuation takes
    a place in a queue.
    """

    def __init__(self, nodes: list[Node], tuples: int, capacity: int):
        self.nodes, self.tuples, self.capacity, self.moves = nodes, tuples, capacity, 0
        self.queues = {
            (node, port): deque()
            for node, about in enumerate(nodes)
            for port in range(len(about.inputs))
        }
        self.kept = {(node, output): [] for node, output in open_outputs(nodes)}
        self.readers = {
            (node, output): []
            for node, about in enumerate(nodes)
            for output in range(about.outputs)
        }
        for queue in self.queues:
            self.readers[nodes[queue[0]].inputs[queue[1]]].append(queue)

    def ends(self) -> bool:
        running = [
            self.body(index) for index, node in enumerate(self.nodes) if node.kind != "called"
        ]
        before = -1
        while running and before != self.moves:
            before = self.moves
            running = [body for body in running if next(body, END) is not END]
        return not running

    def put(self, node: int, output: int, value: object) -> Iterator[None]:
        if (node, output) in self.kept and value is not END:
            self.kept[node, output].append(value)
        for reader in self.readers[node, output]:
            if self.nodes[reader[0]].kind == "called":
                yield from self.send(reader[0], value)
                continue
            while len(self.queues[reader]) == self.capacity:
                yield
            self.queues[reader].append(value)
            self.moves += 1

    def send(self, node: int, value: object) -> Iterator[None]:
        about = self.nodes[node]
        sent = (
            [(output, END) for output in range(about.outputs)]
            if value is END
            else about.sent_for(value)
        )
        for output, made in sent:
            yield from self.put(node, output, made)

    def pop(self, node: int, port: int) -> object:
        self.moves += 1
        return self.queues[node, port].popleft()

    def body(self, node: int) -> Iterator[None]:
        about = self.nodes[node]
        if about.kind == "source":
            for n in range(self.tuples):
                yield from self.put(node, 0, n)
            yield from self.send(node, END)
        elif about.kind == "operator":
            value = None
            while value is not END:
                while not self.queues[node, 0]:
                    yield
                value = self.pop(node, 0)
                yield from self.send(node, value)
        else:
            yield from self.loop(node)

    def loop(self, node: int) -> Iterator[None]:
        about, total, over = self.nodes[node], 0, False
        while not over:
            for pushes, port, count in about.steps:
                if pushes:
                    for k in range(count):
                        yield from self.put(node, port, (total * 7 + port + k) % WORD)
                    continue
                queue = self.queues[node, port]
                while len(queue) < count and not (queue and queue[-1] is END):
                    yield
                over = sum(value is not END for value in queue) < count
                if over:
                    break
                for _ in range(count):
                    total = (total * 31 + self.pop(node, port)) % WORD
        yield from self.send(node, END)
        ended = set()
        while len(ended) < len(about.inputs):  # what is left
            for port in range(len(about.inputs)):
                while self.queues[node, port]:
                    if self.pop(node, port) is END:
                        ended.add(port)
            yield


def open_outputs(nodes: list[Node]) -> list[tuple[int, int]]:
    """Output ports that nobody subscribes to: each gets a sink."""
    subscribed = {way for node in nodes for way in node.inputs}
    ways = [(node, output) for node, about in enumerate(nodes) for output in range(about.outputs)]
    return [way for way in ways if way not in subscribed]


def built(nodes: list[Node], tuples: int) -> tuple[Graph, dict]:
    graph, made, kept = Graph("random"), [], {}

    def keeps(values: list) -> object:
        return lambda port, row: values.append(row["n"])

    def sends(node: Node) -> object:
        return lambda port, row: ((output, {"n": n}) for output, n in node.sent_for(row["n"]))

    for node in nodes:
        name = f"{node.kind}{len(made)}"
        if node.kind == "source":
            operator = graph.typed_source(name, numbers(tuples), NUMBER)
        elif node.kind in ("operator", "called"):
            with in_force(Threading("manual") if node.kind == "called" else None):
                operator = graph.typed(name, sends(node), NUMBER, (NUMBER,) * node.outputs)
        else:
            operator = add_loop(graph, node.kind, len(node.inputs), node.outputs, *node.steps)
        for port, (source, output) in enumerate(node.inputs):
            graph.connect(made[source].output(output), operator.input(port))
        made.append(operator)
    for node, output in open_outputs(nodes):
        kept[node, output] = []
        graph.connect(
            made[node].output(output),
            graph.typed_sink(f"sink{node}_{output}", keeps(kept[node, output]), NUMBER),
        )
    return graph, kept


@st.composite
def graphs(draw: st.DrawFn, capacity: int) -> list[Node]:
    nodes = [Node("source", [], 1) for _ in range(draw(st.integers(1, 2)))]
    for _ in range(draw(st.integers(2, 5))):
        kind = draw(st.sampled_from(("operator", "called", "Python", "C", "C")))
        ways = st.sampled_from(
            [(node, output) for node, about in enumerate(nodes) for output in range(about.outputs)]
        )
        loop = kind in ("Python", "C")
        inputs = draw(st.lists(ways, min_size=1, max_size=3 if loop else 1))
        outputs = draw(st.integers(1, 2))
        pushes = st.tuples(st.just(PUSH), st.integers(0, outputs - 1), st.integers(1, 3))
        takes = st.tuples(
            st.just(TAKE), st.integers(0, len(inputs) - 1), st.integers(1, min(3, capacity))
        )
        if loop:
            steps = [draw(takes), *draw(st.lists(takes | pushes, min_size=1, max_size=6))]
        else:
            steps = draw(st.lists(pushes, min_size=1, max_size=2))
        nodes.append(Node(kind, inputs, outputs, steps))
    return nodes


@given(
    data=st.data(), capacity=st.integers(1, 4), threads=st.integers(1, 3), tuples=st.integers(1, 60)
)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_graph_that_ends_with_one_tuple_at_a_time_ends_with_batches_too(
    data, capacity, threads, tuples
):
    nodes = data.draw(graphs(capacity))
    reference = Reference(nodes, tuples, capacity)
    ends = reference.ends()
    event(f"the reference {'ends' if ends else 'halts'}")
    assume(ends and sum(map(len, reference.kept.values())) < 20_000)
    graph, kept = built(nodes, tuples)
    totals = run(graph, Coroutine(threads, queue_capacity=capacity))
    assert not totals.error and totals.correct, totals
    assert kept == reference.kept


# -- graphs that do not ----------------------------------------------------------------------------


def halting(way: str | None = None) -> Graph:
    """The reader wants a tuple of input port 1 first, of which there is none before a hundred at
    input port 0.
    """

    def late(port, row):
        for n in range(100):
            yield 0, {"n": n}
        yield 1, row

    graph = Graph("halting")
    sender = graph.typed("sender", late, NUMBER, (NUMBER, NUMBER))
    reader = add_loop(graph, "Python", 2, 1, (TAKE, 1, 1), (TAKE, 0, 1))
    graph.connect(graph.typed_source("source", numbers(1000), NUMBER), sender)
    between = sender.output(0)
    if way is not None:
        with in_force(Threading(way)):
            between = graph.typed("between", lambda port, row: [(0, row)], NUMBER, NUMBER)
        graph.connect(sender.output(0), between)
    graph.connect(between, reader.input(0))
    graph.connect(sender.output(1), reader.input(1))
    graph.connect(reader, graph.typed_sink("sink", lambda port, row: None, NUMBER))
    return graph


@pytest.mark.parametrize("threads", (1, 3))
def test_a_deadlock_is_told_in_one_line_that_names_who_waits_for_what(threads):
    totals = run(halting(), Coroutine(threads, queue_capacity=8))
    assert not totals.correct
    assert totals.error == (
        "deadlock: operator 'sender' waits for room in the queue before input port 0 of operator "
        "'loop1', "
        "operator 'loop1' waits for tuples at input port 1"
    )


def test_a_deadlock_beside_threads_of_threaded_ports_is_told_too():
    totals = run(halting("dedicated"), Coroutine(2, queue_capacity=8))
    assert (
        totals.error.startswith("deadlock: ")
        and "'loop1' waits for tuples at input port 1" in totals.error
    )


def sleeps(port, row):
    time.sleep(0.3)
    yield 0, row


@pytest.mark.parametrize("annotation", (None, Threading("dedicated")), ids=str)
def test_a_run_in_which_everybody_waits_for_something_outside_is_no_deadlock(annotation):
    def seldom():
        for n in range(3):
            for _ in range(20):
                yield None  # nothing at hand: asked again in a while
            yield 0, {"n": n}

    graph, kept = Graph("quiet"), []
    with in_force(annotation):
        slow = graph.typed("slow", sleeps, NUMBER, NUMBER)
    join = add_loop(graph, "C", 2, 1, (TAKE, 0, 1), (TAKE, 1, 1), (PUSH, 0, 1))
    source = graph.typed_source("source", seldom, NUMBER)
    graph.connect(source, slow)
    graph.connect(slow, join.input(0))
    graph.connect(source, join.input(1))
    graph.connect(join, graph.typed_sink("sink", lambda port, row: kept.append(row), NUMBER))
    totals = run(graph, Coroutine(2, queue_capacity=2))
    assert totals.correct and len(kept) == 3


def test_a_source_that_is_silent_for_a_second_is_no_deadlock():
    graph = Graph("paced")
    source = graph.source("source", rates=((0.2, 1000.0), (1.2, 0.0)))
    graph.connect(source, graph.loop("loop", pass_on))
    graph.connect(graph.operators["loop"], graph.sink("sink"))
    engine = open_engine(graph, Coroutine(2), tuples=300)
    engine.start()
    until(engine, lambda sample: engine.finished())
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.received == 300


async def pass_on(ctx):
    async for value in ctx.input:
        await ctx.push(value)


# -- what is sent is not held ----------------------------------------------------------------------


@pytest.mark.parametrize("holder", ("loop", "source", "generator"))
def test_a_tuple_goes_on_although_its_batch_does_not_fill(holder):
    """The source goes on until the one tuple of output port 1 has arrived, so the run ends only if
    that is not held.
    """
    seen = threading.Event()

    def until_seen():
        n = 0
        while not seen.is_set():
            yield 0, {"n": n}
            n += 1

    def one_among_many(port, row):
        yield 1, row
        while not seen.is_set():
            time.sleep(0.0005)
            yield 0, row

    graph = Graph("held")
    state = script((TAKE, 0, 1), (PUSH_ONCE, 1, 1), nap_ns=200_000)
    if holder == "source":
        sender = graph.typed_source("slow", compiled("slow_source"), (NUMBER, NUMBER), state)
    else:
        if holder == "loop":  # which never has to wait
            sender = graph.typed_loop("loop", compiled("scripted"), NUMBER, (NUMBER, NUMBER), state)
        else:
            sender = graph.typed("slow", one_among_many, NUMBER, (NUMBER, NUMBER))
        graph.connect(graph.typed_source("source", until_seen, NUMBER), sender)
    graph.connect(sender.output(0), graph.typed_sink("many", lambda port, row: None, NUMBER))
    graph.connect(sender.output(1), graph.typed_sink("one", lambda port, row: seen.set(), NUMBER))
    engine = open_engine(graph, Coroutine(2, queue_capacity=100_000))
    engine.start()
    arrived = seen.wait(60)
    totals = engine.stop(drain=False, timeout_s=10.0)
    assert arrived and totals.correct
