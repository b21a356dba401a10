"""Replicas of typed operators and of loops: whatever their number, and while it changes, what is
sent is tuple by tuple what one replica would send.
"""

from __future__ import annotations

import ctypes
import itertools
import random
import threading

import pytest

from examples.building import shared_library
from harness.engine import Totals, open_engine
from harness.errors import UserError
from harness.graph import Graph, GraphError
from harness.graph.functions.compiled import LoopFunction, ProcessFunction
from harness.graph.schema import Schema
from harness.models import Coroutine
from harness.models.layout import layout_of

pytestmark = pytest.mark.heavy

NUMBER = Schema("number", {"n": "uint64", "key": "string[8]"})
PART = Schema("part", {"n": "uint64", "part": "uint32", "text": "bytes[84]"})  # of another size
TUPLES = 3000


def parts_of(n: int) -> int:
    """Tuples that are sent for one: none, one or many."""
    return 70 if n % 500 == 7 else n % 4


def part(n: int, place: int) -> dict:
    return {"n": n, "part": place, "text": bytes([n % 251]) * 84}


def scatter(port, values):
    return [(0, part(values["n"], place)) for place in range(parts_of(values["n"]))]


async def scatter_loop(ctx):
    async for values in ctx.input:
        for place in range(parts_of(values["n"])):
            await ctx.push(part(values["n"], place))


async def scatter_batches(ctx):
    async for batch in ctx.input.batches(4):
        assert 1 <= len(batch) <= 4
        for values in batch:
            for place in range(parts_of(values["n"])):
                await ctx.push(part(values["n"], place))


