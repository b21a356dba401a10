"""Operators with a loop of their own: what they get, what they send, how they end, and what they
see (C-Stream §2.3).
"""

from __future__ import annotations

import asyncio
import ctypes
import threading
from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.building import shared_library
from harness.engine import Totals, open_engine
from harness.errors import UserError
from harness.graph import Graph, GraphError, Threading
from harness.graph.files.file import load_graph
from harness.graph.kinds import SINK
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Multilevel
from tests.runtime.shapes import until as wait_until


class Asked(ctypes.Structure):
    """Parameters of loops.c, and what it has seen."""

    _fields_ = (
        ("mode", ctypes.c_uint32),
        ("counts", ctypes.c_uint32 * 4),
        ("port", ctypes.c_uint32),
        ("answer", ctypes.c_int32),
        ("taken", ctypes.c_uint64),
        ("damaged", ctypes.c_uint64),
        ("waiting", ctypes.c_uint64),
        ("kept", ctypes.c_void_p),
    )


@cache
def compiled() -> ctypes._CFuncPtr:
    run = ctypes.CDLL(str(shared_library(Path(__file__).parent / "loops.c"))).run
    run.argtypes, run.restype = (ctypes.c_void_p, ctypes.c_void_p), ctypes.c_int32
    return run


def value_for(sequence: int) -> float:
    """Return the value of a tuple as its source makes it."""
    return 1.0 + sequence % 1024 / 1024


def loop_graph(
    function: object, inputs: int = 1, outputs: int = 1, state: object = None, payload: int = 32
) -> Graph:
    """`inputs` sources, each before a port of the loop, and `outputs` sinks behind it; none: the
    loop is one.
    """
    graph = Graph("loop", payload)
    loop = graph.loop("loop", function, inputs, outputs, state)
    for port in range(inputs):
        graph.connect(graph.source(f"source{port}"), loop.input(port))
    for port in range(outputs):
        graph.connect(loop.output(port), graph.sink(f"sink{port}"))
    return graph


def run(graph: Graph, tuples: int = 2000, threads: int = 2, **options: object) -> Totals:
    """To the end."""
    engine = open_engine(graph, Coroutine(threads, **options), tuples=tuples)
    engine.start()
    wait_until(engine, lambda sample: engine.finished())
    return engine.stop(drain=True, timeout_s=5.0)


def cut_short(graph: Graph, until: threading.Event, threads: int = 2) -> Totals:
    """Without a bound, ended in the middle once `until` is set."""
    engine = open_engine(graph, Coroutine(threads))
    engine.start()
    try:
        assert until.wait(60)
    finally:
        totals = engine.stop(drain=False, timeout_s=5.0)
    return totals


def received(totals: Totals, graph: Graph) -> list[int]:
    """Tuples at each sink."""
    places = [
        place for place, operator in enumerate(graph.operators.values()) if operator.kind is SINK
    ]
    return [totals.processed[place] for place in places]


# -- what they get ---------------------------------------------------------------------------------


def test_for_takes_every_tuple_in_order_and_pushes_what_it_likes():
    seen = []

    async def double(ctx):
        async for value in ctx.input:
            seen.append((ctx.input.sequence, value))
            await ctx.push(2 * value)

    totals = run(graph := loop_graph(double))
    assert totals.correct and totals.drained and totals.in_flight == 0
    assert seen == [(sequence, value_for(sequence)) for sequence in range(2000)]
    assert received(totals, graph) == [2000]


def test_batches_hold_what_waits_and_no_more_than_was_asked_for():
    batches = []

    async def add(ctx):
        async for batch in ctx.input.batches(16):
            batches.append(batch)
            await ctx.push(sum(batch))

    totals = run(loop_graph(add))
    assert totals.correct and totals.received == len(batches)
    assert all(1 <= len(batch) <= 16 for batch in batches) and max(map(len, batches)) > 1
    assert [value for batch in batches for value in batch] == [
        value_for(sequence) for sequence in range(2000)
    ]


