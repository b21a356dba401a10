"""Scenarios: what happens when, and the library of them."""

from __future__ import annotations

import pytest

from harness.bench.threads import measured
from harness.bench.threads.curves import compact, quota, scattered
from harness.bench.threads.scenario import NOISES, Event, ThreadScenario, scenarios
from harness.bench.threads.states import Pauses, Switching, Throttling, WarmingUp
from harness.elasticity import Bounds

LIBRARY = list(scenarios())
WORLDS = {"compact", "quota", "offered", "warm", "switch", "pauses"}
WORLDS |= {"scattered", "measured", "throttled", "moving", "correlated"}
CURVE = (10.0, 20.0, 30.0, 40.0)


def scenario(*events, periods=100):
    return ThreadScenario("one", CURVE, Bounds(1, 4, 1), events=events, periods=periods)


def test_the_library_is_large_and_no_name_or_seed_is_there_twice():
    assert len(LIBRARY) > 1000
    assert len({each.name for each in LIBRARY}) == len(LIBRARY)
    assert len({each.seed for each in LIBRARY}) == len(LIBRARY)


def test_the_library_is_the_same_each_time():
    assert list(scenarios()) == LIBRARY


def test_every_curve_meets_every_noise():
    plain = [
        each
        for each in LIBRARY
        if not each.event
        and not each.heavy
        and each.bounds in (Bounds(1, 64, 1), Bounds(1, 256, 1))
        and each.kind not in WORLDS
    ]
    by_curve = {}
    for each in plain:
        by_curve.setdefault(each.shape, set()).add((each.noise, each.drift))
    assert len(by_curve) > 100
    assert all(noises == set(NOISES) for noises in by_curve.values())


def test_the_library_has_every_event_and_bounds_of_all_kinds():
    kinds = {event.kind for each in LIBRARY for event in each.events}
    assert kinds == {"scale", "curve", "burst", "idle", "cpu"}
    bounds = {each.bounds for each in LIBRARY}
    assert {Bounds(1, 1024, 1), Bounds(1, 64, 64), Bounds(5, 64, 5), Bounds(2, 3, 2)} <= bounds


@pytest.mark.parametrize("each", LIBRARY[::97], ids=lambda each: each.name)
def test_a_curve_has_a_throughput_for_every_level_and_events_happen_within_the_run(each):
    assert len(each.curve) >= each.bounds.maximum
    assert all(0 <= event.at < each.periods for event in each.events)
    assert all(
        len(event.curve) >= each.bounds.maximum for event in each.events if event.kind == "curve"
    )


def test_an_event_covers_its_periods_and_no_other():
    assert [Event("idle", 3, 2).covers(period) for period in range(7)] == [False] * 3 + [
        True
    ] * 2 + [False] * 2
    assert [Event("idle", 2).covers(period) for period in (0, 1, 2, 9999)] == [
        False,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("event", "before", "during", "after"),
    [
        (Event("scale", 10, 5, factor=0.5), 20.0, 10.0, 20.0),
        (Event("curve", 10, 5, curve=(1.0, 7.0, 3.0, 4.0)), 20.0, 7.0, 20.0),
        (Event("burst", 10, 5, factor=3.0), 20.0, 60.0, 20.0),
        (Event("idle", 10, 5), 20.0, 0.0, 20.0),
        (Event("cpu", 10, 5, factor=0.25), 20.0, 5.0, 20.0),
    ],
    ids=lambda event: getattr(event, "kind", ""),
)
def test_events_change_what_a_period_shows(event, before, during, after):
    one = scenario(event)
    assert [one.true(period, 2) for period in (9, 10, 14, 15)] == [before, during, during, after]


def test_events_at_the_same_time_add_up_and_idle_is_nothing_whatever_else_happens():
    both = scenario(
        Event("curve", 0, curve=(1.0, 7.0, 3.0, 4.0)),
        Event("scale", 0, factor=2.0),
        Event("idle", 5, 1),
    )
    assert [both.true(period, 2) for period in (4, 5, 6)] == [14.0, 0.0, 14.0]


def test_what_can_be_sustained_ignores_bursts_and_nothing_else():
    one = scenario(Event("burst", 10, 1, factor=3.0), Event("scale", 10, 1, factor=0.5))
    assert (one.true(10, 2), one.true(10, 2, bursts=False)) == (30.0, 10.0)


def test_a_level_beyond_the_curve_brings_what_its_last_one_does():
    assert scenario().true(0, 9) == 40.0


def test_only_others_on_the_cpus_are_a_crowd():
    one = scenario(Event("cpu", 10, 5), Event("scale", 50))
    assert [one.crowded(period) for period in (9, 10, 14, 15, 50)] == [
        False,
        True,
        True,
        False,
        False,
    ]


def test_the_load_is_cut_where_it_changes_for_longer_than_a_burst():
    one = scenario(Event("scale", 30), Event("idle", 50, 20), Event("burst", 80, 1))
    assert one.segments() == [(0, 30), (30, 50), (50, 70), (70, 100)]
    assert scenario().segments() == [(0, 100)]
    assert scenario(Event("scale", 0), Event("idle", 90, 50)).segments() == [(0, 90), (90, 100)], (
        "no stretch is empty"
    )


