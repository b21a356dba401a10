"""Tests of what a sample says agrees with the account at the end."""

from __future__ import annotations

import itertools
import signal
import threading
import time

import pytest
from harness.runtime.engine import ns_per_flop
from harness.runtime.protocol import build_info, latency_bounds_ns

from harness.engine import Sample, open_engine
from harness.errors import UserError
from harness.graph.kinds import WORK
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import eventually, pipeline, run_to_end, until


@pytest.mark.parametrize("model", [Manual(), Dedicated(), Dynamic(2)], ids=lambda model: model.name)
def test_samples_add_up_to_the_totals(model: Model) -> None:
    engine = open_engine(pipeline(4, cost=100), model, tuples=30_000)
    engine.start()
    samples = []
    while not engine.finished():
        samples.append(engine.sample(0.01))
    samples.append(engine.sample(0.0))
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert sum(sample.source_tuples for sample in samples) == totals.sent == 30_000
    assert sum(sample.sink_tuples for sample in samples) == totals.received == 30_000
    assert sum(sample.submitted_tuples for sample in samples) == 5 * 30_000
    assert [sum(sample.processed[index] for sample in samples) for index in range(6)] == [
        30_000
    ] * 6
    assert [
        sum(counts) for counts in zip(*(sample.latency_counts for sample in samples), strict=True)
    ] == totals.latency_counts
    assert sum(totals.latency_counts) >= 30_000 // 32
    times = [sample.time_s for sample in samples]
    assert times == sorted(times)
    assert all(0.0 <= fill <= 1.0 for sample in samples for fill in sample.queue_fill)
    assert all(0.0 <= share <= 1.0 for sample in samples for share in sample.write_blocked)
    assert all(0.0 <= sample.kernel_s <= sample.cpu_s + 1e-9 for sample in samples)
    assert samples[0].threads_active == (2 if model.name == "dynamic" else 0)
    assert samples[0].queued_ports == (0 if model.name == "manual" else 5)


def test_what_has_passed_since_a_sample_is_in_the_next_one_too() -> None:
    engine = open_engine(pipeline(4, cost=100), Manual())
    engine.start()
    first = until(engine, lambda sample: sample.submitted_tuples > 0)
    time.sleep(0.02)
    assert eventually(lambda: engine.since_sample()[1] > 0)
    seconds, tuples = engine.since_sample()
    again_s, again = engine.since_sample()
    second = engine.sample(0.02)
    engine.stop(drain=False, timeout_s=5.0)
    assert 0.02 <= seconds <= again_s <= second.elapsed_s
    assert 0 < tuples <= again <= second.submitted_tuples
    assert first.submitted_tuples > 0


def test_a_bottleneck_shows_as_a_full_queue_and_blocked_writers_before_it() -> None:
    graph = pipeline(3)
    graph.operators["work1"] = graph.operators["work1"].__class__("work1", WORK, 1, 1, 200_000)
    engine = open_engine(graph, Dedicated(queue_capacity=20))
    engine.start()
    samples = []

    def shows(sample: Sample) -> bool:
        samples.append(sample)
        # a producer is woken when half the queue is free, so full means half to full
        before, at, after = (
            sum(sample.queue_fill[port] for sample in samples) for port in range(3)
        )
        first, _, last = (
            sum(sample.write_blocked[port] for sample in samples) for port in range(3)
        )
        return len(samples) > 6 and before > after and at > after and first > last

    until(engine, shows)
    assert engine.stop(drain=False, timeout_s=5.0).correct


def test_a_thread_without_work_sleeps() -> None:
    """ASLEEP: a pool that waits for one slow operator uses little of the machine, and says how
    often it slept.
    """
    engine = open_engine(pipeline(3, cost=50_000_000), Dynamic(8), tuples=4)
    engine.start()
    while not engine.finished():
        engine.sample(0.1)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct
    assert totals.scheduling["waits"] > 0
    assert totals.scheduling["searches"] < 100_000


def test_latency_bounds_grow_and_are_at_most_a_sixteenth_apart() -> None:
    bounds = latency_bounds_ns()
    assert bounds[:18] == list(range(18))
    assert all(low < high for low, high in itertools.pairwise(bounds))
    assert all((high - low) / (low + 1) <= 1 / 16 for low, high in itertools.pairwise(bounds[16:]))
    assert bounds[-1] > 10**12


def test_the_latency_of_a_slow_chain_is_at_least_its_work() -> None:
    totals = run_to_end(pipeline(2, cost=1_000_000), Manual(), 3)
    assert (
        totals.latency_max_ns >= 1_000_000
    )  # two million multiplies take longer than half a nanosecond each


@pytest.mark.usefixtures("signals_heeded")
def test_an_interrupt_ends_a_long_sample() -> None:
    """Ctrl-C does this; without it the sample takes 20 s."""
    engine = open_engine(pipeline(), Dynamic(2))
    engine.start()
    begin = time.monotonic()
    interrupt = threading.Timer(
        0.2, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)
    )
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        engine.sample(20.0)
    assert time.monotonic() - begin < 10.0
    assert engine.stop(drain=False, timeout_s=5.0).correct


def test_sampling_before_the_start_is_refused() -> None:
    engine = open_engine(pipeline(), Manual())
    with pytest.raises(UserError, match=r"^sample was called before start"):
        engine.sample(0.1)
    with pytest.raises(UserError, match=r"^since_sample was called before start"):
        engine.since_sample()


def test_the_build_says_how_it_was_made_and_a_flop_takes_time() -> None:
    assert "-O" in build_info()["flags"] and build_info()["compiler"]
    assert 0.05 < ns_per_flop() < 100


def test_samples_and_totals_are_printed_without_their_histograms() -> None:
    engine = open_engine(pipeline(2), Manual(), tuples=100)
    engine.start()
    sample = engine.sample(0.01)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert len(totals.latency_counts) > 100
    for told in (str(sample), str(totals)):
        assert len(told) < 1000 and "latency_counts" not in told
