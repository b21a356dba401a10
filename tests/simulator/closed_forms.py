"""Results of queueing theory for networks that are small enough for it: throughputs, and
mean numbers of customers at stations.

All stations have one server and serve in the order of arrival. Rates per unit of time, times in the
same unit; a mean number counts the customer in service. Sources: Kleinrock, Queueing Systems I
(1975), for M/M/1 and M/G/1; Jackson, Operations Research 5 (1957), for open networks; Reiser and
Lavenberg, JACM 27 (1980), for closed ones by mean value analysis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Steady(NamedTuple):
    """A network in its steady state."""

    throughput: (
        float  # customers that leave (open), or pass the first station (closed), a unit of time
    )
    numbers: tuple[float, ...]  # mean number of customers at each station


def mg1(arrival_rate: float, service: float, squared_variation: float) -> Steady:
    """One station with Poisson arrivals: the formula of Pollaczek and Khinchine.

    `service`: mean time; `squared_variation`: variance of the service time over its squared mean.
    Raises ValueError for a station that is offered more than it can do.
    """
    load = _load(arrival_rate, service)
    return Steady(arrival_rate, (load + load**2 * (1 + squared_variation) / (2 * (1 - load)),))


def mm1(arrival_rate: float, service: float) -> Steady:
    """Exponential service times: load / (1 - load) customers."""
    return mg1(arrival_rate, service, 1.0)


def md1(arrival_rate: float, service: float) -> Steady:
    """Service times that are all the same."""
    return mg1(arrival_rate, service, 0.0)


def tandem(arrival_rate: float, services: Sequence[float]) -> Steady:
    """Stations one after the other, exponential service times: each is as if it were alone
    (Jackson).
    """
    return Steady(
        arrival_rate, tuple(mm1(arrival_rate, service).numbers[0] for service in services)
    )


def constant_tandem(arrival_rate: float, services: Sequence[float]) -> Steady:
    """Stations one after the other whose service times are constant, Poisson arrivals at the first.

    What leaves a station keeps its distance of at least a service time, so a station that is as
    fast as one before it, or faster, never has a queue. The time in the system is that of an M/D/1
    with the slowest service, and the other services on top (Friedman, Operations Research 13,
    1965), which for a prefix of the tandem gives each station's share.
    """
    slowest = total = before = 0.0
    numbers = []
    for service in services:
        slowest, total = max(slowest, service), total + service
        until_here = md1(arrival_rate, slowest).numbers[0] + arrival_rate * (total - slowest)
        numbers.append(until_here - before)
        before = until_here
    return Steady(arrival_rate, tuple(numbers))


def closed(customers: int, services: Sequence[float]) -> Steady:
    """`customers` go round the stations for ever, exponential service times: mean value analysis.

    A customer that comes to a station finds it as it would be, in the mean, with one customer less
    in the network.
    """
    numbers = [0.0] * len(services)
    throughput = 0.0
    for population in range(1, customers + 1):
        times = [service * (1 + number) for service, number in zip(services, numbers, strict=True)]
        throughput = population / sum(times)
        numbers = [throughput * time for time in times]
    return Steady(throughput, tuple(numbers))


def _load(arrival_rate: float, service: float) -> float:
    load = arrival_rate * service
    if not 0 < load < 1:
        raise ValueError(f"a station's load must be between 0 and 1, not {load:g}")
    return load
