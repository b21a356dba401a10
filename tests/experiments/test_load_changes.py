"""Tests of when the load of a run changed: from the rows of the timeline table."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.experiments.load_changes import expensive_bursts, heavy_phases, silences
from tests.plots.made_tables import arm_row, balanced_rows

ROW = arm_row("elb_bursty_cost", "load-balance", 10000, "manual", 1e6, queue_capacity=100)


def test_bursts_of_cost_are_where_their_tuples_arrived():
    rates = [
        60.0,
        20.0,
        20.0,
        120.0,
        80.0,
    ]  # 30, 10, 10, 60 and 40 tuples: a cycle of 100, and half of the next
    rows = pd.DataFrame(balanced_rows(ROW, [1] * 5, rates, cycle=100))
    assert [(burst.begin_s, burst.end_s) for burst in expensive_bursts(rows)] == [
        (0.5, 1.0),
        (2.25, 2.375),
    ]


def test_a_burst_that_the_run_ended_in_ends_with_it():
    rows = pd.DataFrame(balanced_rows(ROW, [1, 1], [600.0, 20.0], cycle=1000))
    assert [(burst.begin_s, burst.end_s) for burst in expensive_bursts(rows)] == [(0.5, 1.0)]


def test_silences_follow_the_schedule():
    rows = pd.DataFrame(balanced_rows(ROW, [1] * 10, [5.0] * 10, burst=1000, silence=2500))
    assert [(burst.begin_s, burst.end_s) for burst in silences(rows)] == [(1.0, 3.5), (4.5, 7.0)]


def test_a_run_that_ends_before_the_change_has_no_heavy_phase():
    assert list(heavy_phases(phases(sent=20).head(1).assign(tuples_sent=10))) == []


def phases(sent):
    """Two periods of a second, ten tuples each; the load changes after 15."""
    told = {
        "throughput_source": [10.0] * 2,
        "elapsed_s": [1.0] * 2,
        "time_s": [1.0, 2.0],
        "parameters": ['{"phase": "15"}'] * 2,
    }
    return pd.DataFrame(told | {"tuples_sent": [sent] * 2})


@pytest.mark.parametrize(("sent", "begins_s"), [(20, 1.5), (25, 1.0), (27, 0.8), (35, 0.0)])
def test_tuples_that_were_sent_before_the_first_sample_bring_the_change_earlier(sent, begins_s):
    (phase,) = heavy_phases(phases(sent))
    assert phase.begin_s == pytest.approx(begins_s)