COMPILED = """
#include <string.h>
#include "millrace.h"
struct number { uint64_t n; struct { uint32_t length; char text[8]; } key; } __attribute__((aligned(8)));
struct part { uint64_t n; uint32_t part; uint8_t text[84]; } __attribute__((aligned(8)));
static void scatter(millrace_context* context, const struct number* in) {
  const uint32_t count = in->n % 500 == 7 ? 70 : in->n % 4;
  for (uint32_t place = 0; place < count; ++place) {
    struct part* out = millrace_room(context, 0);
    memset(out, 0, sizeof *out);
    out->n = in->n;
    out->part = place;
    memset(out->text, in->n % 251, 84);
    millrace_send(context, 0);
  }
}
int32_t process(millrace_context* context, uint32_t port, const void* tuple, void* state) {
  scatter(context, tuple);
  return 0;
}
int32_t loop(millrace_loop* loop, void* state) {
  const uint32_t one = 1;
  millrace_tuple tuple;
  while (loop->wait_all(loop, &one) > 0) {
    while (loop->pop(loop, 0, &tuple) > 0) scatter(loop->context, (const void*)tuple.payload);
  }
  return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    source = tmp_path_factory.mktemp("compiled") / "typed_replicas.c"
    source.write_text(COMPILED)
    return ctypes.CDLL(str(shared_library(source)))


def compiled(library, kind, name):
    return kind(ctypes.cast(getattr(library, name), ctypes.c_void_p).value, owners=(library,))


def scattering(graph, library, kind):
    if kind == "typed in Python":
        return graph.typed("work", scatter, NUMBER, PART, stateless=True)
    if kind == "typed in C":
        function = compiled(library, ProcessFunction, "process")
        return graph.typed("work", function, NUMBER, PART, stateless=True)
    if kind == "loop in C":
        function = compiled(library, LoopFunction, "loop")
        return graph.typed_loop("work", function, NUMBER, PART, stateless=True)
    function = scatter_loop if kind == "loop in Python" else scatter_batches
    return graph.typed_loop("work", function, NUMBER, PART, stateless=True)


KINDS = ("typed in Python", "typed in C", "loop in Python", "batches in Python", "loop in C")


def numbers(count: int):
    choose = random.Random(count)
    keys = [choose.choice(("a", "b", "longer", "")) for _ in range(count)]

    def source():
        for n in range(count):
            yield 0, {"n": n, "key": keys[n]}

    return source, keys


def run(graph: Graph, during=None, **options) -> Totals:
    engine = open_engine(graph, Coroutine(**options))
    engine.start()
    for turn in itertools.count():
        if engine.finished():
            break
        if during is not None:
            during(engine, turn)
        engine.sample(0.002 if during else 0.05)
    return engine.stop(drain=True, timeout_s=10.0)


@pytest.mark.parametrize("capacity", (4, None))
@pytest.mark.parametrize("replicas", (1, 2, 5))
@pytest.mark.parametrize("kind", KINDS)
def test_replicas_send_what_one_would_send(library, kind, replicas, capacity):
    graph, kept = Graph("scattered"), []
    source = graph.typed_source("source", numbers(TUPLES)[0], NUMBER)
    sink = graph.typed_sink("sink", lambda port, v: kept.append((v["n"], v["part"])), PART)
    graph.chain(source, scattering(graph, library, kind), sink)
    totals = run(graph, threads=3, replicas=replicas, queue_capacity=capacity)
    assert totals.correct and totals.drained and totals.in_flight == 0, totals
    assert kept == [(n, place) for n in range(TUPLES) for place in range(parts_of(n))]


@pytest.mark.parametrize("kind", KINDS)
def test_replicas_come_and_go_while_tuples_flow(library, kind):
    choose, graph, kept = random.Random(kind), Graph("shaken"), []
    source = graph.typed_source("source", numbers(3 * TUPLES)[0], NUMBER)
    sink = graph.typed_sink("sink", lambda port, v: kept.append((v["n"], v["part"])), PART)
    graph.chain(source, scattering(graph, library, kind), sink)
    totals = run(
        graph,
        lambda engine, turn: engine.set_replicas("work", choose.randint(1, 6)),
        threads=3,
        queue_capacity=16,
    )
    assert totals.correct and totals.drained, totals
    assert kept == [(n, place) for n in range(3 * TUPLES) for place in range(parts_of(n))]


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_with_replicas_that_is_cut_short_accounts_for_every_tuple(library, kind):
    graph, kept = Graph("endless"), []

    def endless():
        n = 0
        while True:
            yield 0, {"n": n, "key": ""}
            n += 1

    begun = threading.Event()

    def keep(port, values):
        kept.append((values["n"], values["part"]))
        if len(kept) == 200:
            begun.set()

    graph.chain(
        graph.typed_source("source", endless, NUMBER),
        scattering(graph, library, kind),
        graph.typed_sink("sink", keep, PART),
    )
    engine = open_engine(graph, Coroutine(3, replicas=3, queue_capacity=16))
    engine.start()
    assert begun.wait(60)
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert totals.correct and not totals.drained, totals
    expected = [(n, place) for n in range(kept[-1][0] + 1) for place in range(parts_of(n))]
    assert kept == expected[: len(kept)]


def counting(graph, kind, counts, busy):
    """Add an operator that says for each tuple how many of its key have come. A state by key needs
    no lock.
    """

    def count(values):
        key = values["key"]
        assert not busy[key], "two replicas have the key at a time"
        busy[key] = True
        counts[key] += 1
        busy[key] = False
        return part(counts[key], 0)

    async def loop(ctx):
        async for values in ctx.input:
            await ctx.push(count(values))

    if kind == "typed":
        return graph.typed("work", lambda port, v: [(0, count(v))], NUMBER, PART, by="key")
    return graph.typed_loop("work", loop, NUMBER, PART, by=("key",))


@pytest.mark.parametrize("capacity", (5, None))
@pytest.mark.parametrize("kind", ("typed", "loop"))
def test_tuples_of_a_key_are_worked_on_one_at_a_time_and_in_order(kind, capacity):
    choose, graph, kept = random.Random(kind), Graph("keyed"), []
    source, keys = numbers(TUPLES)
    counts, busy = dict.fromkeys(set(keys), 0), dict.fromkeys(set(keys), False)
    graph.chain(
        graph.typed_source("source", source, NUMBER),
        counting(graph, kind, counts, busy),
        graph.typed_sink("sink", lambda port, v: kept.append(v["n"]), PART),
    )
    totals = run(
        graph,
        lambda engine, turn: engine.set_replicas("work", choose.randint(1, 5)),
        threads=3,
        queue_capacity=capacity,
    )
    assert totals.correct and totals.drained, totals
    expected, seen = [], dict.fromkeys(counts, 0)
    for key in keys:
        seen[key] += 1
        expected.append(seen[key])
    assert kept == expected


@pytest.mark.parametrize("window", (0, 50))
@pytest.mark.parametrize("payload", (0, 100))
def test_a_loop_on_plain_tuples_may_have_replicas_stateless_and_by_key(payload, window):
    async def doubled(ctx):
        async for value in ctx.input:
            if ctx.input.sequence % 3:
                await ctx.push(2 * value)

    async def same(ctx):
        async for value in ctx.input:
            await ctx.push(value)

    choose, graph, seen = random.Random(payload), Graph("plain", payload), []

    async def keep(ctx):
        async for value in ctx.input:
            seen.append(value)

    graph.chain(
        graph.source("source", window=window),
        graph.loop("doubled", doubled, stateless=True),
        graph.loop("same", same, keys=40),
        graph.loop("sink", keep, outputs=0),
    )
    engine = open_engine(graph, Coroutine(3, replicas=3, queue_capacity=32), tuples=4000)
    engine.start()
    while not engine.finished():
        for name in ("doubled", "same"):
            engine.set_replicas(name, choose.randint(1, 4))
        engine.sample(0.002)
    totals = engine.stop(drain=True, timeout_s=10.0)
    assert totals.correct and totals.drained and totals.in_flight == 0, totals
    values = [1.0 + n % 1024 / 1024 for n in range(4000)]
    assert seen == [2 * value for n, value in enumerate(values) if n % 3]


async def waits_for_two(ctx):
    while await ctx.wait_all(2):
        ctx.input.pop(), ctx.input.pop()


async def returns_early(ctx):
    await ctx.wait_all(1)


async def pushes_before(ctx):
    await ctx.push(part(0, 0))
    async for _ in ctx.input:
        pass


async def pushes_afterwards(ctx):
    async for _ in ctx.input:
        pass
    await ctx.push(part(0, 0))


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (
            waits_for_two,
            "wait_all: count must be 1, since the operator may have replicas, at input",
        ),
        (returns_early, "operator 'work' returned early: an operator that may have replicas must"),
        (pushes_before, "operator 'work' pushed before it had a tuple"),
        (
            pushes_afterwards,
            "operator 'work' pushed before it had a tuple, or when a wait had said",
        ),
    ],
)
@pytest.mark.parametrize("replicas", (1, 3))
def test_what_a_loop_with_replicas_cannot_do_is_told(function, told, replicas):
    graph = Graph("wrong")
    graph.chain(
        graph.typed_source("source", numbers(200)[0], NUMBER),
        graph.typed_loop("work", function, NUMBER, PART, stateless=True),
        graph.typed_sink("sink", lambda port, values: None, PART),
    )
    totals = run(graph, threads=2, replicas=replicas)
    assert told in totals.error and not totals.stuck


def test_an_error_in_a_replica_names_the_operator_and_the_tuple():
    def fails(port, values):
        if values["n"] == 77:
            raise ValueError("no")
        return ()

    graph = Graph("fails")
    graph.chain(
        graph.typed_source("source", numbers(200)[0], NUMBER),
        graph.typed("work", fails, NUMBER, PART, stateless=True),
        graph.typed_sink("sink", lambda port, values: None, PART),
    )
    error = run(graph, threads=2, replicas=3).error
    assert error.startswith("operator 'work' raised ValueError: no (tuple 77,")


def why(add) -> str:
    graph = Graph("single")
    operator = add(graph)
    for port in range(operator.inputs):
        graph.connect(graph.typed_source(f"s{port}", lambda: (), NUMBER), operator.input(port))
    for port in range(operator.outputs):
        sink = graph.typed_sink(f"k{port}", lambda port, values: None, PART)
        graph.connect(operator.output(port), sink)
    with pytest.raises(UserError) as told:
        layout_of(graph, Coroutine(2)).replicated("work", 2)
    return str(told.value)


def test_what_keeps_something_has_no_replicas():
    typed, loop = Graph.typed, Graph.typed_loop
    undeclared = "is declared neither stateless nor by key"
    assert undeclared in why(lambda graph: typed(graph, "work", scatter, NUMBER, PART))
    assert undeclared in why(lambda graph: loop(graph, "work", scatter_loop, NUMBER, PART))
    finish = why(
        lambda graph: typed(graph, "work", scatter, NUMBER, PART, finish=list, stateless=True)
    )
    assert "has a finish, which sends for all tuples together" in finish
    two = why(lambda graph: loop(graph, "work", scatter_loop, (NUMBER,) * 2, PART, stateless=True))
    assert "has 2 input and 1 output ports" in two


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"by": "k"}, "by of operator 'work' must name attributes of number (n, key), not 'k'"),
        ({"by": "n", "stateless": True}, "stateless and keys exclude each other"),
    ],
)
def test_a_key_that_is_not_there_is_told(options, told):
    for add, function in ((Graph.typed, scatter), (Graph.typed_loop, scatter_loop)):
        with pytest.raises(GraphError) as raised:
            add(Graph("wrong"), "work", function, NUMBER, PART, **options)
        assert told in str(raised.value)
