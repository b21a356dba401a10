"""The simulator's event core against what queueing theory says of small networks, and against
SimPy.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.simulator.probes import simulate

from tests.simulator.closed_forms import closed, md1, mm1, tandem
from tests.simulator.simpy_queues import Network, with_callbacks
from tests.simulator.test_closed_forms import NETWORKS

LONG = 4e6  # units of time: the mean numbers of such networks are then known to about 0.4 %
HEAVIER = {
    "M/M/1 at 80 %": (Network((1.0,), arrival_rate=0.8), mm1(0.8, 1.0)),
    "M/D/1 at 90 %": (Network((1.0,), exponential=False, arrival_rate=0.9), md1(0.9, 1.0)),
    "tandem of ten": (Network((1.0,) * 10, arrival_rate=0.6), tandem(0.6, (1.0,) * 10)),
    "closed, balanced": (Network((1.0,) * 8, customers=20), closed(20, (1.0,) * 8)),
    "closed, one bottleneck": (Network((0.3, 1.0, 0.6), customers=12), closed(12, (0.3, 1.0, 0.6))),
}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", [*NETWORKS, *HEAVIER])
def test_networks_have_the_throughput_and_the_queues_of_their_closed_forms(name, seed):
    network, steady = (NETWORKS | HEAVIER)[name]
    outcome = simulate(
        network, seed, 5 * LONG if "%" in name else LONG
    )  # where queues are long they vary slowly
    assert outcome.throughput == pytest.approx(steady.throughput, rel=0.01)
    assert outcome.numbers == pytest.approx(steady.numbers, rel=0.01)


@pytest.mark.parametrize("name", NETWORKS)
def test_one_seed_is_one_outcome_and_another_seed_another(name):
    network, _ = NETWORKS[name]
    assert simulate(network, 7, 1e4) == simulate(network, 7, 1e4)
    assert simulate(network, 7, 1e4) != simulate(network, 8, 1e4)


@given(
    services=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    customers=st.integers(1, 12),
    until=st.integers(0, 300).map(lambda units: units + 0.5),
)
def test_where_nothing_is_random_it_does_what_simpy_does_event_for_event(
    services, customers, until
):
    network = Network(tuple(services), exponential=False, customers=customers)
    ours, simpys = simulate(network, 1, until), with_callbacks(network, 1, until)
    assert (ours.events, ours.throughput) == (simpys.events, pytest.approx(simpys.throughput))
    assert ours.numbers == pytest.approx(simpys.numbers)


def test_a_network_without_customers_stands_still():
    assert simulate(Network((1.0, 1.0), customers=0), 1, 100.0) == (0.0, (0.0, 0.0), 0)


@pytest.mark.parametrize("bad", [{"seed": -1}, {"until": -1.0}, {"until": 1e14}])
def test_what_cannot_be_counted_is_refused(bad):
    with pytest.raises(OverflowError):
        simulate(Network((1.0,), arrival_rate=0.5), **({"seed": 1, "until": 10.0} | bad))
