"""Typed operators send none, one or many tuples on any port, under every model, and every tuple is
accounted for.
"""

import ctypes
import random

import numpy as np
import pytest

from examples.building import shared_library
from examples.cython_function import cython_module
from harness.engine import open_engine
from harness.graph import Graph
from harness.graph.functions.c_signature import PROCESS, STEP
from harness.graph.functions.compiled import ProcessFunction, StepFunction
from harness.graph.schema import Schema
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Multilevel
from harness.models.layout import layout_of
from harness.runtime.numba_functions import numba_room_and_send
from tests.runtime.shapes import until

NUMBER = Schema("number", {"n": "uint64"})
PAIR = Schema("pair", {"n": "uint64", "copy": "uint32", "text": "bytes[92]"})
MODELS = {
    "manual": lambda: Manual(),
    "dedicated": lambda: Dedicated(),
    "dedicated, short queues": lambda: Dedicated(queue_capacity=3),
    "dynamic": lambda: Dynamic(threads=3),
    "dynamic, short queues": lambda: Dynamic(threads=2, queue_capacity=3),
    "multilevel": lambda: Multilevel(),
    "coroutine": lambda: Coroutine(threads=2),
    "coroutine, short queues": lambda: Coroutine(threads=2, queue_capacity=3),
}


class Numbers(ctypes.Structure):
    _fields_ = (("next", ctypes.c_uint64), ("end", ctypes.c_uint64))


class Sums(ctypes.Structure):
    _fields_ = (
        ("count", ctypes.c_uint64 * 2),
        ("sum", ctypes.c_uint64 * 2),
        ("ended", ctypes.c_uint64),
    )


@pytest.fixture(scope="module")
def library():
    return ctypes.CDLL(str(shared_library("tests/runtime/typed_operators.c", "-Iharness/native")))


def process(library, name):
    return ProcessFunction(
        ctypes.cast(getattr(library, name), ctypes.c_void_p).value, owners=(library,)
    )


def step(library, name):
    return StepFunction(
        ctypes.cast(getattr(library, name), ctypes.c_void_p).value, owners=(library,)
    )


def graph_of(library, end, scatter=None, gather="gather", finish=True):
    graph, sums = Graph("scattered"), Sums()
    source = graph.typed_source("numbers", step(library, "numbers"), NUMBER, state=Numbers(0, end))
    middle = graph.typed(
        "scatter",
        scatter or process(library, "scatter"),
        NUMBER,
        [PAIR, PAIR],
        finish=step(library, "at_end") if finish else None,
    )
    sink = graph.typed_sink(
        "gather",
        process(library, gather),
        [PAIR, PAIR],
        state=sums,
        finish=step(library, "gathered"),
    )
    graph.connect(source, middle)
    for port in (0, 1):
        graph.connect(middle.output(port), sink.input(port))
    return graph, sums


def expected(end, finish=True):
    count, total = [0, 0], [0, 0]
    for n in range(end):
        for copy in range(3000 if n % 1000 == 7 else n % 5):
            count[copy % 2] += 1
            total[copy % 2] += n * (copy + 1)
    if finish:
        count[1] += 1
        total[1] += (2**32 - 1) * 2
    return count, total


def run(graph, model, tuples=None, during=None):
    engine = open_engine(graph, model, tuples=tuples)
    engine.start()
    while not engine.finished():
        engine.sample(0.02)
        if during is not None:
            during(engine)
    return engine.stop(drain=True, timeout_s=20)


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_each_tuple_that_an_operator_makes_of_another_arrives_once_and_in_order(library, model):
    graph, sums = graph_of(library, 4000)
    totals = run(graph, MODELS[model]())
    count, total = expected(4000)
    assert totals.correct, (
        totals.conservation,
        totals.error,
        totals.order_violations,
        totals.checksum_ok,
    )
    assert totals.drained and totals.order_checked and totals.in_flight == 0
    assert list(sums.count) == count and [each % 2**64 for each in total] == list(sums.sum)
    assert sums.ended == 1 and totals.received == sum(count) and totals.sent == 4000


@pytest.mark.heavy
def test_nothing_is_lost_while_threads_and_queues_change_at_random(library):
    choose = random.Random(7)
    for _ in range(5):
        graph, sums = graph_of(library, 20_000)
        ports = list(graph.input_ports())

        def shake(engine, ports=ports):
            engine.set_threads(choose.randint(1, 4))
            engine.set_queued(choose.sample(ports, choose.randint(0, 3)), choose.random() < 0.5)

        totals = run(
            graph, Dynamic(threads=2, queue_capacity=choose.choice([2, 50, None])), during=shake
        )
        assert totals.correct and list(sums.count) == expected(20_000)[0]


