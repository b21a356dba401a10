"""Tests of how runs adapted that place queues: numbers of single runs over time."""

from __future__ import annotations

import math
from dataclasses import replace

import pandas as pd
import pytest

from harness.claims import adaptation
from harness.claims.evidence import Wanted
from harness.claims.reading import Finding, Missing, within
from harness.claims.timeline import runs_of
from tests.claims.made import periods

FIG13 = "mw19_fig13"


def measure(name, threads, queues, rates, experiment="mw19_fig6", **other):
    """That number of one run of periods of a second."""
    rows = periods(
        threads, rates, arm="multilevel", experiment=experiment, queued_ports=queues, **other
    )
    return adaptation.MEASURES[name][1](
        runs_of(rows, "multilevel", Wanted(experiment, {"topology": "pipeline"}, {}))
    )


def and_stays(*series):
    """Add as many periods in which nothing changes as a run needs to count as settled."""
    return tuple([*values, *values[-1:] * adaptation.SETTLED_PERIODS] for values in series)


SETTLES = and_stays([1, 1, 2, 4, 4, 4], [0, 3, 3, 3, 9, 7], [0.0, 5, 8, 9, 10, 20])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("settling", 5),  # after the fifth period two queues go
        ("settling_s", 5),
        ("final_throughput", 20),
        ("final_over_first", 4),  # of the first period in which a tuple arrived
        ("final_queues", 7),
    ],
)
def test_what_a_run_settled_on_and_when(name, value):
    assert measure(name, *SETTLES).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("counts", "final"),
    [
        (["{}"] * 3 + ['{"a":2}'] * 6, 2),
        (["{}"] * 3 + ['{"a":2}'] * 3 + ['{"a":5,"b":4}'] * 3, 4.5),
        (['{"a":5,"b":4}'] * 6 + ['{"a":5}'] * 3, 3),  # an operator with one replica is not listed
        (["{}"] * 9, 1),
        ([None] * 9, 1),
    ],
)
def test_the_replicas_that_a_run_ends_with_are_those_of_operators_that_had_several(counts, final):
    ones = [1] * 9
    assert measure("final_replicas", ones, ones, ones, replicas=counts).value == final


@pytest.mark.parametrize(("less", "is_open"), [(1, False), (2, True)])
def test_a_run_has_settled_if_nothing_changed_in_its_last_ten_periods(less, is_open):
    found = measure("settling", *(values[:-less] for values in SETTLES))
    assert (found.value, found.is_open) == (5, is_open)


def test_a_run_that_never_changed_anything_settled_at_once():
    still = ([2] * 3, [5] * 3, [1.0] * 3)
    assert measure("settling", *still).value == measure("settling_s", *still).value == 0


def test_a_change_of_threads_alone_counts_and_one_of_queues_alone():
    assert measure("settling", *and_stays([1, 2, 2], [5] * 3, [1.0] * 3)).value == 1
    assert measure("settling", *and_stays([1] * 3, [5, 5, 6], [1.0] * 3)).value == 2


# Levels 1, 2, 4, 8 and 4; queues are looked for at 1, at 8 and, once gone back, at 4.
CLIMBS = (
    [1, 1, 1, 2, 4, 4, 8, 8, 8, 4, 4],
    [0, 8, 4, 4, 4, 4, 4, 6, 4, 4, 5],
    [10.0, 30, 20, 38, 76, 76, 80, 90, 78, 75, 75],
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unsearched_climbs", 2),  # 2 and 4
        ("unsearched_gain", 1.9),
        ("highest_over_before", 78 / 76),
        ("switch_peak", 90 / 80),
        ("thread_swing", (1.9 * 80 / 76) ** 0.5),  # of 1.9, 2, 1.05 and 1.04
        ("queue_swing", 90 / 78),  # of 3, 1.5, 1.15, 1.13 and 1
    ],
)
def test_what_climbs_and_switches_bring(name, value):
    assert measure(name, *CLIMBS).value == pytest.approx(value)


@pytest.mark.parametrize(
    "name",
    ["final_over_first", "unsearched_gain", "highest_over_before", "thread_swing", "queue_swing"],
)
def test_ratios_are_the_same_of_a_graph_that_is_slower_than_a_tuple_a_second(name):
    threads, queues, rates = CLIMBS
    assert measure(name, threads, queues, [rate / 1000 for rate in rates]).value == pytest.approx(
        measure(name, *CLIMBS).value
    )


