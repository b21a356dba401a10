"""Tests of how IBM Streams coordinates queues and threads: each row of its decision table; its
faults are part of it and must stay.
"""

from __future__ import annotations

import pytest

from harness.elasticity import Bounds, Reading
from harness.elasticity.queues.streams import AdjustmentRecord, StreamsOfPortsAndThreads
from tests.elasticity.drive import Cpu, levels, states
from tests.elasticity.queues.pipelines import (
    PERIOD_S,
    Pipeline,
    counts,
    drive,
    feed,
    pipeline,
    settled_after,
)

TWO_AND_TWO = (0.0, 0.45, 0.45, 0.05, 0.05)  # of the source and four operators: two groups of two
THREE_PAIRS = (0.0, 0.4, 0.4, 0.08, 0.08, 0.02, 0.02)


def law(operators=4, minimum=2, maximum=64, start=None, cpu=None):
    return StreamsOfPortsAndThreads(
        Bounds(minimum, maximum, start or minimum), cpu or Cpu(), layout=pipeline(operators)
    )


def told(decisions):
    """Threads, queues and state after each period."""
    return list(zip(levels(decisions), counts(decisions), states(decisions), strict=True))


FOUND = [100.0, 200.0, 200.0, 200.0]
"""The two heavy operators bring more, the two light ones do not: a round with a change, and the
burnt period behind it.
"""


def test_queues_come_first_at_the_lowest_level_and_a_step_that_removes_some_costs_a_period_more():
    assert told(feed(law(), FOUND, TWO_AND_TWO)) == [
        (2, 2, "placing"),
        (2, 4, "placing"),
        (2, 2, "placing"),  # two queues went
        (2, 2, "waiting"),
    ]


def test_a_round_that_ends_with_a_change_has_higher_levels_looked_at_again():
    decisions = feed(law(maximum=4), [*FOUND, 200.0, 300.0, 300.0], TWO_AND_TWO)
    assert told(decisions)[4:] == [(4, 2, "climbing"), (4, 2, "waiting"), (4, 4, "placing")]


def test_fault_where_all_operators_brought_more_it_is_stuck_at_its_start():
    """The maximum counts as known to bring nothing, and nothing says otherwise, for the round has
    said "no change".
    """
    equal = (0.0, 0.25, 0.25, 0.25, 0.25)
    decisions = drive(law(maximum=4), lambda n, on: 100.0 * n * (1 + len(on)), 20, equal)
    assert set(levels(decisions)) == {2}
    assert counts(decisions)[-1] == 4
    free = drive(law(maximum=8), lambda n, on: 100.0 * n * (1 + len(on)), 20, equal)
    assert levels(free)[-1] == 8, "it is the fault of the maximum"


def test_a_round_that_ends_without_a_change_costs_a_period_more_too():
    decisions = feed(law(), [100.0] * 5, (0.0, 0.25, 0.25, 0.25, 0.25))
    assert told(decisions)[:4] == [
        (2, 4, "placing"),
        (2, 0, "placing"),
        (2, 0, "waiting"),
        (4, 0, "climbing"),
    ]


def test_threads_that_bring_enough_alone_make_a_round_unnecessary():
    for throughput, state in ((241.0, "satisfied"), (239.0, "placing")):  # 0.6 · 4 / 2 = 1.2
        decisions = feed(law(), [*FOUND, 200.0, 200.0, throughput], TWO_AND_TWO)
        assert told(decisions)[4:] == [
            (4, 2, "climbing"),
            (4, 2, "waiting"),
            (4, 4 if state == "placing" else 2, state),
        ]


def test_a_round_that_is_spared_raises_what_the_next_one_must_beat():
    subject = law()
    feed(subject, [*FOUND, 200.0, 200.0, 241.0], TWO_AND_TWO)
    assert subject._record == AdjustmentRecord(2, 241.0, changed=True)


def test_after_enough_the_thread_law_steps_in_the_next_period():
    decisions = feed(law(), [*FOUND, 200.0, 200.0, 241.0, 241.0], TWO_AND_TWO)
    assert told(decisions)[-1] == (8, 2, "climbing")


def test_at_the_maximum_a_round_is_not_spared():
    decisions = feed(law(maximum=4), [*FOUND, 200.0, 400.0, 400.0], TWO_AND_TWO)
    assert told(decisions)[-1] == (4, 4, "placing")


def test_what_threads_alone_brought_is_searched_after_all_if_the_level_stays():
    cpu = Cpu()
    subject = law(cpu=cpu)
    before = feed(subject, [*FOUND, 200.0, 200.0, 241.0], TWO_AND_TWO)
    cpu.granted = False
    after = drive(subject, lambda n, on: 241.0, 3, TWO_AND_TWO, after=before)
    assert told(after) == [(4, 2, "refused"), (4, 2, "waiting"), (4, 4, "placing")]


def test_less_than_a_twentieth_is_never_enough():
    decisions = feed(law(start=4), [*FOUND, 200.0, 200.0, 209.0], TWO_AND_TWO)
    assert levels(decisions)[4:] == [3, 3, 3], "it went down: asked only if the level grew"
    assert states(decisions)[-1] == "removing"


def second_round(third, fourth, fifth):
    """A round at 4 threads after one at 2 that found queues for two of six operators; then the two
    middle ones bring more.
    """
    return feed(law(6), [*FOUND, 200.0, 200.0, third, fourth, fifth, fifth], THREE_PAIRS)


