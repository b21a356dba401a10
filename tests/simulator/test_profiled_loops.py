"""Loops, and barriers, filters, splits and merges of typed streams, are simulated as a run here has
shown them: each takes and sends as many tuples for one of the sources as it did.
"""

from dataclasses import replace

import pytest

from examples.barriers import barrier
from harness.engine import open_engine
from harness.engine.profiled import Profiled
from harness.graph import Graph
from harness.graph.annotations import parallel
from harness.graph.schema import Schema
from harness.machines.machine import load_machine
from harness.measurement import profiling
from harness.measurement.profiling import profile
from harness.measurement.simulable import check_simulable, simulable
from harness.models import Coroutine, Dedicated, Dynamic, Manual

NUMBER = Schema("number", {"number": "uint32"})
WORD = Schema("word", {"word": "string[20]"})
PAIR = Schema("pair", {"number": "uint32", "word": "string[20]"})


def numbers():
    for n in range(2**32):
        yield 0, {"number": n}


def words():
    while True:
        yield 0, {"word": "word"}


def same(port, values):
    return [(0, values)]


def joined_by_a_loop():
    """C-Stream's Listing 2 as a loop; two sources send at their own rates."""
    graph = Graph("joined")
    joined = graph.loop("barrier", barrier, inputs=2)
    busy = graph.work("busy", cost=500)
    graph.chain(graph.source("left"), busy, joined.input(0))
    graph.connect(graph.source("right"), joined.input(1))
    graph.connect(joined, graph.sink("sink"))
    return graph


def joined_in_a_ratio():
    """A loop that takes two words for a number, and sends one of each three by its second port."""

    async def entries(ctx):
        titles, found = ctx.inputs
        number = 0
        while await ctx.wait_all({titles: 1, found: 2}):
            entry = {"number": titles.pop()["number"], "word": found.pop()["word"]}
            found.pop()
            await ctx.push(entry, number % 3 == 0)
            number += 1

    graph = Graph("ratio")
    loop = graph.typed_loop("entries", entries, (NUMBER, WORD), (PAIR, PAIR))
    graph.connect(graph.typed_source("numbers", numbers, NUMBER), loop.input(0))
    graph.connect(graph.typed_source("words", words, WORD), loop.input(1))
    graph.connect(loop.output(0), graph.typed_sink("most", lambda port, each: None, PAIR))
    graph.connect(loop.output(1), graph.typed_sink("third", lambda port, each: None, PAIR))
    return graph


def loops_alone():
    """A source, a filter and a sink, all of them loops."""

    async def source(ctx):
        number = 0.0
        while not ctx.stopping:
            await ctx.push(number)
            number += 1

    async def some(ctx):
        async for value in ctx.input:
            if value % 4:
                await ctx.push(value)

    async def sink(ctx):
        async for _ in ctx.input:
            pass

    graph = Graph("loops")
    first, last = graph.loop("source", source, inputs=0), graph.loop("sink", sink, outputs=0)
    graph.chain(first, graph.loop("some", some), last)
    return graph


def listing_one():
    """C-Stream's Listing 1: names, of which some are dropped, each with a value of another source."""
    graph = Graph("listing_one")
    sieve = graph.typed_filter("sieve", lambda each: each["number"] % 3 != 0, NUMBER)
    combiner = graph.typed_barrier("combiner", [NUMBER, WORD])
    graph.chain(graph.typed_source("names", numbers, NUMBER), sieve, combiner)
    graph.connect(graph.typed_source("values", words, WORD), combiner.input(1))
    graph.connect(
        combiner, graph.typed_sink("sink", lambda port, each: None, combiner.typed.gives[0])
    )
    return graph


def figure_one():
    """P17's Figure 1: two replicated parts with a filter between; the second one is split by key."""

    @parallel(width=3)
    def parsed(graph, inlet):
        parse = graph.typed("parse", same, NUMBER, NUMBER, one_for_one=True)
        graph.connect(inlet, parse)
        return parse

    @parallel(width=2, partition_by="number")
    def kept(graph, inlet):
        keep = graph.typed("keep", same, NUMBER, NUMBER, one_for_one=True)
        graph.connect(inlet, keep)
        return keep

    graph = Graph("figure_one")
    some = graph.typed_filter("some", lambda each: each["number"] % 2, NUMBER)
    graph.connect(parsed(graph, graph.typed_source("lines", numbers, NUMBER)), some)
    graph.connect(kept(graph, some), graph.typed_sink("sink", lambda port, each: None, NUMBER))
    return graph


GRAPHS = [joined_by_a_loop, joined_in_a_ratio, loops_alone, listing_one, figure_one]