def test_kinds_that_only_score_are_apart_from_those_that_constants_were_chosen_on():
    kinds = {
        held_out: {each.kind for each in LIBRARY if each.held_out is held_out}
        for held_out in (True, False)
    }
    assert kinds[True] == {"staircase", "teeth", "slow", "late", "heavy", "delayed"} | {
        "scattered",
        "measured",
        "throttled",
        "moving",
        "correlated",
    }
    assert not kinds[True] & kinds[False] and {"peak", "plateau", "cusp"} <= kinds[False]
    assert sum(each.held_out for each in LIBRARY) > 100


def test_a_curve_of_ones_own_is_of_no_kind_that_only_scores():
    assert scenario().kind == "one" and not scenario().held_out


def test_a_level_shows_as_late_as_the_scenario_says():
    from harness.bench.closed_loop import run
    from harness.elasticity import Decision, Law
    from harness.elasticity.cpu_limit import Answers

    class Climbs(Law):
        name, summary = "climbs", "for tests"

        def cpu_limit(self):
            return Answers(())

        def decide(self, reading):
            return Decision(self.bounds.clamp(reading.threads + 1), "on", "climbing")

    late = ThreadScenario("late", CURVE, Bounds(1, 4, 1), periods=6, delay=2)
    trace = run(Climbs(late.bounds), late)
    assert trace.levels == [1, 2, 3, 4, 4, 4]
    assert trace.throughputs == [10.0, 10.0, 10.0, 20.0, 30.0, 40.0]


def test_noise_with_heavy_tails_has_outliers_that_other_noise_has_not():
    from itertools import islice

    from harness.bench.scenario import noise_of

    plain, heavy = (
        sorted(
            abs(each - 1.0)
            for each in islice(
                noise_of(ThreadScenario("n", CURVE, Bounds(1, 4, 1), 0.02, heavy=tails)), 4000
            )
        )
        for tails in (False, True)
    )
    assert heavy[2000] < 2.0 * plain[2000], "as large in the middle"
    assert heavy[-1] > 5.0 * plain[-1]


def test_kinds_of_states_machines_and_loads_are_all_there():
    kinds = {each.kind for each in LIBRARY}
    assert kinds >= WORLDS | {"high"}
    assert all(each.bounds.start >= 40 for each in LIBRARY if each.kind == "high")


def test_a_scenario_with_an_event_is_of_the_events_kind():
    assert {"burst", "phase and back", "crowded start"} <= {each.kind for each in LIBRARY}


def test_the_memory_of_one_domain_is_busy_before_its_cores_are():
    curve = [compact(16, 6)(level) for level in range(1, 65)]
    assert curve[5] == curve[15] == 6 and curve[21] == curve[31] == 12 and curve[63] == 24
    around = [scattered(4, 6, 0.3, 0.01)(level) for level in range(1, 65)]
    assert around.index(max(around)) == 23, "all four domains have the threads they need"


def test_measured_curves_go_through_the_points_that_were_measured():
    curves = measured.curves()
    assert curves["raytrace"][3] == 78.0 and curves["raytrace"][63] == 310.0
    assert curves["raytrace"][1] == pytest.approx(20 + 58 / 3)
    assert curves["id-raytracer"].index(max(curves["id-raytracer"])) == 8
    assert len(curves["sdm91"]) == 216


def test_more_threads_than_a_quota_are_throttled():
    shape = quota(6.0, 0.1)
    assert shape(6) == 6.0 and 5.4 < shape(64) < shape(7) < 6.0


def factors(state, levels):
    factor = state.begin(3)
    return [factor(period, level) for period, level in enumerate(levels)]


def test_a_program_warms_up_whatever_its_level():
    assert factors(WarmingUp(0.8, 0.5), [1, 9, 9]) == pytest.approx([0.2, 0.6, 0.8])


def test_a_switch_costs_for_some_periods():
    seen = factors(Switching(-0.4, 0.5), [4, 4, 8, 8, 8, 4])
    assert seen == pytest.approx([1.0, 1.0, 0.6, 0.8, 0.9, 0.6])


def test_a_processor_that_gets_hot_loses_what_it_had_more_at_first():
    hot = factors(Throttling(4, 1.0, 0.5), [8, 8, 8, 8, 2, 2, 2, 8])
    assert hot == [2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0], "two threads let it cool"
    assert factors(Throttling(4, 1.0, 0.5), [4] * 9) == [1.0] * 9, "it can cool four"


def test_pauses_follow_from_the_seed():
    seen = factors(Pauses(0.2, 0.3), [1] * 500)
    assert set(seen) == {0.3, 1.0} and 60 < seen.count(0.3) < 140
    assert seen == factors(Pauses(0.2, 0.3), [1] * 500)


def test_correlated_noise_remembers_less_than_drift():
    from itertools import islice, pairwise
    from statistics import correlation

    from harness.bench.scenario import noise_of

    def memory(**more):
        factors = list(islice(noise_of(scenario_of(**more)), 4000))
        return correlation(*zip(*pairwise(factors), strict=True))

    def scenario_of(**more):
        return ThreadScenario("n", CURVE, Bounds(1, 4, 1), drift=0.05, **more)

    assert 0.6 < memory(persistence=0.7) < 0.8 < memory()
