"""The ElasticLoadBalance operator's law, by cases that can be followed by hand; its faults are part
of it.
"""

from __future__ import annotations

import pytest

from harness.elasticity import Bounds
from harness.elasticity.threads.elastic_load_balance import ElasticLoadBalance, levels_of
from harness.errors import UserError
from tests.elasticity.drive import closed_loop, levels, peak_at, reading, states, up_to


def law(ports=16, start=1, **settings) -> ElasticLoadBalance:
    return ElasticLoadBalance(Bounds(1, ports, start), None, settings)


# A curve, the law's arguments, and the levels that follow while every level is congested.
CASES = {
    "rising to all ports": (up_to(99), {"ports": 4}, [2, 3, 4, 4, 4]),
    "fault: on a plateau it stays one past the knee": (up_to(4), {}, [2, 3, 4, 5, 5, 5, 5]),
    "fault: past a peak it walks for ever": (
        peak_at(4, fall=40.0),
        {},
        [2, 3, 4, 5, 5, 4, 3, 4, 5, 5, 4, 3, 4, 5],
    ),
    "flat": (up_to(1), {}, [2, 2, 2]),
    "no throughput at all": (lambda level: 0.0, {}, [2, 2, 2]),
    "from above, it looks below first": (up_to(4), {"start": 3}, [2, 3, 4, 5, 5]),
    "one port": (up_to(9), {"ports": 1}, [1, 1]),
    "rapid": (up_to(99), {"rapid_scaling": True, "ports": 16}, [2, 3, 4, 6, 8, 11, 16, 16]),
    "fault: rapid never uses the ports beyond a size": (
        up_to(99),
        {"rapid_scaling": True, "ports": 10},
        [2, 3, 4, 6, 8, 8, 8],
    ),
    "rapid, from between sizes": (
        up_to(99),
        {"rapid_scaling": True, "ports": 10, "start": 5},
        [4, 5, 6, 8, 8, 8],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_levels_follow_the_curve(case):
    curve, arguments, expected = CASES[case]
    assert levels(closed_loop(law(**arguments), curve, len(expected))) == expected


def test_without_congestion_it_steps_down_whatever_the_throughput():
    assert levels(closed_loop(law(start=4), up_to(9), 5, congested=lambda level: False)) == [
        3,
        2,
        1,
        1,
        1,
    ]


def test_fault_it_oscillates_where_congestion_ends_between_two_levels():
    decisions = closed_loop(law(), up_to(9), 9, congested=lambda level: level < 5)
    assert levels(decisions) == [2, 3, 4, 5, 4, 5, 4, 5, 4]


def test_congestion_is_more_than_the_tolerance_and_unknown_is_congested():
    def moves(fill, **settings):
        return law(start=4, **settings).step(reading(1, 4, 100.0, congestion=fill)).reason

    assert moves(0.5) == "not congested → down"
    assert moves(0.51) == "congested, below untrusted → down"
    assert moves(None) == "congested, below untrusted → down"
    assert moves(0.51, congestion_tolerance=0.6) == "not congested → down"


def test_a_change_in_throughput_is_taken_for_noise_once():
    subject = law(ports=1)
    decisions = closed_loop(subject, lambda level: 100.0, 2)
    decisions += closed_loop(subject, lambda level: 106.0, 3, after=decisions)
    assert states(decisions) == ["settled", "settled", "noise", "settled", "settled"]


def test_after_a_change_in_load_the_other_levels_are_looked_at_again():
    subject = law()
    before = closed_loop(subject, up_to(3), 5)
    assert levels(before) == [2, 3, 4, 4, 4]
    decisions = closed_loop(subject, up_to(6, each=200.0), 9, after=before)
    assert levels(decisions) == [4, 3, 4, 5, 6, 7, 7, 7, 7]
    assert (
        decisions[1].reason
        == "throughput changed, other levels untrusted; congested, below untrusted → down"
    )


def test_a_change_in_congestion_is_never_noise():
    subject = law()
    before = closed_loop(subject, up_to(3), 5)
    (decision,) = closed_loop(subject, up_to(3), 1, congested=lambda level: False, after=before)
    assert decision.reason == "congestion changed, other levels untrusted; not congested → down"


def test_rapid_levels_are_powers_of_the_root_of_two_as_many_as_ports():
    assert levels_of(Bounds(1, 8, 1), True) == [1, 2, 3, 4, 6, 8, 8, 8]
    assert levels_of(Bounds(1, 10, 1), True) == [1, 2, 3, 4, 6, 8, 8, 8, 8, 8]
    assert levels_of(Bounds(1, 1, 1), True) == [1]
    assert set(levels_of(Bounds(1, 32, 1), True)) == {1, 2, 3, 4, 6, 8, 11, 16, 23, 32}


def test_rapid_start_and_minimum_are_levels_too():
    assert levels_of(Bounds(1, 7, 5), True) == [1, 2, 3, 4, 5, 6, 6, 6]
    assert set(levels_of(Bounds(9, 10, 10), True)) == {9, 10}


def test_fault_with_rapid_scaling_the_way_back_leads_over_levels_without_ports():
    subject = law(ports=5, start=4, rapid_scaling=True)
    before = closed_loop(subject, lambda level: 100.0 * level, 4)
    assert levels(before) == [3, 4, 4, 4]
    decisions = closed_loop(
        subject, lambda level: 100.0 * level, 3, congested=lambda level: False, after=before
    )
    assert levels(decisions) == [4, 3, 2]
    assert decisions[0].reason.endswith("not congested → down, but from a level without ports")


@pytest.mark.parametrize(
    ("name", "value"),
    [("congestion_tolerance", -0.2), ("throughput_tolerance", 1.2), ("rapid_scaling", "fast")],
)
def test_settings_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(UserError, match=f"^{name} must be .* not {value!r}$"):
        law(**{name: value})
