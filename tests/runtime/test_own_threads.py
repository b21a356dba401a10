"""Operators with a thread of their own that sends tuples (P17 §2.3, §4.1.4), under every model."""

from __future__ import annotations

import ctypes

import pytest

from examples.building import shared_library
from harness.engine import open_engine
from harness.graph import Graph, GraphError
from harness.graph.annotations import threading
from harness.graph.functions.compiled import ProcessFunction, StepFunction
from harness.graph.schema import Schema
from harness.models import Coroutine, Dedicated, Dynamic, Manual

pytestmark = pytest.mark.heavy

ITEM = Schema("item", {"of": "uint32", "n": "uint32"})
MODELS = {
    "manual": Manual(),
    "dedicated": Dedicated(),
    "dedicated, short queues": Dedicated(queue_capacity=3),
    "dynamic": Dynamic(threads=3),
    "dynamic, short queues": Dynamic(threads=2, queue_capacity=3),
    "coroutine": Coroutine(threads=2),
    "coroutine, short queues": Coroutine(threads=2, queue_capacity=3),
}
COMPILED = """
#include "millrace.h"
struct item { uint32_t of, n; } __attribute__((aligned(8)));
struct state { uint32_t next, end; };
int32_t process(millrace_context* context, uint32_t port, const void* tuple, void* state) {
  *(struct item*)millrace_room(context, 0) = *(const struct item*)tuple;
  millrace_send(context, 0);
  return 0;
}
int32_t step(millrace_context* context, void* state) {
  struct state* own = state;
  if (own->next == own->end) return MILLRACE_END;
  *(struct item*)millrace_room(context, 0) = (struct item){1, own->next++};
  millrace_send(context, 0);
  return MILLRACE_MORE;
}
"""


def items(of: int, count: int):
    return lambda: ((0, {"of": of, "n": n}) for n in range(count))


def operator(graph: Graph, language: str, folder):
    if language == "Python":
        return graph.typed(
            "both", lambda port, item: [(0, item)], ITEM, ITEM, thread=items(1, 1500)
        )
    (folder / "own_threads.c").write_text(COMPILED)
    library = ctypes.CDLL(str(shared_library(folder / "own_threads.c")))
    process, step = (
        kind(ctypes.cast(getattr(library, name), ctypes.c_void_p).value, owners=(library,))
        for kind, name in ((ProcessFunction, "process"), (StepFunction, "step"))
    )
    state = (ctypes.c_uint32 * 2)(0, 1500)
    return graph.typed("both", process, ITEM, ITEM, state=state, thread=step)


@pytest.mark.parametrize("language", ("Python", "C"))
@pytest.mark.parametrize("model", MODELS)
def test_what_a_thread_and_its_operator_send_arrives_once_and_each_in_its_order(
    model, language, tmp_path
):
    graph, kept = Graph("threads"), {"left": [], "right": []}
    both = operator(graph, language, tmp_path)
    graph.chain(graph.typed_source("source", items(0, 1000), ITEM), both)
    for name, seen in kept.items():  # fan-out
        both >> graph.typed_sink(
            name, lambda port, item, seen=seen: seen.append((item["of"], item["n"])), ITEM
        )
    engine = open_engine(graph, MODELS[model])
    engine.start()
    while not engine.finished():
        engine.sample(0.02)
    totals = engine.stop(drain=True, timeout_s=10.0)
    assert totals.correct and totals.drained and totals.sent == 2500, totals
    for seen in kept.values():
        assert [n for of, n in seen if of == 0] == list(range(1000))
        assert [n for of, n in seen if of == 1] == list(range(1500))


def test_a_thread_that_never_ends_by_itself_ends_with_the_run():
    def ticks():
        n = 0
        while True:
            yield (0, {"of": 1, "n": n}) if n % 3 else None
            n += 1

    graph = Graph("ticks")
    graph.chain(
        graph.typed_source("source", items(0, 10), ITEM),
        graph.typed("both", lambda port, item: None, ITEM, ITEM, thread=ticks),
        graph.typed_sink("sink", lambda port, item: None, ITEM),
    )
    engine = open_engine(graph, Dynamic(2))
    engine.start()
    engine.sample(0.05)
    assert not engine.finished()
    assert engine.stop(drain=True, timeout_s=5.0).correct


def test_a_thread_has_the_name_and_the_annotation_of_its_operator():
    graph = Graph("annotated")

    @threading(model="dedicated")
    def composite(graph):
        return graph.typed("both", lambda port, item: None, ITEM, ITEM, thread=items(1, 1))

    composite(graph)
    assert [operator.name for operator in graph.operators.values()] == ["both", "both.thread"]
    assert len({operator.threading for operator in graph.operators.values()}) == 1


@pytest.mark.parametrize("options", [{"one_for_one": True}, {"gives": ()}])
def test_a_thread_needs_a_port_and_promises_nothing(options):
    with pytest.raises(GraphError, match="thread needs an output port, and excludes one_for_one"):
        given = {"takes": ITEM, "gives": ITEM} | options
        Graph("wrong").typed("both", lambda port, item: None, thread=items(1, 1), **given)
