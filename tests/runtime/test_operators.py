"""Tests of what operators do to tuples: the same under every model, and with queues on or off."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import pytest
from harness.runtime.protocol import latency_bounds_ns

from harness.engine import Totals, open_engine
from harness.graph import Graph, Operator
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import MODELS, native, run_to_end, until

ALL: dict[str, Model] = {**MODELS, "dynamic, queues off": Dynamic(2, queued="none")}
SILENCE = (1e5, 0)


def every_model(test: object) -> object:
    return pytest.mark.parametrize("model", list(ALL.values()), ids=list(ALL))(test)


# -- a user's own ----------------------------------------------------------------------------------


def watcher(graph: Graph, name: str, seen: list[tuple[int, float]]) -> Operator:
    def note(sequence: int, value: float) -> float:
        seen.append((sequence, value))
        return value

    return graph.python(name, note)


def double_value(
    sequence: int, value: object, payload: object, size: int, control: float, state: object
) -> int:
    value[0] *= 2.0
    return 1


@every_model
@pytest.mark.parametrize("kind", ["python", "native"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_what_an_operator_changes_its_siblings_do_not_see(
    kind: str, place: int, model: Model
) -> None:
    """A fan-out to three; `place` is the one that changes the value."""
    graph = Graph("siblings", 16)
    head = graph.work("head", 1)
    graph.connect(graph.source("source"), head)
    sink = graph.sink("sink", inputs=3)
    seen: list[list[tuple[int, float]]] = [[], [], []]
    for port in range(3):
        watch = watcher(graph, f"watch{port}", seen[port])
        start: object = head
        if port == place and kind == "python":
            start = graph.python("changes", lambda sequence, value: value * 2.0)
        elif port == place:
            start = native(graph, "changes", double_value)
        if start is not head:
            graph.connect(head, start)
        graph.connect(start, watch)
        graph.connect(watch, sink.input(port))
    totals = run_to_end(graph, model, 300)
    assert totals.correct and totals.received == 900
    original = [value for _, value in seen[place - 1]]
    assert [value for _, value in seen[place - 2]] == original
    assert [value for _, value in seen[place]] == [2.0 * value for value in original]
    assert [sequence for sequence, _ in seen[place]] == list(range(300))


@every_model
def test_what_a_native_operator_changes_in_the_payload_its_sibling_does_not_see(
    model: Model,
) -> None:
    def scribble(
        sequence: int, value: object, payload: object, size: int, control: float, state: object
    ) -> int:
        payload[0] = bytes([payload[0][0] ^ 255])
        return 1

    graph = Graph("payload", 16)
    clean, dirty = graph.sink("clean"), graph.sink("dirty")
    head, changes = graph.work("head"), native(graph, "changes", scribble)
    graph.connect(graph.source("source"), head)
    graph.connect(head, changes)
    graph.connect(changes, native(graph, "back", scribble))
    graph.connect(graph.operators["back"], dirty)
    graph.connect(head, clean)
    totals = run_to_end(
        graph, model, 200
    )  # sinks check every payload: scribbled twice it is as it was
    assert totals.correct and totals.received == 400


@every_model
def test_a_native_operator_drops_what_it_returns_0_for(model: Model) -> None:
    def odd(
        sequence: int, value: object, payload: object, size: int, control: float, state: object
    ) -> int:
        return sequence % 2

    graph = Graph("odd", 8)
    graph.connect(graph.source("source"), native(graph, "odd", odd))
    graph.connect(graph.operators["odd"], graph.sink("sink"))
    totals = run_to_end(graph, model, 501)
    assert totals.correct and totals.received == 250


@every_model
def test_a_native_operator_that_fails_ends_the_run_and_is_named(model: Model) -> None:
    def fragile(
        sequence: int, value: object, payload: object, size: int, control: float, state: object
    ) -> int:
        return -7 if sequence == 77 else 1

    graph = Graph("fragile", 8)
    graph.connect(graph.source("source"), native(graph, "fragile", fragile))
    graph.connect(graph.operators["fragile"], graph.sink("sink"))
    totals = run_to_end(graph, model, 1000)
    assert totals.error == "operator 'fragile' returned -7 (tuple 77)"
    assert not totals.correct and not totals.stuck and totals.received <= 77


def test_a_number_that_a_native_operator_returns_may_have_words() -> None:
    from harness.graph.functions.compiled import PROTOTYPE, NativeFunction

    made = NativeFunction.of(PROTOTYPE(lambda *_: -22))
    graph = Graph("words", 8)
    fragile = graph.native("fragile", replace(made, meanings={-22: "the value is negative"}))
    graph.chain(graph.source("source"), fragile, graph.sink("sink"))
    assert (
        run_to_end(graph, Manual(), 10).error
        == "operator 'fragile' failed, since the value is negative (tuple 0)"
    )


# -- filters, keys, bursts -------------------------------------------------------------------------


def passed(share: float, model: Model, tuples: int = 20_000) -> tuple[Totals, list[int]]:
    graph = Graph("filter", 8)
    sieve = graph.filter("filter", share)
    seen: list[tuple[int, float]] = []
    graph.connect(graph.source("source"), sieve)
    graph.connect(sieve, watcher(graph, "watch", seen))
    graph.connect(graph.operators["watch"], graph.sink("sink"))
    return run_to_end(graph, model, tuples), [sequence for sequence, _ in seen]


@pytest.mark.parametrize("share", [0.0, 1e-9, 0.1, 0.5, 0.99, 1.0])
def test_a_filter_passes_on_its_share(share: float) -> None:
    totals, seen = passed(share, Manual())
    assert totals.correct and totals.received == len(seen)
    assert (
        abs(len(seen) - share * 20_000) < 5 * (20_000 * share * (1 - share)) ** 0.5 + 1
    )  # five standard deviations


def test_a_filter_chooses_the_same_tuples_in_every_run_under_every_model_and_no_pattern() -> None:
    chosen = passed(0.3, Manual(), 2000)[1]
    for model in ALL.values():
        totals, seen = passed(0.3, model, 2000)
        assert totals.correct and seen == chosen
    assert len({later - earlier for earlier, later in itertools.pairwise(chosen)}) > 5


def thinned(*shares: float) -> tuple[Graph, list[list[tuple[int, float]]]]:
    """A chain of work operators that pass on these shares, and what each sends on."""
    graph = Graph("thinned", 8)
    last, seen = graph.source("source"), [[] for _ in shares]
    for index, share in enumerate(shares):
        work = graph.work(f"work{index}", 1, selectivity=share)
        watch = watcher(graph, f"watch{index}", seen[index])
        graph.connect(last, work)
        graph.connect(work, watch)
        last = watch
    graph.connect(last, graph.sink("sink"))
    return graph, seen


def test_each_work_operator_with_a_selectivity_chooses_for_itself() -> None:
    """Else, of operators in a row, all but the first would pass on everything."""
    graph, (first, second, third) = thinned(0.5, 0.5, 0.5)
    totals = run_to_end(graph, Manual(), 20_000)
    assert totals.correct and totals.received == len(third)
    for many, few in ((20_000, len(first)), (len(first), len(second)), (len(second), len(third))):
        assert abs(few - many / 2) < 5 * (many / 4) ** 0.5  # five standard deviations


def test_a_work_operator_passes_on_the_same_tuples_under_every_model() -> None:
    chosen = []
    for model in ALL.values():
        graph, seen = thinned(0.0 if model == Manual() else 0.3, 1.0)
        assert run_to_end(graph, model, 2000).correct
        chosen.append([sequence for sequence, _ in seen[1]])
    assert (
        chosen[0] == [] and len(chosen[1]) > 400 and all(each == chosen[1] for each in chosen[1:])
    )


@every_model
@pytest.mark.parametrize("how", [{"cost": 3}, {"costs": [(3, 1), (2, 50)]}])
def test_what_a_work_operator_passes_on_goes_to_its_output_ports_in_turn(
    model: Model, how: dict
) -> None:
    graph = Graph("spread", 8)
    work, sink = graph.work("work", outputs=3, selectivity=0.4, **how), graph.sink("sink", inputs=3)
    graph.connect(graph.source("source"), work)
    seen: list[list[tuple[int, float]]] = [[] for _ in range(3)]
    for port in range(3):
        watch = watcher(graph, f"watch{port}", seen[port])
        graph.connect(work.output(port), watch)
        graph.connect(watch, sink.input(port))
    totals = run_to_end(graph, model, 2000)
    assert totals.correct and 600 < totals.received < 1000
    in_turn = sorted(itertools.chain(*([sequence for sequence, _ in branch] for branch in seen)))
    assert [[sequence for sequence, _ in branch] for branch in seen] == [
        in_turn[port::3] for port in range(3)
    ]


@every_model
def test_all_tuples_of_a_key_go_the_same_way_and_every_way_gets_some(model: Model) -> None:
    graph = Graph("keys", 8)
    split, sink = graph.split("split", 4, keys=3), graph.sink("sink", inputs=4)
    graph.connect(graph.source("source"), split)
    seen: list[list[tuple[int, float]]] = [[] for _ in range(4)]
    for port in range(4):
        watch = watcher(graph, f"watch{port}", seen[port])
        graph.connect(split.output(port), watch)
        graph.connect(watch, sink.input(port))
    assert run_to_end(graph, model, 3000).correct
    branches = [[sequence for sequence, _ in branch] for branch in seen]
    assert sorted(itertools.chain(*branches)) == list(range(3000))
    assert all(branch == sorted(branch) for branch in branches)
    assert 1 <= sum(bool(branch) for branch in branches) <= 3  # three keys


def seconds_of(graph: Graph, tuples: int) -> float:
    begin = time.process_time()
    assert run_to_end(graph, Manual(), tuples).correct
    return time.process_time() - begin


def test_busy_time_keeps_an_operator_busy_for_about_that_long() -> None:
    """CPU time of 400 tuples of 1 ms, in a wide band: the core's speed may change while it is
    measured.
    """
    graph = Graph("busy", 8)
    graph.connect(graph.source("source"), graph.work("busy", busy_us=1000))
    graph.connect(graph.operators["busy"], graph.sink("sink"))
    assert 0.12 < seconds_of(graph, 400) < 1.6


def test_bursts_of_cost_take_the_time_of_their_sum() -> None:

    def bursty(*costs: tuple[int, int]) -> Graph:
        graph = Graph("bursts", 8)
        graph.connect(graph.source("source"), graph.work("burst", costs=costs))
        graph.connect(graph.operators["burst"], graph.sink("sink"))
        return graph

    uneven, even = bursty((90, 0), (10, 1_000_000)), bursty((50, 100_000), (50, 100_000))
    assert 0.4 < seconds_of(uneven, 3000) / seconds_of(even, 3000) < 2.5


# -- control ports ---------------------------------------------------------------------------------


@every_model
def test_an_operator_reads_the_last_value_at_its_control_port(model: Model) -> None:
    """The other source has no bound: sooner or later each value is the knob's."""
    read: list[float] = []

    def controlled(sequence: int, value: float, control: float) -> float:
        read.append(control)
        return value

    graph = Graph("knob", 8)
    user = graph.python("user", controlled, preserves=True)
    turn = graph.python("turn", lambda sequence, value: 42.0)
    graph.connect(graph.source("source", rate=2000), user)
    graph.connect(user, graph.sink("sink"))
    graph.connect(graph.source("knob", rates=[(0.02, 1000), SILENCE]), turn)
    graph.connect(turn, graph.control(user))
    engine = open_engine(graph, model)
    engine.start()
    until(engine, lambda sample: read[-1:] == [42.0] and len(read) > 50)
    totals = engine.stop(drain=True, timeout_s=5.0)
    # what a control port absorbs is not received
    assert totals.correct and totals.received == len(read)
    assert read == sorted(read) and set(read) <= {0.0, 42.0}


