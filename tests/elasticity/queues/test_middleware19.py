"""M19's law: its rules, its coordination and its two optimisations, by cases that can be followed
by hand.
"""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from harness.elasticity import Bounds
from harness.elasticity.law import PROFILE_PERIODS, Reading
from harness.elasticity.queues.drain import MOST_PERIODS, Drain
from harness.elasticity.queues.middleware19 import Middleware19
from harness.elasticity.queues.middleware19_search import Search
from tests.elasticity.drive import Cpu, levels, states
from tests.elasticity.queues.pipelines import (
    PERIOD_S,
    Pipeline,
    counts,
    drive,
    pipeline,
    settled_after,
)


def searched(size, curve, baseline=100.0, costs=(), up=True):
    """The counts of switched operators that are measured, those kept, and the search."""
    search = Search(range(size), costs, up, baseline, 0.05, random.Random(1))
    measured = []
    while not search.over:
        measured.append(len(search.switched))
        search.step(curve(len(search.switched)))
    return measured, len(search.switched), search


RULES = {
    "all of the group bring more: kept, and no operator is left": (
        8,
        lambda n: 100.0 + 10.0 * n,
        [8],
        8,
    ),
    "R4: worse, and nothing fewer measured: half, half again": (
        16,
        lambda n: 100.0 - n,
        [16, 8, 4, 2, 1],
        0,
    ),
    "R4: the same: fewer": (16, lambda n: 100.0, [16, 8, 4, 2, 1], 0),
    "R2: more measured is better, R3: fewer measured is better": (
        32,
        {32: 90.0, 16: 200.0, 8: 120.0, 12: 300.0, 10: 200.0, 11: 310.0}.get,
        [32, 16, 8, 12],
        12,
    ),
    "R3: from between two, towards the fewer": (
        32,
        {32: 90.0, 16: 200.0, 8: 150.0, 12: 140.0, 14: 300.0}.get,
        [32, 16, 8, 12, 14],
        14,
    ),
    "R5: better than fewer and no worse than more": (
        8,
        {8: 104.0, 4: 150.0, 2: 120.0, 3: 150.0}.get,
        [8, 4, 2, 3],
        3,
    ),
    "one operator that brings nothing": (1, lambda n: 100.0, [1], 0),
    "exactly five percent is nothing": (1, lambda n: 105.0, [1], 0),
}


@pytest.mark.parametrize("case", RULES)
def test_the_rules_lead_to_the_counts_that_are_measured(case):
    size, curve, measured, kept = RULES[case]
    assert searched(size, curve)[:2] == (measured, kept)


GROUPS = (0.2, 0.2, 0.2, 0.05, 0.05, 0.05, 0.05, 0.001, 0.001)


def test_groups_are_tried_from_the_heaviest_until_one_brings_nothing():
    measured, kept, search = searched(9, lambda n: 100.0 * min(n, 7), costs=GROUPS)
    assert (measured, kept) == ([3, 7, 9, 8], 7)
    assert search.switched == set(range(7))
    assert search.throughput == 700.0


def test_going_down_groups_are_tried_from_the_lightest():
    measured, kept, search = searched(9, lambda n: 100.0 + 50.0 * min(n, 2), costs=GROUPS, up=False)
    assert (measured, kept) == ([2, 6, 4, 3], 2)
    assert search.switched == {7, 8}


def test_a_part_of_a_group_ends_the_search():
    measured, kept, search = searched(9, {3: 90.0, 1: 200.0}.get, costs=GROUPS)
    assert (measured, kept, search.changed) == ([3, 1], 1, True)


def test_the_set_within_a_group_is_arbitrary_and_follows_from_the_seed():
    def first(seed):
        search = Search(range(100), (), True, 100.0, 0.05, random.Random(seed))
        search.step(90.0)
        return search.switched

    assert len(first(1)) == 50
    assert first(1) == first(1) != first(2)
    assert first(1) != set(range(50))


def test_of_two_sets_of_a_group_the_smaller_is_within_the_larger():
    search = Search(range(100), (), True, 100.0, 0.05, random.Random(3))
    seen = [search.switched]
    for throughput in (90.0, 91.0, 92.0):
        search.step(throughput)
        seen.append(search.switched)
    assert all(smaller < larger for larger, smaller in pairwise(seen))


# -- the coordination


def law(operators=4, minimum=2, maximum=64, cpu=None, **given):
    return Middleware19(Bounds(minimum, maximum, minimum), cpu or Cpu(), given, pipeline(operators))


