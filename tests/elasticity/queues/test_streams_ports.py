"""Tests of how IBM Streams looks for queues: each row of its decision tables, by cases that can be
followed by hand.
"""

from __future__ import annotations

import pytest

from harness.elasticity.queues.streams_ports import Finish, PortSearch, SplitList


def tried(size, curve, baseline=1.0, split=True):
    """The counts at which a list was measured, and the best of them."""
    subject, counts = SplitList(range(size), 8, baseline), [size]
    while subject.step(curve(subject.count), split):
        counts.append(subject.count)
    return counts, subject.best


# A list's length, its throughput by count, the counts that are measured, and which is the best.
CASES = {
    "a list of five is never split": (5, lambda n: 10.0 - n, [5], 5),
    "one of six is, once": (6, lambda n: 10.0 - n, [6, 3], 3),
    "from the whole to its half whatever the whole brought": (6, lambda n: 10.0 * n, [6, 3], 6),
    "more as long as the upper neighbour beats it": (
        64,
        lambda n: 100.0 * n,
        [64, 32, 48, 56, 60],
        64,
    ),
    "fewer as long as nothing fewer was measured": (
        64,
        lambda n: 1000.0 - 10.0 * n,
        [64, 32, 16, 8, 4],
        4,
    ),
    "flat: fewer, and the fewest is the best": (64, lambda n: 100.0, [64, 32, 16, 8, 4], 4),
    "the old upper neighbour stays the bound: from 8 to 20": (
        64,
        lambda n: max(10.0, 1000.0 - 30.0 * abs(n - 20)),
        [64, 32, 16, 8, 20],
        20,
    ),
    "fewer where the lower neighbour is not beaten": (
        64,
        {64: 100.0, 32: 150.0, 16: 200.0, 8: 150.0, 20: 190.0, 14: 300.0}.get,
        [64, 32, 16, 8, 20],
        16,
    ),
    "a neighbour two away ends it": (16, lambda n: 100.0 if n == 4 else 200.0 - n, [16, 8, 4], 8),
}


@pytest.mark.parametrize("case", CASES)
def test_a_list_is_split_as_the_table_says(case):
    size, curve, counts, best = CASES[case]
    assert tried(size, curve) == (counts, best)


def test_a_peak_between_measured_counts_ends_the_search():
    counts, best = tried(32, {32: 100.0, 16: 200.0, 8: 100.0, 20: 210.0}.get)
    assert (counts, best) == ([32, 16, 8, 20], 16), (
        "20 beats 16 by 5 %, not by more, but 12 would be too near to nothing: 8"
    )


def test_a_small_list_is_not_split():
    assert tried(64, lambda n: 100.0 - n, split=False) == ([64], 64)


def test_a_larger_count_must_beat_the_smaller_one_by_more_than_five_percent():
    curve = {6: 105.0, 3: 100.0}.get
    assert tried(6, curve, baseline=90.0)[1] == 3
    assert tried(6, curve, baseline=95.3)[1] == 6, "3 does not beat the baseline, 6 does"
    assert tried(6, curve, baseline=100.0)[1] is None


EQUAL = (1.0,) * 40


def run(search, curve, costs, periods=50):
    """The queues after each step until the round is over, and what it came to."""
    queued, throughput = [], curve(search.queued)
    for _ in range(periods):
        finish = search.step(throughput, costs)
        queued.append(sorted(search.queued))
        if finish is not None:
            return queued, finish
        throughput = curve(search.queued)
    raise AssertionError("the round does not end")


def test_the_heaviest_group_comes_first_and_what_is_left_is_grouped_anew():
    costs = (
        0.5,
        0.04,
        0.4,
        0.02,
    )  # 0 and 2 are one group; alone, 1 and 3 would be in one of the lightest
    search = PortSearch(range(4))
    queued, finish = run(search, lambda on: 100.0 * (1 + len(on)) if len(on) < 4 else 0.0, costs)
    assert queued == [[0, 2], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2]]
    assert finish == Finish(changed=True, throughput=400.0)
    assert search.confirmed == {0, 1, 2}


def test_costs_are_read_anew_for_each_list():
    search = PortSearch(range(3))
    search.step(100.0, (0.9, 0.05, 0.05))
    search.step(200.0, (0.0, 0.1, 0.9))
    assert search.queued == {0, 2}, "2 is the heaviest by now"


def test_a_group_is_tried_from_the_lowest_operator_on():
    search = PortSearch(range(10, 22))
    queued, finish = run(search, lambda on: 150.0 if len(on) == 6 else 100.0, ())
    assert queued[1] == [10, 11, 12, 13, 14, 15]
    assert finish.changed
    assert search.confirmed == {10, 11, 12, 13, 14, 15}