@every_model
def test_a_loop_through_a_control_port_feeds_back_and_ends(model: Model) -> None:
    latest = 0.0

    def count(sequence: int, value: float, control: float) -> float:
        nonlocal latest
        latest = max(latest, control)
        return float(sequence)

    graph = Graph("loop", 8)
    user = graph.python("user", count)
    graph.connect(graph.source("source"), user)
    graph.connect(user, graph.control(user))
    graph.connect(user, graph.sink("sink"))
    totals = run_to_end(graph, model, 2000)
    assert totals.drained and totals.correct and totals.received == 2000
    assert 0.0 < latest <= 1999.0


def test_latencies_are_those_of_sinks_not_of_control_ports() -> None:
    def nap(sequence: int, value: float) -> float:
        time.sleep(0.2)
        return value

    graph = Graph("late control", 8)
    head, late = graph.work("head", 1), graph.python("late", nap, preserves=True)
    graph.connect(graph.source("source"), head)
    graph.connect(head, graph.sink("sink"))
    graph.connect(head, late)
    graph.connect(late, graph.control(head))
    totals = run_to_end(graph, Manual(), 1)
    assert totals.correct and totals.received == sum(totals.latency_counts) == 1
    counted = dict(zip(latency_bounds_ns(), totals.latency_counts, strict=True))
    assert totals.latency_max_ns <= max(bound for bound, count in counted.items() if count > 0)


def test_a_native_operator_reads_its_control_port_too() -> None:
    def add_control(
        sequence: int, value: object, payload: object, size: int, control: float, state: object
    ) -> int:
        value[0] = control
        return 1

    seen: list[tuple[int, float]] = []
    graph = Graph("native knob", 8)
    user = native(graph, "user", add_control)
    turn = graph.python("turn", lambda sequence, value: 7.0)
    graph.connect(graph.source("source"), turn)
    graph.connect(turn, graph.control(user))
    graph.connect(turn, user)
    graph.connect(user, watcher(graph, "watch", seen))
    graph.connect(graph.operators["watch"], graph.sink("sink"))
    totals = run_to_end(graph, Dedicated(), 500)
    assert totals.correct and totals.received == 500
    assert {value for _, value in seen} <= {0.0, 7.0}
    assert run_to_end(graph, Manual(), 500).correct and seen[-1][1] == 7.0