def threads_alone(law, gain, periods, costs=(0.0, 0.25, 0.25, 0.25, 0.25)):
    """Throughput grows by `gain` a doubling of threads, and queues bring nothing."""
    return drive(law, lambda n, on: 100.0 * gain ** (n.bit_length() - 1), periods, costs)


def searches(decisions):
    """The level of each period that was followed by a step of a search."""
    return sorted(
        {decision.threads for decision in decisions if decision.state in ("placing", "removing")}
    )


def test_queues_come_first_at_the_lowest_level_then_threads():
    decisions = drive(
        law(maximum=4),
        lambda n, on: 100.0 * (1 + min(n, len(on))),
        6,
        (0.0, 0.25, 0.25, 0.25, 0.25),
    )
    assert [(d.threads, len(d.queued), d.state) for d in decisions] == [
        (2, 4, "placing"),
        (2, 4, "placed"),
        (4, 4, "climbing"),
        (4, 4, "settled"),  # all have queues: no search; it is the maximum
        (4, 4, "settled"),
        (4, 4, "settled"),
    ]


def test_threads_that_bring_enough_make_a_search_unnecessary():
    assert searches(threads_alone(law(maximum=16), 1.61, 40)) == [2], "1.61 - 1 > 0.6 (2 - 1)"
    assert searches(threads_alone(law(maximum=16), 1.59, 40)) == [2, 4, 8, 16]


def test_how_much_is_enough_is_a_setting():
    assert searches(threads_alone(law(maximum=16, satisfaction=0.8), 1.7, 40)) == [2, 4, 8, 16]
    assert searches(threads_alone(law(maximum=16, satisfaction=0.0), 1.06, 40)) == [2]


@pytest.mark.parametrize("history", [True, False])
def test_the_satisfaction_factor_can_be_switched_off(history):
    assert searches(threads_alone(law(maximum=16, satisfied=False, history=history), 1.99, 40)) == [
        2,
        4,
        8,
        16,
    ]


def peak(n, on):
    """Threads bring little up to 16, and less from there; each queue brings a little."""
    return (100.0 * 1.3 ** min(n.bit_length() - 1, 4) - max(0, n - 16)) * (1.0 + 0.1 * len(on))


def test_levels_between_two_with_the_same_queues_are_not_searched():
    with_history, without = (drive(law(8, history=history), peak, 120) for history in (True, False))
    assert [decision.threads for decision in (with_history[-1], without[-1])] == [16, 16]
    assert counts(with_history)[-1] == counts(without)[-1] == 8
    assert not {17, 18, 20, 24} & set(searches(with_history)), (
        "between 16 and 32 nothing is searched"
    )
    assert {17, 18, 20, 24} < set(searches(without))
    assert settled_after(with_history) < settled_after(without)


def test_thread_levels_double_to_the_maximum_and_come_back_by_bisection():
    decisions = drive(law(minimum=2, maximum=96), lambda n, on: 100.0 * min(n, 64), 40)
    visited = [
        level
        for level, before in zip(levels(decisions), [2, *levels(decisions)], strict=False)
        if level != before
    ]
    assert visited[:7] == [4, 8, 16, 32, 64, 96, 80], "as in Figure 6"
    assert levels(decisions)[-1] == 64


def test_below_the_range_of_its_queues_it_tries_fewer():
    gain = {4: -0.05, 5: -0.05, 6: -0.05, 8: 0.02}  # of a queue, by level
    load = {4: 100.0, 5: 80.0, 6: 80.0, 8: 80.0}
    decisions = drive(
        law(8, minimum=4, maximum=8), lambda n, on: load[n] * (1.0 + gain[n] * len(on)), 30
    )
    assert "load changed" not in states(decisions)
    down = states(decisions).index("removing")
    assert decisions[down - 1].queued == frozenset(range(8)), "at 8 threads queues bring something"
    assert decisions[down].threads == 6
    assert decisions[down].reason.startswith("less than 8 threads: all 8 of the lightest group")
    assert decisions[down + 1].queued == frozenset()
    assert (
        decisions[down + 1].reason == "all 8 bring more; no operator is left → queues for 6 threads"
    )


