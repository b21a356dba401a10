"""Tests of how long a step of a law takes, for graphs of 400 operators. `make bench` runs this;
nothing here asserts a time.

A step should take less than 1 % of a period of 100 ms: 1 ms. The clock is the CPU time of the
thread, for others may be busy.
"""

from __future__ import annotations

import time

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from harness.bench.queues.graphs import TopologyShape
from harness.bench.queues.scenario import QueueScenario
from harness.bench.queues.world import QueueWorld
from harness.elasticity import LAWS, Decides

OPERATORS, CPUS, PERIODS = 400, 16, 60


def readings_of(law: str) -> tuple[object, list[tuple[object, str]]]:
    """A law in closed loop on a pipeline: its readings, each with the state that it led to."""
    shape = TopologyShape("pipeline", (("operators", OPERATORS),))
    one = QueueScenario(
        "p",
        shape,
        "skewed",
        128,
        QueueWorld("xeon", "millrace", CPUS),
        noise=0.02,
        seed=3,
        graph_seed=3,
    )
    made, configuration = one.contestant(law)
    observe, steps = one.observer(), []
    for period in range(PERIODS):
        reading = observe(period, configuration)
        decision = made.step(reading)
        configuration = configuration.after(decision)
        steps.append((reading, decision.state))
    return one, steps


@pytest.mark.slow
@pytest.mark.benchmark(timer=time.thread_time)
@pytest.mark.parametrize("settled", [False, True], ids=["searching", "settled"])
@pytest.mark.parametrize("law", LAWS[Decides.QUEUES])
def test_step(benchmark: BenchmarkFixture, law: str, settled: bool) -> None:
    """The law takes its own steps again; those before the first of the kind that is timed are
    not.
    """
    scenario, steps = readings_of(law)
    chosen = [
        place
        for place, (_, state) in enumerate(steps)
        if (state == "settled") == settled and place > 0
    ]
    if not chosen:
        pytest.skip("it has no such step")
    benchmark.group = f"{OPERATORS} operators: a step, {'settled' if settled else 'searching'}"
    made, _ = scenario.contestant(law)
    rest = iter(steps)
    for _ in range(chosen[0]):
        made.step(next(rest)[0])
    wanted = len(chosen)

    def of_the_kind() -> tuple[tuple[object], dict[str, object]]:
        for reading, state in rest:
            if (state == "settled") == settled:
                return (reading,), {}
            made.step(reading)
        raise AssertionError("as many rounds as there are such steps")

    benchmark.pedantic(
        lambda reading: made.step(reading), setup=of_the_kind, rounds=min(wanted, 20)
    )
