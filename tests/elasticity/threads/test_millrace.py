"""Tests of what Millrace's own law promises, but for changes of load: finding the best level,
bounds, climbs, settings, any trace.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bench.closed_loop import run as closed_loop_run
from harness.bench.threads.curves import peak, plateau, sharing, smt, spike, usl
from harness.bench.threads.scenario import ThreadScenario
from harness.elasticity import DEFAULT_LAW, Bounds, Reading, make_law
from harness.elasticity.threads.millrace import LONGEST_LOOK, NEIGHBOUR_PAUSE
from harness.errors import UserError
from tests.elasticity.drive import (
    Cpu,
    closed_loop,
    levels,
    millrace,
    open_loop,
    peak_at,
    reading,
    scaled,
    states,
    up_to,
)

ODD_PEAKS = (3, 5, 6, 7, 11, 13, 23, 29, 37, 45, 51, 59, 63)


def settled(curve, periods=40, **law):
    """The level of the last twelve periods, but for one look at a neighbour."""
    chosen = levels(closed_loop(millrace(**law), curve, periods))[-12:]
    level = max(set(chosen), key=chosen.count)
    assert chosen.count(level) >= 11, chosen
    return level


# -- finding the best level ------------------------------------------------------------------------


@pytest.mark.parametrize("k", ODD_PEAKS)
@pytest.mark.parametrize("shape", [lambda k: peak(k, 0.5), spike], ids=["peak", "spike"])
def test_it_finds_the_best_level_also_between_powers_of_two(shape, k):
    assert shape(k)(settled(shape(k))) >= 0.96 * k


@pytest.mark.parametrize(
    "curve",
    [
        lambda n: n,
        lambda n: n**0.7,
        usl(0.02, 0.0005),
        usl(0.1, 0.0002),
        smt(32, 2, 0.3),
        lambda n: 1 / n,
    ],
    ids=["rising", "slower", "usl", "contended", "smt", "falling"],
)
def test_it_finds_nearly_the_best_of_curves_of_many_shapes(curve):
    assert curve(settled(curve)) >= 0.97 * max(map(curve, range(1, 65)))


def test_it_finds_the_best_of_a_thousand_levels():
    curve = peak(700, 1.0)
    assert curve(settled(curve, maximum=1024)) >= 0.97 * 700
    assert settled(lambda n: float(n), maximum=1024) == 1024


@pytest.mark.parametrize("share", [0.4, 0.5, 0.55, 0.6, 0.8])
@pytest.mark.parametrize("maximum", [64, 176])
def test_it_climbs_past_a_second_thread_that_brings_little_or_nothing(share, maximum):
    assert settled(sharing(share), maximum=maximum) >= 0.97 * maximum


def test_neither_caution_nor_noise_keeps_it_low_where_threads_bring_much():
    for seed in range(8):
        curve = tuple(
            1.0 if n == 1 else 0.35 * (n + 1) for n in range(1, 177)
        )  # the source's thread executes operators too
        scenario = ThreadScenario("sharing", curve, Bounds(1, 176, 1), noise=0.02, seed=seed)
        run = closed_loop_run(make_law(DEFAULT_LAW, scenario.bounds), scenario)
        assert curve[run.levels[-1] - 1] >= 0.95 * curve[-1], run.levels


@pytest.mark.parametrize(
    "curve",
    [peak_at(13), up_to(20), lambda n: 5.0, lambda n: float(n)],
    ids=["peak", "knee", "flat", "rising"],
)
def test_at_rest_it_leaves_its_level_only_for_looks_at_neighbours(curve):
    decisions = closed_loop(millrace(), curve, 400)
    best = decisions[-1].threads
    away = [i for i in range(40, 400) if decisions[i].threads != best]
    assert len(away) <= 360 // NEIGHBOUR_PAUSE and all(
        decisions[i].state == "searching" for i in away
    )
    assert all(round(best / 1.2) <= decisions[i].threads <= 1.2 * best + 1 for i in away)


def test_it_says_settled_only_where_its_level_stays():
    decisions, before = closed_loop(millrace(), peak_at(13), 200), 1
    for decision in decisions:
        assert decision.state != "settled" or decision.threads == before
        before = decision.threads
    assert decisions[-1].state == "settled"
    assert decisions[-1].reason == "as expected → stay"


@pytest.mark.parametrize("start", [64, 32])
@pytest.mark.parametrize("knee", [1, 2, 5, 20])
def test_it_steps_down_where_levels_bring_nothing(knee, start):
    level = settled(plateau(knee), start=start)
    assert knee <= level <= 1.6 * knee + 1


@pytest.mark.parametrize("best", [1, 2, 4, 5])
def test_the_ladder_ends_where_doubling_brings_less(best):
    assert max(levels(closed_loop(millrace(), peak_at(best), 40))) <= 4 * best


def test_an_optimum_that_moves_where_throughput_stays_the_same_is_found():
    """At rest nothing tells of it but a look at a neighbour."""
    law = millrace()
    before = closed_loop(law, peak_at(8), 40)
    level = before[-1].threads
    moved = lambda n: 800.0 * (n / level) ** 0.9  # noqa: E731 - the same at rest, and rising
    after = closed_loop(law, moved, 4 * NEIGHBOUR_PAUSE + 60, after=before)
    assert after[-1].threads == 64


def test_a_second_rise_behind_a_plateau_is_found():
    """Memory bandwidth of several NUMA domains: flat from 6 to 16 threads, and then it rises
    again.
    """
    curve = lambda n: min(n, 6) if n <= 16 else 6 + 18 * (n - 16) / 48  # noqa: E731
    assert curve(settled(curve, periods=60)) >= 0.97 * 24


@pytest.mark.parametrize("delay", [1, 2])
def test_levels_that_take_effect_late_get_longer_looks(delay):
    scenario = ThreadScenario(
        "late", tuple(peak(18, 0.5)(n) for n in range(1, 65)), Bounds(1, 64, 1), delay=delay
    )
    law = make_law("millrace", scenario.bounds)
    chosen = closed_loop_run(law, scenario).levels
    assert 1 < law._looks <= LONGEST_LOOK
    assert peak(18, 0.5)(chosen[-1]) >= 0.97 * 18


def test_warming_up_is_not_taken_for_scaling():
    """Throughput of one thread grows five-fold within eight periods; more threads bring nothing."""
    law, level = millrace(), 1
    for second in range(60):
        warm = min(1.0, 0.2 + 0.1 * second)
        level = law.step(reading(second, level, 100.0 * warm)).threads
    assert level <= 2


# -- bounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds",
    [(1, 1), (1, 2), (7, 9), (65, 65), (67, 67), (69, 100), (70, 71), (1000, 1024), (1023, 1024)],
)
@pytest.mark.parametrize(
    "curve",
    [lambda n: float(n), lambda n: 1.0, lambda n: 1.0 / n],
    ids=["rising", "flat", "falling"],
)
def test_it_stays_within_any_bounds_and_settles(bounds, curve):
    for start in bounds:
        chosen = levels(closed_loop(millrace(bounds[1], bounds[0], start), curve, 40))
        assert all(bounds[0] <= level <= bounds[1] for level in chosen)
        settled(curve, minimum=bounds[0], maximum=bounds[1], start=start)


def test_the_ends_of_the_bounds_can_be_chosen():
    assert settled(lambda n: float(n), maximum=9, minimum=7) == 9
    assert settled(lambda n: 1.0 / n, maximum=100, minimum=69, start=80) == 69
    assert settled(lambda n: float(n), maximum=177) == 177


def test_the_first_decision_follows_from_a_period_at_the_start():
    first = millrace(64, 3, 24).step(reading(1, 24, 100.0))
    assert (first.threads, first.reason) == (48, "48 follows 24 → up")


# -- requests to climb -----------------------------------------------------------------------------


def test_it_never_climbs_while_it_is_refused_and_asks_once_a_period():
    cpu = Cpu(granted=False)
    decisions = closed_loop(millrace(cpu=cpu), lambda n: float(n), 20)
    assert levels(decisions) == [1] * 20
    assert set(states(decisions)) == {"refused"}
    assert cpu.requests == 20


def test_it_climbs_when_it_is_allowed_again():
    cpu = Cpu(granted=False)
    law = millrace(cpu=cpu)
    refused = closed_loop(law, lambda n: float(n), 20)
    cpu.granted = True
    assert levels(closed_loop(law, lambda n: float(n), 20, after=refused))[-1] == 64


class Counted(Cpu):
    """Refuses by turns, and keeps how often it was asked in each period."""

    def __init__(self, answers):
        super().__init__()
        self.answers, self.asked = answers, [0]

    def see(self, *period):
        self.asked.append(0)

    def acceptable(self):
        self.asked[-1] += 1
        return next(self.answers)


@settings(max_examples=40)
@given(
    answers=st.lists(st.booleans(), min_size=60, max_size=60),
    factors=st.lists(st.sampled_from([1, 1, 1, 0.3, 2]), max_size=6),
)
def test_every_climb_was_granted_and_a_period_asks_once_at_most(answers, factors):
    cpu = Counted(iter(answers))
    law = millrace(16, cpu=cpu)
    decisions = []
    for factor in factors:
        decisions += closed_loop(
            law, scaled(peak_at(3 if factor < 1 else 11), factor), 9, after=decisions
        )
    given_ = iter(answers)
    before = 1
    for asked, decision in zip(cpu.asked[1:], decisions, strict=True):
        assert asked <= 1
        granted = next(given_) if asked else False
        assert decision.threads <= before or granted
        before = decision.threads


def test_it_keeps_to_the_cpus_that_others_leave_and_says_so():
    law = make_law("millrace", Bounds(1, 16, 1))
    level, held = 1, []
    for second in range(40):
        decision = law.step(reading(second, level, 10.0 * level, system_cpu=0.9, others_cpu=0.6))
        level = decision.threads
        held.append(decision)
    assert max(levels(held)) == 6, "16 CPUs, of which others have 60 %"
    assert set(states(held)) == {"crowded"}
    assert held[-1].reason.startswith("others have 60% of the CPUs, which leaves 6 threads")
    for second in range(40, 60):
        level = law.step(
            reading(second, level, 10.0 * level, system_cpu=1.0, others_cpu=0.0)
        ).threads
    assert level == 16, "it has the machine to itself"


def test_a_level_beyond_what_others_leave_is_left_at_once():
    law = make_law("millrace", Bounds(1, 16, 16))
    decision = law.step(reading(1, 16, 100.0, system_cpu=1.0, others_cpu=0.5))
    assert (decision.threads, decision.state) == (8, "crowded")


@pytest.mark.parametrize("limit", [1.0, 0.8])
def test_others_that_leave_cpus_free_are_no_crowd(limit):
    law = make_law("millrace", Bounds(1, 8, 1), settings={"cpu_limit": limit})
    level = 1
    for second in range(20):
        level = law.step(
            reading(second, level, 100.0 * level, system_cpu=0.7, others_cpu=0.3)
        ).threads
    assert level == 8


# -- threads that do not suspend -------------------------------------------------------------------


def test_a_period_counts_for_the_level_at_which_it_passed():
    """Five threads cannot be suspended: what lower levels bring is not seen, and never believed to
    have been.
    """
    law, asked = millrace(), 1
    for second in range(40):
        level = max(5, asked)
        asked = law.step(reading(second, level, peak_at(9)(level))).threads
        assert min(law._seen) == 5
    assert asked == 9


def test_a_level_that_it_does_not_get_ends_a_step_and_not_the_search():
    law, asked = millrace(), 1
    for second in range(60):
        level = min(asked, 20)  # the engine has no more
        asked = law.step(reading(second, level, 100.0 * level)).threads
    assert min(asked, 20) == 20


def test_more_threads_than_allowed_count_as_the_maximum():
    decision = millrace(8).step(reading(1, 50, 100.0))
    assert 1 <= decision.threads <= 8


# -- settings --------------------------------------------------------------------------------------


def test_change_says_what_is_another_load():
    for change, noticed in ((0.12, True), (3.0, False)):
        law = millrace(change=change)
        before = closed_loop(law, peak_at(13), 40)
        after = closed_loop(law, scaled(peak_at(13), 2.0), 3, after=before)
        assert ("twice: another load" in after[1].reason) is noticed


def test_cpu_limit_says_how_much_others_must_leave():
    crowd = {"system_cpu": 0.95, "others_cpu": 0.3}
    for limit, state in ((0.8, "crowded"), (0.6, "searching")):
        law = make_law("millrace", Bounds(1, 8, 1), settings={"cpu_limit": limit})
        assert law.step(reading(1, 1, 100.0, **crowd)).state == state


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("change", "nan", "change must be from 0.01 to 10 of throughput, not 'nan'"),
        ("cpu_limit", 1.1, "cpu_limit must be from 0 to 1 of the CPUs, not 1.1"),
        (
            "price",
            1,
            "law millrace has no setting 'price'; its settings are: change, cpu_limit, bound",
        ),
    ],
)
def test_settings_out_of_range_are_refused(name, value, said):
    with pytest.raises(UserError, match=said):
        millrace(**{name: value})


# -- any trace -------------------------------------------------------------------------------------


def test_two_laws_fed_alike_decide_alike():
    assert closed_loop(millrace(), peak_at(13), 40) == closed_loop(millrace(), peak_at(13), 40)


@pytest.mark.parametrize("unit", [1e-300, 1e-3, 1e12, 1e300])
def test_the_unit_of_throughput_does_not_matter(unit):
    assert levels(closed_loop(millrace(), scaled(peak(13, 0.5), unit), 30)) == levels(
        closed_loop(millrace(), peak(13, 0.5), 30)
    )


def test_throughputs_that_jump_to_the_ends_of_what_a_float_holds_raise_nothing():
    chosen = levels(open_loop(millrace(), [5e-324, 1.7e308, 1.0, 0.0] * 30))
    assert all(1 <= level <= 64 for level in chosen)


PERIODS = st.tuples(
    st.floats(0.0, 1.7e308) | st.floats(50.0, 200.0) | st.just(0.0),
    st.none() | st.integers(1, 1024),  # threads that ran; None: those that were asked for
    st.none() | st.floats(0.0, 1.0),
    st.none() | st.floats(0.0, 1.0),
)


@settings(max_examples=60)
@given(
    ends=st.lists(st.integers(1, 90) | st.sampled_from([177, 1024]), min_size=3, max_size=3).map(
        sorted
    ),
    trace=st.lists(PERIODS, max_size=40),
)
def test_whatever_it_reads_it_stays_within_its_bounds_and_raises_nothing(ends, trace):
    low, start, high = ends
    law, level = make_law("millrace", Bounds(low, high, start)), start
    for second, (throughput, threads, system, others) in enumerate(trace):
        decision = law.step(
            Reading(float(second), 1.0, threads or level, throughput, system, others)
        )
        level = decision.threads
        assert low <= level <= high
        assert decision.reason and decision.state


@pytest.mark.parametrize(("peak", "share"), [(23, 0.75), (37, 0.8), (51, 0.85)])
def test_it_does_not_settle_beside_a_gap_towards_which_throughput_rises(peak, share):
    """A cusp: throughput rises the more steeply, the nearer the peak is."""
    from harness.bench.threads.curves import cusp

    curve = cusp(peak, 64)
    decisions = closed_loop(make_law("millrace", Bounds(1, 64, 1)), curve, 60)
    assert curve(decisions[-1].threads) >= share * curve(peak)


def climbed(utilisation, periods=40):
    """The highest level along a proportional curve of eight threads' work; `utilisation` by period
    and level."""
    law, level, highest = millrace(), 1, 1
    for second in range(periods):
        seen = reading(second, level, 100.0 * min(level, 8), utilisation=utilisation(second, level))
        level = law.step(seen).threads
        highest = max(highest, level)
    return highest


def test_it_climbs_to_no_more_than_twice_the_threads_that_have_work():
    assert climbed(lambda second, level: min(1.0, 8 / level)) <= 16
    assert climbed(lambda second, level: 1.0) == 64, "busy threads may wait for memory"


def test_threads_that_idle_for_a_moment_do_not_end_the_climb():
    """Queues of a pipeline fill at first, and only few threads have work."""
    late = climbed(lambda second, level: 0.4 if second < 4 else min(1.0, 8 / level))
    assert 8 <= late <= 16


def test_beside_another_process_it_searches_all_the_time_and_never_rests_unsaid():
    """It uses 60 % of 16 CPUs and others 25 %: crowded in each of 112 periods."""
    law, level, decisions = make_law("millrace", Bounds(1, 16, 1)), 1, []
    for second in range(112):
        seen = reading(second, level, 10.0 * min(level, 9), system_cpu=0.85, others_cpu=0.25)
        decisions.append(law.step(seen))
        level = decisions[-1].threads
    assert set(states(decisions)) == {"crowded"}, "a run reports these periods as held back"
    assert 9 <= level <= 12 and max(levels(decisions)) == 12, "12 CPUs are left"