def test_a_loop_without_output_ports_is_a_sink_with_its_account_and_latency():
    taken = []

    async def collect(ctx):
        async for value in ctx.input:
            taken.append(value)

    graph = Graph("ends in a loop")
    loop = graph.loop("collect", collect, outputs=0)
    graph.connect(graph.source("source"), work := graph.work("work"))
    graph.connect(work, loop)
    engine = open_engine(graph, Coroutine(2), tuples=2000)
    engine.start()
    wait_until(engine, lambda sample: sum(sample.latency_counts) > 0)
    totals = engine.stop(drain=True, timeout_s=20.0)
    assert (
        totals.correct
        and totals.drained
        and totals.received == len(taken) == 2000
        and totals.in_flight == 0
    )
    assert totals.latency_max_ns > 0


def test_a_loop_that_is_a_sink_loses_nothing_when_the_run_is_cut_short():
    some = threading.Event()

    async def collect(ctx):
        async for _ in ctx.input:
            some.set()

    totals = cut_short(loop_graph(collect, outputs=0), some)
    assert totals.correct and 0 < totals.received == totals.sent - totals.in_flight


@pytest.mark.parametrize("between", ("nothing", "work", "barrier"))
def test_values_of_a_loop_may_be_new_ones_before_a_barrier_too(between):
    async def twice(ctx):
        async for value in ctx.input:
            await ctx.push(2 * value)

    graph = Graph("barriers")
    last = graph.source("a") >> graph.loop("twice", twice)
    if between == "work":
        last = last >> graph.work("work", 10)
    if between == "barrier":
        inner = graph.barrier("inner")
        last >> inner.input(0)
        graph.source("c") >> inner.input(1)
        last = inner
    barrier = graph.barrier("barrier")
    last >> barrier.input(0)
    graph.source("b") >> barrier.input(1) >> graph.sink("sink")
    totals = run(graph, tuples=100)
    assert totals.correct and totals.checksum_ok and totals.received == 100, totals


def test_wait_all_takes_from_several_ports_at_once():
    pairs = []

    async def barrier(ctx):
        while await ctx.wait_all({0: 1, ctx.inputs[1]: 2}):
            pairs.append((ctx.inputs[0].pop(), ctx.inputs[1].pop(), ctx.inputs[1].pop()))
            await ctx.push(0)

    totals = run(loop_graph(barrier, 2))
    assert totals.correct and totals.drained and totals.received == 1000
    assert pairs == [(value_for(i), value_for(2 * i), value_for(2 * i + 1)) for i in range(1000)]
    assert totals.processed[:1] == [4000]  # what it left behind has ended there


def test_wait_any_tells_which_ports_have_enough():
    taken = [0, 0]

    async def collect(ctx):
        assert (
            repr(ctx.input) == "<input port 0 of operator 'loop'>"
            and ctx.outputs == 1
            and not ctx.stopping
        )
        while ports := await ctx.wait_any({0: 1, 1: 10}):
            for port in ports:
                assert len(port) >= (1, 10)[port.index]
                for _ in range((1, 10)[port.index]):
                    await ctx.push(port.pop())
                    taken[port.index] += 1
        assert ctx.inputs[0].closed and ctx.inputs[1].closed

    totals = run(loop_graph(collect, 2))
    assert totals.correct and totals.received == 4000 and taken == [2000, 2000]


def test_a_wait_that_need_not_wait_does_not_suspend():
    class Counted:
        def __init__(self, awaited):
            self.awaited, self.suspensions = awaited, 0

        def __await__(self):
            step = self.awaited.__await__()
            while True:
                try:
                    wanted = next(step)
                except StopIteration as done:
                    return done.value
                self.suspensions += 1
                yield wanted

    at_once = []

    async def count(ctx):
        while await ctx.wait_any(50):
            for _ in range(50):
                counted = Counted(ctx.wait_all(1))
                assert await counted is True
                at_once.append(counted.suspensions == 0)
                ctx.input.pop()
        async for _ in ctx.input:
            pass

    totals = run(loop_graph(count, outputs=0), queue_capacity=64)
    assert totals.correct and len(at_once) == 2000
    assert sum(at_once) > 1000  # of the others, the time was up for which a loop may go on


