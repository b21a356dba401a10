"""The closed forms against what is known of them otherwise, and against simulations of the same
networks.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.simulator.closed_forms import closed, constant_tandem, md1, mg1, mm1, tandem
from tests.simulator.simpy_queues import Network, with_callbacks, with_processes

LOADS = st.floats(0.01, 0.99)


def test_numbers_of_textbooks():
    assert mm1(0.5, 1.0).numbers == (1.0,)
    assert mm1(0.9, 1.0).numbers[0] == pytest.approx(9.0)
    assert md1(0.5, 1.0).numbers[0] == pytest.approx(0.75)
    assert md1(0.8, 1.0).numbers[0] == pytest.approx(2.4)
    assert closed(2, [1.0, 1.0]).throughput == pytest.approx(2 / 3)
    assert closed(3, [1.0, 2.0]).throughput == pytest.approx(
        7 / 15
    )  # Gordon and Newell: G(2) / G(3)


@given(load=LOADS, service=st.floats(0.01, 100.0))
def test_constant_services_halve_the_queue(load, service):
    random, constant = (form(load / service, service).numbers[0] - load for form in (mm1, md1))
    assert constant == pytest.approx(random / 2)


@given(rate=st.floats(0.1, 0.9), services=st.lists(st.floats(0.1, 1.0), min_size=1, max_size=6))
def test_a_tandem_keeps_nobody_and_its_stations_stand_alone(rate, services):
    steady = tandem(rate, services)
    assert steady.throughput == rate
    assert steady.numbers == tuple(mm1(rate, service).numbers[0] for service in services)


@given(rate=st.floats(0.1, 0.9), services=st.lists(st.floats(0.1, 1.0), min_size=1, max_size=6))
def test_in_a_constant_tandem_only_ever_slower_stations_have_a_queue(rate, services):
    numbers = constant_tandem(rate, services).numbers
    slowest = 0.0
    for number, service in zip(numbers, services, strict=True):
        if service <= slowest:
            assert number == pytest.approx(rate * service)  # whoever is in service
        else:
            assert number >= rate * service * (1 - 1e-9)
        slowest = max(slowest, service)


@given(
    customers=st.integers(1, 40), services=st.lists(st.floats(0.1, 10.0), min_size=1, max_size=6)
)
def test_a_closed_network_keeps_its_customers_and_its_bounds(customers, services):
    steady = closed(customers, services)
    assert sum(steady.numbers) == pytest.approx(customers)
    assert steady.throughput <= min(1 / max(services), customers / sum(services)) * (1 + 1e-9)
    assert steady.throughput >= customers / (sum(services) + (customers - 1) * max(services)) * (
        1 - 1e-9
    )


@given(customers=st.integers(1, 40), stations=st.integers(1, 8))
def test_a_balanced_closed_network_has_the_throughput_of_its_formula(customers, stations):
    assert closed(customers, [1.0] * stations).throughput == pytest.approx(
        customers / (customers + stations - 1)
    )


@pytest.mark.parametrize("load", [0.0, -0.5, 1.0, 1.7])
def test_a_station_that_cannot_be_steady_is_refused(load):
    with pytest.raises(ValueError, match="load must be between 0 and 1"):
        mg1(load, 1.0, 0.3)


NETWORKS = {
    "M/M/1": (Network((1.0,), arrival_rate=0.5), mm1(0.5, 1.0)),
    "M/D/1": (Network((1.0,), exponential=False, arrival_rate=0.7), md1(0.7, 1.0)),
    "tandem": (Network((1.0, 0.5, 1.5), arrival_rate=0.4), tandem(0.4, (1.0, 0.5, 1.5))),
    "constant tandem": (
        Network((0.5, 1.0, 0.8, 1.2), exponential=False, arrival_rate=0.6),
        constant_tandem(0.6, (0.5, 1.0, 0.8, 1.2)),
    ),
    "closed": (Network((1.0, 2.0, 1.5), customers=6), closed(6, (1.0, 2.0, 1.5))),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_the_yardstick_in_simpy_simulates_these_networks(name):
    """Within 5 %: as much as twenty thousand customers allow."""
    network, steady = NETWORKS[name]
    for simulate in (with_processes, with_callbacks):
        outcome = simulate(network, seed=1, until=40_000.0)
        assert outcome.throughput == pytest.approx(steady.throughput, rel=0.05)
        assert outcome.numbers == pytest.approx(steady.numbers, rel=0.05)


def test_events_are_arrivals_and_ends_of_services():
    network = Network((1.0, 2.0), exponential=False, customers=1)
    for simulate in (with_processes, with_callbacks):
        outcome = simulate(network, seed=1, until=30.5)
        assert outcome.events == 20
        assert outcome.throughput == 10 / 30.5
