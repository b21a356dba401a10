"""Barriers and filters of typed streams: what they send, under every model, is what a few lines of
plain Python make of the same tuples.
"""

from __future__ import annotations

import ctypes
import random

import pytest

from examples.building import shared_library
from harness.engine import Totals, open_engine
from harness.graph import Graph, GraphError
from harness.graph.functions.compiled import PredicateFunction
from harness.graph.schema import Schema
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import until

NAME = Schema("name", {"id": "uint32", "name": "string[13]"})
VALUE = Schema("value", {"value": "float64", "id": "uint32"})
FLAG = Schema("flag", {"set": "boolean", "code": "bytes[3]"})
MODELS = {
    "manual": Manual(),
    "dedicated": Dedicated(),
    "dedicated, short queues": Dedicated(queue_capacity=3),
    "dynamic": Dynamic(threads=4),
    "dynamic, short queues": Dynamic(threads=4, queue_capacity=3),
    "coroutine": Coroutine(threads=2),
    "coroutine, short queues": Coroutine(threads=2, queue_capacity=3),
}


def run(graph: Graph, model: Model) -> Totals:
    engine = open_engine(graph, model)
    engine.start()
    until(engine, lambda sample: engine.finished())
    return engine.stop(drain=True, timeout_s=10.0)


def some(schema: Schema, count: int, seed: int) -> list[dict]:
    choose = random.Random(seed)
    made = {
        "id": lambda: choose.randrange(9),
        "name": lambda: choose.choice(["", "é" * 6, "ab"]),
        "value": choose.random,
        "set": lambda: choose.random() < 0.5,
        "code": lambda: choose.randbytes(3),
    }
    return [{name: made[name]() for name, _ in schema.types} for _ in range(count)]


def joined(parts: list[list[dict]], names: list[str]) -> list[dict]:
    """The reference: the first input that has an attribute gives it."""
    sent = []
    for tuples in zip(*parts, strict=False):
        whole: dict = {}
        for each in reversed(tuples):
            whole |= each
        sent.append({name: whole[name] for name in names})
    return sent


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("counts", [(700, 700, 700), (600, 40, 900), (0, 300, 1)])
def test_a_barrier_joins_the_attributes_of_a_tuple_of_each_input(model, counts):
    graph, kept = Graph("joined"), []
    schemas = (NAME, VALUE, FLAG)
    parts = [some(schema, count, 7 * count) for schema, count in zip(schemas, counts, strict=True)]
    barrier = graph.typed_barrier("barrier", schemas)
    for port, (schema, part) in enumerate(zip(schemas, parts, strict=True)):
        source = graph.typed_source(
            f"source{port}", lambda part=part: [(0, v) for v in part], schema
        )
        source >> barrier.input(port)
    gives = barrier.typed.gives[0]
    assert [name for name, _ in gives.types] == ["id", "name", "value", "set", "code"]
    barrier >> graph.typed_sink("sink", lambda port, values: kept.append(values), gives)
    totals = run(graph, MODELS[model])
    assert totals.correct and totals.drained and totals.order_checked, totals
    assert kept == joined(parts, [name for name, _ in gives.types])
    assert totals.received == min(counts) and totals.sent == sum(counts)


@pytest.mark.parametrize("model", ["manual", "dynamic, short queues", "coroutine, short queues"])
def test_a_barrier_that_is_cut_short_accounts_for_every_tuple(model):
    graph = Graph("endless")
    barrier = graph.typed_barrier("barrier", (NAME, VALUE))
    for port, schema in enumerate((NAME, VALUE)):
        (values,) = some(schema, 1, port)

        def endless(values=values):
            while True:
                yield 0, values

        graph.typed_source(f"source{port}", endless, schema) >> barrier.input(port)
    barrier >> graph.typed_sink("sink", lambda port, values: None, barrier.typed.gives[0])
    engine = open_engine(graph, MODELS[model])
    engine.start()
    until(engine, lambda sample: sample.sink_tuples > 0)
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert totals.correct and totals.received > 0, totals


