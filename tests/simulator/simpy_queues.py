"""Queueing networks in SimPy, each in two ways: as its documentation teaches it, and as lean as
SimPy lets one be.

A network is stations in a row, each with one server. Open: Poisson arrivals at the first, customers
leave behind the last. Closed: always the same customers go round. An *event* is an arrival from
outside, or the end of a service: the same events in every program that simulates the network,
however many entries its agenda needs for one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import simpy


@dataclass(frozen=True)
class Network:
    """`services`: mean service times of the stations; either `arrival_rate` or `customers`."""

    services: tuple[float, ...]
    exponential: bool = True  # else the service times are constant
    arrival_rate: float | None = None  # open
    customers: int | None = None  # closed; spread evenly over the stations to begin with


class Outcome(NamedTuple):
    """Events until the end of the simulated time."""

    throughput: float  # customers that passed the last station, a unit of time
    numbers: tuple[float, ...]  # mean over time of the customers at each station
    events: int


@dataclass
class Station:
    """Customers at a station, and their integral over time."""

    number: int = 0
    area: float = 0.0
    since: float = 0.0

    def change(self, now: float, by: int) -> None:
        """One customer more or less."""
        self.area += self.number * (now - self.since)
        self.since = now
        self.number += by


class Books:
    """Books that both programs keep: the stations, and how many events there were."""

    def __init__(self, network: Network, seed: int) -> None:
        self.network = network
        self.stations = [Station() for _ in network.services]
        self.events = self.passed = 0
        self._draw = random.Random(seed)

    def service(self, station: int) -> float:
        """A service time."""
        mean = self.network.services[station]
        return self._draw.expovariate(1 / mean) if self.network.exponential else mean

    def gap(self) -> float:
        """The time between two arrivals."""
        return self._draw.expovariate(self.network.arrival_rate)

    def arrive(self, station: int, now: float) -> None:
        """A customer is at a station."""
        self.stations[station].change(now, +1)

    def leave(self, station: int, now: float) -> None:
        """Its service is over."""
        self.events += 1
        self.stations[station].change(now, -1)
        self.passed += station == len(self.stations) - 1

    def outcome(self, until: float) -> Outcome:
        """The books, closed."""
        for station in self.stations:
            station.change(until, 0)
        return Outcome(
            self.passed / until,
            tuple(station.area / until for station in self.stations),
            self.events,
        )


def with_processes(network: Network, seed: int, until: float) -> Outcome:
    """A customer is a process that requests the servers, which are resources."""
    env = simpy.Environment()
    books = Books(network, seed)
    servers = [simpy.Resource(env) for _ in network.services]

    def customer(first: int) -> Iterator[simpy.Event]:
        while True:
            for station in range(first, len(servers)):
                books.arrive(station, env.now)
                with servers[station].request() as request:
                    yield request
                    yield env.timeout(books.service(station))
                books.leave(station, env.now)
            if network.customers is None:
                return
            first = 0

    def arrivals() -> Iterator[simpy.Event]:
        while True:
            yield env.timeout(books.gap())
            books.events += 1
            env.process(customer(0))

    for number in range(network.customers or 0):
        env.process(customer(number % len(servers)))
    if network.customers is None:
        env.process(arrivals())
    env.run(until)
    return books.outcome(until)


def with_callbacks(network: Network, seed: int, until: float) -> Outcome:
    """One timeout an event, with a callback and a number for each station: nothing of SimPy but its
    agenda.
    """
    env = simpy.Environment()
    books = Books(network, seed)
    last = len(network.services) - 1

    def after(delay: float, action: Callable[[simpy.Event], None]) -> None:
        env.timeout(delay).callbacks.append(action)

    def arrive(station: int) -> None:
        books.arrive(station, env.now)
        if books.stations[station].number == 1:
            after(books.service(station), ends[station])

    def end_of(station: int) -> Callable[[simpy.Event], None]:
        def end(_: simpy.Event) -> None:
            books.leave(station, env.now)
            if books.stations[station].number:
                after(books.service(station), ends[station])
            if station < last:
                arrive(station + 1)
            elif network.customers is not None:
                arrive(0)

        return end

    def arrival(_: simpy.Event) -> None:
        books.events += 1
        arrive(0)
        after(books.gap(), arrival)

    ends = [end_of(station) for station in range(last + 1)]
    for number in range(network.customers or 0):
        arrive(number % (last + 1))
    if network.customers is None:
        after(books.gap(), arrival)
    env.run(until)
    return books.outcome(until)
