"""Load balances on real threads: nothing is lost whatever changes, punctuation reaches every port,
sleeping ports sleep.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import topologies
from harness.engine import Engine, Sample, open_engine
from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import balanced, chain, eventually, run_to_end, until

MODELS = pytest.mark.parametrize(
    "model", [Manual(), Dedicated(), Dynamic(2), Coroutine(2)], ids=lambda model: model.name
)


def counting(
    ports: int, buffer_size: int = 100, sinks: int = 1, window: int = 0, **settings: object
) -> Graph:
    """Source -> load balance -> one sink that all ports feed, or one each."""
    graph = Graph("counting", 8)
    balance = graph.elastic_load_balance("balance", ports, buffer_size, **settings)
    graph.connect(graph.source("source", window=window), balance)
    ends = [graph.sink(f"sink{number}") for number in range(sinks)]
    for port in range(ports):
        graph.connect(balance.output(port), ends[port % sinks])
    return graph


def operators_behind(
    balance: Callable[[Graph], Operator], make: Callable[[Graph, int], Operator]
) -> Graph:
    """Source -> what `balance` makes -> what `make` makes for each port -> sink."""
    graph = Graph("behind", 8)
    chooser = balance(graph)
    graph.connect(graph.source("source"), chooser)
    made = [make(graph, port) for port in range(chooser.outputs)]
    sink = graph.sink("sink")
    for port, operator in enumerate(made):
        graph.connect(chooser.output(port), operator)
        graph.connect(operator, sink)
    return graph


def count_of(graph: Graph, counts: list[int]) -> dict[str, int]:
    return dict(zip(graph.operators, counts, strict=True))


def sample_until(
    engine: Engine, enough: Callable[[list[int]], bool], within: int = 2000
) -> list[int]:
    """Samples until the tuples through each operator are enough; the test's own time limit is the
    other bound.
    """
    seen: list[int] = []
    for _ in range(within):
        now = engine.sample(0.05).processed
        seen = [before + more for before, more in zip(seen or [0] * len(now), now, strict=True)]
        if enough(seen):
            break
    return seen


# -- once, in order, to the end --------------------------------------------------------------------


@MODELS
@pytest.mark.parametrize(("elastic", "active"), [(True, 1), (True, 3), (False, 1), (False, 4)])
def test_no_tuple_is_lost_while_the_active_ports_change_at_random(
    model: Model, elastic: bool, active: int
) -> None:
    graph = counting(8, elastic=elastic, initial_active_ports=active)
    engine = open_engine(graph, model, tuples=300_000)
    over = threading.Event()

    def change() -> None:
        generator = random.Random(active)
        while not over.wait(generator.random() * 0.003):
            engine.set_active_ports("balance", generator.randint(1, 8))

    changer = threading.Thread(target=change)
    engine.start()
    if elastic:
        changer.start()
    while not engine.finished():
        assert engine.sample(0.1).balancers["balance"].ports == 8
    totals = engine.stop(drain=True, timeout_s=5.0)
    over.set()
    if elastic:
        changer.join()
    assert totals.drained and totals.correct and totals.order_checked
    assert totals.sent == totals.received == 300_000


@MODELS
def test_a_threaded_split_uses_all_ports_in_turn(model: Model) -> None:
    graph = Graph("turns", 8)
    split, sink = graph.threaded_split("split", 3, 1000), graph.sink("sink")
    graph.connect(graph.source("source"), split)
    for port in range(3):
        graph.connect(split.output(port), sink)
    totals = run_to_end(graph, model, 1001)  # no buffer is ever full
    counts = count_of(graph, totals.processed)
    assert totals.correct
    assert [counts[f"split.{number}"] for number in (1, 2, 3)] == [334, 334, 333]


@MODELS
@pytest.mark.parametrize("buffer_size", [1, 2, 31, 32, 33, 1000])
def test_buffers_of_any_size_pass_on_everything(model: Model, buffer_size: int) -> None:
    totals = run_to_end(
        balanced(elastic=True, ports=5, buffer_size=buffer_size, active=5), model, 5000
    )
    assert totals.drained and totals.correct and totals.received == 5000


@MODELS
@pytest.mark.parametrize("window", [1, 7, 100])
def test_windows_reach_sleeping_ports_however_many_and_do_not_block(
    model: Model, window: int
) -> None:
    """The account of a drained run holds every sink to the punctuations that its source sent."""
    graph = counting(4, buffer_size=2, sinks=4, window=window, initial_active_ports=1)
    totals = run_to_end(graph, model, 2000)
    counts = count_of(graph, totals.processed)
    assert totals.drained and totals.correct
    assert [counts[f"sink{number}"] for number in range(4)] == [2000, 0, 0, 0]


@MODELS
@pytest.mark.parametrize(
    "values",
    [
        {},
        {"load": "bursty-cost", "cycle": 1000},
        {"load": "bursty-rate", "burst": 5, "silence": 5},
        {"elastic": "no"},
    ],
    ids=lambda values: values.get("load", "constant"),
)
def test_the_test_application_is_right_under_every_model(
    model: Model, values: dict[str, int | str]
) -> None:
    graph, _ = topologies.build("load-balance", {"workers": 6, "initial": 2, **values}, 0)
    totals = run_to_end(graph, model, 20_000)
    assert totals.drained and totals.correct and totals.received == 20_000


# -- who gets tuples, and who waits ----------------------------------------------------------------


def first_is_held() -> tuple[threading.Event, Callable[[Graph, int], Operator]]:
    """Return an event, and what makes the operator at a port: the first one waits for the event."""
    opened = threading.Event()

    def hold(sequence: int, value: float) -> float:
        opened.wait(100)
        return value

    def make(graph: Graph, port: int) -> Operator:
        if port == 0:
            return graph.python("held", hold, preserves=True)
        return graph.work(f"work{port}", 1)

    return opened, make


@MODELS
def test_a_port_whose_worker_is_held_up_is_skipped(model: Model) -> None:
    opened, make = first_is_held()
    graph = operators_behind(lambda graph: graph.threaded_split("split", 3, 5), make)
    engine = open_engine(graph, model, tuples=3000)
    engine.start()
    others = [list(graph.operators).index(f"work{port}") for port in (1, 2)]
    held = list(graph.operators).index("split.1")
    seen = sample_until(engine, lambda counts: sum(counts[index] for index in others) > 1000)
    opened.set()
    assert sum(seen[index] for index in others) > 1000
    assert seen[held] <= (
        5 if model.name == "manual" else 1005
    )  # else they wait in the next queue as well
    sample_until(engine, lambda _: engine.finished())
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.drained and totals.correct and totals.received == 3000


@MODELS
def test_a_sender_that_waits_for_room_goes_on_as_soon_as_more_ports_are_active(
    model: Model,
) -> None:
    opened, make = first_is_held()
    graph = operators_behind(lambda graph: graph.elastic_load_balance("balance", 3, 5), make)
    engine = open_engine(graph, model, tuples=20_000)
    engine.start()
    source = list(graph.operators).index("source")
    stalled = sample_until(
        engine, lambda counts: counts[source] > 0 and engine.sample(0.1).source_tuples == 0
    )
    assert stalled[source] < 20_000
    engine.set_active_ports("balance", 2)
    work = list(graph.operators).index("work1")
    seen = sample_until(engine, lambda counts: counts[work] > 1000)
    opened.set()
    assert seen[work] > 1000
    totals = engine.stop(drain=True, timeout_s=10.0)
    assert totals.drained and totals.correct
    assert count_of(graph, totals.processed)["work2"] == 0


@pytest.mark.parametrize("kind", ["threaded_split", "elastic_load_balance"])
def test_a_fast_source_is_slowed_by_full_buffers_and_memory_stays_bounded(kind: str) -> None:
    """BOUND: what is sent and has not arrived is in buffers, or in the hands of the source."""

    def balance(graph: Graph) -> Operator:
        return getattr(graph, kind)("balance", 3, 10)

    graph = operators_behind(balance, lambda graph, port: graph.work(f"work{port}", 300_000))
    engine = open_engine(graph, Manual())
    engine.start()
    places = [place for place, port in enumerate(graph.input_ports()) if port in graph.threaded]
    until(engine, lambda sample: any(sample.write_blocked[place] > 0.0 for place in places))
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert totals.correct
    assert totals.sent - totals.received == totals.in_flight <= 3 * 10 + 32


@MODELS
def test_tuples_behind_a_slow_sender_do_not_wait_for_their_buffer_to_fill(model: Model) -> None:
    graph = Graph("slow sender", 8)
    sender = graph.work("sender", 10_000_000)
    balance = graph.elastic_load_balance("balance", 8, 1000, elastic=False)
    graph.connect(graph.source("source"), sender)
    graph.connect(sender, balance)
    sink = graph.sink("sink")
    for port in range(8):
        graph.connect(balance.output(port), sink)
    engine = open_engine(graph, model)
    engine.start()
    sender_place, sink_place = (list(graph.operators).index(name) for name in ("sender", "sink"))
    seen = sample_until(engine, lambda counts: counts[sender_place] > 20)
    assert engine.stop(drain=False, timeout_s=10.0).correct
    assert seen[sink_place] >= seen[sender_place] // 2


# -- sleeping --------------------------------------------------------------------------------------


def port_threads() -> dict[str, tuple[int, int]]:
    """Return by thread of a threaded port in this process: CPU time in ticks of 10 ms, and how
    often it gave its CPU away.
    """
    found = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            if not (task / "comm").read_text().startswith("port thread"):
                continue
            times = (task / "stat").read_text().rpartition(")")[2].split()
            status = (task / "status").read_text()
        except OSError:  # it has ended meanwhile
            continue
        switches = next(
            int(line.split()[1]) for line in status.splitlines() if line.startswith("voluntary")
        )
        found[task.name] = int(times[11]) + int(times[12]), switches
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_threads_of_ports_that_are_not_active_sleep() -> None:
    """ASLEEP, also where they were active before."""
    assert eventually(lambda: not port_threads())  # those that another test had given up
    engine = open_engine(counting(8, elastic=False), Manual())
    engine.start()
    until(engine, lambda sample: sample.source_tuples > 0)
    engine.set_active_ports("balance", 1)
    before = port_threads()
    assert len(before) == 8

    def sleep(sample: Sample) -> bool:
        """On a busy machine some empty their buffers for a while."""
        nonlocal before
        last, before = before, port_threads()
        assert last.keys() == before.keys()
        ticks, switches = (
            sorted(before[name][what] - last[name][what] for name in last) for what in range(2)
        )
        return sample.source_tuples > 1000 and sum(ticks[:7]) <= 1 and sum(switches[:7]) <= 7

    until(engine, sleep, period_s=0.6)
    assert engine.stop(drain=False, timeout_s=5.0).correct


# -- reading and changing --------------------------------------------------------------------------


@MODELS
def test_samples_tell_what_a_balance_did(model: Model) -> None:
    graph = counting(4, initial_active_ports=2)
    engine = open_engine(graph, model, tuples=50_000)
    engine.start()
    samples = []
    while not engine.finished():
        samples.append(engine.sample(0.01))
    samples.append(engine.sample(0.0))
    totals = engine.stop(drain=True, timeout_s=5.0)
    balances = [sample.balancers["balance"] for sample in samples]
    assert totals.correct
    assert {(balance.active, balance.ports) for balance in balances} == {(2, 4)}
    assert sum(balance.submitted for balance in balances) == 50_000
    assert all(0.0 <= balance.congestion <= 1.0 for balance in balances)
    assert (
        sum(sample.submitted_tuples for sample in samples) == 2 * 50_000
    )  # by the source and by the balance, once each


def test_congestion_is_that_of_the_active_ports_alone() -> None:
    graph = operators_behind(
        lambda graph: graph.elastic_load_balance("balance", 10, 20),
        lambda graph, port: graph.work(f"work{port}", 1_000_000),
    )
    engine = open_engine(graph, Manual())
    engine.start()
    for _ in range(3):  # over all ports it would be at most 0.1
        until(engine, lambda sample: sample.balancers["balance"].congestion > 0.5)
    assert engine.stop(drain=False, timeout_s=5.0).correct


def test_there_is_no_congestion_where_the_source_is_the_limit() -> None:
    graph = counting(3, initial_active_ports=2)
    graph.operators["source"] = replace(graph.operators["source"], rate=2000.0)
    engine = open_engine(graph, Manual())
    engine.start()
    for _ in range(3):
        until(
            engine,
            lambda sample: sample.sink_tuples > 0 and sample.balancers["balance"].congestion < 0.5,
        )
    assert engine.stop(drain=False, timeout_s=5.0).correct


def test_a_threaded_split_is_no_balancer_of_a_sample() -> None:
    engine = open_engine(balanced(elastic=False), Manual(), tuples=10)
    engine.start()
    assert engine.sample(0.01).balancers == {}
    engine.stop(drain=True, timeout_s=5.0)


@pytest.mark.parametrize(
    ("name", "active", "told"),
    [
        ("balance", 0, "set_active_ports: active ports of 'balance' must be from 1 to 4, not 0"),
        ("balance", 5, "set_active_ports: active ports of 'balance' must be from 1 to 4, not 5"),
        (
            "balance",
            True,
            "set_active_ports: active ports of 'balance' must be from 1 to 4, not True",
        ),
        (
            "balance",
            1.0,
            "set_active_ports: active ports of 'balance' must be from 1 to 4, not 1.0",
        ),
        ("nobody", 1, "set_active_ports: no elastic_load_balance operator is named 'nobody'"),
        ("source", 1, "set_active_ports: no elastic_load_balance operator is named 'source'"),
        (["balance"], 1, "set_active_ports: no elastic_load_balance operator is named ['balance']"),
    ],
)
def test_active_ports_that_are_none_are_refused(name: object, active: object, told: str) -> None:
    engine = open_engine(counting(4), Manual(), tuples=0)
    with pytest.raises(UserError) as caught:
        engine.set_active_ports(name, active)
    assert str(caught.value) == told


def test_a_threaded_split_has_no_active_ports_to_set() -> None:
    engine = open_engine(balanced(elastic=False), Manual(), tuples=0)
    with pytest.raises(UserError, match="no elastic_load_balance operator is named 'balance'"):
        engine.set_active_ports("balance", 1)


# -- the end ---------------------------------------------------------------------------------------


@MODELS
def test_a_run_that_is_cut_short_ends_with_full_buffers_and_accounts_for_them(model: Model) -> None:
    engine = open_engine(balanced(elastic=True, ports=6, buffer_size=7, active=3), model)
    engine.start()
    until(engine, lambda sample: sample.source_tuples > 0)
    totals = engine.stop(drain=False, timeout_s=5.0)
    assert not totals.stuck and totals.correct and totals.sent > 0


def test_a_worker_that_never_returns_does_not_hold_the_sender_at_the_end() -> None:
    opened, held = threading.Event(), threading.Event()

    def hold(sequence: int, value: float) -> float:
        held.set()
        opened.wait(100)
        return value

    graph = operators_behind(
        lambda graph: graph.threaded_split("split", 2, 3),
        lambda graph, port: graph.python(f"held{port}", hold, preserves=True),
    )
    engine = open_engine(graph, Manual())
    engine.start()
    assert held.wait(60)
    totals = engine.stop(drain=False, timeout_s=0.1)
    opened.set()
    assert totals.stuck and all(name.startswith("port thread of split.") for name in totals.stuck)


def test_balances_may_follow_each_other_in_one_chain() -> None:
    graph = Graph("nested", 8)
    first = graph.threaded_split("first", 2, 4)
    second = graph.elastic_load_balance("second", 3, 4, initial_active_ports=2)
    graph.connect(graph.source("source", window=10), first)
    for port in range(2):
        graph.connect(chain(graph, first.output(port), 1, prefix=f"w{port}_"), second)
    sink = graph.sink("sink")
    for port in range(3):
        graph.connect(second.output(port), sink)
    for model in (Manual(), Dedicated(1), Dynamic(1, 1)):
        totals = run_to_end(graph, model, 5000)
        assert totals.drained and totals.correct and totals.received == 5000