def test_a_round_in_which_nothing_brings_more_ends_as_it_began():
    search = PortSearch(range(4))
    queued, finish = run(search, lambda on: 100.0, EQUAL)
    assert (queued, finish) == ([[0, 1, 2, 3], []], Finish(changed=False, throughput=100.0))


def test_fault_a_round_that_confirms_all_says_no_change_and_no_throughput():
    search = PortSearch(range(4))
    queued, finish = run(search, lambda on: 100.0 + 50.0 * len(on), EQUAL)
    assert (queued, finish) == ([[0, 1, 2, 3], [0, 1, 2, 3]], Finish(changed=False, throughput=0.0))
    assert search.confirmed == {0, 1, 2, 3}


def test_a_small_group_that_brings_nothing_is_joined_by_the_next():
    costs = (1.0, 0.5, *[0.3] * 18)  # two of 20 are a tenth; groups of one
    search = PortSearch(range(20))
    queued, finish = run(search, lambda on: 200.0 if len(on) == 2 else 100.0, costs)
    assert queued[:3] == [[0], [0, 1], [0, 1, *range(2, 20)]]
    assert search.confirmed == {0, 1}
    assert finish.changed


def test_a_list_that_has_grown_above_a_tenth_is_split():
    costs = (1.0, *[0.3] * 18, 0.0)
    search = PortSearch(range(20))
    sizes = [len(queued) for queued in run(search, lambda on: 100.0, costs)[0]]
    assert sizes == [1, 19, 9, 4, 0], (
        "one, with the 18 of the next group, half of them, half again; nothing"
    )


def test_a_large_group_that_brings_nothing_ends_the_round():
    costs = (*[1.0] * 3, *[0.3] * 17)
    assert run(PortSearch(range(20)), lambda on: 100.0, costs)[0] == [[0, 1, 2], []]


def searched_up(operators, costs):
    search = PortSearch(range(operators))
    run(search, lambda on: 100.0 + 50.0 * len(on), costs)
    search.begin(up=False)
    return search


def test_going_down_the_lightest_of_those_with_queues_lose_them_first():
    costs = (0.5, 0.01, 0.4, 0.01)
    search = searched_up(4, costs)
    queued, finish = run(search, lambda on: 200.0 - 20.0 * len(on) if len(on) >= 2 else 0.0, costs)
    assert queued == [[0, 2], [], [0, 2]]
    assert finish == Finish(changed=True, throughput=160.0)


def test_fault_a_queue_that_brings_nothing_is_not_removed():
    search = searched_up(4, EQUAL)
    queued, finish = run(search, lambda on: 100.0, EQUAL)
    assert (queued, finish) == ([[], [0, 1, 2, 3]], Finish(changed=False, throughput=100.0))


def test_what_a_round_has_done_can_be_undone():
    search = PortSearch(range(4))
    run(search, lambda on: 200.0 if len(on) == 2 else 100.0, (0.5, 0.5, 0.01, 0.01))
    assert search.queued == {0, 1}
    search.undo()
    assert search.queued == set()
    assert search.removed
    search = searched_up(4, (0.5, 0.01, 0.4, 0.01))
    run(search, lambda on: 200.0 if len(on) == 2 else 100.0, (0.5, 0.01, 0.4, 0.01))
    search.undo()
    assert search.queued == {0, 1, 2, 3}
    assert not search.removed, "queues came back, none went"


def test_only_a_step_that_takes_queues_away_says_so():
    search = PortSearch(range(8))
    removed = []
    for throughput in (
        100.0,
        100.0,
        300.0,
    ):  # all on; half of them; those are kept, and the rest tried
        search.step(throughput, EQUAL)
        removed.append(search.removed)
    assert removed == [False, True, False]
    assert search.queued == set(range(8))
    search.step(300.0, EQUAL)  # the rest brings nothing
    assert search.removed


def test_queues_that_go_and_come_back_in_one_step_count_as_removed():
    search = PortSearch(range(32))
    for throughput in (100.0, 100.0, 200.0, 100.0):
        search.step(throughput, ())
    assert (len(search.queued), search.removed) == (20, False)
    search.step(
        205.0, ()
    )  # 16 are kept, four go; then the rest are tried, and the four are among them
    assert (len(search.confirmed), len(search.queued), search.removed) == (16, 32, True)


def test_no_operator_at_all_is_no_change():
    assert PortSearch(()).step(100.0, ()) == Finish(changed=False, throughput=0.0)
