"""Explanations of runs whose bottleneck is known. In virtual time every share is exact; on real
threads, beside whatever else runs, only what is far apart is compared.
"""

from __future__ import annotations

import multiprocessing
from dataclasses import replace

import pytest

from harness.explain.shares import USEFUL
from harness.graph import Graph
from harness.machines.host.cpu import usable_cpus
from harness.machines.host.interpreter import has_interpreter_lock
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Multilevel
from tests.explain.known import (
    TWO_IN_PYTHON,
    explained,
    false_sharing,
    pipeline,
    shared_sink,
    two_in_python,
)

VIRTUAL = {"duration_s": 0.002, "warmup": 0.001}
REAL = {"duration_s": 0.4, "warmup": 0.2}

CHEAP, DEAR = 10, 20_000  # FLOP


@pytest.mark.parametrize(
    "model",
    [Manual(), Dedicated(), Dynamic(threads=3), Multilevel(maximum=3), Coroutine(threads=3)],
    ids=lambda model: model.name,
)
def test_shares_of_virtual_threads_add_up_to_their_time_exactly(model):
    told, entry = explained(pipeline([100, 200, 100]), model, **VIRTUAL)
    for thread in entry["threads"]:
        total = sum(part["time_s"] for part in thread["spent"])
        assert total == pytest.approx(entry["elapsed_s"], rel=1e-9), thread["name"]
    assert sum(told.shares.values()) == pytest.approx(1.0)
    assert told.shares["work"] > 0.1
    assert told.looks is None


def test_one_dear_operator_bounds_the_run():
    told, _ = explained(pipeline([CHEAP, DEAR, CHEAP]), Dynamic(threads=3), **VIRTUAL)
    assert (told.bounds[0].kind, told.bounds[0].members) == ("operator", ("w1",))
    assert told.bounds[0].used > 0.95
    assert "replicas would help" in told.headline


def test_one_thread_that_executes_all_bounds_the_run():
    told, _ = explained(pipeline([100] * 4), Manual(), **VIRTUAL)
    assert told.bounds[0].kind == "path"
    assert told.bounds[0].used > 0.99
    assert told.bounds[0].members[0] == "source"


def test_replicas_of_the_dear_operator_raise_its_bound():
    told, _ = explained(pipeline([CHEAP, DEAR, CHEAP]), Coroutine(threads=4, replicas=3), **VIRTUAL)
    (dear,) = (each for each in told.operators if each.name == "w1")
    assert dear.most_threads == 3
    assert dear.busy > 2.0


def test_replicas_that_share_one_key_are_one_at_a_time():
    graph = Graph("one key")
    dear = graph.work("w", DEAR, keys=1)
    graph.chain(graph.source("source"), dear, graph.sink("sink"))
    told, _ = explained(graph, Coroutine(threads=4, replicas=4), **VIRTUAL)
    assert (told.bounds[0].kind, told.bounds[0].members) == ("operator", ("w",))
    assert told.bounds[0].used > 0.7  # of four threads it would be a fifth
    assert told.operators[1].most_threads == 1


def test_a_lock_bounds_sources_that_share_an_operator():
    told, _ = explained(shared_sink(4, 500), Manual(), **VIRTUAL)
    assert told.bounds[0].members == ("shared",)
    assert told.shares["locks"] > 0.5
    assert any("before `shared`" in sentence for sentence in told.sentences)


def test_a_slow_source_bounds_the_run():
    told, _ = explained(pipeline([CHEAP] * 2, rate=100_000.0), Dynamic(threads=2), **VIRTUAL)
    assert told.bounds[0].kind == "schedule"
    assert "waits for the time of its next tuple" in told.headline


def test_work_of_many_threads_is_bound_by_the_cpus():
    told, entry = explained(pipeline([1000] * 8), Dedicated(), "xeon:2", **VIRTUAL)
    assert entry["cpus"] == 2
    assert told.bounds[0].kind == "CPUs"
    assert told.bounds[0].used > 0.85
    assert told.shares["no CPU"] > 0.2
    assert told.shares["stolen"] == 0.0


@pytest.mark.parametrize(
    ("model", "threads"), [(Dynamic(threads=2), 2), (Coroutine(threads=1), 1)], ids=str
)
def test_few_threads_for_many_operators_bound_the_run(model, threads):
    told, entry = explained(pipeline([3000] * 8), model, **VIRTUAL)
    assert entry["cpus"] > threads
    assert (told.bounds[0].kind, told.bounds[0].limit) == ("threads", pytest.approx(threads))
    assert told.bounds[0].used > 0.85
    many = "" if threads == 1 else "s"
    assert told.headline.startswith(f"bound by its {threads} scheduler thread{many}: ")
    assert "more threads would help" in told.headline


def test_as_many_threads_as_cpus_are_bound_by_the_cpus():
    told, _ = explained(pipeline([3000] * 8), Coroutine(threads=2), "xeon:2", **VIRTUAL)
    assert told.headline.startswith("bound by the CPUs")


def test_a_queue_that_is_too_short_makes_moving_tuples_dear():
    short, long = (
        explained(pipeline([300, 300]), Dedicated(queue_capacity=capacity), **VIRTUAL)[0]
        for capacity in (1, 1000)
    )
    assert short.shares["queues"] > 1.5 * long.shares["queues"]
    assert any("has room for 1 of the 32 tuples" in sentence for sentence in short.sentences)
    assert not any("has room for" in sentence for sentence in long.sentences)


IN_PYTHON = {"profiled": TWO_IN_PYTHON, "duration_s": 0.2, "warmup": 0.1}