@pytest.mark.parametrize("model", MODELS)
def test_a_run_that_is_cut_short_accounts_for_every_tuple(library, model):
    graph, _ = graph_of(library, 2**60)
    engine = open_engine(graph, MODELS[model]())
    engine.start()
    until(engine, lambda sample: sample.sink_tuples > 0)
    totals = engine.stop(drain=False, timeout_s=5)
    assert totals.correct and not totals.stuck, (totals.conservation, totals.error)
    assert totals.processed[2] == totals.received


def test_a_source_stops_at_the_number_of_tuples_that_is_asked_for(library):
    graph, sums = graph_of(library, 2**60)
    totals = run(graph, Dynamic(threads=2), tuples=1234)
    assert totals.correct and totals.sent == 1234 and list(sums.count) == expected(1234)[0]


def test_a_slot_is_as_large_as_its_own_stream_needs(library):
    graph, _ = graph_of(library, 1)
    graph.check()
    layout = layout_of(graph, Dynamic(threads=2))
    assert [queue.stride for queue in layout.queues] == [64, 192, 192]


def test_an_error_of_a_compiled_function_ends_the_run_and_is_told(library):
    graph, _ = graph_of(library, 666_667)
    totals = run(graph, Dynamic(threads=2))
    assert not totals.correct and totals.error == "operator 'scatter' returned -5 (tuple 666666)"


@pytest.mark.parametrize("model", ["manual", "dynamic"])
def test_the_oracle_finds_a_tuple_that_was_changed_on_its_way(library, model):
    graph, _ = graph_of(library, 100, gather="harm")
    totals = run(graph, MODELS[model]())
    assert not totals.correct and not totals.checksum_ok


@pytest.fixture(scope="module")
def seals():
    library = ctypes.CDLL(str(shared_library("tests/runtime/seal.cpp", "-std=c++20")))
    for name in ("bytes_changed", "bits_changed_in_two_words", "places_changed", "header_changed"):
        getattr(library, name).restype = ctypes.c_uint64
    return library


