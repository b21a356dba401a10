"""Queueing networks on the simulator's event core: what closed forms say of them, the core must find (native/queueing.hpp).

One unit of time is TICKS steps of the core's clock. A seed gives the same run on any machine, bit for bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool as boolean
from libcpp.vector cimport vector

TICKS = 1_000_000
"""Steps of the event core's clock in one unit of time."""

LONGEST = 2.0**62 / TICKS  # units of time


cdef extern from "queueing.hpp" namespace "millrace::sim" nogil:
    cdef cppclass CStation "millrace::sim::QueueingNetwork::Station":
        double service
        boolean exponential
        uint32_t servers
        vector[uint64_t] below
        vector[uint32_t] ways
        uint64_t served
        double time, area, busy

    cdef cppclass QueueingNetwork:
        QueueingNetwork(const vector[CStation]&, double gap, uint64_t seed) except +
        vector[CStation] stations
        uint64_t events
        void arrive(uint32_t at) except +
        void run(uint64_t until) except +
        void count_anew() noexcept


@dataclass(frozen=True)
class Network:
    """Stations 0, 1, ... with customers who come from outside to the first one, or who are always the same.

    `simulate` takes any object with the first four attributes.
    """

    services: Sequence[float]  # mean service time at each station
    exponential: bool = True  # else service times are constant
    arrival_rate: float | None = None  # open: customers in a unit of time, with exponential gaps
    customers: int | None = None  # closed: how many; spread evenly over the stations to begin with
    servers: Sequence[int] | None = None  # of each station; None: one
    # routes[i][j]: the share of those who are served at i that go to j; the rest leaves. None: to the next station; from the last one
    # away, or to the first if the network is closed
    routes: Sequence[Sequence[float]] | None = None


class Station(NamedTuple):
    """What was counted at a station. All but the mean time are over time."""

    throughput: float  # customers served in a unit of time
    number: float  # mean number of customers, those in service counted
    utilisation: float  # mean share of the servers that are busy
    time: float  # mean time of a customer from arrival to the end of service; 0 if nobody was served


class Outcome(NamedTuple):
    """What was counted from the end of the warm-up to the end; `events` from the beginning."""

    stations: tuple[Station, ...]
    events: int  # arrivals from outside and ends of services

    @property
    def throughput(self) -> float:
        """Customers that the last station served, in a unit of time."""
        *_, last = self.stations
        return last.throughput

    @property
    def numbers(self) -> tuple[float, ...]:
        """Mean number of customers at each station."""
        return tuple([station.number for station in self.stations])


def simulate(network, seed: int, until: float, warmup: float = 0.0) -> Outcome:
    """Run the network from an empty state (open), or all customers just arrived (closed), until a time; count from `warmup` on.

    Raises ValueError for times, rates and shares that are not sensible.
    """
    cdef uint64_t begin, end
    cdef uint32_t customer
    cdef vector[CStation] stations
    if not 0 <= warmup < until <= LONGEST:
        raise ValueError(f"until must be above warmup, {warmup:g}, and at most {LONGEST:g} units of time, not {until:g}")
    check_customers(network)
    servers = getattr(network, "servers", None) or [1] * len(network.services)
    for service, count, ways in zip(network.services, servers, ways_of(network), strict=True):
        stations.push_back(station(service, network.exponential, count, ways))
    gap = 0.0 if network.arrival_rate is None else TICKS / network.arrival_rate
    cdef QueueingNetwork* running = new QueueingNetwork(stations, gap, <uint64_t> (seed & 0xFFFFFFFFFFFFFFFF))
    try:
        for customer in range(network.customers or 0):
            running.arrive(customer % <uint32_t> stations.size())
        begin, end = round(warmup * TICKS), round(until * TICKS)
        with nogil:
            running.run(begin)
            running.count_anew()
            running.run(end)
        counted = [found(running.stations[i], <double> (end - begin)) for i in range(running.stations.size())]
        return Outcome(tuple(counted), running.events)
    finally:
        del running


def check_customers(network):
    """Raises ValueError for a network that is both open and closed or neither, and for numbers out of range."""
    rate, customers = network.arrival_rate, network.customers
    if (rate is None) == (customers is None):
        raise ValueError("a network has either an arrival_rate or customers")
    if rate is not None and not 0 < rate <= TICKS / 1000:
        raise ValueError(f"arrival_rate must be above 0 and at most {TICKS // 1000}, not {rate!r}")
    if customers is not None and not 0 < customers < 2**32:
        raise ValueError(f"customers must be from 1 to {2**32 - 1}, not {customers!r}")
    if len(network.services) == 0:
        raise ValueError("services must be of one station or more")


def ways_of(network):
    """For each station: the stations to which customers go from there, each with its share. Raises ValueError for shares out of range."""
    stations, closed = len(network.services), network.customers is not None
    routes = getattr(network, "routes", None)
    if routes is None:
        return [*([(target, 1.0)] for target in range(1, stations)), [(0, 1.0)] if closed else []]
    if len(routes) != stations:
        raise ValueError(f"routes must be rows for {stations} stations, not for {len(routes)}")
    for row in routes:
        if len(row) != stations or any([not 0 <= share <= 1 for share in row]) or sum(row) > 1 + 1e-9:
            raise ValueError(f"routes must be rows of {stations} shares that make at most 1, not {row!r}")
        if closed and sum(row) < 1 - 1e-9:
            raise ValueError(f"routes of a closed network must be rows that make 1, not {row!r}")
    return [[(target, share) for target, share in enumerate(row) if share > 0] for row in routes]


cdef CStation station(service, boolean exponential, servers, ways) except *:
    cdef CStation made
    if not 1000 / TICKS <= service <= 1e6:
        raise ValueError(f"services must be from {1000 / TICKS:g} to 1e6 units of time, not {service!r}")
    if not 0 < servers < 2**16:
        raise ValueError(f"servers must be from 1 to {2**16 - 1}, not {servers!r}")
    made.service, made.exponential, made.servers = service * TICKS, exponential, servers
    total = 0.0
    for target, share in ways:
        total += share
        made.below.push_back(<uint64_t> (0xFFFFFFFFFFFFFFFF if total > 1 - 1e-9 else int(total * 2.0**64)))  # all: nobody leaves
        made.ways.push_back(target)
    return made


cdef found(const CStation& counted, double elapsed):
    throughput = counted.served / elapsed * TICKS
    time = counted.time / counted.served / TICKS if counted.served else 0.0
    return Station(throughput, counted.area / elapsed, counted.busy / elapsed / counted.servers, time)
