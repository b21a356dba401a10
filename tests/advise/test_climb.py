"""The best arm's neighbours are tried as long as one of them is better."""

from __future__ import annotations

import pytest

from harness.advise.adviser import Adviser, Asked
from harness.advise.candidates import Candidate, neighbours
from harness.advise.halving import Screening
from harness.compare.entrants import RunTerms, graph_of
from harness.experiments.experiment import Arm
from harness.machines.place import find_place
from harness.measurement.spec import arm_name
from harness.measurement.subject import find_subject
from harness.models import Coroutine, Dynamic
from tests.compare.made_contests import Silent

THREADS, REPLICAS = (1, 2, 4, 8, 12), (1, 2, 4)


def candidate(model):
    return Candidate(Arm(arm_name(model), model), arm_name(model), 1.0)


POOLS = [
    candidate(Coroutine(threads, replicas=replicas)) for threads in THREADS for replicas in REPLICAS
]
OTHERS = [candidate(Dynamic(threads)) for threads in THREADS]


def options(found):
    return {(each.arm.model.threads, each.arm.model.replicas) for each in found}


@pytest.mark.parametrize(
    ("arm", "near"),
    [
        ((4, 2), {(2, 2), (8, 2), (4, 1), (4, 4)}),
        ((1, 1), {(2, 1), (1, 2)}),
        ((12, 4), {(8, 4), (12, 2)}),
    ],
)
def test_a_neighbour_differs_in_one_option_by_one_step(arm, near):
    threads, replicas = arm
    found = neighbours([*POOLS, *OTHERS], Coroutine(threads, replicas=replicas))
    assert options(found) == near


def test_placements_with_more_and_with_fewer_queues_are_neighbours():
    names = ("none", "a", "a,b,c", "a,b,c,d", "all")
    arms = [candidate(Dynamic(4, queued=each)) for each in names]
    found = neighbours(arms, Dynamic(4, queued="a,b,c"))
    assert {each.arm.model.queued for each in found} == {"a", "a,b,c,d"}


class Silently(Silent):
    def begin(self, contest, step=""):
        pass


def climbed(truth, first, budget_s=1000.0):
    """Climb from an arm with runs that show the truth; return the best arm and all that ran."""
    subject = find_subject("pipeline", {"operators": "3", "cost": "100"}, 0)
    terms = RunTerms(find_place("cstream"), "advise", 0.002)
    asked = Asked("pipeline", {}, subject, graph_of(subject, terms), terms, budget_s)
    adviser = Adviser(asked, Silently())
    adviser._run_s = 1.0
    ran = []

    def screen(arms, budget, step):
        screening = Screening(adviser._contest(arms))
        known = screening.contest.contenders
        ran.extend(known)
        adviser._left_s -= len(known)
        screening.last = sorted(known, key=lambda arm: -truth(arm.run.model))[:2]
        adviser._screenings.append(screening)

    adviser._screen = screen
    screen([asked.made(each.arm) for each in first], 0.0, "")
    adviser._climb(POOLS, 0.0)
    return adviser._screenings[-1].last[0].run.model, [arm.run.model for arm in ran]


def hill(model):
    return -abs(model.threads - 12) - 3 * abs((model.replicas or 1) - 4)


def test_a_climb_ends_at_the_best_arm_that_the_bounds_had_not_chosen():
    best, ran = climbed(hill, POOLS[:2])
    assert (best.threads, best.replicas) == (12, 4)
    assert len(ran) < len(POOLS) * 2


def test_a_climb_ends_where_no_neighbour_is_better():
    best, ran = climbed(lambda model: -abs(model.threads - 4), [POOLS[6], POOLS[7]])
    assert best.threads == 4
    assert {model.threads for model in ran} == {2, 4, 8}


def test_an_arm_that_is_not_stationary_stays_so_in_the_next_contest_with_the_reason():
    subject = find_subject("pipeline", {"operators": "3", "cost": "100"}, 0)
    terms = RunTerms(find_place("cstream"), "advise", 0.002)
    asked = Asked("pipeline", {}, subject, graph_of(subject, terms), terms, 10.0)
    adviser = Adviser(asked, Silently())
    arms = [asked.made(each.arm) for each in POOLS[:2]]
    first = adviser._contest(arms)
    first.contenders[1].unsettled, first.contenders[1].unsettled_help = "5,000 events", "the reason"
    adviser._spend(first)
    known = adviser._contest(arms).contenders
    assert [(arm.unsettled, arm.unsettled_help) for arm in known] == [
        ("", ""), ("5,000 events", "the reason"),
    ]  # fmt: skip


def test_a_climb_keeps_within_the_budget():
    best, ran = climbed(hill, POOLS[:2], budget_s=6.0)
    assert (best.threads, best.replicas) == (1, 2) and len(ran) == 2


def test_the_baseline_keeps_its_name_among_arms_with_its_settings():
    subject = find_subject("pipeline", {"operators": "3", "cost": "100"}, 0)
    asked = Asked(
        "pipeline",
        {},
        subject,
        graph_of(subject, terms := RunTerms(find_place("cstream"), "advise", 0.002)),
        terms,
        10.0,
    )
    adviser = Adviser(asked, Silently())
    same = adviser._baseline(Arm("today", Dynamic(2)), OTHERS)
    contest = adviser._contest([same, *(asked.made(each.arm) for each in OTHERS)])
    names = [arm.name for arm in contest.contenders]
    assert names == ["today", "dynamic-1", "dynamic-4", "dynamic-8", "dynamic-12"]
    other = adviser._baseline(Arm("dynamic-2", Dynamic(2, queue_capacity=64)), OTHERS)
    contest = adviser._contest([other, *(asked.made(each.arm) for each in OTHERS)])
    names = [arm.name for arm in contest.contenders]
    assert names == ["dynamic-2-baseline", *(each.arm.name for each in OTHERS)]
