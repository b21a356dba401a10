"""Drives a law through a scenario: what it is shown, and that it gets what it asks for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.bench.closed_loop import run
from harness.bench.queues.scenario import PERIOD_S, PROFILER_LOOKS_PER_S, SWITCH_SURGES, Phase
from harness.elasticity import Bounds, Decision
from tests.bench.queues.small import Toy, scenario

PLAIN = scenario()


def toy(of):
    return Toy(of.bounds, layout=of.layout)


def queues(trace):
    return [each.queued for each in trace.configurations]


def test_a_law_begins_without_queues_at_one_thread_and_then_gets_what_it_asks_for():
    law = toy(PLAIN)
    trace = run(law, PLAIN)
    chosen = frozenset(range(0, len(PLAIN.layout.ports), 2))
    assert trace.levels == [1] * 3 + [4] * 37
    assert queues(trace) == [frozenset()] * 3 + [chosen] * 37
    assert [reading.queued for reading in law.readings] == queues(trace)
    assert [reading.threads for reading in law.readings] == trace.levels
    assert [reading.time_s for reading in law.readings[:2]] == [PERIOD_S, 2 * PERIOD_S]


def test_without_noise_it_sees_the_truth_but_in_the_period_after_a_switch():
    surges = replace(PLAIN, seed=len(SWITCH_SURGES) * 5 - 1)  # the largest surge
    law = toy(surges)
    run(law, surges)
    surface = PLAIN.surface(0)
    seen = [reading.throughput for reading in law.readings]
    assert seen[:3] == [surface.throughput((), 1)] * 3
    there = surface.throughput(law.readings[3].queued, 4)
    assert there * 1.02 < seen[3] < there * (1.0 + 1.5 * SWITCH_SURGES[-1])
    assert seen[4:] == [there] * 36


def test_noise_is_of_its_size_and_the_same_whatever_the_law_does():
    noisy = replace(PLAIN, noise=0.05, periods=400)
    law = toy(noisy)
    run(law, noisy)
    there = PLAIN.surface(0).throughput(law.readings[5].queued, 4)
    off = [reading.throughput / there - 1.0 for reading in law.readings[5:]]
    assert abs(sum(off) / len(off)) < 0.01
    assert sum(each**2 for each in off) / len(off) == pytest.approx(0.05**2, rel=0.2)
    again = toy(noisy)
    run(again, noisy)
    assert [each.throughput for each in again.readings] == [
        each.throughput for each in law.readings
    ]


def test_the_profiler_sees_a_sample_of_the_true_costs():
    law = toy(PLAIN)
    run(law, PLAIN)
    true = PLAIN.surface(0).shares()
    first, later = law.readings[0].costs, law.readings[10].costs
    assert sum(first) == pytest.approx(1.0) and len(first) == PLAIN.layout.operators
    assert all(
        share * PROFILER_LOOKS_PER_S * PERIOD_S
        == pytest.approx(round(share * PROFILER_LOOKS_PER_S * PERIOD_S))
        for share in first
    )
    assert all(
        share * PROFILER_LOOKS_PER_S * PERIOD_S * 5
        == pytest.approx(round(share * PROFILER_LOOKS_PER_S * PERIOD_S * 5))
        for share in later
    )
    assert max(abs(seen - share) for seen, share in zip(later, true, strict=True)) < 0.05
    assert first != law.readings[1].costs


def test_a_phase_changes_the_truth_and_not_what_the_law_knows():
    changing = replace(PLAIN, phases=(Phase(0), Phase(20, scale=10.0)))
    law = toy(changing)
    run(law, changing)
    assert law.readings[25].throughput < 0.3 * law.readings[15].throughput
    assert changing.layout == PLAIN.layout


def test_others_on_the_cpus_are_shown():
    taken = replace(PLAIN, phases=(Phase(0), Phase(20, others=0.5)))
    law = toy(taken)
    run(law, taken)
    assert (law.readings[19].system_cpu, law.readings[19].others_cpu) == (0.5, 0.0)
    assert (law.readings[20].system_cpu, law.readings[20].others_cpu) == (1.0, 0.5)


def test_a_decision_that_says_nothing_of_queues_leaves_them():
    class Silent(Toy):
        def decide(self, reading):
            return Decision(
                2, "silent", "silent", frozenset((1,)) if reading.time_s == PERIOD_S else None
            )

    trace = run(Silent(Bounds(1, 16, 1), layout=PLAIN.layout), PLAIN)
    assert set(queues(trace)[1:]) == {frozenset((1,))}
