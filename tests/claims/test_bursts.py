"""Tests of what a load balancer did in bursts of expensive tuples, and in silences of its source."""

from __future__ import annotations

import json

import pytest

from harness.claims import bursts
from harness.claims.evidence import Wanted
from harness.claims.reading import Missing
from harness.claims.timeline import runs_of
from tests.claims.made import balanced

COST, RATE = "elb_bursty_cost", "elb_bursty_rate"


def measure(name: str, experiment: str, ports: list[int], rates: list[float], **parameters: int):
    """That number of one run. Of a cycle of tuples those from 30 to 40 % are expensive; bursts and
    silences are in ms.
    """
    rows = balanced(
        ports,
        rates,
        experiment=experiment,
        parameters=json.dumps(parameters),
        congestion=[r / 100 for r in rates],
    )
    wanted = Wanted(experiment, {"topology": "load-balance"}, {})
    return bursts.MEASURES[name][1](runs_of(rows, "manual", wanted))


PORTS = [1, 2, 1, 1, 2, 4, 4, 3, 2, 1]
RATES = [100.0, 100, 100, 10, 20, 30, 40, 300, 300, 300]
"""Times of a cycle of 1,000 tuples: the first 300 take 3 s, the expensive 100 the next 4 s."""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("calm_level", 1),
        ("burst_throughput", 0.1),
        ("burst_level", 4),
        ("burst_climb", 4),
        ("burst_recovery", 3.5),  # 35 in the second half
        ("level_after_burst", 0.25),
    ],
)
def test_a_burst_of_cost(name, value):
    assert measure(name, COST, PORTS, RATES, cycle=1000).value == pytest.approx(value)


@pytest.mark.parametrize(("name", "value"), [("burst_throughput", 0.1), ("burst_recovery", 3.5)])
def test_ratios_are_the_same_of_a_graph_that_is_slower_than_a_tuple_a_second(name, value):
    rates = [rate / 1000 for rate in RATES]
    assert measure(name, COST, PORTS, rates, cycle=1).value == pytest.approx(value)


def test_a_burst_of_two_periods_shows_no_recovery():
    with pytest.raises(Missing):
        measure(
            "burst_recovery",
            COST,
            PORTS,
            [100.0] * 3 + [50.0, 50.0, 300, 300, 300, 300, 300],
            cycle=1000,
        )


def test_how_busy_the_cpus_were_at_the_highest_level_of_a_burst():
    busy = [0.1, 0.1, 0.1, 0.2, 0.3, 0.8, 0.9, 1.0, 1.0, 1.0]
    rows = balanced(
        PORTS, RATES, experiment=COST, parameters=json.dumps({"cycle": 1000}), system_cpu=busy
    )
    (runs,) = [runs_of(rows, "manual", Wanted(COST, {"topology": "load-balance"}, {}))]
    assert bursts.MEASURES["burst_cpu"][1](runs).value == pytest.approx(0.85)


def test_what_comes_after_the_next_burst_began_does_not_count_as_after_the_first():
    ports, rates = [*PORTS, 9, 9], [*RATES, 10.0, 10.0]
    assert measure("level_after_burst", COST, ports, rates, cycle=1000).value == pytest.approx(0.25)
    assert measure("burst_recovery", COST, ports, rates, cycle=1000).value == pytest.approx(3.5)


def test_threads_must_go_to_sleep_after_every_burst():
    ports, rates = [*PORTS, 1, 2, 4, 4, 4, 4, 4], [*RATES, 10.0, 20, 30, 40, 300, 300, 300]
    assert measure("level_after_burst", COST, ports, rates, cycle=1000).value == pytest.approx(1)


def test_a_burst_right_before_the_end_does_not_say_what_comes_after_it():
    ports, rates = [*PORTS, 1, 2, 4, 4, 4], [*RATES, 10.0, 20, 30, 40, 300]
    assert measure("level_after_burst", COST, ports, rates, cycle=1000).value == pytest.approx(0.25)
    with pytest.raises(Missing):
        measure("level_after_burst", COST, PORTS[:8], RATES[:8], cycle=1000)


def test_a_run_without_a_burst_is_missing():
    with pytest.raises(Missing, match="no burst begins in a run of elb_bursty_cost"):
        measure("burst_level", COST, PORTS[:2], RATES[:2], cycle=1000)


def test_a_run_that_begins_with_a_burst_is_missing():
    """Tuples 45 to 60 are expensive, in the middle of the first period."""
    with pytest.raises(Missing, match="no burst begins in a run of elb_bursty_cost"):
        measure("burst_level", COST, PORTS, [100.0] * 10, cycle=150)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("level_in_silence", 0.4),  # the greater of 2 of 5 and 2 of 8
        ("level_on_return", 2.5),  # the less of 8 of 2 and 5 of 2
    ],
)
def test_silences_of_the_source(name, value):
    ports = [5, 4, 4, 2, 6, 8, 2, 4, 3, 5]
    rates = [90.0, 90, 0, 0, 90, 90, 0, 0, 90, 90]
    assert measure(name, RATE, ports, rates, burst=2000, silence=2000).value == pytest.approx(value)


def test_congestion_in_silences_is_over_that_while_tuples_are_sent():
    rates = [90.0, 90, 18, 18, 90, 90]
    assert measure(
        "silent_congestion", RATE, [1] * 6, rates, burst=2000, silence=2000
    ).value == pytest.approx(0.2)
