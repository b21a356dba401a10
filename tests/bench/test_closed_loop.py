"""A law in the loop: its level decides what the next period shows; everything else is the
scenario's.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import correlation, fmean, pstdev

import pytest

from harness.bench.closed_loop import run
from harness.bench.threads.scenario import Event, ThreadScenario
from harness.elasticity import Bounds, Decision, Law, make_law
from tests.elasticity.drive import Cpu

PROPORTIONAL = tuple(100.0 * level for level in range(1, 9))
PLAIN = ThreadScenario("one", PROPORTIONAL, Bounds(1, 8, 2), periods=30)


class Scripted(Law):
    """Goes through given levels, whatever it sees, and keeps its readings."""

    name, summary = "scripted", "for tests"

    def __init__(self, bounds, levels):
        super().__init__(bounds)
        self.levels, self.readings = list(levels), []

    def cpu_limit(self):
        return Cpu()

    def decide(self, reading):
        self.readings.append(reading)
        place = len(self.readings)
        return Decision(self.levels[place % len(self.levels)], f"step {place}", "scripted")


def noise_of(scenario):
    """Return what throughput was multiplied with in each period at a fixed level."""
    return [seen / 200.0 for seen in run(make_law("fixed", scenario.bounds), scenario).throughputs]


def test_a_period_passes_at_the_level_of_the_decision_before():
    trace = run(Scripted(PLAIN.bounds, [2, 5, 3]), replace(PLAIN, periods=4))
    assert trace.levels == [2, 5, 3, 2]
    assert trace.throughputs == [200.0, 500.0, 300.0, 200.0]
    assert [each.reason for each in trace.decisions] == ["step 1", "step 2", "step 3", "step 4"]


@pytest.mark.parametrize(
    "strengths", [{"noise": 0.1}, {"drift": 0.1}, {"noise": 0.05, "drift": 0.05}]
)
def test_the_same_seed_is_the_same_noise_whatever_the_law_does(strengths):
    noisy = replace(PLAIN, seed=11, **strengths)
    walked = run(Scripted(PLAIN.bounds, [2, 5, 3, 8, 1]), noisy)
    factors = [
        seen / (100.0 * level)
        for level, seen in zip(walked.levels, walked.throughputs, strict=True)
    ]
    assert factors == pytest.approx(noise_of(noisy))
    assert len(set(factors)) > 20
    assert noise_of(replace(noisy, seed=12)) != noise_of(noisy)


def test_white_noise_is_as_strong_as_told_and_forgets_at_once():
    factors = noise_of(replace(PLAIN, noise=0.05, periods=4000, seed=5))
    assert fmean(factors) == pytest.approx(1.0, abs=0.005)
    assert pstdev(factors) == pytest.approx(0.05, rel=0.06)
    assert abs(correlation(factors[1:], factors[:-1])) < 0.05


def test_drift_is_as_strong_as_told_and_wanders_slowly():
    runs = [noise_of(replace(PLAIN, drift=0.05, periods=4000, seed=seed)) for seed in range(3)]
    assert fmean(pstdev(factors) for factors in runs) == pytest.approx(0.05, rel=0.1)
    assert all(correlation(factors[1:], factors[:-1]) > 0.9 for factors in runs)
    firsts = [noise_of(replace(PLAIN, drift=0.05, periods=1, seed=seed))[0] for seed in range(400)]
    assert pstdev(firsts) == pytest.approx(0.05, rel=0.15), "from the first period on"


def test_noise_never_makes_throughput_negative():
    assert min(noise_of(replace(PLAIN, noise=1.0, periods=300))) == 0.0


def test_a_law_is_told_when_others_have_the_cpus():
    crowded = replace(PLAIN, events=(Event("cpu", 10, 5, factor=0.5),), periods=20)
    law = Scripted(PLAIN.bounds, [2])
    run(law, crowded)
    told = [(reading.system_cpu > 0.8, reading.others_cpu > 0.2) for reading in law.readings]
    assert told == [(False, False)] * 10 + [(True, True)] * 5 + [(False, False)] * 5


def test_a_law_is_told_how_long_periods_were_and_at_which_level_they_passed():
    law = Scripted(PLAIN.bounds, [2, 5])
    run(law, replace(PLAIN, periods=3))
    assert [(each.time_s, each.elapsed_s, each.threads) for each in law.readings] == [
        (1.0, 1.0, 2),
        (2.0, 1.0, 5),
        (3.0, 1.0, 2),
    ]


def test_threads_that_bring_nothing_idle_where_they_starve_and_are_busy_where_they_contend():
    flat = replace(PLAIN, curve=(100.0,) * 8, bounds=Bounds(4, 8, 4), periods=1)
    for starved, busy in ((True, 0.25), (False, 1.0)):
        law = Scripted(flat.bounds, [4])
        run(law, replace(flat, starved=starved))
        assert law.readings[0].utilisation == busy


def test_an_idle_period_has_no_tuples_no_busy_thread_and_no_full_buffer():
    law = Scripted(PLAIN.bounds, [2])
    run(law, replace(PLAIN, events=(Event("idle", 0),), periods=1))
    assert (
        law.readings[0].throughput,
        law.readings[0].utilisation,
        law.readings[0].congestion,
    ) == (0.0, 0.0, 0.0)
