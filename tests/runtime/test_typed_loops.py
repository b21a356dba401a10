"""Operators with a loop of their own on typed streams: what they take and push, what is checked,
and what they see.
"""

from __future__ import annotations

import ctypes
import threading
from functools import cache

import pytest

from examples.building import shared_library
from harness.engine import Totals, open_engine
from harness.errors import UserError
from harness.graph import Graph, GraphError
from harness.graph.schema import Schema
from harness.models import Coroutine, Dynamic
from tests.runtime.shapes import until

NUMBER = Schema("number", {"n": "uint64"})
PAIR = Schema("pair", {"left": "uint64", "right": "uint64", "text": "string[12]"})


class Ways(ctypes.Structure):
    _fields_ = (("mode", ctypes.c_uint32), ("answer", ctypes.c_int32))


@cache
def compiled() -> ctypes._CFuncPtr:
    join = ctypes.CDLL(str(shared_library("tests/runtime/typed_loops.c", "-Iharness/native"))).join
    join.argtypes, join.restype = (ctypes.c_void_p, ctypes.c_void_p), ctypes.c_int32
    return join


async def join(ctx):
    assert [port.schema for port in ctx.inputs] == [NUMBER, NUMBER]
    while await ctx.wait_all(1):
        left, right = (port.pop()["n"] for port in ctx.inputs)
        await ctx.push({"left": left, "right": right, "text": "a" * (left % 13)})


def numbers(count: int, by: int = 1):
    def source():
        for n in range(count):
            yield 0, {"n": n * by}

    return source


def joined(function: object, tuples: int = 2000, state: object = None) -> tuple[Graph, list]:
    """Two sources, the loop that joins them, and a sink that keeps what comes."""
    graph, kept = Graph("joined"), []
    loop = graph.typed_loop("loop", function, (NUMBER, NUMBER), PAIR, state)
    for port, by in enumerate((1, 3)):
        graph.connect(
            graph.typed_source(f"source{port}", numbers(tuples, by), NUMBER), loop.input(port)
        )
    graph.connect(loop, graph.typed_sink("sink", lambda port, pair: kept.append(pair), PAIR))
    return graph, kept


def run(graph: Graph, threads: int = 2, **options: object) -> Totals:
    engine = open_engine(graph, Coroutine(threads, **options))
    engine.start()
    until(engine, lambda sample: engine.finished())
    return engine.stop(drain=True, timeout_s=5.0)


@pytest.mark.parametrize("threads", (1, 3))
@pytest.mark.parametrize("capacity", (4, None))
@pytest.mark.parametrize("language", ("Python", "C"))
def test_a_loop_joins_two_typed_streams(language, capacity, threads):
    graph, kept = joined(*((join,) if language == "Python" else (compiled(), 2000, Ways())))
    totals = run(graph, threads, queue_capacity=capacity)
    assert totals.correct and totals.drained and totals.in_flight == 0 and totals.order_checked, (
        totals
    )
    assert kept == [{"left": n, "right": 3 * n, "text": "a" * (n % 13)} for n in range(2000)]


def test_a_typed_loop_takes_by_for_and_in_batches_and_sends_different_schemas():
    async def spread(ctx):
        async for number in ctx.input:
            for _ in range(number["n"] % 3):
                await ctx.push(number)
            if number["n"] == 1000:
                break
        async for batch in ctx.input.batches(8):
            assert 1 <= len(batch) <= 8
            for number in batch:
                await ctx.push({"left": number["n"], "right": ctx.input.sequence, "text": ""}, 1)

    async def collect(ctx):
        async for number in ctx.input:
            kept.append(number["n"])

    graph, kept, pairs = Graph("spread"), [], []
    loop = graph.typed_loop("loop", spread, NUMBER, (NUMBER, PAIR))
    graph.connect(graph.typed_source("source", numbers(2000), NUMBER), loop)
    graph.connect(loop.output(0), graph.typed_loop("collect", collect, NUMBER, ()))
    graph.connect(
        loop.output(1),
        graph.typed_sink("pairs", lambda port, pair: pairs.append(pair["left"]), PAIR),
    )
    totals = run(graph)
    assert totals.correct and totals.drained, totals
    assert kept == [n for n in range(1001) for _ in range(n % 3)] and pairs == list(
        range(1001, 2000)
    )
    assert (
        totals.received == len(kept) + len(pairs) and totals.latency_max_ns > 0
    )  # a loop without output ports is a sink


def test_a_loop_between_compiled_typed_operators_and_a_run_cut_short():
    some = threading.Event()

    def endless():
        n = 0
        while True:
            yield 0, {"n": n}
            n += 1

    async def passes(ctx):
        async for number in ctx.input:
            await ctx.push(number)
            some.set()

    graph = Graph("endless")
    loop = graph.typed_loop("loop", passes, NUMBER, NUMBER)
    graph.connect(graph.typed_source("source", endless, NUMBER), loop)
    graph.connect(loop, graph.typed_sink("sink", lambda port, number: None, NUMBER))
    engine = open_engine(graph, Coroutine(2))
    engine.start()
    assert some.wait(60)
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert totals.correct and not totals.stuck, totals


async def changes_what_it_has_not(ctx):
    await ctx.push({"left": 1, "right": 2})


async def pushes_a_number(ctx):
    await ctx.push(1.0)


async def pushes_long_text(ctx):
    await ctx.push({"left": 1, "right": 2, "text": "a" * 13})


async def pushes_a_negative_number(ctx):
    await ctx.push({"left": -1, "right": 2, "text": ""})


async def pushes_too_far(ctx):
    await ctx.push({"n": 1}, 1)


async def does_not_await(ctx):
    for _ in range(100):
        ctx.push({"left": 1, "right": 2, "text": ""})


