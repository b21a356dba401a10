"""Programs that simulate queueing networks: the simulator's event core, and SimPy in two ways; and
the networks.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from tests.simulator.probes import simulate

from tests.simulator.simpy_queues import Network, with_callbacks, with_processes

NETWORKS: dict[str, Network] = {
    "M/D/1 x 10 in a row, load 0.8": Network((1.0,) * 10, exponential=False, arrival_rate=0.8),
    "closed, 20 customers, 10 stations": Network((1.0,) * 10, customers=20),
    "closed, 1,000 customers, 1,000 stations": Network((1.0,) * 1000, customers=1000),
}
CORE = "event core"
PROBE_EVENTS = 20_000  # of a first run, from which follows how long the measured one is


Program = Callable[[Network, int, float], Any]
PROGRAMS: dict[str, Program] = {
    CORE: simulate,
    "SimPy, processes": with_processes,
    "SimPy, callbacks": with_callbacks,
}


def measure(program: str, network: str, seed: int, seconds: float) -> float:
    """Events per second of a run of about so many seconds: what a fresh process is asked for."""
    run, of = PROGRAMS[program], NETWORKS[network]
    until = PROBE_EVENTS / events_per_unit(of)
    begin = time.perf_counter()
    run(of, seed, until)
    until *= max(1.0, seconds / (time.perf_counter() - begin))
    begin = time.perf_counter()
    events = run(of, seed, until).events
    return events / (time.perf_counter() - begin)


def events_per_unit(network: Network) -> float:
    """About how many events a unit of simulated time has."""
    if network.arrival_rate is not None:
        return network.arrival_rate * (1 + len(network.services))
    stations = len(network.services)
    return network.customers * stations / (network.customers + stations - 1) / max(network.services)