@pytest.mark.parametrize("lines", [1, 2, 3, 5])
@pytest.mark.parametrize("content", ["noise", "letters", "numbers"])
def test_a_seal_tells_whatever_changes(seals, lines, content):
    stride = 64 * lines
    size = stride - 32  # of content, behind the header
    given = {
        "noise": random.Random(7).randbytes(size),
        "letters": bytes(random.Random(7).choices(b"abcdefghijklmnopqrstuvwxyz", k=size)),
        "numbers": np.arange(size // 8, dtype="u8").tobytes(),
    }[content]
    buffer, stride = ctypes.create_string_buffer(given, size), ctypes.c_size_t(stride)
    assert seals.bytes_changed(buffer, stride) == 0
    assert seals.bits_changed_in_two_words(buffer, stride) == 0
    assert seals.places_changed(buffer, stride, ctypes.c_size_t(8)) == 0
    assert seals.places_changed(buffer, stride, ctypes.c_size_t(32)) == 0
    assert seals.header_changed(buffer, stride) == 0
    assert buffer.raw == given


def numba_scatter():
    import numba

    room, send = numba_room_and_send()
    number, pair = NUMBER.dtype, PAIR.dtype

    @numba.cfunc(PROCESS.numba)
    def scatter(context, port, content, state):
        n = numba.carray(content, 1, number)[0].n
        for copy in range(3000 if n % 1000 == 7 else np.int64(n % 5)):
            out = numba.carray(room(context, copy % 2), 1, pair)[0]
            out.n = n
            out.copy = copy
            send(context, copy % 2)
        return 0

    return scatter


CYTHON = """
from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef extern from "millrace.h" nogil:
    ctypedef struct millrace_context
    void* millrace_room(millrace_context* context, uint32_t output)
    void millrace_send(millrace_context* context, uint32_t output)

cdef struct Pair:
    uint64_t n
    uint32_t copy

cdef api int32_t scatter(millrace_context* context, uint32_t port, const void* tuple_, void* state) noexcept nogil:
    cdef uint64_t n = (<const uint64_t*> tuple_)[0]
    cdef uint32_t copy
    cdef Pair* out
    for copy in range(3000 if n % 1000 == 7 else <uint32_t> (n % 5)):
        out = <Pair*> millrace_room(context, copy % 2)
        out.n = n
        out.copy = copy
        millrace_send(context, copy % 2)
    return 0
"""


def cython_scatter(tmp_path, monkeypatch):
    from pathlib import Path

    source = tmp_path / "scatter_typed.pyx"
    source.write_text(CYTHON)
    monkeypatch.setenv("CC", f"cc -I{Path('harness/native').absolute()}")
    return cython_module(source).__pyx_capi__["scatter"]


def python_scatter(port, values):
    n = values["n"]
    for copy in range(3000 if n % 1000 == 7 else n % 5):
        yield copy % 2, {"n": n, "copy": copy, "text": bytes(92)}


@pytest.mark.heavy
@pytest.mark.parametrize("language", ["numba", "Cython", "Python"])
def test_operators_in_other_languages_do_the_same(library, language, tmp_path, monkeypatch):
    scatter = {
        "numba": numba_scatter,
        "Cython": lambda: cython_scatter(tmp_path, monkeypatch),
        "Python": lambda: python_scatter,
    }[language]()
    for model in (
        Manual(),
        Dedicated(queue_capacity=8),
        Dynamic(threads=2),
        Coroutine(threads=2, queue_capacity=8),
    ):
        graph, sums = graph_of(library, 2010, scatter, finish=False)
        totals = run(graph, model)
        count, total = expected(2010, finish=False)
        assert totals.correct, (totals.conservation, totals.error)
        assert list(sums.count) == count and list(sums.sum) == total


def test_signatures_that_are_shown_are_those_that_are_accepted():
    from harness.graph.functions.c_signature import mismatch

    assert mismatch(PROCESS.c, PROCESS) is None and mismatch(STEP.c, STEP) is None
    assert mismatch(STEP.c, PROCESS) == "takes 2 argument(s), not 4"


def python_graph(function, finish=None, feed=None):
    graph, got = Graph("python"), []
    source = graph.typed_source(
        "source", feed or (lambda: ((0, {"n": n}) for n in range(50))), NUMBER
    )
    middle = graph.typed("middle", function, NUMBER, NUMBER, finish=finish)
    graph.connect(source, middle)
    graph.connect(
        middle, graph.typed_sink("sink", lambda port, values: got.append(values["n"]), NUMBER)
    )
    return graph, got


def test_a_python_operator_sends_its_rest_when_the_last_stream_has_ended():
    held = []

    def hold(port, values):
        held.append(values["n"])

    graph, got = python_graph(hold, lambda: ((0, {"n": n}) for n in reversed(held)))
    assert run(graph, Dynamic(threads=2)).correct
    assert got == list(reversed(range(50)))


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (
            lambda port, values: [(1, values)],
            "operator 'middle' raised ValueError: output port must be from 0 to 0, not 1",
        ),
        (
            lambda port, values: [(0, {"m": 1})],
            "operator 'middle' raised ValueError: a tuple of number must have n",
        ),
        (
            lambda port, values: 1 / 0,
            "operator 'middle' raised ZeroDivisionError: division by zero",
        ),
    ],
)
def test_what_a_python_operator_does_wrong_is_told(function, told):
    graph, _ = python_graph(function)
    totals = run(graph, Dynamic(threads=2))
    assert (
        totals.error.startswith(f"{told} (tuple 0")
        and "\n" not in totals.error
        and not totals.correct
    )


def test_the_tuple_and_the_line_are_told_where_a_python_operator_raises():
    def fragile(port, values):
        for n in range(2):
            yield 0, {"n": n}
            if values["n"] == 17:
                raise KeyError(n)

    graph, _ = python_graph(fragile)
    totals = run(graph, Manual())
    line = fragile.__code__.co_firstlineno + 4
    assert totals.error == f"operator 'middle' raised KeyError: 0 (tuple 17, {__file__}:{line})"


def test_a_typed_graph_cannot_be_simulated_and_that_is_told(library):
    from harness.errors import UserError

    graph, _ = graph_of(library, 10)
    with pytest.raises(
        UserError,
        match="operator 'numbers' is of kind typed source: a user's own operator cannot be "
        "simulated",
    ):
        open_engine(graph, Manual(), "xeon")


def test_content_of_a_numpy_record_is_what_the_schema_says():
    assert PAIR.dtype.itemsize == PAIR.size and np.zeros(1, PAIR.dtype)[0].tobytes() == bytes(
        PAIR.size
    )
