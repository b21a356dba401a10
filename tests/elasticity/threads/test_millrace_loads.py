"""Tests of when Millrace's own law moves again, and when it does not: bursts, idle and crowded
periods, loads that are new or known.
"""

from __future__ import annotations

import pytest

from tests.elasticity.drive import closed_loop, levels, millrace, peak_at, reading, scaled


def at_rest(decisions):
    """The levels but for looks at neighbours."""
    return {decision.threads for decision in decisions if decision.state != "searching"}


# -- what teaches nothing --------------------------------------------------------------------------


IDLE = {"throughput": 0.0}
CROWDED = {"throughput": 40.0, "system_cpu": 1.0, "others_cpu": 0.9}
OTHERS_ALONE = {"throughput": 9e9, "others_cpu": 1.0}


@pytest.mark.parametrize("at", [0, 2, 7, 40])
def test_idle_periods_teach_nothing(at):
    """Idle periods leave no trace: the level stays meanwhile, and then all goes on as without them."""
    quiet, curve = levels(closed_loop(millrace(), peak_at(13), 60)), peak_at(13)
    law, level, chosen = millrace(), 1, []
    for second in range(80):
        if at <= second < at + 20:
            assert law.step(reading(second, level, **IDLE)).threads == level
            continue
        level = law.step(reading(second, level, curve(level))).threads
        chosen.append(level)
    assert chosen == quiet


@pytest.mark.parametrize("odd", [CROWDED, OTHERS_ALONE])
@pytest.mark.parametrize("looks", [1, 3])
def test_others_that_come_in_the_midst_of_a_look_do_not_keep_it_there(odd, looks):
    """It keeps to the CPUs that they leave, and searches again when they have gone."""
    law = millrace()
    decisions = closed_loop(law, peak_at(40), looks)
    level = decisions[-1].threads
    for second in range(100, 120):
        decision = law.step(reading(second, level, **odd))
        level = decision.threads
        assert level <= 6 and decision.state == "crowded", (
            "64 CPUs, of which others have 90 or 100 %"
        )
    for second in range(200, 230):
        level = law.step(reading(second, level, peak_at(40)(level))).threads
    assert peak_at(40)(level) >= 0.97 * 4000


@pytest.mark.parametrize("factor", [0.01, 0.4, 2.0, 50.0])
def test_a_burst_of_one_period_moves_nothing(factor):
    law = millrace()
    before = closed_loop(law, peak_at(13), 40)
    burst = closed_loop(law, scaled(peak_at(13), factor), 1, after=before)
    after = closed_loop(law, peak_at(13), 30, after=[*before, *burst])
    assert at_rest([*burst, *after]) == {before[-1].threads}
    assert "a burst, or another load?" in burst[0].reason
    assert burst[0].state == "noise"


@pytest.mark.parametrize("extreme", [5e-324, 1.7e308])
def test_a_burst_beyond_all_measure_moves_nothing_and_is_told_in_short(extreme):
    law, ordinary = millrace(), 1e-10 if extreme > 1.0 else 1e300
    before = closed_loop(law, lambda n: ordinary, 40)
    burst = closed_loop(law, lambda n: extreme, 1, after=before)[0]
    assert burst.threads == before[-1].threads
    assert len(burst.reason) < 80


def test_one_burst_up_and_one_down_are_no_load():
    law = millrace()
    before = closed_loop(law, peak_at(13), 40)
    decisions = list(before)
    for factor in (2.0, 0.4, 2.0, 0.4):
        decisions += closed_loop(law, scaled(peak_at(13), factor), 1, after=decisions)
    assert at_rest(decisions[40:]) == {before[-1].threads}


def test_small_differences_are_no_other_load():
    law = millrace()
    before = closed_loop(law, peak_at(13), 40)
    after = closed_loop(law, scaled(peak_at(13), 1.1), 60, after=before)
    assert at_rest(after) == {before[-1].threads}


# -- changes of load -------------------------------------------------------------------------------


def test_another_load_is_noticed_in_two_periods_and_its_best_level_found():
    law = millrace()
    decisions = closed_loop(law, peak_at(12), 40)
    decisions += closed_loop(law, scaled(peak_at(40), 0.6), 25, after=decisions)
    assert "burst" in decisions[40].reason
    assert "twice: another load" in decisions[41].reason
    assert peak_at(40)(decisions[-1].threads) >= 0.97 * 4000


@pytest.mark.parametrize("factor", [0.3, 0.5, 1.6, 5.0])
def test_a_load_that_scales_throughput_leads_back_to_the_same_level(factor):
    law = millrace()
    before = closed_loop(law, peak_at(13), 40)
    after = closed_loop(law, scaled(peak_at(13), factor), 40, after=before)
    assert peak_at(13)(after[-1].threads) >= 0.97 * 1300