def profiled_shortly(graph, monkeypatch):
    """Profile for a fraction of a second: counts need no longer, only times do. On a busy machine few
    tuples arrive in it, and what waits in queues distorts their counts: then longer.
    """
    for seconds in (0.05, 0.2, 1.0):
        monkeypatch.setattr(profiling, "SETTLE_S", seconds)
        monkeypatch.setattr(profiling, "LOOK_S", seconds)
        profiled = profile(graph)
        arrived = sum(
            count
            for each, count in zip(graph.operators.values(), profiled.tuples, strict=True)
            if each.is_sink
        )
        if arrived > 60_000:
            break
    return profiled, arrived


def simulated(graph, model, profiled, **options):
    made = simulable(graph, profiled, load_machine("xeon"))
    engine = open_engine(made, model, machine="xeon", profiled=profiled, **options)
    engine.start()
    received = 0
    while received < 20_000:  # of the model's own time, bounded by its events
        received += engine.sample(0.1).sink_tuples
    return engine.stop(drain=False, timeout_s=10.0)


@pytest.mark.heavy
@pytest.mark.parametrize("build", GRAPHS)
def test_each_operator_takes_as_many_tuples_for_one_that_arrives_as_it_did_here(build, monkeypatch):
    graph = build()
    check_simulable(graph)
    profiled, arrived = profiled_shortly(graph, monkeypatch)
    loops = any(each.kind.name == "loop" for each in graph.operators.values())
    models = [Coroutine(2, queue_capacity=64)]
    if not loops:
        models += [Manual(), Dedicated(queue_capacity=64), Dynamic(threads=3, queue_capacity=64)]
    for model in models:
        totals = simulated(graph, model, profiled)
        assert totals.correct and totals.order_checked, (model, totals)
        for operator, here, there in zip(
            graph.operators, profiled.tuples, totals.processed, strict=True
        ):
            # what waits in queues here, and in short ones there
            share = here / arrived
            waiting = (share + 1) * (1000 / arrived + 600 / totals.received)
            assert there / totals.received == pytest.approx(share, rel=0.05, abs=waiting), (
                model,
                operator,
            )


TWO_PYTHON = Profiled("a CPU", (10.0, 20_000.0, 20_000.0, 10.0), ((1.0,),) * 3 + ((),), (9,) * 4)


@pytest.mark.parametrize("typed", [True, False])
@pytest.mark.parametrize("model", [Dedicated, Dynamic, Coroutine])
def test_functions_in_python_take_turns_if_the_interpreter_has_its_lock(typed, model):
    graph = Graph("two")
    if typed:
        source = graph.typed_source("source", numbers, NUMBER)
        two = [graph.typed(name, same, NUMBER, NUMBER) for name in "ab"]
        sink = graph.typed_sink("sink", same, NUMBER)
    else:
        source = graph.source("source")
        two = [graph.python(name, lambda sequence, value: value) for name in "ab"]
        sink = graph.sink("sink")
    graph.chain(source, *two, sink)
    threads = {} if model is Dedicated else {"threads": 4}
    rates = []
    for locked in (True, False):
        profiled = replace(TWO_PYTHON, interpreter_lock=locked)
        made = simulable(graph, profiled, load_machine("xeon"))
        engine = open_engine(
            made, model(queue_capacity=64, **threads), machine="xeon", profiled=profiled
        )
        engine.start()
        engine.sample(0.05)
        rates.append(engine.sample(0.4).sink_tuples)
        assert engine.stop(drain=False, timeout_s=10.0).correct
    assert rates[1] == pytest.approx(2 * rates[0], rel=0.1)


def test_a_loop_takes_its_ports_in_their_ratio_until_one_of_its_sources_has_ended():
    graph = joined_in_a_ratio()
    names = list(graph.operators)
    costs = {"numbers": 10.0, "words": 1000.0, "entries": 100.0, "most": 10.0, "third": 10.0}
    sends = {"numbers": (1.0,), "words": (1.0,), "entries": (0.2, 0.1), "most": (), "third": ()}
    tuples = {"numbers": 1000, "words": 2000, "entries": 3000, "most": 600, "third": 300}
    profiled = Profiled(
        "a CPU",
        tuple(costs[each] for each in names),
        tuple(sends[each] for each in names),
        tuple(tuples[each] for each in names),
    )
    totals = simulated(graph, Coroutine(threads=2), profiled, tuples=None)
    taken = dict(zip(names, totals.processed, strict=True))
    # the fast source waits for the slow one; the loop is a batch ahead at most, and queues are full
    assert totals.correct and taken["entries"] > 3000
    assert taken["most"] == pytest.approx(0.2 * taken["entries"], abs=64)
    engine = open_engine(
        simulable(graph, profiled, load_machine("xeon")),
        Coroutine(threads=2),
        machine="xeon",
        profiled=profiled,
        tuples=5000,
    )
    engine.start()
    while not engine.finished():
        engine.sample(0.01)
    totals = engine.stop(drain=True, timeout_s=10.0)
    assert totals.correct and totals.drained
    assert dict(zip(names, totals.processed, strict=True))["entries"] == 10_000
