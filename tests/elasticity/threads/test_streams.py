"""Tests of what IBM Streams does, by cases that can be followed by hand; its faults are part of it
and must stay.
"""

from __future__ import annotations

import pytest

from harness.elasticity import Bounds
from harness.elasticity.threads.streams import Streams
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


def law(minimum=1, maximum=64, start=1, granted=True, untrusted=False) -> Streams:
    subject = Streams(Bounds(minimum, maximum, start), Cpu(granted))
    if untrusted:
        subject.untrust_above()
    return subject


# A curve, the law's arguments, and the levels that follow.
CASES = {
    "up by doubling, and it stays at the maximum": (
        up_to(99),
        {"maximum": 16},
        [2, 4, 8, 16, 16, 16],
    ),
    "the last step up is cut at the maximum": (up_to(99), {"maximum": 12}, [2, 4, 8, 12, 12]),
    "three is cut from the double of two": (up_to(99), {"maximum": 3}, [2, 3, 3]),
    "a peak at a power of two": (peak_at(8), {}, [2, 4, 8, 16, 12, 10, 9, 8, 8]),
    "bisection from 32": (up_to(16), {}, [2, 4, 8, 16, 32, 24, 20, 18, 17, 16, 16]),
    "flat: down to one, by bisection and then by one": (
        up_to(1),
        {"start": 8},
        [6, 5, 4, 3, 2, 1, 1],
    ),
    "peak at 5, found": (
        peak_at(5, fall=90.0),
        {"maximum": 8, "untrusted": True},
        [2, 4, 8, 6, 5, 5],
    ),
    "no throughput at all": (lambda level: 0.0, {}, [2, 1, 1, 1]),
    "fault: the maximum itself is trusted to bring nothing, so it stays at the start": (
        up_to(99),
        {"maximum": 2},
        [1, 1, 1],
    ),
    "the same, from two of four": (up_to(99), {"maximum": 4, "start": 2}, [1, 2, 2, 2]),
    "it climbs when levels above are untrusted": (
        up_to(99),
        {"maximum": 2, "untrusted": True},
        [2, 2, 2],
    ),
    "the same of two of four": (
        up_to(99),
        {"maximum": 4, "start": 2, "untrusted": True},
        [1, 2, 4, 4],
    ),
    "fault: a minimum of 5 is not reached again": (
        up_to(1),
        {"minimum": 5, "start": 5},
        [8, 6, 6, 6],
    ),
    "a minimum of 4 is": (up_to(1), {"minimum": 4, "start": 4}, [8, 6, 5, 4, 4]),
    "fault: a peak at 6 is passed": (peak_at(6), {}, [2, 4, 8, 16, 12, 10, 9, 8, 8]),
    "one level only": (up_to(9), {"minimum": 3, "maximum": 3, "start": 3}, [3, 3]),
}


@pytest.mark.parametrize("case", CASES)
def test_levels_follow_the_curve(case):
    curve, arguments, expected = CASES[case]
    assert levels(closed_loop(law(**arguments), curve, len(expected))) == expected


def test_a_gain_of_five_percent_is_none_and_one_above_is_a_gain():
    assert levels(open_loop(law(), [100.0, 105.0])) == [2, 1]
    assert levels(open_loop(law(), [100.0, 105.1])) == [2, 4]


# The level of these is 1, kept there by the fault of the maximum that counts as trusted.


def test_five_samples_are_taken_for_noise_and_the_sixth_is_a_change_in_load():
    decisions = open_loop(law(maximum=2), [100.0, 100.0, *[121.0] * 7])
    assert states(decisions) == ["settled"] * 2 + ["noise"] * 5 + ["load changed", "climbing"]


def test_a_sample_within_the_band_makes_it_patient_again():
    decisions = open_loop(law(maximum=2), [100.0, 100.0, *[121.0] * 5, 120.0, *[121.0] * 6])
    assert states(decisions)[7:] == ["settled", *["noise"] * 5, "load changed"]


def test_less_load_is_measured_by_what_there_is_now():
    assert states(open_loop(law(maximum=2), [120.0, 120.0, 100.0])) == ["settled"] * 3
    assert states(open_loop(law(maximum=2), [120.0, 120.0, 99.0]))[2] == "noise"


def test_the_first_two_samples_are_never_a_change_in_load():
    assert states(open_loop(law(maximum=2), [100.0, 1.0, 1.0])) == ["settled", "settled", "noise"]


def test_fault_a_slow_drift_adds_up_to_a_restart():
    decisions = open_loop(law(maximum=2), [100.0 * 1.01**i for i in range(30)])
    assert states(decisions).index("noise") == 19, "1.01 ^ 19 is the first above 1.2"
    assert states(decisions)[19:25] == [*["noise"] * 5, "load changed"]


def test_after_a_change_in_load_the_search_begins_at_the_present_level():
    subject = law()
    before = closed_loop(subject, up_to(4), 7)
    assert levels(before) == [2, 4, 8, 6, 5, 4, 4]
    decisions = closed_loop(subject, up_to(99, each=300.0), 14, after=before)
    assert states(decisions)[:6] == [*["noise"] * 5, "load changed"]
    assert levels(decisions)[5:] == [4, 3, 4, 8, 16, 32, 64, 64, 64], (
        "it looks below first: that is untrusted, too"
    )


def test_a_refused_climb_stays_and_does_not_go_on_to_stepping_down():
    decisions = closed_loop(law(start=3, granted=False), up_to(9), 3)
    assert levels(decisions) == [2, 2, 2], (
        "above beats 2; below is untrusted, but that is not looked at"
    )
    assert decisions[1].reason == "trend above, climb refused by the CPU limit → stay"


def test_the_cpu_is_asked_for_a_climb_only_also_at_the_maximum():
    subject = law(maximum=4)
    before = closed_loop(subject, up_to(9), 2)
    assert subject.cpu.requests == 2
    closed_loop(subject, up_to(9), 3, after=before)
    assert subject.cpu.requests == 5, "at the maximum it asks although it cannot climb"
    subject = law(start=8)
    closed_loop(subject, up_to(1), 6)
    assert subject.cpu.requests == 0


def test_its_own_cpu_limit_refuses_the_first_request_and_then_goes_by_the_mean_since_the_last():
    subject = Streams(Bounds(1, 8, 1))
    busy = [0.0, 0.9, 0.7]
    seen = [
        subject.step(reading(i + 1, 1, 100.0, system_cpu=share)).state
        for i, share in enumerate(busy)
    ]
    assert seen == ["refused", "refused", "climbing"], "0.7 alone: 0.9 was asked about before"


def test_untrusting_what_is_above_leaves_the_rest():
    subject = law()
    before = closed_loop(subject, up_to(4), 7)
    subject.untrust_above()
    assert levels(closed_loop(subject, up_to(4), 6, after=before)) == [8, 6, 5, 4, 4, 4], (
        "it looks above once more, and comes back"
    )