@pytest.mark.parametrize(
    "model",
    [Dedicated(queue_capacity=64), Coroutine(threads=4, replicas=2, queue_capacity=64)],
    ids=lambda model: model.name,
)
def test_operators_in_python_are_bound_by_the_interpreters_lock(model):
    told, _ = explained(two_in_python(), model, **IN_PYTHON)
    assert (told.bounds[0].kind, told.bounds[0].used > 0.9) == ("interpreter", True)
    assert set(told.bounds[0].members) == {"one", "other"}
    assert told.headline.startswith("bound by the interpreter's lock")
    assert told.shares["locks"] > 0.1


def test_operators_in_python_without_the_lock_have_bounds_of_their_own():
    free = replace(TWO_IN_PYTHON, interpreter_lock=False)
    told, _ = explained(
        two_in_python(), Dedicated(queue_capacity=64), **IN_PYTHON | {"profiled": free}
    )
    assert (told.bounds[0].kind, told.bounds[0].members) == ("operator", ("one",))
    assert not any(bound.kind == "interpreter" for bound in told.bounds)


def test_virtual_runs_are_the_same_with_an_explanation_and_without():
    from harness.engine.open import open_engine

    totals = []
    for explains in (False, True):
        engine = open_engine(pipeline([50] * 3), Dynamic(threads=2), "xeon", explained=explains)
        engine.start()
        engine.sample(0.001)
        totals.append((engine.sample(0.001), engine.stop(drain=False, timeout_s=1.0)))
    assert totals[0] == totals[1]


# -- real threads ----------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize(
    "model",
    [Manual(), Dedicated(), Dynamic(threads=2), Coroutine(threads=2)],
    ids=lambda model: model.name,
)
def test_shares_of_real_threads_add_up(model):
    told, entry = explained(pipeline([1000, 1000]), model, "", **REAL)
    assert told.looks > 0
    for thread in told.threads:
        assert sum(thread.shares.values()) == pytest.approx(1.0)
        assert thread.time_s <= entry["elapsed_s"] * (1 + 1e-6)
    assert sum(share for name, share in told.shares.items() if name in USEFUL) > 0.0
    assert {thread["name"] for thread in entry["threads"]} == {
        thread.name for thread in told.threads
    }


@pytest.mark.heavy
def test_real_threads_spend_their_time_on_the_dear_operator():
    told, _ = explained(pipeline([CHEAP, DEAR, CHEAP]), Dynamic(threads=2), "", **REAL)
    dear = max(told.operators, key=lambda operator: operator.busy)
    assert dear.name == "w1"
    (source,) = (thread for thread in told.threads if thread.name == "source source")
    assert source.shares["no room"] + source.shares["work"] >= source.shares["source"]


@pytest.mark.heavy
def test_real_threads_wait_for_the_lock_of_a_shared_operator():
    told, _ = explained(shared_sink(3, DEAR), Manual(), "", **REAL)
    assert told.shares["locks"] > 0.02
    locked = max(told.operators, key=lambda operator: operator.shares["locks"])
    assert locked.name == "shared"


@pytest.mark.heavy
def test_a_real_source_waits_for_its_next_tuple():
    told, _ = explained(pipeline([CHEAP], rate=2000.0), Dynamic(threads=1), "", **REAL)
    assert told.bounds[0].kind == "schedule"
    (source,) = (thread for thread in told.threads if thread.name == "source source")
    with_cpu = 1.0 - source.shares["stolen"] - source.shares["no CPU"]
    assert source.shares["idle"] >= 0.3 * with_cpu


@pytest.mark.heavy
def test_real_threads_move_tuples_one_by_one_through_a_queue_that_is_too_short():
    told, _ = explained(pipeline([CHEAP, CHEAP]), Dedicated(queue_capacity=1), "", **REAL)
    assert any("has room for 1 of the 32 tuples" in sentence for sentence in told.sentences)


@pytest.mark.heavy
def test_false_sharing_shows_in_counters_where_they_can_be_read_and_else_as_work():
    told, entry = explained(false_sharing(), Dedicated(), "", **REAL)
    busiest = sorted(told.operators, key=lambda operator: -operator.shares["work"])[:2]
    assert {operator.name for operator in busiest} == {"one", "other"}
    if "lines_of_other_cores" in entry["counters"]:
        assert any("false sharing" in sentence for sentence in told.sentences)
    else:
        assert not any("cache lines" in sentence for sentence in told.sentences)


@pytest.mark.heavy
@pytest.mark.skipif(not has_interpreter_lock(), reason="the interpreter has no lock")
def test_real_threads_take_turns_in_python():
    told, _ = explained(two_in_python(), Dedicated(), "", **REAL)
    bound = next(bound for bound in told.bounds if bound.kind == "interpreter")
    assert set(bound.members) == {"one", "other"}
    assert sum(each.interpreter or 0.0 for each in told.operators) < 1.1
    assert "replicas would help" not in " ".join(told.sentences)


def _spin(begun) -> None:
    begun.set()
    while True:
        pass


@pytest.mark.heavy
def test_programs_that_take_the_cpus_are_seen():
    context = multiprocessing.get_context("spawn")
    spinning = []
    for _ in range(2 * usable_cpus()):
        begun = context.Event()
        spinning.append(context.Process(target=_spin, args=(begun,), daemon=True))
        spinning[-1].start()
        begun.wait(60)
    try:
        told, entry = explained(pipeline([DEAR]), Manual(), "", **REAL)
    finally:
        for process in spinning:
            process.kill()
            process.join()
    assert entry["others_cpus"] > 0.3
    assert told.shares["stolen"] > 0.1
    assert told.shares["stolen"] > told.shares["no CPU"]
    assert any("other programs" in sentence for sentence in told.sentences)
