"""P17 Figures 7 and 8, by cases that can be followed by hand."""

from __future__ import annotations

import pytest

from harness.elasticity import Bounds
from harness.elasticity.threads.pldi17 import Pldi17, levels_of, one_more, twice
from harness.errors import UserError
from tests.elasticity.drive import (
    Cpu,
    closed_loop,
    levels,
    open_loop,
    peak_at,
    reading,
    states,
    up_to,
)


def law(minimum=1, maximum=16, start=1, granted=True, next_level=None, **settings) -> Pldi17:
    return Pldi17(Bounds(minimum, maximum, start), Cpu(granted), settings, next_level=next_level)


# A curve, the law's arguments, and the levels that follow.
CASES = {
    "rising to the maximum": (up_to(99), {"maximum": 5}, [2, 3, 4, 5, 5, 5]),
    "a knee: one too far, back, and settled": (up_to(4), {}, [2, 3, 4, 5, 4, 4, 4]),
    "a peak": (peak_at(3), {}, [2, 3, 4, 3, 3]),
    "flat: back to one": (up_to(1), {}, [2, 1, 1, 1]),
    "no throughput at all": (lambda level: 0.0, {}, [2, 1, 1, 1]),
    "from above, below is looked at first": (up_to(4), {"start": 6}, [5, 4, 3, 4, 4]),
    "a minimum is the lowest level": (up_to(1), {"minimum": 3, "start": 3}, [4, 3, 3]),
    "down to a minimum": (up_to(1), {"minimum": 3, "start": 5}, [4, 3, 3]),
    "one level only": (up_to(9), {"minimum": 2, "maximum": 2, "start": 2}, [2, 2]),
    "doubling": (up_to(99), {"doubling": True, "maximum": 24}, [2, 4, 8, 16, 24, 24]),
    "doubling passes a knee and comes back to a double": (
        up_to(5),
        {"doubling": True},
        [2, 4, 8, 16, 8, 8],
    ),
    "a step function of one's own": (
        up_to(99),
        {"next_level": lambda level: level + 5},
        [6, 11, 16, 16],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_levels_follow_the_curve(case):
    curve, arguments, expected = CASES[case]
    assert levels(closed_loop(law(**arguments), curve, len(expected))) == expected


def test_a_gain_of_the_sensitivity_is_none_and_one_above_is_a_gain():
    steps = {1: 100.0, 2: 105.0}
    assert levels(closed_loop(law(), lambda level: steps.get(level, 105.0), 3)) == [2, 1, 1]
    steps = {1: 100.0, 2: 105.1}
    assert levels(closed_loop(law(), lambda level: steps.get(level, 105.1), 4)) == [2, 3, 2, 2]
    assert levels(closed_loop(law(sensitivity=0.2), up_to(99), 8)) == [2, 3, 4, 5, 6, 5, 5, 5], (
        "6 beats 5 by 20 %, not more"
    )


def test_a_change_in_load_of_the_level_makes_it_search_anew():
    subject = law()
    before = closed_loop(subject, up_to(3), 6)
    assert levels(before) == [2, 3, 4, 3, 3, 3]
    decisions = closed_loop(subject, up_to(6, each=200.0), 8, after=before)
    assert levels(decisions) == [2, 3, 4, 5, 6, 7, 6, 6], (
        "below is untrusted, so it goes down before it goes up"
    )
    assert decisions[0].reason == "load changed, nothing trusted; below untrusted → down"


def test_a_drift_adds_up_against_the_first_trusted_throughput():
    decisions = open_loop(law(maximum=1), [100.0, 103.0, 105.0, 106.0, 109.0, 112.0])
    changes = [
        i for i, decision in enumerate(decisions) if decision.reason.startswith("load changed")
    ]
    assert changes == [3, 5], "106 is off by more than 5 % of 100, and 112 of 106"


def test_a_level_to_which_it_comes_back_is_not_compared_with_old_times():
    decisions = open_loop(law(), [100.0, 200.0, 150.0, 300.0, 300.0])
    assert levels(decisions) == [2, 3, 2, 2, 1]
    changes = [
        i for i, decision in enumerate(decisions) if decision.reason.startswith("load changed")
    ]
    assert changes == [4], (
        "300 at level 2, where it was 200 two periods ago, counts when it stays there"
    )


def test_a_refused_climb_goes_on_to_the_rules_for_stepping_down_as_printed():
    subject = law(minimum=1, maximum=3, start=3, granted=False)
    decisions = closed_loop(subject, up_to(9), 2)
    assert levels(decisions) == [2, 1], "above beats 2, the climb is refused, below is untrusted"
    assert (
        decisions[1].reason == "trend above, climb refused by the CPU limit; below untrusted → down"
    )


def test_a_refused_climb_stays_where_below_is_beaten():
    subject = law()
    before = closed_loop(subject, up_to(9), 2)
    subject.cpu.granted = False
    (decision,) = closed_loop(subject, up_to(9), 1, after=before)
    assert (decision.threads, decision.state) == (3, "refused")


def test_the_cpu_is_asked_for_a_climb_only():
    subject = law(start=6)
    decisions = closed_loop(subject, up_to(4), 3)
    assert subject.cpu.requests == 0, "three steps down"
    decisions += closed_loop(subject, up_to(4), 1, after=decisions)
    assert subject.cpu.requests == 1, "back up to 4"
    closed_loop(subject, up_to(4), 5, after=decisions)
    assert subject.cpu.requests == 1, "settled"


def test_its_own_cpu_limit_goes_by_the_last_period():
    subject = Pldi17(Bounds(1, 8, 1))
    periods = [(100.0, 0.81), (100.0, 0.8), (200.0, 0.9), (200.0, 0.1)]
    decisions = [
        subject.step(reading(i, 1, rate, system_cpu=busy)) for i, (rate, busy) in enumerate(periods)
    ]
    assert states(decisions) == ["refused", "climbing", "refused", "climbing"]


def test_the_levels_of_a_step_function_hold_minimum_start_and_maximum():
    assert levels_of(Bounds(1, 5, 3), one_more) == [1, 2, 3, 4, 5]
    assert levels_of(Bounds(1, 20, 3), twice) == [1, 2, 3, 4, 8, 16, 20]
    assert levels_of(Bounds(7, 7, 7), twice) == [7]
    assert len(levels_of(Bounds(1, 1024, 1), one_more)) == 1024


@pytest.mark.parametrize("step", [lambda level: level, lambda level: 1])
def test_a_step_function_that_does_not_climb_is_refused(step):
    with pytest.raises(
        UserError, match="next_level must be more than the level it is given, 1, not 1"
    ):
        law(next_level=step)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sensitivity", -0.1),
        ("sensitivity", 1.1),
        ("cpu_limit", 0.0),
        ("cpu_limit", 1.01),
        ("doubling", "maybe"),
    ],
)
def test_settings_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(UserError, match=name):
        law(**{name: value})
