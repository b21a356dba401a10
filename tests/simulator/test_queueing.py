"""Queueing networks on the event core: what theory says of them is what comes out, and a seed is a result."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from harness.simulator.queueing import Network, simulate

from tests.simulator.closed_forms import closed, constant_tandem, md1, mm1, tandem

NETWORKS = {
    "M/M/1": (Network([1.0], arrival_rate=0.5), mm1(0.5, 1.0)),
    "M/M/1, load 0.8": (Network([2.0], arrival_rate=0.4), mm1(0.4, 2.0)),
    "M/D/1": (Network([1.0], exponential=False, arrival_rate=0.7), md1(0.7, 1.0)),
    "tandem": (Network([1.0, 0.5, 1.5], arrival_rate=0.4), tandem(0.4, [1.0, 0.5, 1.5])),
    "constant tandem": (
        Network([0.5, 1.0, 0.8, 1.2], exponential=False, arrival_rate=0.6),
        constant_tandem(0.6, [0.5, 1.0, 0.8, 1.2]),
    ),
    "closed": (Network([1.0, 2.0, 1.5], customers=6), closed(6, [1.0, 2.0, 1.5])),
    "closed, balanced": (Network([1.0] * 10, customers=20), closed(20, [1.0] * 10)),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_event_core_finds_what_theory_says_within_a_percent(name: str) -> None:
    network, steady = NETWORKS[name]
    outcome = simulate(network, seed=1, until=2e6, warmup=1e4)
    assert outcome.throughput == pytest.approx(steady.throughput, rel=0.01)
    assert outcome.numbers == pytest.approx(steady.numbers, rel=0.01)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_law_of_little_and_the_one_of_utilisation_hold_at_each_station(name: str) -> None:
    network, _ = NETWORKS[name]
    for service, station in zip(network.services, simulate(network, seed=2, until=2e5, warmup=100.0).stations, strict=True):
        assert station.number == pytest.approx(station.throughput * station.time, rel=0.01)
        assert station.utilisation == pytest.approx(station.throughput * service, rel=0.02)


def test_two_servers_share_a_queue() -> None:
    """M/M/2: 2 load / (1 - load^2) customers (Kleinrock, Queueing Systems I, 3.5)."""
    load = 0.75
    (station,) = simulate(Network([1.0], arrival_rate=2 * load, servers=[2]), seed=3, until=2e6, warmup=1e4).stations
    assert station.number == pytest.approx(2 * load / (1 - load**2), rel=0.01)
    assert station.utilisation == pytest.approx(load, rel=0.01)


def test_customers_go_where_the_routes_say() -> None:
    """A third of those who are served go again, so each is served 1.5 times; half of the others go on (Jackson)."""
    network = Network([1.0, 1.5], arrival_rate=0.5, routes=[[1 / 3, 1 / 3], [0.0, 0.0]])
    first, second = simulate(network, seed=4, until=2e6, warmup=1e4).stations
    assert (first.throughput, second.throughput) == pytest.approx((0.75, 0.25), rel=0.01)
    assert (first.number, second.number) == pytest.approx((mm1(0.75, 1.0).numbers[0], mm1(0.25, 1.5).numbers[0]), rel=0.01)


def test_nobody_leaves_a_closed_network_whose_shares_make_one_only_just() -> None:
    thirds = [[1 / 3] * 3] * 3
    stations = simulate(Network([1.0, 1.0, 1.0], customers=5, routes=thirds), seed=5, until=1e5).stations
    assert sum(station.number for station in stations) == pytest.approx(5, abs=1e-9)


def test_an_event_is_an_arrival_from_outside_or_the_end_of_a_service() -> None:
    outcome = simulate(Network([1.0, 2.0], exponential=False, customers=1), seed=1, until=30.5)
    assert outcome.events == 20
    assert outcome.throughput == 10 / 30.5
    assert outcome.stations[1].time == 2.0


def test_what_was_before_the_warm_up_is_forgotten() -> None:
    network = Network([1.0, 2.0], exponential=False, customers=1)
    whole, late = simulate(network, seed=1, until=30.0), simulate(network, seed=1, until=30.0, warmup=27.0)
    assert late.throughput == pytest.approx(1 / 3) and whole.throughput == pytest.approx(1 / 3)
    assert late.numbers == pytest.approx((1 / 3, 2 / 3))
    assert late.events == whole.events


def test_a_seed_is_a_result_and_another_seed_is_another_one() -> None:
    network = Network([1.0, 0.5], arrival_rate=0.7, routes=[[0.2, 0.5], [0.1, 0.0]])
    assert simulate(network, 7, 1000.0) == simulate(network, 7, 1000.0)
    assert simulate(network, 7, 1000.0) != simulate(network, 8, 1000.0)


def test_a_result_does_not_depend_on_the_process() -> None:
    program = (
        "from harness.simulator.queueing import Network, simulate; "
        "print(repr(simulate(Network([1.0, 0.5], arrival_rate=0.7), 7, 1000.0)))"
    )
    here = repr(simulate(Network([1.0, 0.5], arrival_rate=0.7), 7, 1000.0))
    for seed in ("0", "1"):
        command = [sys.executable, "-c", program]
        told = subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
        assert told.stdout == f"{here}\n"


GOOD = Network([1.0, 2.0], arrival_rate=0.1)


@pytest.mark.parametrize(
    ("network", "rule"),
    [
        (replace(GOOD, arrival_rate=None), "either an arrival_rate or customers"),
        (replace(GOOD, customers=3), "either an arrival_rate or customers"),
        (replace(GOOD, arrival_rate=-1.0), "arrival_rate must be above 0"),
        (replace(GOOD, arrival_rate=float("nan")), "arrival_rate must be above 0"),
        (replace(GOOD, arrival_rate=None, customers=0), "customers must be from 1"),
        (replace(GOOD, services=[]), "one station or more"),
        (replace(GOOD, services=[1.0, 0.0]), "services must be from 0.001"),
        (replace(GOOD, services=[1.0, float("nan")]), "services must be from 0.001"),
        (replace(GOOD, servers=[1, 0]), "servers must be from 1"),
        (replace(GOOD, routes=[[0.0, 1.0]]), "rows for 2 stations, not for 1"),
        (replace(GOOD, routes=[[0.0, 1.0], [0.6, 0.6]]), "make at most 1"),
        (replace(GOOD, routes=[[0.0, -1.0], [0.0, 0.0]]), "make at most 1"),
        (replace(GOOD, arrival_rate=None, customers=2, routes=[[0.0, 1.0], [0.5, 0.0]]), "must be rows that make 1"),
    ],
)
def test_networks_that_make_no_sense_are_refused(network: Network, rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        simulate(network, 1, 100.0)


@pytest.mark.parametrize(
    ("until", "warmup"), [(0.0, 0.0), (-1.0, 0.0), (10.0, 10.0), (float("nan"), 0.0), (1e300, 0.0), (1.0, -1.0)]
)
def test_times_that_make_no_sense_are_refused(until: float, warmup: float) -> None:
    with pytest.raises(ValueError, match="until must be above warmup"):
        simulate(GOOD, 1, until, warmup)
