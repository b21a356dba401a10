"""Laws of threads from elsewhere, against examples worked out by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.elasticity import Bounds, Layout, Link, Reading, make_law
from harness.elasticity.threads.hill_climbing import component
from harness.errors import UserError

CHAIN = Layout(
    (),
    (),
    (0,),
    (Link(0, 1, 1.0, None), Link(1, 2, 0.5, None)),
    (1.0, 1.0, 0.5),
    (0.0,) * 3,
    0,
    8,
    inputs=2,
)
"""A source, an operator that lets half of its tuples through, a sink."""


def law(name, maximum=64, start=1, layout=CHAIN, **settings):
    return make_law(name, Bounds(1, maximum, start), settings=settings, layout=layout)


def at(period, threads, throughput=100.0, **seen):
    return Reading(float(period), 1.0, threads, throughput, **seen)


# -- hill climbing ---------------------------------------------------------------------------------


def test_the_component_of_a_cosine_at_its_own_period_is_half_its_amplitude():
    wave = [5.0 + 3.0 * math.cos(2.0 * math.pi * k / 4.0) for k in range(32)]
    assert abs(component(wave, 4)) == pytest.approx(1.5)
    assert abs(component(wave, 8)) == pytest.approx(0.0, abs=1e-9)


def swung(throughput, periods, **options):
    """Levels of hill climbing along a curve."""
    subject, level, levels = law("hill_climbing", **options), options.get("start", 1), []
    for period in range(1, periods + 1):
        level = subject.step(at(period, level, throughput(level), system_cpu=0.5)).threads
        levels.append(level)
    return levels


def test_hill_climbing_swings_by_one_thread_for_half_of_each_wave():
    assert swung(lambda n: 100.0, 8) == [1, 2, 2, 1, 1, 2, 2, 1]


def test_hill_climbing_moves_by_the_square_of_the_slope_at_its_first_full_wave():
    """Eight samples after the first: levels swing from 1 to 2, throughput is proportional, so T = N
    and there is no noise.

    So the move is 1 - 0.15 = 0.85, and the level grows by 0.85 squared times 4 threads/s times 1 s:
    2.89.
    """
    levels = swung(lambda n: 100.0 * n, 9)
    assert levels[:8] == [1, 2, 2, 1, 1, 2, 2, 1]
    assert levels[8] == math.floor(1.0 + 2.89)


def test_hill_climbing_finds_a_knee_and_swings_about_it():
    levels = swung(lambda n: 100.0 * min(n, 20), 200)
    assert 14 <= sum(levels[-40:]) / 40 <= 26


def test_hill_climbing_does_not_climb_on_busy_cpus():
    subject, level = law("hill_climbing"), 1
    for period in range(1, 40):
        level = subject.step(at(period, level, 100.0 * level, system_cpu=0.96)).threads
        assert level <= 2


def test_throughputs_of_any_size_move_it_within_the_bounds():
    subject, level = law("hill_climbing", maximum=9, start=2), 2
    for period, throughput in enumerate([1.7e308, 0.0, 5e-324, 1.7e308] * 12, start=1):
        level = subject.step(at(period, level, throughput)).threads
        assert 1 <= level <= 9


# -- plain search ----------------------------------------------------------------------------------


def peak_at(k):
    """Proportional up to k, and as steep behind it."""
    return lambda n: max(0.1, float(n if n <= k else 2 * k - n))


def searched(curve, periods=30, maximum=64, start=1):
    subject, level, levels = law("plain_search", maximum=maximum, start=start), start, []
    for period in range(1, periods + 1):
        level = subject.step(at(period, level, curve(level))).threads
        levels.append(level)
    return levels


def test_plain_search_doubles_and_then_takes_golden_sections():
    """16 brings less than 8, so the best is between 4 and 16; 11 is a golden section of 8 to 16,
    and brings more than both.
    """
    levels = searched(lambda n: n if n <= 12 else 24 - n)
    assert levels[:5] == [2, 4, 8, 16, 11]
    assert levels[-1] == 12 and len(set(levels[-15:])) == 1


@pytest.mark.parametrize("start", [1, 23, 64])
def test_plain_search_finds_every_peak_of_a_curve_that_has_one_and_tries_no_level_twice(start):
    for peak in range(1, 65):
        levels = searched(peak_at(peak), 40, start=start)
        assert levels[-1] == peak
        tried = [start, *levels[: next(at for at in range(40) if set(levels[at:]) == {peak})]]
        assert len(set(tried)) == len(tried), peak


def test_plain_search_goes_down_from_a_start_that_is_too_high():
    assert searched(peak_at(5), start=40)[-1] == 5


def test_plain_search_begins_anew_when_the_load_changes():
    subject, level = law("plain_search"), 1
    for period in range(1, 80):
        level = subject.step(
            at(period, level, peak_at(8)(level) if period < 40 else 5.0 * peak_at(20)(level))
        ).threads
    assert level == 20


def test_plain_search_takes_two_odd_periods_in_a_row_for_another_load():
    subject, level = law("plain_search"), 1
    for period in range(1, 40):
        level = subject.step(at(period, level, peak_at(8)(level))).threads
    odd, usual = 3.0 * peak_at(8)(level), peak_at(8)(level)
    states = [
        subject.step(at(period, level, brought)).state
        for period, brought in enumerate((odd, usual, odd, usual, odd, odd), start=40)
    ]
    assert states == ["settled"] * 5 + ["searching"]


# -- limits of concurrency -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("level", "latency_s", "busy", "expected"),
    [
        (10, 0.1, 1.0, 11),
        (10, 5.1, 1.0, 9),
        (20, 5.1, 1.0, 18),
        (1, 5.1, 1.0, 1),
        (10, 0.1, 0.49, 10),
        (10, None, None, 11),
    ],
    ids=["well", "late", "a tenth", "the least", "half is idle", "unknown"],
)
def test_aimd(level, latency_s, busy, expected):
    assert law("aimd").step(at(1, level, latency_s=latency_s, utilisation=busy)).threads == expected


def test_gradient2_climbs_by_a_fifth_of_its_queue_while_latency_stays():
    """0.8 x 10 + 0.2 (1 x 10 + 4) = 10.8, then 11.6, 12.4."""
    subject, level, levels = law("gradient2", start=10), 10, []
    for period in range(1, 4):
        level = subject.step(at(period, level, latency_s=0.01)).threads
        levels.append(level)
    assert levels == [10, 11, 12]


def test_gradient2_goes_down_where_latency_grows():
    """Mean of 10 and 30 ms is 20: gradient 0.667; 0.8 x 40.8 + 0.2 (0.667 x 40.8 + 4) = 38.88."""
    subject = law("gradient2", start=40)
    assert subject.step(at(1, 40, latency_s=0.01)).threads == 40
    assert subject.step(at(2, 40, latency_s=0.03)).threads == 38


def test_gradient2_averages_over_its_window_after_ten_periods():
    """Half way from 10 to 15 ms in a window of 3: 12.5, gradient 0.833; 0.8 x 48 + 0.2 (0.833 x 48
    + 4) = 47.2.
    """
    subject, level = law("gradient2", start=40, window=3), 40
    for period in range(1, 11):
        level = subject.step(at(period, level, latency_s=0.01)).threads
    assert level == 48
    assert subject.step(at(11, level, latency_s=0.015)).threads == 47
    assert subject.step(at(12, 47, latency_s=0.0125)).threads == 48, "12.5 is as in the long run"


def test_gradient2_forgets_a_long_latency_by_a_tenth_where_it_is_more_than_twice_the_present_one():
    """The mean of 100 and 10 ms is 55, of those and 10 is 40, or 36.3 had the second begun with
    49.5 ms; then 29.7.
    """
    subject = law("gradient2", start=10)
    for period in range(1, 4):
        subject.step(at(period, 10, latency_s=0.1 if period == 1 else 0.01))
    long = ((0.055 * 0.9) * 2 + 0.01) / 3 * 0.9
    decision = subject.step(at(4, 10, latency_s=0.05))
    assert f"gradient {(long * 3 + 0.05) / 4 / 0.05:.2f} " in decision.reason


def test_gradient2_does_not_grow_what_is_not_used():
    assert law("gradient2", start=10).step(at(1, 10, latency_s=0.01, utilisation=0.4)).threads == 10


# -- laws for a target rate ------------------------------------------------------------------------


def paced(period, threads, sent, target, useful=(0.0, 0.5, 0.1), busy=None):
    """A second in which the source sent so many tuples, half of which reached the sink."""
    return at(
        period,
        threads,
        1.5 * sent,
        tuples=(sent, sent, sent / 2),
        useful_s=useful,
        target=target,
        utilisation=busy,
    )


def test_ds2_adds_up_what_operators_need():
    """1,000 tuples took 0.5 s and 0.1 s: 0.6 ms of thread time a tuple of the source, so 10,000
    tuples/s need 6 threads.
    """
    decision = law("ds2").step(paced(1, 1, 1000.0, 10_000.0))
    assert (decision.threads, decision.state) == (6, "climbing")


def test_ds2_takes_a_share_more_where_it_is_told_to():
    assert law("ds2", factor=0.2).step(paced(1, 1, 1000.0, 10_000.0)).threads == 8, "7.2 threads"


def test_ds2_lets_periods_pass_after_a_change():
    subject = law("ds2")
    levels = [subject.step(paced(period, 1, 1000.0, 10_000.0)).threads for period in range(1, 5)]
    assert levels == [6, 1, 1, 6]


def test_ds2_moves_only_if_it_is_asked_for_in_a_row():
    subject = law("ds2", activation=3)
    assert [subject.step(paced(period, 1, 1000.0, 10_000.0)).threads for period in range(1, 4)] == [
        1,
        1,
        6,
    ]


def test_ds2_corrects_itself_where_useful_time_has_promised_too_much():
    """0.6 threads' work at 1,000 tuples/s, and 2,000 are wanted: two threads are enough, it says,
    but they send half.
    """
    assert law("ds2").step(paced(1, 2, 1000.0, 2_000.0)).threads == 4


ENTRY = st.sampled_from([0.0, 5e-324, 1e9]) | st.floats(0.0, 1e9)


@pytest.mark.parametrize("name", ["ds2", "flink"])
@settings(max_examples=60)
@given(
    trace=st.lists(
        st.tuples(
            st.floats(1e-3, 1e3),
            ENTRY,
            ENTRY,
            ENTRY,
            st.none() | ENTRY,
            st.none() | st.floats(0.0, 1.0),
        ),
        max_size=20,
    )
)
def test_counts_of_any_size_move_them_within_the_bounds(name, trace):
    subject, level = law(name, maximum=9, start=2), 2
    for period, (elapsed_s, sent, useful, sink, target, busy) in enumerate(trace, start=1):
        seen = {
            "tuples": (sent, sent, sink),
            "useful_s": (0.0, useful, useful),
            "target": target,
            "utilisation": busy,
        }
        level = subject.step(Reading(2e3 * period, elapsed_s, level, sent, **seen)).threads
        assert 1 <= level <= 9


@pytest.mark.parametrize("name", ["ds2", "flink"])
def test_without_a_target_they_stay(name):
    decision = law(name).step(paced(1, 3, 1000.0, None, busy=0.5))
    assert (decision.threads, decision.reason) == (3, "no target rate → stay")


def test_flink_scales_to_its_utilisation():
    """1,000 tuples/s keep 2 threads busy for half of their time: true rate 2,000. For 3,500 it
    wants 3,500 / 0.7 = 5,000, and what lags, 2,500 tuples, in 30 s: 5,083; 2 x 2.54 threads.
    """
    assert law("flink").step(paced(1, 2, 1000.0, 3_500.0, busy=0.5)).threads == 6


def test_flink_stays_within_its_boundaries():
    assert law("flink").step(paced(1, 4, 1000.0, 1_000.0, busy=0.45)).threads == 4
    assert law("flink").step(paced(1, 4, 1000.0, 1_000.0, busy=0.2)).threads == 2, (
        "4 x 1,429 / 5,000, and no less than 40 %"
    )


def test_flink_does_not_climb_again_where_a_climb_brought_little():
    subject = law("flink", stabilization=0)
    assert subject.step(paced(1, 2, 1000.0, 3_000.0, busy=1.0)).threads == 9
    decision = subject.step(paced(2, 9, 1_050.0, 3_000.0, busy=1.0))
    assert decision.threads == 9 and "brought little" in decision.reason


def test_flink_wants_what_a_change_loses_to_be_caught_up_too():
    """2,000 tuples/s for 1,400 at 0.7, 13 for the 400 that lag, 700 for half of the 30 s: 2,713 of
    2,000, of 10 threads.
    """
    assert law("flink", restart=15.0).step(paced(1, 10, 1000.0, 1_400.0, busy=0.5)).threads == 14


def test_flink_waits_for_three_periods_after_a_change():
    subject = law("flink")
    states = [
        subject.step(paced(period, 2, 1000.0, 3_500.0, busy=0.5)).state for period in range(1, 6)
    ]
    assert states == ["climbing", "waiting", "waiting", "waiting", "settled"]


def test_flink_takes_away_most_of_its_threads_at_once_at_the_most():
    decision = law("flink", most_down=0.6).step(paced(1, 20, 1000.0, 1_000.0, busy=0.05))
    assert (decision.threads, decision.state) == (8, "descending")


@pytest.mark.parametrize("aim", [0.4, 1.0])
def test_flink_may_aim_at_either_boundary(aim):
    assert law("flink", utilisation=aim).step(paced(1, 4, 1000.0, 1_000.0, busy=0.45)).threads == 4


def test_flink_refuses_utilisations_at_odds():
    with pytest.raises(
        UserError, match=r"utilisation must be from low, 0\.4, to high, 1, not 0\.3"
    ):
        law("flink", utilisation=0.3)


# -- golden section and bandit ---------------------------------------------------------------------


def along(name, curve, periods, **options):
    """Levels of a law along a curve."""
    subject, level, levels = law(name, **options), options.get("start", 1), []
    for period in range(1, periods + 1):
        level = subject.step(at(period, level, curve(level))).threads
        levels.append(level)
    return levels


def test_golden_cuts_the_range_at_the_golden_section_of_its_logarithm():
    first = along("golden", lambda n: 100.0 * n, 2)
    assert first == [round(64.0**0.382), round(64.0**0.618)]


def test_golden_rests_at_the_best_level_and_checks_it_again():
    curve = lambda n: 100.0 * min(n, 20) - 5.0 * max(0, n - 20)  # noqa: E731 - a peak at 20
    levels = along("golden", curve, 120)
    rested = max(set(levels), key=levels.count)
    assert abs(rested - 20) <= 1 and len(set(levels[60:])) > 1


def test_golden_begins_anew_at_another_load():
    subject, level = law("golden"), 1
    for period in range(1, 41):
        level = subject.step(at(period, level, 100.0 * min(level, 9))).threads
    before, after = level, []
    for period in range(41, 70):
        level = subject.step(at(period, level, 40.0 * min(level, 50))).threads
        after.append(level)
    assert before == 9 and after[-1] >= 45


def test_the_bandit_tries_each_arm_of_its_grid_once():
    tried = along("bandit", lambda n: 100.0, 13)
    assert [1, *tried[:12]] == [1, 2, 3, 4, 6, 8, 12, 17, 24, 34, 48, 64, tried[11]]


def test_the_bandit_keeps_to_the_best_arm_and_forgets():
    levels = along("bandit", lambda n: 100.0 * min(n, 17) / max(n, 17), 100)
    assert max(set(levels[12:]), key=levels[12:].count) == 17
    subject, level = law("bandit"), 1
    for period in range(1, 1501):
        rate = 100.0 * (level if period < 100 else 65 - level)
        level = subject.step(at(period, level, rate)).threads
    assert level <= 3