def test_a_round_that_ends_no_better_than_the_record_is_undone():
    decisions = second_round(150.0, 170.0, 170.0)
    assert told(decisions)[6:] == [
        (4, 4, "placing"),
        (4, 6, "placing"),
        (4, 2, "placing"),
        (4, 2, "waiting"),
    ]
    assert decisions[8].reason.endswith("no better than with 2 threads → undone")
    equal = second_round(150.0, 200.0, 200.0)
    assert counts(equal)[8] == 2, "as much is not better"


def test_a_better_round_is_kept():
    decisions = second_round(190.0, 210.0, 210.0)
    assert told(decisions)[6:] == [
        (4, 4, "placing"),
        (4, 6, "placing"),
        (4, 4, "placing"),
        (4, 4, "waiting"),
    ]


def test_without_a_change_the_record_is_raised_to_the_best_and_must_be_beaten():
    subject = law(6)
    before = feed(subject, [*FOUND, 200.0, 200.0, 230.0, 230.0, 230.0], THREE_PAIRS)
    assert before[7].reason.endswith("no change")
    assert subject._record == AdjustmentRecord(2, 230.0, changed=True, explored={4})


def test_going_down_a_round_takes_queues_away():
    subject = law(start=8)
    decisions = feed(subject, [*FOUND, 200.0, 200.0, 190.0], TWO_AND_TWO)
    assert told(decisions)[4:] == [(6, 2, "descending"), (6, 2, "waiting"), (6, 0, "removing")]
    assert decisions[4].reason.endswith("then fewer queues")


def test_explored_levels_spare_rounds():
    record = AdjustmentRecord(8, 100.0, changed=True)
    assert record.allows(16) and record.allows(4)
    record.explored = {16}
    assert record.allows(32) and not record.allows(16) and not record.allows(12), (
        "16 is as high as 16, and higher than 12"
    )
    assert record.allows(4), "no explored level is as low"
    record.explored = {4}
    assert not record.allows(6) and record.allows(3)
    never = AdjustmentRecord(8, 100.0, changed=False, explored={16})
    assert never.allows(12) and never.allows(32) and not never.allows(16)


def test_a_level_that_stays_and_was_searched_is_left_alone():
    subject = law(minimum=1, maximum=2, start=1)
    decisions = feed(subject, [100.0] * 20, TWO_AND_TWO)
    assert counts(decisions)[3:] == [0] * 17
    assert set(states(decisions)[3:]) == {"settled"}


def test_when_the_load_changes_all_queues_go_and_a_round_begins_at_the_present_level():
    subject = law(maximum=4)
    surface = Pipeline([5.0, 5.0, 0.1, 0.1]).throughput
    before = drive(subject, surface, 40, TWO_AND_TWO)
    assert told(before)[-1][2] == "settled"
    level = before[-1].threads
    after = drive(subject, lambda n, on: 0.5 * surface(n, on), 9, TWO_AND_TWO, after=before)
    assert told(after)[:6] == [
        *[(level, len(before[-1].queued), "noise")] * 5,
        (level, 0, "load changed"),
    ]
    assert told(after)[6:8] == [(level, 0, "waiting"), (level, 2, "placing")]


def test_while_ports_drain_nothing_happens():
    subject = law()
    feed(subject, [100.0, 200.0, 200.0], TWO_AND_TWO)
    all_on = frozenset(range(4))
    seen = [
        subject.step(Reading(10.0 * period, 10.0, 2, 200.0, costs=TWO_AND_TWO, queued=all_on))
        for period in (4, 5, 6)
    ]
    assert [decision.reason for decision in seen] == ["ports are draining → wait"] * 3
    drained = frozenset({0, 1})
    seen = [
        subject.step(Reading(10.0 * period, 10.0, 2, 200.0, costs=TWO_AND_TWO, queued=drained))
        for period in (7, 8)
    ]
    assert states(seen) == ["waiting", "climbing"]


def test_the_first_climb_is_refused_by_its_own_cpu_limit():
    subject = StreamsOfPortsAndThreads(Bounds(2, 8, 2), layout=pipeline(4))
    seen = [
        subject.step(Reading(10.0 * period, 10.0, 2, throughput, system_cpu=0.5, costs=TWO_AND_TWO))
        for period, throughput in enumerate([*FOUND, 200.0, 200.0], start=1)
    ]
    assert states(seen)[4:] == ["refused", "climbing"]


def test_a_graph_without_places_has_its_threads_chosen():
    decisions = feed(law(0), [100.0] * 6)
    assert all(decision.queued == frozenset() for decision in decisions)
    assert levels(decisions)[:4] == [2, 2, 4, 4]


@pytest.mark.parametrize(
    ("operators", "cpus", "published_s"), [(20, 8, 290.0), (100, 16, 730.0), (100, 64, 1000.0)]
)
def test_it_settles_in_minutes_as_the_published_implementation_did(operators, cpus, published_s):
    """The paper does not say on what surface, without noise; on this one it takes about as long."""
    surface = Pipeline([1.0] * operators, queue=2.0, contention=0.0, cpus=cpus)
    subject = StreamsOfPortsAndThreads(Bounds(2, cpus, 2), layout=pipeline(operators, cpus))
    decisions = drive(subject, surface.throughput, 150, surface.shares)
    assert settled_after(decisions) * PERIOD_S == pytest.approx(published_s, rel=0.15)
    found = surface.throughput(decisions[-1].threads, decisions[-1].queued)
    assert found > 2.5 * surface.throughput(1, frozenset())