@settings(max_examples=25)
@given(
    st.data(),
    st.integers(1, 3),
    st.integers(0, 300),
    st.sampled_from((4, 7, 64, None)),
    st.sampled_from(("oldest_source", "random", "max_running_time")),
    st.sampled_from((50.0, 0.02)),
)
def test_nothing_is_lost_in_trees_of_loops(data, threads, tuples, capacity, policy, quantum_ms):
    """Loops of all kinds that join independent streams: how many tuples each sends follows from
    what it gets.
    """
    graph = Graph("tree", data.draw(st.sampled_from((0, 8, 100))))
    open_ends: list[tuple[object, int]] = []
    for number in range(data.draw(st.integers(1, 4))):
        source = graph.source(f"source{number}", window=data.draw(st.sampled_from((0, 0, 1, 10))))
        open_ends.append((source, tuples))
    states, expected = [], []
    for number in range(data.draw(st.integers(1, 5))):
        inputs = data.draw(st.integers(1, min(3, len(open_ends))))
        outputs, any_ = data.draw(st.integers(1, 2)), data.draw(st.booleans())
        counts = [data.draw(st.integers(1, 4)) for _ in range(inputs)]
        given_, open_ends = open_ends[:inputs], open_ends[inputs:]
        rounds = [arriving // count for (_, arriving), count in zip(given_, counts, strict=True)]
        function, state = a_loop(counts, any_, python=data.draw(st.booleans()))
        states.append(state)
        loop = graph.loop(f"loop{number}", function, inputs, outputs, state)
        for port, (end, _) in enumerate(given_):
            graph.connect(end, loop.input(port))
        sent = sum(rounds) if any_ else min(rounds)
        open_ends.append((loop.output(0), sent))
        for port in range(
            1, outputs
        ):  # joined with the first again, it could fill a queue while the other is waited for
            graph.connect(loop.output(port), graph.sink(f"aside{number}"))
            expected.append(sent)
        if data.draw(st.booleans()):
            end, arriving = open_ends.pop(0)
            work = graph.work(f"work{number}", data.draw(st.sampled_from((0, 200))))
            graph.connect(end, work)
            open_ends.append((work, arriving))
    for number, (end, _) in enumerate(open_ends):
        graph.connect(end, graph.sink(f"sink{number}"))
    totals = run(
        graph, tuples, threads, policy=policy, quantum_ms=quantum_ms, queue_capacity=capacity
    )
    assert totals.correct and totals.drained and totals.in_flight == 0 and totals.order_checked, (
        totals
    )
    assert received(totals, graph) == expected + [arriving for _, arriving in open_ends]
    assert all(state is None or state.damaged == 0 for state in states)


def a_loop(counts: list[int], any_: bool, python: bool) -> tuple[object, Asked | None]:
    if not python:
        return compiled(), Asked(mode=int(any_), counts=(ctypes.c_uint32 * 4)(*counts))

    async def all_of(ctx):
        while await ctx.wait_all(dict(enumerate(counts))):
            for port, count in zip(ctx.inputs, counts, strict=True):
                for _ in range(count):
                    port.pop()
            for output in range(ctx.outputs):
                await ctx.push(1.0, output)

    async def any_of(ctx):
        while ports := await ctx.wait_any(dict(enumerate(counts))):
            for port in ports:
                for _ in range(counts[port.index]):
                    port.pop()
                for output in range(ctx.outputs):
                    await ctx.push(1.0, output)

    return any_of if any_ else all_of, None


# -- how they end ----------------------------------------------------------------------------------


def test_a_run_cut_short_closes_the_function_so_that_finally_works():
    told, began = [], threading.Event()

    async def endless(ctx):
        try:
            async for value in ctx.input:
                began.set()
                await ctx.push(value)
        finally:
            told.append(ctx.stopping)
            await ctx.push(1.0)  # goes nowhere, and does not wait
            told.append(await ctx.wait_all(1))

    totals = cut_short(loop_graph(endless), began)
    assert totals.correct and not totals.stuck and not totals.drained
    assert told == [True, False]


def test_a_run_cut_short_ends_a_function_that_waits_for_what_never_comes():
    began, ended = threading.Event(), threading.Event()

    async def waits(ctx):
        began.set()
        try:
            await ctx.wait_all({0: 1, 1: 1})
        finally:
            ended.set()

    graph = Graph("silent")
    loop = graph.loop("loop", waits, 2)
    graph.connect(graph.source("source"), loop.input(0))
    drops = graph.filter("none", 0.0)
    graph.connect(graph.source("other"), drops)
    graph.connect(drops, loop.input(1))
    graph.connect(loop, graph.sink("sink"))
    totals = cut_short(graph, began)
    assert totals.correct and ended.is_set() and totals.processed[0] == 0


def test_a_failure_elsewhere_closes_the_function_too():
    ended = threading.Event()

    async def waits(ctx):
        try:
            async for value in ctx.input:
                await ctx.push(value)
        finally:
            ended.set()

    def fails(sequence, value):
        if sequence == 100:
            raise ValueError("enough")
        return value

    graph = Graph("fails")
    loop, bad = graph.loop("loop", waits), graph.python("bad", fails)
    graph.connect(graph.source("source"), loop)
    graph.connect(loop, bad)
    graph.connect(bad, graph.sink("sink"))
    totals = run(graph, tuples=10**6)
    assert "enough" in totals.error and not totals.stuck and ended.is_set()


def test_a_compiled_loop_sees_that_the_run_is_over():
    asked, graph = Asked(mode=4), None
    graph = loop_graph(compiled(), state=asked)
    engine = open_engine(graph, Coroutine(1))
    engine.start()
    wait_until(engine, lambda sample: sample.sink_tuples > 0)  # the source may have no turn
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert totals.correct and not totals.stuck


def test_loops_without_outputs_and_a_stop_that_drains():
    taken = []

    async def collect(ctx):
        async for value in ctx.input:
            taken.append(value)

    engine = open_engine(loop_graph(collect, outputs=0), Coroutine(2))
    engine.start()
    wait_until(engine, lambda sample: len(taken) > 0)
    totals = engine.stop(drain=True, timeout_s=20.0)
    assert (
        totals.correct
        and totals.drained
        and totals.in_flight == 0
        and len(taken) == totals.processed[0]
    )


# -- control ports ---------------------------------------------------------------------------------


def feedback_graph(function: object, state: object = None) -> Graph:
    """Return what the loop sends comes back to its control port."""
    graph = Graph("feedback", 32)
    loop, behind = graph.loop("loop", function, 1, 2, state), graph.work("behind", 1)
    graph.connect(graph.source("source", window=100), loop)
    graph.connect(loop.output(0), behind)
    graph.connect(behind, graph.control(loop))
    graph.connect(behind, graph.sink("sink"))
    graph.connect(loop.output(1), graph.sink("aside"))
    return graph


@pytest.mark.parametrize("threads", (1, 3))
@pytest.mark.parametrize("capacity", (1, 64, None))
def test_what_a_loop_sends_may_come_back_to_its_control_port(threads, capacity):
    seen = []

    async def process(ctx):
        assert len(ctx.inputs) == 1 and ctx.control == 0.0
        async for _ in ctx.input:
            seen.append(ctx.control)
            await ctx.push(float(len(seen)))
            await ctx.push(0.0, 1)

    totals = run(graph := feedback_graph(process), threads=threads, queue_capacity=capacity)
    assert totals.correct and totals.drained and totals.order_checked and totals.in_flight == 0, (
        totals
    )
    assert (
        received(totals, graph) == [2000, 2000] and totals.received == 4000
    )  # what a control port absorbs is not received
    assert seen == sorted(seen) and 0 < seen[-1] <= 2000


def test_a_compiled_loop_reads_its_control_port():
    asked = Asked(mode=5)
    totals = run(feedback_graph(compiled(), asked))
    assert totals.correct and totals.drained and asked.taken == 2000
    assert asked.damaged == 0 and asked.answer == 1  # never back, and there at the end


def test_a_loop_is_controlled_by_a_stream_that_outlives_its_own():
    ended = threading.Event()

    async def takes_none(ctx):
        while await ctx.wait_all(1):
            ctx.input.pop()
        ended.set()

    graph = Graph("controlled")
    loop = graph.loop("loop", takes_none, 1, 0)
    few = graph.filter("none", 0.0)
    graph.chain(graph.source("source"), few, loop)
    graph.chain(graph.source("other"), graph.control(loop))
    totals = run(graph, tuples=5000)
    assert totals.correct and totals.drained and ended.is_set() and totals.received == 0


def test_a_cycle_of_loops_is_cut_short_without_a_deadlock():
    came = threading.Event()

    async def process(ctx):
        async for value in ctx.input:
            await ctx.push(value)
            await ctx.push(value, 1)
            if ctx.control > 0:
                came.set()

    totals = cut_short(feedback_graph(process), came)
    assert totals.correct and not totals.stuck


def test_the_simulator_refuses_a_loop_with_a_control_port():
    with pytest.raises(
        UserError,
        match=r"^operator 'loop' is of kind loop: a user's own operator cannot be simulated without a profile$",
    ):
        open_engine(feedback_graph(raises), Coroutine(2), simulated=True)


# -- what they are told ----------------------------------------------------------------------------


async def pushes_too_far(ctx):
    await ctx.push(1.0, 2)


async def waits_too_far(ctx):
    await ctx.wait_all({2: 1})


async def waits_for_too_many(ctx):
    await ctx.wait_any({1: 65})


async def waits_for_nothing(ctx):
    await ctx.wait_any({})


async def waits_for_none(ctx):
    await ctx.wait_all(0)


async def waits_for_what(ctx):
    await ctx.wait_all([1, 1])


async def pops_nothing(ctx):
    while await ctx.wait_all(1):
        while True:
            ctx.input.pop()


async def raises(ctx):
    async for _ in ctx.input:
        if ctx.input.sequence == 41:
            raise KeyError("no")


async def pushes_text(ctx):
    await ctx.push("one")


async def does_not_await(ctx):
    for _ in range(100):
        ctx.push(1.0)


async def yields_to_asyncio(ctx):
    await rests()


async def rests():
    await asyncio.sleep(0)


async def sleeps(ctx):
    await asyncio.sleep(0.01)


async def awaits_a_future(ctx):
    loop = asyncio.new_event_loop()
    try:
        await loop.create_future()
    finally:
        loop.close()


async def awaits_an_awaitable_of_its_own(ctx):
    class Nothing:
        def __await__(self):
            yield

    await Nothing()


async def asks_for_control(ctx):
    await ctx.push(ctx.control)


async def waits_for_control(ctx):
    await ctx.wait_any({"control": 1})


async def waits_for_itself(ctx):
    own = again(ctx)
    await own


async def again(ctx):
    import gc

    mine = next(
        each
        for each in gc.get_objects()
        if getattr(each, "__name__", "") == "waits_for_itself" and hasattr(each, "cr_frame")
    )
    await mine


FOREIGN = (
    "for which nothing would resume it: a loop may await wait_all, wait_any, push and sleep "
    "of its context, async for over its ports, "
    "and functions that await no more (after 0 tuples)"
)
COUNT = "count must be from 1 to 64, the capacity of the queue before input port"
REFUSED = {
    pushes_too_far: "raised ValueError: push: output port must be from 0 to 0, not 2",
    waits_too_far: "raised ValueError: wait_all: input port must be from 0 to 1, not 2",
    waits_for_too_many: f"raised ValueError: wait_any: {COUNT} 1, not 65",
    waits_for_nothing: "raised ValueError: wait_any: counts must name one input port at least",
    waits_for_none: f"raised ValueError: wait_all: {COUNT} 0, not 0",
    waits_for_what: "raised TypeError: wait_all: counts must be a number or {port: count}, not [1, "
    "1]",
    pops_nothing: "raised IndexError: pop: no tuple waits at input port 0",
    raises: f"raised KeyError: 'no' (after 42 tuples, {__file__}:",
    pushes_text: "raised TypeError: push: value must be a number, not 'one'",
    does_not_await: "raised RuntimeError: push: the one before it was not awaited",
    yields_to_asyncio: f"awaits asyncio.tasks.sleep, {FOREIGN}",
    sleeps: f"awaits asyncio.tasks.sleep, {FOREIGN}",
    awaits_a_future: f"awaits an object of type _asyncio.Future, {FOREIGN}",
    awaits_an_awaitable_of_its_own: f"awaits an object of type builtins.NoneType, {FOREIGN}",
    asks_for_control: "raised RuntimeError: control: it has no control port; "
    "graph.control(operator) gives it one",
    waits_for_control: "raised ValueError: wait_any: input port must be from 0 to 1, not 'control'",
    waits_for_itself: "raised ValueError: coroutine already executing",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_cannot_be_is_told_in_one_line(function):
    totals = run(loop_graph(function, 2), queue_capacity=64)
    assert (
        totals.error.startswith(f"operator 'loop' {REFUSED[function]}") and "\n" not in totals.error
    )
    assert (
        not totals.correct
        and not totals.stuck
        and totals.checksum_ok
        and totals.order_violations == 0
    )


REFUSED_COMPILED = (
    (Asked(mode=2, port=2), "pop: input port must be from 0 to 1, not 2"),
    (Asked(mode=2, port=9), "push: output port must be from 0 to 0, not 1"),
    (Asked(mode=2, port=16), "wait_all: counts must be above 0 for one port at least"),
    (
        Asked(mode=2, port=16, counts=(ctypes.c_uint32 * 4)(1, 65)),
        "wait_all: count must be at most 64, the capacity of the queue before input port 1, not 65",
    ),
    (Asked(mode=3, answer=-7), "returned -7 (after 0 tuples)"),
)


@pytest.mark.parametrize(
    ("asked", "told"), REFUSED_COMPILED, ids=lambda given: given if isinstance(given, str) else ""
)
def test_a_compiled_loop_is_told_in_one_line(asked, told):
    totals = run(loop_graph(compiled(), 2, state=asked), queue_capacity=64)
    assert totals.error.startswith(f"operator 'loop' {told}")
    assert asked.answer < 0
    assert not totals.stuck and totals.checksum_ok


def test_a_context_is_for_its_own_function_while_that_runs():
    kept, told = [], []

    async def keeps(ctx):
        kept.append(ctx)
        async for value in ctx.input:
            await ctx.push(value)

    async def takes_anothers(ctx):
        async for value in ctx.input:
            if kept and len(told) < 1:
                try:
                    kept[0].push(1.0)
                except RuntimeError as error:
                    told.append(str(error))
            await ctx.push(value)

    graph = Graph("two")
    first, second = graph.loop("first", keeps), graph.loop("second", takes_anothers)
    graph.connect(graph.source("source"), first)
    graph.connect(first, second)
    graph.connect(second, graph.sink("sink"))
    assert run(graph).correct
    assert told == [
        "push: the context of operator 'first' is for its own function alone, while that runs"
    ]
    with pytest.raises(RuntimeError, match="push: operator 'first' has ended"):
        kept[0].push(1.0)
    with pytest.raises(RuntimeError, match="pop: operator 'first' has ended"):
        kept[0].input.pop()


def test_a_port_of_another_operator_is_refused():
    kept, told = [], []

    async def process(ctx):
        kept.append(ctx.input)
        async for value in ctx.input:
            if len(kept) == 2 and kept[0] is not ctx.input and not told:
                try:
                    ctx.wait_all({kept[0]: 1})
                except ValueError as error:
                    told.append(str(error))
            await ctx.push(value)

    graph = Graph("two")
    first, second = graph.loop("first", process), graph.loop("second", process)
    graph.connect(graph.source("source"), first)
    graph.connect(first, second)
    graph.connect(second, graph.sink("sink"))
    assert run(graph, threads=1).correct
    assert len(told) == 1 and "is one of operator" in told[0]


@pytest.mark.parametrize(
    "model", (Manual(), Dedicated(), Dynamic(2), Multilevel(2)), ids=lambda model: model.name
)
def test_another_model_refuses_a_loop(model):
    with pytest.raises(
        UserError,
        match="^operator 'loop' has a loop of its own, which needs the coroutine model, not "
        f"{model.name}$",
    ):
        open_engine(loop_graph(raises), model)


def test_the_simulator_refuses_a_loop():
    with pytest.raises(
        UserError,
        match=r"^operator 'loop' is of kind loop: a user's own operator cannot be simulated without a profile$",
    ):
        open_engine(loop_graph(raises), Coroutine(2), simulated=True)


@pytest.mark.parametrize(
    "wish", (Threading("manual"), Threading("dedicated")), ids=lambda wish: wish.model
)
def test_an_annotation_cannot_make_a_loop_something_else(wish):
    from harness.graph.annotations import in_force

    with in_force(wish):
        graph = loop_graph(raises)
    with pytest.raises(
        UserError, match=r"^operator 'loop' has a loop of its own: it is a co-routine, so neither"
    ):
        open_engine(graph, Coroutine(2))


def test_a_port_of_a_loop_cannot_be_threaded():
    graph = loop_graph(raises)
    graph.threaded_port(graph.operators["loop"].input(0))
    with pytest.raises(
        UserError, match=r"^operator 'loop' has a loop of its own: it is a co-routine, so neither"
    ):
        open_engine(graph, Coroutine(2))


def plain(context):
    return None


@pytest.mark.parametrize(
    ("given_", "told"),
    (
        (
            {"function": plain},
            "operator 'loop': function must be an async function or compiled, not <function plain "
            "at",
        ),
        (
            {"function": raises, "state": 1},
            "operator 'loop': state is for compiled functions; an async function has its own",
        ),
        (
            {"function": raises, "inputs": -1},
            "inputs of operator 'loop' must be a whole number from 0 to 1000000 ports, not -1",
        ),
        (
            {"function": raises, "outputs": -1},
            "outputs of operator 'loop' must be a whole number from 0 to 1000000 ports, not -1",
        ),
        (
            {
                "function": ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
                    lambda loop, state: 0
                )
            },
            "operator 'loop': a loop must not be a callback into Python, as <CFunctionType object "
            "at",
        ),
        (
            {"function": ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(lambda loop: 0)},
            "operator 'loop': a native function must be 'int32_t (millrace_loop *, void *)'; "
            "'int32_t (void *)' takes 1",
        ),
    ),
    ids=("plain", "state", "inputs", "outputs", "callback", "signature"),
)
def test_what_is_no_loop_is_refused_when_it_is_added(given_, told):
    with pytest.raises(GraphError) as refused:
        Graph("g").loop("loop", **given_)
    assert str(refused.value).startswith(told)


def test_a_loop_cannot_wait_for_what_it_sends_itself():
    graph = loop_graph(raises, 1, 2)
    graph.connect(graph.operators["loop"].output(1), graph.operators["loop"].input(0))
    with pytest.raises(GraphError, match="loop"):
        graph.check()


def test_a_loop_stands_in_no_ordered_region():
    graph = Graph("g")
    loop = graph.loop("loop", raises)
    split, merge = graph.split("split", 1), graph.merge("merge")
    graph.connect(graph.source("source"), split)
    graph.connect(split, loop)
    graph.connect(loop, merge)
    graph.connect(merge, graph.sink("sink"))
    with pytest.raises(
        GraphError, match="'loop', between it and its split, may drop, double or divert tuples"
    ):
        graph.check()


def test_a_file_names_a_loop(tmp_path):
    code = """
        async def process(ctx):
            async for value in ctx.input:
                await ctx.push(value)
    """
    file = """
        name: mine
        operators:
        - source: in
        - loop: own
          function: mine.py:process
        - sink: out
        streams: [in -> own, own -> out]
    """
    (tmp_path / "mine.py").write_text(dedent(code))
    (tmp_path / "graph.yaml").write_text(dedent(file))
    totals = run(load_graph(tmp_path / "graph.yaml"))
    assert totals.correct and totals.received == 2000


# -- those that return early -----------------------------------------------------------------------


@pytest.mark.parametrize("capacity", (4, None))
@pytest.mark.parametrize("language", ("Python", "C"))
def test_a_loop_that_returns_early_has_completed_and_its_streams_end(language, capacity):
    async def first_of_each(ctx):
        if await ctx.wait_all(3):
            await ctx.push(sum(port.pop() for port in ctx.inputs))

    seen = []

    async def behind(ctx):
        async for value in ctx.input:
            seen.append(value)

    graph = Graph("early")
    function, state = (first_of_each, None) if language == "Python" else (compiled(), Asked(mode=3))
    loop = graph.loop("loop", function, 2, 1, state)
    for port in range(2):
        graph.connect(graph.source(f"source{port}"), loop.input(port))
    graph.connect(loop, graph.loop("behind", behind, outputs=0))
    totals = run(graph, queue_capacity=capacity)
    assert totals.correct and totals.drained and totals.in_flight == 0, totals
    assert totals.sent == 4000  # nobody is held up by it
    assert seen == ([2.0] if language == "Python" else [])


def test_a_loop_that_returns_early_does_not_end_what_others_send():
    async def first(ctx):
        await ctx.wait_any(1)

    graph = Graph("beside")
    source, sink = graph.source("source"), graph.sink("sink")
    graph.chain(source, graph.loop("first", first), sink)
    graph.connect(source, sink)
    totals = run(graph)
    assert totals.correct and totals.received == 2000, totals


# -- those that are sources ------------------------------------------------------------------------


async def counts(ctx):
    n = 0
    while not ctx.stopping:
        for output in range(ctx.outputs):
            await ctx.push(n, output)
        n += 1


async def counts_for_ever(ctx):
    while True:
        await ctx.push(1.0)


def source_graph(function: object, outputs: int = 1, state: object = None) -> Graph:
    graph = Graph("made")
    source = graph.loop("made", function, 0, outputs, state)
    for output in range(outputs):
        work = graph.work(f"work{output}", cost=10)
        graph.chain(source.output(output), work, graph.sink(f"sink{output}"))
    return graph


SOURCES = {
    "asks": (counts, None),
    "never asks": (counts_for_ever, None),
    "C": (compiled, Asked(mode=4)),
}


@pytest.mark.parametrize("capacity", (4, None))
@pytest.mark.parametrize("which", SOURCES)
def test_a_loop_without_inputs_is_a_source_and_sends_as_many_tuples_as_a_run_asks_for(
    which, capacity
):
    function, state = SOURCES[which]
    graph = source_graph(compiled() if function is compiled else function, 1, state)
    totals = run(graph, 2001, queue_capacity=capacity)
    assert totals.correct and totals.drained and totals.in_flight == 0 and not totals.stuck, totals
    assert totals.sent == totals.received == 2001 and totals.latency_max_ns > 0


@pytest.mark.parametrize("drain", (True, False))
@pytest.mark.parametrize("which", SOURCES)
def test_a_source_that_is_a_loop_ends_when_the_run_is_to_end(which, drain):
    function, state = SOURCES[which]
    graph = source_graph(compiled() if function is compiled else function, 1, state)
    engine = open_engine(graph, Coroutine(2, queue_capacity=16))
    engine.start()
    wait_until(engine, lambda sample: sample.source_tuples > 0)
    totals = engine.stop(drain=drain, timeout_s=5.0)
    assert totals.correct and not totals.stuck, totals
    # The last punctuation may overtake the end of a run that is cut off: it has drained then, too.
    assert totals.drained or not drain, totals
    assert totals.sent == totals.received + totals.in_flight > 0


def test_a_source_that_is_a_loop_may_end_by_itself_and_feed_several_ports():
    async def ten(ctx):
        for n in range(10):
            await ctx.push(n, n % 3)
            await ctx.sleep(0.0001)

    graph = source_graph(ten, 3)
    engine = open_engine(graph, Coroutine(2))
    engine.start()
    while not engine.finished():
        engine.sample(0.01)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.drained and totals.sent == 10, totals
    assert received(totals, graph) == [4, 3, 3]


def test_a_sleeping_loop_lets_others_run_and_ends_at_once():
    others = []

    async def sleeps_for_ever(ctx):
        await ctx.sleep(1000)

    async def others_work(ctx):
        async for value in ctx.input:
            others.append(value)

    graph = source_graph(sleeps_for_ever)
    graph.chain(graph.loop("counts", counts, 0), graph.loop("others", others_work, outputs=0))
    engine = open_engine(graph, Coroutine(1))
    engine.start()
    while len(others) < 100:
        engine.sample(0.01)
    assert engine.stop(drain=True, timeout_s=5.0).correct


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (lambda ctx: ctx.sleep(-1), "sleep: seconds must be from 0 to 1,000,000, not -1"),
        (lambda ctx: ctx.wait_all(1), "wait_all: counts must name one input port at least"),
    ],
)
def test_what_a_source_cannot_do_is_told(function, told):
    async def asks(ctx):
        await function(ctx)

    assert told in run(source_graph(asks)).error


def test_a_loop_must_have_a_port():
    with pytest.raises(GraphError, match="operator 'nothing': a loop must have a port"):
        Graph("none").loop("nothing", counts, 0, 0)
