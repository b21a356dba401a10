"""Levels that change all the time on real threads: nothing is lost or leaks, who sleeps sleeps; and
how busy threads are.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from harness import elasticity
from harness.elasticity.cpu_limit import Answers
from harness.elasticity.law import Bounds, Decision, Law, Reading
from harness.engine import Sample, open_engine
from harness.graph import Graph, Threading
from harness.graph.annotations import in_force
from harness.graph.kinds import WORK
from harness.measurement.control import Controller
from harness.measurement.laws import pool_law
from harness.measurement.records import validate_record
from harness.measurement.run import run_once
from harness.measurement.spec import run_of
from harness.models import Dynamic, Manual, Model
from harness.models.layout import layout_of
from tests.runtime.shapes import GRAPHS, at_most_threads, chain, eventually, pipeline, until

CHANGES = 10_000
MAXIMUM = 16


class Restless(Law):
    """Another level each period, at random."""

    name = "restless"
    summary = "for tests"

    def begin(self) -> None:
        """Begin at the same levels each time."""
        self.draw = random.Random(7)
        self.decided = 0

    def decide(self, reading: Reading) -> Decision:
        """Any level but this one, if there is another."""
        self.decided += 1
        if self.bounds.minimum == self.bounds.maximum:
            return Decision(self.bounds.minimum, "restless", "moving")
        level = self.draw.randint(self.bounds.minimum, self.bounds.maximum - 1)
        return Decision(level + (level >= reading.threads), "restless", "moving")

    def cpu_limit(self) -> Answers:
        """It never asks."""
        return Answers(())


@pytest.fixture(autouse=True)
def restless(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elasticity, "law_class", lambda name, decides: Restless)


@pytest.mark.parametrize("shape", ["merge, skewed", "mix"])
def test_ten_thousand_changes_of_level_under_load_lose_and_reorder_nothing_and_leak_no_thread(
    shape: str,
) -> None:
    """ORDER, ONCE. The law's decisions are done as fast as they come, far faster than once a
    period.
    """
    process = psutil.Process()
    threads = process.num_threads()
    engine = open_engine(GRAPHS[shape](), Dynamic(1, queue_capacity=20))
    engine.start()
    law = Restless(Bounds(1, MAXIMUM, 1))
    level, levels, received = 1, Counter(), 0
    for n in range(1, CHANGES + 1):
        level = law.step(Reading(n, 1.0, level, 1.0)).threads
        engine.set_threads(level)
        levels[level] += 1
        if n % 200 == 0:
            received += engine.sample(0.005).sink_tuples
    while received <= 10_000:
        received += engine.sample(0.1).sink_tuples
    own = engine.threads - level
    assert process.num_threads() - threads == own + MAXIMUM, "threads are kept, not made anew"
    totals = engine.stop(drain=True, timeout_s=20.0)
    assert law.decided == CHANGES and len(levels) == MAXIMUM
    assert totals.drained and totals.correct, totals
    assert totals.order_checked
    assert at_most_threads(threads)


def ticks_of_pool() -> dict[int, int]:
    """CPU time so far [ticks of 10 ms] of each scheduler thread of this process."""
    ticks = {}
    for task in Path("/proc/self/task").iterdir():
        try:
            name, _, rest = (task / "stat").read_text().rpartition(")")
        except OSError:  # it has ended meanwhile
            continue
        if "(scheduler th" in name:
            ticks[int(task.name)] = sum(map(int, rest.split()[11:13]))
    return ticks


def test_suspended_threads_use_no_cpu_while_others_are_under_load() -> None:
    """ASLEEP. Counted, not timed: of 16 threads at level 2, no more than 2 use CPU."""
    assert eventually(lambda: not ticks_of_pool())  # threads that another test had given up
    engine = open_engine(pipeline(20, cost=200), Dynamic(MAXIMUM))
    engine.start()
    until(engine, lambda sample: sample.sink_tuples > 0)
    engine.set_threads(2)
    until(engine, lambda sample: sample.threads_active == 2)
    before = ticks_of_pool()
    assert len(before) == MAXIMUM

    def two_work(sample: Sample) -> bool:
        """On a busy machine some are still on their way to sleep, or nobody works for a while."""
        nonlocal before
        last, before = before, ticks_of_pool()
        used = sorted(before[thread] - last[thread] for thread in last)
        return used[:-2] == [0] * (MAXIMUM - 2) and used[-1] > 0

    until(engine, two_work, period_s=0.6)
    assert engine.stop(drain=True, timeout_s=20.0).correct


@pytest.mark.parametrize(
    "model", [Dynamic(elastic=True, maximum=MAXIMUM), Manual()], ids=lambda model: model.name
)
def test_a_controller_changes_the_level_of_a_real_engine(model: Model) -> None:
    """Under the model manual because an annotation says so."""
    graph = Graph("annotated", 8)
    with in_force(Threading("dynamic", elastic=True)):
        last = chain(graph, graph.source("source"), 6, 100)
    graph.connect(last, graph.sink("sink"))
    engine = open_engine(graph, model)
    controller = Controller(engine, graph, pool_law(layout_of(graph, model)), 0.1)
    assert controller.pool is not None
    bounds = controller.pool.law.bounds
    engine.start()
    seen = []
    for _ in range(10):
        seen.append(engine.sample(controller.sample_s))
        controller.see(seen[-1])
    assert engine.stop(drain=True, timeout_s=20.0).correct
    levels = [sample.threads_requested for sample in seen]
    assert levels[0] == bounds.start == 1
    assert all(bounds.minimum <= level <= bounds.maximum for level in levels)
    assert len(set(levels)) > 1 or bounds.maximum == 1
    states = [controller.step_after(sample).state for sample in seen]
    assert states.count("moving") >= 3 and set(states) <= {"moving", "waiting"}


def test_an_elastic_run_from_end_to_end() -> None:
    spec = run_of(
        "pipeline",
        {"operators": 6},
        "dynamic",
        elastic=True,
        maximum=6,
        duration_s=0.5,
        warmup=1.0,
        period_s=0.1,
    )
    record = run_once(spec)
    validate_record(record)
    assert record["correct"] and record["error"] is None
    assert len(record["adaptation"]) >= 2 and len(record["samples"]) >= 1, (
        "fewer than 10 and 5 only where CPUs are scarce"
    )
    assert (record["elastic"]["law"], record["elastic"]["maximum"], record["threads"]) == (
        "restless",
        6,
        None,
    )
    everything = record["adaptation"] + record["samples"]
    assert len({sample["threads_requested"] for sample in everything}) > 1
    assert all(0.0 <= sample["utilisation"] <= 1.0 for sample in everything)
    assert all(0.0 <= sample["others_cpu"] <= sample["system_cpu"] <= 1.0 for sample in everything)


def test_a_bounded_elastic_run_ends_by_itself() -> None:
    spec = run_of(
        "mix",
        {"width": 3, "depth": 3},
        "dynamic",
        elastic=True,
        maximum=6,
        tuples=20_000,
        period_s=0.1,
    )
    record = run_once(spec)
    validate_record(record)
    assert record["correct"] and record["settled"] and record["tuples_sent"] == 20_000


def test_suspended_threads_that_the_end_of_the_run_wakes_do_not_count_as_active() -> None:
    graph = Graph("bounded", 8)
    graph.connect(chain(graph, graph.source("source", rate=1000), 3), graph.sink("sink"))
    engine = open_engine(graph, Dynamic(8), tuples=500)
    engine.start()
    engine.set_threads(2)
    while not engine.finished():
        engine.sample(5.0)
    time.sleep(0.1)  # so that they have woken
    assert engine.sample(0.0).threads_active == 2
    assert engine.stop(drain=True, timeout_s=5.0).correct


# -- utilisation -----------------------------------------------------------------------------------


def used(
    graph: Graph,
    model: Model,
    enough: Callable[[float | None], bool],
    during: Callable[[object], None] = lambda engine: None,
) -> None:
    """Run until the utilisation of a sample, not the first two, is as it should be. While others
    have the CPUs a source may fall silent, or a thread be on its way to sleep.
    """
    engine = open_engine(graph, model)
    engine.start()
    engine.sample(0.2)
    during(engine)
    engine.sample(0.2)
    until(engine, lambda sample: enough(sample.utilisation), period_s=0.4)
    assert engine.stop(drain=False, timeout_s=20.0).correct


def quiet(rate: float) -> Graph:
    graph = Graph("quiet", 8)
    graph.connect(chain(graph, graph.source("source", rate=rate), 3), graph.sink("sink"))
    return graph


def test_threads_that_have_no_work_are_idle_also_while_their_sleep_goes_on() -> None:
    used(quiet(0.001), Dynamic(4), lambda share: share < 0.02)
    used(quiet(50.0), Dynamic(4), lambda share: share < 0.2)


def test_a_thread_under_load_is_busy() -> None:
    used(pipeline(10, cost=20_000), Dynamic(1), lambda share: share > 0.8)


def test_suspended_threads_do_not_count() -> None:
    graph = pipeline(10, cost=20_000)
    used(graph, Dynamic(8), lambda share: share > 0.8, lambda engine: engine.set_threads(1))


def test_more_threads_than_ports_with_work_are_partly_idle() -> None:
    """One operator that takes all the time: one thread has it, and the others wait."""
    graph = pipeline(3)
    graph.operators["work1"] = graph.operators["work1"].__class__("work1", WORK, 1, 1, 400_000)
    used(graph, Dynamic(4), lambda share: share < 0.7)


def test_without_a_pool_nobody_is_utilised() -> None:
    used(pipeline(3), Manual(), lambda share: share is None)