def test_a_barrier_sends_the_attributes_that_are_asked_for():
    graph, kept = Graph("chosen"), []
    gives = Schema("chosen", {"code": "bytes[3]", "id": "uint32"})
    barrier = graph.typed_barrier("barrier", (VALUE, FLAG), gives)
    parts = [some(schema, 50, 1) for schema in (VALUE, FLAG)]
    for port, (schema, part) in enumerate(zip((VALUE, FLAG), parts, strict=True)):
        source = graph.typed_source(
            f"source{port}", lambda part=part: [(0, v) for v in part], schema
        )
        source.output(0) >> barrier.input(port)
    barrier.output(0) >> graph.typed_sink("sink", lambda port, v: kept.append(v), gives).input(0)
    assert run(graph, Dynamic(3)).correct
    assert kept == joined(parts, ["code", "id"])


PREDICATES = """
#include <stdint.h>
struct value { double value; uint32_t id; } __attribute__((aligned(8)));
int32_t above(const void* tuple, void* state) {
  const double limit = state ? *(const double*)state : 0.5;
  return ((const struct value*)tuple)->value > limit;
}
int32_t broken(const void* tuple, void* state) { return ((const struct value*)tuple)->id == 3 ? -7 : 1; }
"""


def compiled(folder, name):
    (folder / "predicates.c").write_text(PREDICATES)
    library = ctypes.CDLL(str(shared_library(folder / "predicates.c")))
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    return PredicateFunction(address, owners=(library,))


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("language", ["Python", "C"])
def test_a_filter_passes_on_what_its_function_accepts(model, language, tmp_path):
    graph, kept, part = Graph("sieved"), [], some(VALUE, 900, 5)
    state = None
    if language == "C":
        accepts = compiled(tmp_path, "above")
        state = ctypes.c_double(0.25)
    else:

        def accepts(values):
            return values["value"] > 0.25

    sieve = graph.typed_filter("sieve", accepts, VALUE, state)
    graph.chain(
        graph.typed_source("source", lambda: [(0, values) for values in part], VALUE),
        sieve,
        graph.typed_sink("sink", lambda port, values: kept.append(values), VALUE),
    )
    totals = run(graph, MODELS[model])
    assert totals.correct and totals.drained, totals
    assert kept == [values for values in part if values["value"] > 0.25]


def test_a_filter_that_fails_names_its_tuple(tmp_path):
    def fails(values):
        raise ValueError(values["id"])

    for function, told in (
        (compiled(tmp_path, "broken"), "returned -7 (tuple 0)"),
        (fails, "raised ValueError: 3 (tuple 0"),
    ):
        graph = Graph("fails")
        graph.chain(
            graph.typed_source("source", lambda: [(0, {"value": 1.0, "id": 3})], VALUE),
            graph.typed_filter("sieve", function, VALUE),
            graph.typed_sink("sink", lambda port, values: None, VALUE),
        )
        assert f"operator 'sieve' {told}" in run(graph, Manual()).error


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (
            lambda graph: graph.typed_barrier("b", (NAME,)),
            "inputs of barrier 'b' must be a whole number from 2",
        ),
        (
            lambda graph: graph.typed_barrier("b", (NAME, VALUE), FLAG),
            "barrier 'b': attribute set of flag must be one of its inputs, as boolean, but none "
            "has it",
        ),
        (
            lambda graph: graph.typed_barrier("b", (NAME, VALUE), Schema("s", {"id": "uint64"})),
            "attribute id of s must be one of its inputs, as uint64, but it is uint32",
        ),
        (
            lambda graph: graph.typed_filter("f", 5, NAME),
            "operator 'f': accepts must be callable, not 5",
        ),
        (
            lambda graph: graph.typed_filter("f", len, NAME, state=3),
            "operator 'f': state is for compiled functions",
        ),
    ],
)
def test_a_mistake_is_told_when_the_operator_is_added(mistake, told):
    with pytest.raises(GraphError) as raised:
        mistake(Graph("wrong"))
    assert told in str(raised.value)