REFUSED = {
    changes_what_it_has_not: "raised ValueError: a tuple of pair must have left, right, text, not "
    "left, right (",
    pushes_a_number: "raised TypeError: push: value must be a mapping with the attributes of pair, "
    "not 1.0 (",
    pushes_long_text: "raised ValueError: pair.text must have at most 12 bytes, not 13 (",
    pushes_a_negative_number: "raised ValueError: a tuple of pair cannot be made of {'left': -1, "
    "'right': 2, 'text': ''}: ",
    pushes_too_far: "raised ValueError: push: output port must be from 0 to 0, not 1 (",
    does_not_await: "raised RuntimeError: push: the one before it was not awaited (",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_does_not_fit_the_schema_is_told_in_one_line(function):
    totals = run(joined(function)[0])
    assert (
        totals.error.startswith(f"operator 'loop' {REFUSED[function]}") and "\n" not in totals.error
    )
    assert (
        not totals.correct
        and not totals.stuck
        and totals.checksum_ok
        and totals.order_violations == 0
    )


@pytest.mark.parametrize(
    ("mode", "told"),
    (
        (
            1,
            "push: its streams have schemas: write the tuple into millrace_room, and call "
            "millrace_send",
        ),
        (2, "send: output port must be from 0 to 0, not 1"),
    ),
)
def test_a_compiled_typed_loop_is_told_in_one_line(mode, told):
    totals = run(joined(compiled(), state=Ways(mode))[0])
    assert totals.error == f"operator 'loop' {told}" and totals.checksum_ok and not totals.stuck


@pytest.mark.parametrize("behind", ("operator", "loop"))
def test_content_that_changes_behind_a_loop_is_found(behind):
    async def collect(ctx):
        async for _ in ctx.input:
            pass

    graph = Graph("damaged")
    loop = graph.typed_loop("loop", compiled(), (NUMBER, NUMBER), PAIR, Ways(mode=3))
    for port in range(2):
        graph.connect(graph.typed_source(f"source{port}", numbers(200), NUMBER), loop.input(port))
    if behind == "loop":
        graph.connect(loop, graph.typed_loop("collect", collect, PAIR, ()))
    else:
        graph.connect(loop, graph.typed_sink("sink", lambda port, pair: None, PAIR))
    totals = run(graph)
    assert (
        not totals.checksum_ok
        and not totals.correct
        and totals.received == 200
        and totals.order_violations == 0
    )


def test_schemas_of_a_loop_must_fit_its_streams():
    graph = Graph("unfit")
    loop = graph.typed_loop("loop", join, PAIR, NUMBER)
    graph.chain(
        graph.typed_source("source", numbers(1), NUMBER),
        loop,
        graph.typed_sink("sink", lambda port, n: None, NUMBER),
    )
    with pytest.raises(GraphError, match=r"has tuples of number, but the port takes pair"):
        graph.check()


def test_an_untyped_loop_stands_in_no_typed_graph():
    graph = Graph("mixed")
    loop = graph.loop("loop", join)
    graph.chain(
        graph.typed_source("source", numbers(1), NUMBER),
        loop,
        graph.typed_sink("sink", lambda port, n: None, NUMBER),
    )
    with pytest.raises(GraphError, match=r"'source' is typed and 'loop' is not"):
        graph.check()


def test_what_a_typed_loop_cannot_have_is_told():
    graph = Graph("g")
    loop = graph.typed_loop("loop", join, NUMBER, NUMBER)
    with pytest.raises(
        GraphError,
        match=r"^operator 'loop': a typed loop cannot have a control port, whose tuples have no "
        r"schema$",
    ):
        graph.control(loop)
    with pytest.raises(
        GraphError,
        match=r"takes of operator 'other' must be harness.graph.schema.Schema, not 'number'",
    ):
        graph.typed_loop("other", join, ["number"], NUMBER)
    with pytest.raises(
        GraphError,
        match=r"operator 'other': function must be an async function or compiled, not <function",
    ):
        graph.typed_loop("other", lambda ctx: None, NUMBER, NUMBER)


def test_other_models_and_the_simulator_refuse_a_typed_loop():
    with pytest.raises(
        UserError,
        match=r"^operator 'loop' has a loop of its own, which needs the coroutine model, not "
        r"dynamic$",
    ):
        open_engine(joined(join)[0], Dynamic(2))
    graph = joined(join)[0]
    with pytest.raises(UserError, match=r"cannot be simulated without a profile$"):
        open_engine(graph, Coroutine(2), simulated=True)


def test_a_typed_loop_without_inputs_is_a_source():
    async def numbers_and_pairs(ctx):
        n = 0
        while not ctx.stopping:
            await ctx.push({"n": n}, 0)
            if n % 3 == 0:
                await ctx.push({"left": n, "right": 0, "text": ""}, 1)
            n += 1

    graph, kept = Graph("made"), ([], [])
    source = graph.typed_loop("made", numbers_and_pairs, (), (NUMBER, PAIR))
    for output, (schema, name) in enumerate(((NUMBER, "n"), (PAIR, "left"))):
        seen = kept[output]
        sink = graph.typed_sink(
            f"sink{output}", lambda port, v, seen=seen, name=name: seen.append(v[name]), schema
        )
        source.output(output) >> sink
    engine = open_engine(graph, Coroutine(2), tuples=999)
    engine.start()
    while not engine.finished():
        engine.sample(0.01)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.drained and totals.latency_max_ns > 0, totals
    assert totals.sent == 999 == len(kept[0]) + len(kept[1])
    assert kept[0] == list(range(len(kept[0]))) and kept[1] == list(range(0, len(kept[0]), 3))
