"""Tests of what the benchmark of the event core computes from rates, without measuring any."""

from __future__ import annotations

import pytest

from tests.benchmarks.event_programs import CORE, NETWORKS, events_per_unit, measure
from tests.benchmarks.simulator_events import row
from tests.simulator.simpy_queues import with_callbacks

CALLBACKS = "SimPy, callbacks"


def rates(core, simpy):
    return {("net", CORE): core, ("net", CALLBACKS): simpy}


def test_a_ratio_is_of_two_runs_of_one_round():
    line = row("net", CALLBACKS, rates([1e7, 3e7, 4e7], [1e6, 1e6, 2e6]))
    assert line == ("net", CALLBACKS, "1 M", "20.0 [10.0 – 30.0] ×", "≥ 10", "yes")
    assert row("net", CORE, rates([1e7, 3e7, 4e7], [1e6, 1e6, 2e6])) == (
        "net",
        CORE,
        "30 M",
        "",
        "",
        "",
    )


@pytest.mark.parametrize(
    ("core", "reached"), [([1.1e7], "yes"), ([0.9e7, 1.1e7], "unclear"), ([0.9e7], "no")]
)
def test_the_target_is_reached_if_the_whole_interval_says_so(core, reached):
    assert row("net", CALLBACKS, rates(core, [1e6] * len(core)))[-1] == reached


def test_rounds_without_a_rate_are_left_out_and_none_at_all_says_why():
    assert row("net", CALLBACKS, rates([1e7, "no result"], [1e6, 2e6]))[3] == "10.0 [10.0 – 10.0] ×"
    missing = rates(["not available"], [1e6])
    assert row("net", CORE, missing)[2] == "not available"
    assert row("net", CALLBACKS, missing) == ("net", CALLBACKS, "1 M", "", "", "")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_run_is_about_as_long_as_is_foreseen(name):
    network = NETWORKS[name]
    events = with_callbacks(network, seed=1, until=2000.0 / events_per_unit(network)).events
    assert 500 < events < 4000


@pytest.mark.heavy
def test_a_measurement_is_a_rate():
    assert measure(CALLBACKS, "closed, 20 customers, 10 stations", 1, 0.01) > 0
