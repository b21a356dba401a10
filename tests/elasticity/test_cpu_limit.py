"""Tests of who may climb."""

from __future__ import annotations

from harness.elasticity.cpu_limit import Answers, LastPeriod, LeaveToOthers, SinceLastRequest


def test_the_last_period_alone_counts_and_the_limit_itself_is_allowed():
    limit = LastPeriod(0.8)
    limit.see(1.0, 0.9, None)
    assert not limit.acceptable()
    limit.see(1.0, 0.8, None)
    assert limit.acceptable()
    limit.see(1.0, None, None)
    assert limit.acceptable(), "what is not known is no objection"


def test_the_mean_since_the_last_request_is_by_the_periods_lengths():
    limit = SinceLastRequest(0.8)
    limit.see(1.0, 0.0, None)
    assert not limit.acceptable(), "the first request"
    limit.see(1.0, 1.0, None)
    limit.see(3.0, 0.7, None)
    assert limit.acceptable(), "(1 + 2.1) / 4"
    assert not limit.acceptable(), "nothing was seen since"


def test_a_period_that_is_not_known_refuses_once():
    limit = SinceLastRequest(0.8)
    limit.acceptable()
    limit.see(1.0, 0.1, None)
    limit.see(1.0, None, None)
    assert not limit.acceptable()
    limit.see(1.0, 0.1, None)
    assert limit.acceptable()


def test_a_process_that_has_the_machine_to_itself_may_use_it_whole():
    limit = LeaveToOthers(0.8)
    limit.see(1.0, 1.0, 0.1)
    assert limit.acceptable()
    limit.see(1.0, 0.9, 0.3)
    assert not limit.acceptable()
    limit.see(1.0, 0.9, None)
    assert not limit.acceptable(), "who uses them is not known"


def test_recorded_answers_are_given_in_order_and_then_yes():
    answers = Answers([False, True, False])
    assert [answers.acceptable() for _ in range(5)] == [False, True, False, True, True]
