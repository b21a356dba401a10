"""Halving finds a good arm with few runs, and the last comparison has runs of its own."""

from __future__ import annotations

from collections import Counter

import pytest

from harness.advise.halving import Screening, arms_for, runs_of
from tests.compare.made_contests import Host, Silent, contest, made_record


def halved(truth, **options):
    host = Host(truth, **options)
    screening = Screening(contest(host))
    return screening.halve(host.execute, Silent()), screening, host


TRUTH = {f"arm{number}": 100.0 + 10 * number for number in range(16)}


def test_the_best_two_of_many_arms_are_left():
    last, screening, _ = halved(TRUTH)
    assert [arm.name for arm in last] == ["arm15", "arm14"]
    assert screening.rounds == 3
    assert Counter(screening.left_out.values())[1] == 8


def test_it_takes_the_runs_that_were_counted_before():
    equal = dict.fromkeys(TRUTH, 100.0)
    _, _, host = halved(equal, noise=0.0001)
    assert len(host.runs) <= runs_of(16)
    assert len(host.runs) >= runs_of(16) / 2


def test_arms_that_are_left_out_are_not_run_any_more():
    _, screening, host = halved(TRUTH)
    of = Counter(run.arm for run in host.runs)
    assert all(of[name] == 2 for name, round_ in screening.left_out.items() if round_ == 1)


def test_an_arm_that_fails_is_not_among_the_last():
    def make(run, rate):
        return made_record(run, rate, error="lost 1 tuple" if run.arm == "arm15" else None)

    last, _, _ = halved(TRUTH, make=make)
    assert [arm.name for arm in last] == ["arm14", "arm13"]


def test_a_budget_for_no_block_ranks_by_what_there_is():
    host = Host(TRUTH)
    made = contest(host, budget_s=10.0)
    last = Screening(made).halve(host.execute, Silent())
    assert made.blocks == 0
    assert len(last) == 2 and all(arm.records for arm in last)


def test_a_budget_for_no_block_leaves_no_arm_out_by_its_place_in_the_list():
    host = Host(TRUTH)
    screening = Screening(contest(host, budget_s=10.0))
    screening.halve(host.execute, Silent())
    assert screening.left_out == {}


@pytest.mark.parametrize(("budget_s", "arms"), [(10.0, 4), (200.0, 11), (1e6, 30)])
def test_a_longer_budget_tries_more_arms(budget_s, arms):
    assert arms_for(budget_s, 1.0, 30) == pytest.approx(arms, abs=3)


def test_as_many_runs_as_a_round_halves():
    assert runs_of(2) == 0
    assert runs_of(4) == 8
    assert runs_of(16) == 32 + 32 + 32
