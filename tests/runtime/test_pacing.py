"""Sources at a rate and in bursts send what is due when it is due, whatever becomes of it (open
loop).
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import pytest
from harness.runtime.protocol import latency_bounds_ns

from harness.engine import Engine, Sample, open_engine
from harness.graph import Graph
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import chain, until

EVERY = pytest.mark.parametrize(
    "model",
    [
        Manual(),
        Dedicated(),
        Dynamic(2),
        Dynamic(2, queued="none"),
        Dynamic(2, queue_capacity=1),
        Coroutine(1),
        Coroutine(3),
    ],
    ids=[
        "manual",
        "dedicated",
        "dynamic",
        "dynamic, queues off",
        "dynamic, queues of 1",
        "coroutine 1",
        "coroutine 3",
    ],
)
SILENCE = (1e5, 0)


def paced(operators: int = 2, cost: int = 1, **source: object) -> Graph:
    graph = Graph("paced", 8)
    graph.connect(
        chain(graph, graph.source("source", **source), operators, cost), graph.sink("sink")
    )
    return graph


def started(graph: Graph, model: Model, tuples: int | None = None) -> Engine:
    engine = open_engine(graph, model, tuples=tuples)
    engine.start()
    return engine


def keeps_up(
    engine: Engine,
    begin: float,
    due: Callable[[float], float],
    enough: Callable[[Sample], bool] = lambda sample: True,
) -> None:
    """Sample for 0.5 s, and until the source has sent nearly all that is due and `enough` is seen.
    It is never ahead. It may be late, as others have the CPUs, but then sends what it owes.
    """
    sent, passed_s, enough_seen = 0, 0.0, False
    while passed_s < 0.5 or sent < 0.9 * due(passed_s) or not enough_seen:
        sample = engine.sample(0.05)
        sent, passed_s = sent + sample.source_tuples, time.monotonic() - begin
        enough_seen |= enough(sample)
        assert sent <= due(passed_s) + 1
        assert passed_s < 60, (sent, due(passed_s))


@pytest.mark.parametrize("rate", [50, 2000, 50_000])
@pytest.mark.parametrize(
    "model",
    [Manual(), Dynamic(2), Coroutine(1), Coroutine(2, "random")],
    ids=lambda model: model.name,
)
def test_a_rate_is_kept_over_a_second(rate: float, model: Model) -> None:
    begin = time.monotonic()
    engine = started(paced(rate=rate), model)
    keeps_up(engine, begin, lambda passed_s: rate * passed_s)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.drained


@pytest.mark.parametrize("model", [Dynamic(2), Coroutine(2)], ids=lambda model: model.name)
def test_a_slow_source_ends_at_once_when_it_is_told(model: Model) -> None:
    """It sleeps for ten seconds between tuples, but looks up."""
    engine = started(paced(rate=0.1), model)
    until(engine, lambda sample: sample.source_tuples == 1)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.drained and totals.correct and totals.sent == 1


@pytest.mark.parametrize("model", [Dynamic(4), Coroutine(4)], ids=lambda model: model.name)
def test_a_silent_source_uses_no_cpu(model: Model) -> None:
    engine = started(paced(rates=[SILENCE, (0.001, 1)]), model)
    engine.sample(0.1)
    begin = time.process_time()
    engine.sample(0.5)
    assert time.process_time() - begin < 0.1
    assert engine.stop(drain=True, timeout_s=5.0).sent == 0


@EVERY
def test_bursts_of_rate_send_what_each_stretch_says(model: Model) -> None:
    """0.1 s at 2,000 tuples/s and 0.1 s of silence: 1,000 tuples/s over whole rounds."""
    kinds = Counter()

    def due(passed_s: float) -> float:
        rounds, rest_s = divmod(passed_s, 0.2)
        return 200 * rounds + min(2000 * rest_s, 200)

    def both(sample: Sample) -> bool:
        kinds[sample.source_tuples < 20, sample.source_tuples > 70] += 1
        return kinds[True, False] >= 3 and kinds[False, True] >= 3

    begin = time.monotonic()
    engine = started(paced(rates=[(0.1, 2000), (0.1, 0)]), model)
    keeps_up(engine, begin, due, both)
    assert engine.stop(drain=True, timeout_s=5.0).correct


def test_a_stretch_at_full_speed_sends_more_than_any_rate_and_ends_by_the_clock() -> None:
    begin, sent = time.monotonic(), 0
    engine = started(paced(rates=[(0.2, 100), (0.1, None), (0.2, 0)]), Manual())
    while (counted := engine.sample(0.05).source_tuples) + sent < 2000:
        sent += counted
        passed_s = time.monotonic() - begin
        assert passed_s > 0.2 or sent <= 21
        assert passed_s < 60
    until(engine, lambda sample: sample.source_tuples == 0)
    assert engine.stop(drain=True, timeout_s=5.0).correct


SHORT = {
    "half a tuple": ([(0.001, 500)], 500),
    "one and a half": ([(0.0015, 1000)], 1000),
    "half a tuple, then silence": ([(0.001, 500), (0.001, 0)], 250),
    "two rates": ([(0.001, 500), (0.001, 1500)], 1000),
}


@pytest.mark.parametrize("case", SHORT)
def test_stretches_that_are_too_short_for_whole_tuples_do_not_add_up_to_more(case: str) -> None:
    rates, rate = SHORT[case]
    begin = time.monotonic()
    engine = started(paced(rates=rates), Manual())
    keeps_up(engine, begin, lambda passed_s: rate * passed_s)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct


def test_a_stretch_begins_when_the_one_before_it_ends_not_when_that_has_sent_its_last_tuple() -> (
    None
):
    engine = started(paced(rates=[(30, 0.01), (30, None)]), Manual())
    until(engine, lambda sample: sample.source_tuples == 1)
    engine.sample(0.1)
    assert engine.stop(drain=True, timeout_s=5.0).sent == 1


@EVERY
def test_a_bounded_source_with_a_rate_sends_exactly_its_tuples(model: Model) -> None:
    engine = started(paced(rates=[(0.01, 10_000), (0.01, None), (0.02, 0)]), model, tuples=777)
    until(engine, lambda sample: engine.finished())
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.drained and totals.correct and totals.sent == totals.received == 777


@EVERY
def test_a_stalled_consumer_shows_in_the_latency_of_all_tuples_that_were_meant_to_be_sent_meanwhile(
    model: Model,
) -> None:
    """Open loop: one tuple takes 0.3 s, so those due in that time come late, also those that were
    not even sent.
    """

    def stall(sequence: int, value: float) -> float:
        if sequence == 100:
            time.sleep(0.3)
        return value

    graph = Graph("stall", 8)
    user = graph.python("user", stall, preserves=True)
    graph.connect(graph.source("source", rate=1000), user)
    graph.connect(user, graph.sink("sink"))
    for _ in range(20):  # others' turns on the CPUs make more tuples late, but not in each run
        engine = started(graph, model, tuples=600)
        until(engine, lambda sample, engine=engine: engine.finished())
        totals = engine.stop(drain=True, timeout_s=5.0)
        assert totals.correct and totals.received == 600
        assert sum(totals.latency_counts) == 600  # every tuple of a source with a rate has its time
        late = sum(
            count
            for bound, count in zip(latency_bounds_ns(), totals.latency_counts, strict=True)
            if bound > 50e6
        )
        assert late > 200  # about 250 of the 300 due meanwhile waited longer than 50 ms
        assert totals.latency_max_ns > 290e6
        if late < 500:
            break
    assert late < 500


@EVERY
def test_a_source_whose_rate_is_too_high_is_slowed_and_falls_behind_its_schedule(
    model: Model,
) -> None:
    """BOUND: back-pressure, and the growing lateness is in the latency."""
    engine = started(paced(1, cost=2_000_000, rate=10_000), model)
    engine.sample(0.6)
    until(engine, lambda sample: sample.sink_tuples > 0)
    totals = engine.stop(drain=False, timeout_s=10.0)
    assert totals.correct and totals.sent < 5000
    assert totals.latency_max_ns > 10e6