def test_a_change_in_load_takes_all_queues_away_and_begins_a_search_at_the_present_level():
    subject = law(maximum=8)
    surface = Pipeline([5.0, 5.0, 0.1, 0.1]).throughput
    costs = (0.0, 0.49, 0.49, 0.01, 0.01)
    before = drive(subject, surface, 40, costs)
    level, queues = before[-1].threads, len(before[-1].queued)
    assert queues > 0
    after = drive(subject, lambda n, on: 0.5 * surface(n, on), 60, costs, after=before)
    assert [(d.threads, len(d.queued), d.state) for d in after[:6]] == [
        *[(level, queues, "noise")] * 5,
        (level, 0, "load changed"),
    ]
    rest = [(d.threads, len(d.queued), d.state) for d in after[6:] if d.state != "waiting"]
    assert rest[:2] == [(level, 2, "placing"), (level, 4, "placing")]
    assert counts(after)[-1] == queues


def test_after_a_change_in_load_no_costs_are_read_until_queues_have_drained_and_costs_are_all_of_after():
    """Costs in between are of one operator, the only one that the source's thread has reached."""
    subject = law(maximum=8)
    surface = Pipeline([5.0, 5.0, 0.1, 0.1]).throughput
    decisions = drive(subject, surface, 40, (0.0, 0.49, 0.49, 0.01, 0.01))
    decisions += drive(
        subject,
        lambda n, on: 0.5 * surface(n, on),
        6,
        (0.0, 0.49, 0.49, 0.01, 0.01),
        after=decisions,
    )
    before, dropped = decisions[-2:]
    assert (dropped.state, dropped.queued) == ("load changed", frozenset())
    ahead = sum(
        3 - place for place in before.queued
    )  # submissions of a tuple of each queue until it is at the sinks
    submitted = (
        260.0 * PERIOD_S * dropped.threads / (dropped.threads + 1)
    )  # a period, but for what the source does itself
    drains = math.ceil(subject.layout.queue_capacity * ahead / submitted)
    assert 1 < drains < MOST_PERIODS
    stale = drive(
        subject,
        lambda n, on: 260.0,
        drains + PROFILE_PERIODS,
        (0.0, 0.97, 0.01, 0.01, 0.01),
        decisions,
    )
    assert set(states(stale)) == {"waiting"} and {decision.queued for decision in stale} == {
        frozenset()
    }
    (first,) = drive(
        subject, lambda n, on: 260.0, 1, (0.0, 0.01, 0.33, 0.33, 0.33), [*decisions, *stale]
    )
    assert (first.state, first.queued) == ("placing", frozenset({1, 2, 3}))


def test_a_drain_waits_for_what_full_queues_hold_and_then_for_the_window_of_costs():
    drain = Drain(
        pipeline(4)
    )  # queues of 1,000 tuples; one before the last operator but one has one submission ahead

    def periods(throughput: float) -> int:
        reading = Reading(1.0, 1.0, 1, throughput)
        return next(count for count in range(100) if drain.is_over(reading))

    assert periods(1.0) == 0, "at first there is nothing"
    drain.begin({0, 2})  # 3 and 1 submissions ahead, of 1,000 tuples each
    assert periods(2000.0) == 4 + PROFILE_PERIODS, "half of what is submitted is the source's own"
    drain.begin({0, 2})
    assert periods(1.0) == MOST_PERIODS + PROFILE_PERIODS
    drain.begin({0, 2})
    assert periods(0.0) == 1 + PROFILE_PERIODS, "nothing moves"
    drain.begin({3})
    assert periods(1.0) == 1 + PROFILE_PERIODS, "the last operator submits nothing"
    drain.begin(())
    assert periods(1.0) == 0


def test_where_it_begins_at_its_maximum_throughput_that_stays_is_no_change_in_load():
    decisions = threads_alone(law(maximum=2), 1.0, 40)
    assert not {"noise", "load changed"} & set(states(decisions))
    assert set(states(decisions[10:])) == {"settled"}
    assert searches(decisions) == [2] and "placing" not in states(decisions[10:])


def test_climbs_are_refused_while_the_cpus_are_busier_than_the_limit():
    top = {}
    for limit in (0.8, 0.95):
        subject = Middleware19(Bounds(2, 8, 2), settings={"cpu_limit": limit}, layout=pipeline(4))
        top[limit] = max(levels(drive(subject, lambda n, on: 100.0, 10, system_cpu=0.9)))
    assert top[0.8] == 2 < top[0.95]


