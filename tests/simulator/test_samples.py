"""Tests of what a simulated sample says means what the runtime's does, and agrees with the account
at the end.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from harness.engine import Engine, Sample
from harness.graph import Graph
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import GRAPHS, chain, pipeline, split_and_join
from tests.simulator.runs import run_to_end, simulated

PLACES = [("xeon", "millrace"), ("xeon", "streams-4.2"), ("local", "millrace")]
MODELS = [Manual(), Dedicated(), Dynamic(2)]


def samples_of(engine: Engine, period_s: float, count: int) -> list[Sample]:
    engine.start()
    return [engine.sample(period_s) for _ in range(count)]


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.name)
def test_samples_add_up_to_the_totals(model: Model, place: tuple[str, str]) -> None:
    machine, software = place
    engine = simulated(pipeline(4, cost=100), model, machine, software=software, tuples=3000)
    engine.start()
    samples = []
    while not engine.finished():
        samples.append(engine.sample(1e-4))
    samples.append(engine.sample(0.0))
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert sum(sample.source_tuples for sample in samples) == totals.sent == 3000
    assert sum(sample.sink_tuples for sample in samples) == totals.received == 3000
    assert sum(sample.submitted_tuples for sample in samples) == 5 * 3000
    assert [sum(sample.processed[index] for sample in samples) for index in range(6)] == [3000] * 6
    assert [
        sum(counts) for counts in zip(*(sample.latency_counts for sample in samples), strict=True)
    ] == totals.latency_counts
    assert sum(totals.latency_counts) >= 3000 // 32
    assert sum(sample.elapsed_s for sample in samples) == pytest.approx(samples[-1].time_s)
    assert all(earlier.time_s <= later.time_s for earlier, later in itertools.pairwise(samples))


@pytest.mark.parametrize("place", PLACES, ids=" ".join)
@pytest.mark.parametrize("model", [*MODELS, Dynamic(2, queue_capacity=5)], ids=repr)
@pytest.mark.parametrize(
    "shape", ["mix", "diamond", "merge, skewed", "annotations", "load balance", "bursts of cost"]
)
def test_shares_are_shares_and_cpus_do_not_work_longer_than_time_passes(
    shape: str, model: Model, place: tuple[str, str]
) -> None:
    machine, software = place
    engine = simulated(GRAPHS[shape](), model, machine, software=software, profile=True)
    cpus = {"local": 2, "xeon": 176}[machine]
    for sample in samples_of(engine, 3e-4, 5):
        assert sample.elapsed_s == pytest.approx(3e-4)
        assert all(0.0 <= fill <= 1.0 for fill in sample.queue_fill)
        assert all(0.0 <= share <= 1.0 for share in sample.write_blocked)
        assert sample.utilisation is None or 0.0 <= sample.utilisation <= 1.0
        assert (
            0.0 < sample.cpu_s <= min(cpus, max(engine.threads, 1)) * sample.elapsed_s * (1 + 1e-9)
        )
        assert sample.kernel_s >= 0.0
        assert sample.system_cpu == pytest.approx(
            sample.cpu_s / (sample.elapsed_s * cpus), abs=1e-9
        )
        assert sample.others_cpu == 0.0
        assert sample.context_switches >= 0
        assert not sample.operator_cost or sum(sample.operator_cost) == pytest.approx(1.0)
        for balance in sample.balancers.values():
            assert 1 <= balance.active <= balance.ports and 0.0 <= balance.congestion <= 1.0


def test_a_bottleneck_shows_as_a_full_queue_and_blocked_writers_before_it() -> None:
    graph = pipeline(3)
    graph.operators["work1"] = replace(graph.operators["work1"], cost=20_000)
    engine = simulated(graph, Dedicated(queue_capacity=20))
    samples = samples_of(engine, 2e-3, 8)[2:]
    before, at, after = (
        sum(sample.queue_fill[port] for sample in samples) / len(samples) for port in (0, 1, 2)
    )
    assert before > after and at > after
    assert sum(sample.write_blocked[0] for sample in samples) > sum(
        sample.write_blocked[2] for sample in samples
    )


@pytest.mark.parametrize("software", ["millrace", "streams-4.2"])
def test_the_level_takes_effect_and_is_seen(software: str) -> None:
    engine = simulated(split_and_join(8, 3, ordered=False), Dynamic(4), software=software)
    engine.start()
    assert engine.sample(1e-3).threads_active == 4
    for level in (1, 9, 2, 30, 30, 3):
        engine.set_threads(level)
        sample = engine.sample(2e-3)
        assert (sample.threads_requested, sample.threads_active, sample.threads_unsuspendable) == (
            level,
            level,
            0,
        )
        assert engine.threads == 1 + level
    assert engine.stop(drain=True, timeout_s=1.0).correct


@pytest.mark.parametrize("software", ["millrace", "streams-4.2"])
def test_more_threads_do_more_where_there_is_work_for_them(software: str) -> None:
    """Not a claim about machines: a level that would be ignored has no effect."""
    heavy = split_and_join(8, 1, payload=8)
    for branch in range(8):
        name = f"w{branch}_0"
        heavy.operators[name] = replace(heavy.operators[name], cost=10_000)
    engine = simulated(heavy, Dynamic(1), software=software)
    engine.start()
    engine.sample(5e-3)
    alone = engine.sample(2e-2).sink_tuples
    engine.set_threads(8)
    engine.sample(5e-3)
    assert engine.sample(2e-2).sink_tuples > 3 * alone  # the source's thread helps in both cases


def test_threads_that_go_on_after_they_were_told_to_suspend_are_counted_from_the_second_sample_on() -> (
    None
):
    engine = simulated(pipeline(40, cost=100_000), Dynamic(8))
    engine.start()
    engine.sample(5e-3)
    engine.set_threads(1)
    assert [engine.sample(1e-6).threads_unsuspendable for _ in range(2)] == [0, 7]
    engine.sample(5e-2)
    sample = engine.sample(1e-3)
    assert (sample.threads_unsuspendable, sample.threads_active) == (0, 1)


def test_switched_off_queues_are_not_counted_and_come_back() -> None:
    graph = pipeline(4)
    engine = simulated(graph, Dynamic(2))
    engine.start()
    ports = list(graph.input_ports())
    assert engine.sample(1e-4).queued_ports == 5
    engine.set_queued(ports[:3], queued=False)
    sample = engine.sample(3e-4)
    assert sample.queued_ports == 2 and engine.queued() == ports[3:]
    assert sample.queue_fill[:3] == [0.0, 0.0, 0.0]
    engine.set_queued(ports, queued=True)
    assert engine.sample(1e-4).queued_ports == 5
    assert engine.stop(drain=True, timeout_s=1.0).correct


def test_the_profiler_sees_where_the_work_is() -> None:
    """Also of operators that are called, and where a thread does in one step what several operators
    take.
    """
    graph = Graph("one heavy", 8)
    head = graph.work("head", 1000)
    graph.connect(graph.source("source"), head)
    graph.connect(chain(graph, head, 1, cost=9000), graph.sink("sink"))
    for model in (Manual(), Dynamic(2), Dynamic(2, queued="none")):
        *_, sample = samples_of(simulated(graph, model, profile=True), 0.1, 2)
        cost = dict(zip(graph.operators, sample.operator_cost, strict=True))
        assert cost["work0"] == pytest.approx(0.9, abs=0.05)
        assert cost["head"] == pytest.approx(0.1, abs=0.05)


def test_costs_are_of_several_samples_so_that_short_ones_show_most_operators() -> None:
    """Forty looks a sample at a hundred operators: one alone shows a third of them."""
    samples = samples_of(simulated(pipeline(100, cost=100), Dynamic(1), profile=True), 2e-3, 20)
    unseen = [sum(share == 0.0 for share in sample.operator_cost) for sample in samples]
    assert unseen[0] > 50
    assert max(unseen[5:]) < 0.8 * unseen[0]
    assert all(sum(sample.operator_cost) == pytest.approx(1.0) for sample in samples)


def test_costs_follow_work_that_moves_within_a_few_samples() -> None:
    graph = Graph("moves", 8)
    head = graph.work("head", costs=[(20_000, 10), (10**9, 1000)])
    graph.connect(graph.source("source"), head)
    graph.connect(chain(graph, head, 1, cost=500), graph.sink("sink"))
    names = list(graph.operators)
    samples = samples_of(simulated(graph, Manual(), profile=True), 2e-3, 60)
    shares = [
        sample.operator_cost[names.index("head")] for sample in samples if sample.operator_cost
    ]
    assert shares[0] < 0.2 and shares[-1] > 0.5
    moved = next(place for place, share in enumerate(shares) if share > 0.25)
    assert all(share > 0.5 for share in shares[moved + 4 :])


def test_a_paced_source_sends_what_is_due() -> None:
    graph = Graph("paced", 8)
    graph.connect(chain(graph, graph.source("source", rate=1e5), 2), graph.sink("sink"))
    for model in (*MODELS, Dynamic(2, queued="none")):
        first, *rest = samples_of(simulated(graph, model), 0.01, 4)
        assert first.source_tuples == pytest.approx(1000, abs=40)
        for sample in rest:
            assert sample.source_tuples == pytest.approx(1000, abs=10)
            assert sample.sink_tuples == pytest.approx(1000, abs=20)


def test_bursts_have_their_lengths_and_silence_is_silent() -> None:
    graph = Graph("bursty", 8)
    graph.connect(
        chain(graph, graph.source("source", rates=[(0.01, 1e5), (0.01, 0)]), 2), graph.sink("sink")
    )
    sent = [sample.source_tuples for sample in samples_of(simulated(graph, Dynamic(2)), 0.01, 6)]
    assert sent[::2] == [pytest.approx(1000, abs=40)] * 3
    assert sent[1::2] == [pytest.approx(0, abs=40)] * 3


@pytest.mark.parametrize(
    ("rates", "rate"),
    [
        ([(1e-3, 500)], 500),
        ([(1.5e-3, 1000)], 1000),
        ([(1e-3, 500), (1e-3, 0)], 250),
        ([(1e-3, 500), (1e-3, 1500)], 1000),
    ],
)
def test_stretches_that_are_too_short_for_whole_tuples_do_not_add_up_to_more(
    rates: list[tuple[float, float]], rate: int
) -> None:
    graph = Graph("short", 8)
    graph.connect(chain(graph, graph.source("source", rates=rates), 2), graph.sink("sink"))
    engine = simulated(graph, Manual())
    samples_of(engine, 0.6, 1)
    totals = engine.stop(drain=True, timeout_s=1.0)
    assert totals.sent == pytest.approx(0.6 * rate, abs=1)
    assert totals.latency_max_ns < 300_000, (
        "and each is sent when it was meant to be, but for the time of a wake-up"
    )


def test_a_latency_is_at_least_the_work_on_the_way() -> None:
    engine = simulated(pipeline(2, cost=1_000_000), Manual(), tuples=3)
    samples_of(engine, 1.0, 1)
    totals = engine.stop(drain=True, timeout_s=1.0)
    assert totals.latency_max_ns >= 2_000_000 * 3 / 3.4  # multiplies of three cycles at 3.3 GHz


def test_latencies_are_those_of_sinks_not_of_control_ports() -> None:
    graph = Graph("late control", 8)
    head, late = graph.work("head", 1), graph.work("late", 1_000_000)
    graph.connect(graph.source("source"), head)
    graph.connect(head, graph.sink("sink"))
    graph.connect(head, late)
    graph.connect(late, graph.control(head))
    totals = run_to_end(simulated(graph, Manual(), tuples=1))
    assert totals.correct and sum(totals.latency_counts) == 1
    assert totals.latency_max_ns < 100_000


def test_a_run_that_waits_for_one_slow_operator_sleeps_otherwise() -> None:
    """ASLEEP: a pool without work uses no CPU."""
    engine = simulated(pipeline(3, cost=5_000_000), Dynamic(8), tuples=4)
    *_, sample = samples_of(engine, 5e-3, 2)
    assert sample.cpu_s <= 3.1 * sample.elapsed_s  # of three operators
    engine.sample(10.0)
    totals = engine.stop(drain=True, timeout_s=1.0)
    assert (
        totals.correct and totals.scheduling["waits"] > 0 and totals.scheduling["searches"] < 1000
    )