def test_a_period_in_which_no_tuple_arrived_is_no_base_of_a_ratio():
    threads, queues = [1, 2, 2, 4, 4], [5] * 5
    assert measure("unsearched_gain", threads, queues, [0.0, 8, 8, 24, 24]).value == 3
    assert measure("thread_swing", threads, queues, [0.0, 8, 8, 24, 24]).value == pytest.approx(3)
    for name in ("unsearched_gain", "highest_over_before", "thread_swing"):
        with pytest.raises(Missing):
            measure(name, [1, 2, 2], [5] * 3, [0.0, 8, 8])
    assert measure("highest_over_before", [1, 2, 2], [5] * 3, [10.0, 0, 5]).value == 0.5, (
        "no tuple in the first period at 2"
    )


def test_without_a_climb_or_a_switch_there_is_no_such_number():
    still = ([2] * 3, [5] * 3, [1.0] * 3)
    assert measure("unsearched_climbs", *still).value == 0
    for name in (
        "unsearched_gain",
        "highest_over_before",
        "switch_peak",
        "thread_swing",
        "queue_swing",
    ):
        with pytest.raises(Missing):
            measure(name, *still)


@pytest.mark.parametrize(
    ("name", "low"), [("settling", 9), ("settling_s", 9), ("settling_on_change", 3)]
)
def test_of_a_run_that_changes_to_its_end_it_is_known_only_that_it_takes_longer(name, low):
    threads, queues, rates = (values[:-3] for values in CHANGES)
    found = measure(name, threads, queues, rates, experiment=FIG13, parameters='{"phase": "600"}')
    assert (found.value, found.low, found.high, found.is_open) == (low, 0, math.inf, True)
    assert within(found, None, low - 0.5) == Finding(None, None), "measured, one run leaves it open"
    found = replace(found, low=found.value)  # as of a simulated run
    assert within(found, None, low - 0.5) == Finding(False, False)
    assert within(found, None, 1000) == within(found, low + 1, None) == Finding(None, None)


def test_one_run_that_never_settles_leaves_the_number_open_and_takes_the_others_not_away():
    settles, goes_on = ([1, 2, 4, *[4] * 12], [0] * 15), ([1, 2] * 7 + [1], [0] * 15)
    rows = [
        periods(
            threads,
            [1.0] * 15,
            arm="multilevel",
            experiment="mw19_fig6",
            queued_ports=queues,
            run=name,
        )
        for name, (threads, queues) in zip("ab", (settles, goes_on), strict=True)
    ]
    wanted = Wanted("mw19_fig6", {"topology": "pipeline"}, {})
    found = adaptation.settling(runs_of(pd.concat(rows), "multilevel", wanted))
    assert 0 < found.low < found.value
    assert (found.high, found.runs, found.is_open) == (math.inf, 2, True)


def test_a_law_that_does_nothing_when_its_load_changes_has_not_settled_soon():
    still = and_stays([4, 8, 8, 8, 8, 8, 8, 8], [4] * 8, [100.0] * 8)
    with pytest.raises(
        Missing, match="changed neither threads nor queues after its load had changed"
    ):
        measure("settling_on_change", *still, experiment=FIG13, parameters='{"phase": "600"}')


CHANGES = and_stays(
    [8] * 6 + [8, 16, 24, 24, 24], [4] * 6 + [4, 10, 10, 12, 12], [100.0] * 6 + [25, 20, 30, 50, 60]
)
"""600 tuples in 6 s, then the load changes: 2 periods until threads have followed, 3 until queues
have.
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("climb_on_change", 3),  # from 8 to 24
        ("queues_on_change", 3),  # from 4 to 12
        ("gain_on_change", 3),  # of the last 7 s over the second period after the change
        ("settling_on_change", 3),
    ],
)
def test_what_a_run_does_when_its_load_changes(name, value):
    found = measure(name, *CHANGES, experiment=FIG13, parameters='{"phase": "600"}')
    assert found.value == pytest.approx(value)


def test_what_does_not_move_after_the_change_has_gained_nothing_that_is_known():
    threads, queues, rates = CHANGES
    with pytest.raises(Missing):
        measure(
            "gain_on_change",
            threads,
            queues,
            [*rates[:7], 0.0, *rates[8:]],
            FIG13,
            parameters='{"phase": "600"}',
        )


@pytest.mark.parametrize("phase", [10**6, 1370])  # never, and in the last period
def test_a_run_that_ends_before_its_load_changes_says_nothing(phase):
    with pytest.raises(Missing, match="the load of a run of mw19_fig13 has not changed"):
        measure("climb_on_change", *CHANGES, experiment=FIG13, parameters=f'{{"phase": "{phase}"}}')


def test_without_a_period_before_the_change_there_is_nothing_to_compare_with():
    with pytest.raises(Missing, match="no whole period before its load changed"):
        measure("climb_on_change", *CHANGES, experiment=FIG13, parameters='{"phase": "50"}')