def test_sensitivity_decides_what_is_a_gain():
    curve = lambda n, on: 100.0 + len(on)  # noqa: E731
    assert counts(drive(law(sensitivity=0.05), curve, 4)) == [4, 2, 1, 0]
    assert counts(drive(law(sensitivity=0.03), curve, 4)) == [4, 4, 4, 4]


def test_a_graph_without_places_has_its_threads_chosen():
    decisions = drive(law(0, maximum=8), lambda n, on: 100.0 * n, 6)
    assert levels(decisions) == [4, 8, 8, 8, 8, 8]
    assert counts(decisions) == [0] * 6


@pytest.mark.parametrize(
    ("operators", "cpus", "queue"), [(20, 8, 0.1), (20, 8, 2.0), (100, 16, 2.0), (100, 64, 0.5)]
)
def test_it_settles_and_beats_a_single_thread_many_times(operators, cpus, queue):
    surface = Pipeline([1.0] * operators, queue=queue, cpus=cpus)
    decisions = drive(law(operators, maximum=cpus), surface.throughput, 200, surface.shares)
    assert settled_after(decisions) < 120
    found = surface.throughput(decisions[-1].threads, decisions[-1].queued)
    assert found > 2.5 * surface.throughput(1, frozenset())


EVEN = (0.0, 0.25, 0.25, 0.25, 0.25)


def test_a_longer_period_is_the_mean_of_several():
    every, seen = 3, []

    def surface(n, on):
        seen.append((n, len(on)))
        return 100.0 * (1 + min(n, len(on))) + (30.0 if len(seen) % every == 1 else 0.0)

    longer = drive(law(maximum=4, every=every), surface, 6 * every, EVEN)
    plain = drive(law(maximum=4), lambda n, on: 100.0 * (1 + min(n, len(on))) + 10.0, 6, EVEN)
    decided = [each for each in longer if each.state != "waiting"]
    assert [(d.threads, d.queued) for d in decided] == [(d.threads, d.queued) for d in plain]
    assert [each.state == "waiting" for each in longer] == [True, True, False] * 6


def test_a_longer_period_keeps_what_a_search_has_switched():
    longer = drive(law(maximum=4, every=2), lambda n, on: 100.0 * (1 + len(on)), 6, EVEN)
    assert [len(each.queued) for each in longer[:4]] == [0, 4, 4, 4]


def test_it_can_begin_with_all_queues_and_take_away_those_that_cost():
    subject = Middleware19(Bounds(2, 8, 8), Cpu(), {"all_first": True}, pipeline(4))
    costs = (0.0, 0.49, 0.49, 0.01, 0.01)
    surface = Pipeline([5.0, 5.0, 0.1, 0.1]).throughput
    decisions = drive(subject, surface, 40, costs)
    assert (decisions[0].threads, len(decisions[0].queued)) == (8, 4)
    assert decisions[1].state == "removing", "no queue is added first"
    assert len(decisions[1].queued) < 4
    assert 0 < counts(decisions)[-1] < 4
    assert levels(decisions)[-1] < 8


def test_after_a_change_in_load_it_has_all_queues_again():
    subject = Middleware19(Bounds(2, 8, 8), Cpu(), {"all_first": True}, pipeline(4))
    surface = Pipeline([5.0, 5.0, 0.1, 0.1]).throughput
    costs = (0.0, 0.49, 0.49, 0.01, 0.01)
    before = drive(subject, surface, 40, costs)
    after = drive(subject, lambda n, on: 0.3 * surface(n, on), 20, costs, after=before)
    changed = states(after).index("load changed")
    assert len(after[changed].queued) == 4
    assert after[changed + 1].state == "removing"


def test_threads_can_be_searched_within_each_number_of_queues():
    best = {0: 2, 2: 4, 4: 8}  # level at which so many queues bring most

    def surface(n, on):
        here = best.get(len(on), 4)
        return 100.0 * (1 + len(on)) * (min(n, here) - 0.2 * max(0, n - here))

    decisions = drive(law(maximum=16, queues_first=True), surface, 120, EVEN)
    highest = {
        queues: max(d.threads for d in decisions if len(d.queued) == queues)
        for queues in set(counts(decisions))
    }
    assert highest[0] >= 2 and highest[4] > 8, "threads climb to where they bring no more"
    starts = [d for d in decisions if "threads from 2" in d.reason]
    assert len(starts) >= 2 and all(d.threads == 2 for d in starts)
    assert (levels(decisions)[-1], counts(decisions)[-1]) == (8, 4)
