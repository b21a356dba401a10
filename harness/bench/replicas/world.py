"""Stationary state of a graph of co-routines with some threads and replicas, by operators' costs.

An operator's work is the time of one thread for each tuple that each source sends. One thread at a
time executes a replica, and threads are divided evenly among the replicas that can go on. So the
rate of the sources is the lowest of these limits:

  an operator     replicas / work
  all threads     threads x (1 - scheduling) / all work
  the sources     the target, if they are paced

and a bit less if several limits are equal. Work grows with the configuration:

  work_i = tuples_i (cost_i (1 + serial_i (replicas_i - 1)) + ordering, if replicas_i > 1) x slow
  slow   = (1 + contention (n - 1)) max(1, threads / cores),  n = min(threads, cores)

`serial` is the share of an operator's work that its replicas can only do one after the other,
because of a lock or a single device. Threads without work resume operators for little work
(C-Stream §5.1). Each costs `idling` of the throughput.

The queue before an operator is full as often as one with exponential arrivals and services
(M/M/1/K): arrivals as fast as everything before the port could send, services as fast as everything
behind it could take. Time is the engines' thread time, which also passes while a thread waits for a
core.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.elasticity import Layout

Vector = NDArray[np.float64]

# exponent of the soft minimum: twelve limits as narrow bring 6 % less than one. A guess
SHARPNESS = 40.0
QUEUE_BATCHES = 50  # a queue's capacity in batches, for how often it is full. A guess


@dataclass(frozen=True)
class StationaryState:
    """State of the graph once it no longer changes, without noise."""

    rate: float  # tuples/s of each source
    capacity: float  # tuples/s of each source without the target
    useful: Vector  # mean number of threads that execute each operator
    full: Vector  # by input port: share of time for which its queue is full
    utilisation: float  # share of the threads that execute operators, 0 .. 1
    latency_s: float  # length of all queues and busy threads, over the rate (Little)


@dataclass(frozen=True)
class ReplicaWorld:
    """Graph with the costs of its operators [s a tuple], on a machine.

    Operators come after those that send to them.
    """

    layout: Layout
    costs: tuple[float, ...]
    serial: tuple[float, ...]  # shares, 0 .. 1
    cores: int
    target: float | None = None  # tuples/s of each source; None: as many as it can
    contention: float = 0.005
    ordering_s: float = 0.2e-6
    scheduling: float = 0.03
    idling: float = 0.004

    @cached_property
    def _vectors(self) -> tuple[Vector, Vector, Vector]:
        return np.array(self.layout.tuples), np.array(self.costs), np.array(self.serial)

    def work(self, threads: int, replicas: Vector) -> Vector:
        """Return the work of each operator [thread seconds per tuple of each source]."""
        tuples, costs, serial = self._vectors
        slow = (1.0 + self.contention * (min(threads, self.cores) - 1)) * max(
            1.0, threads / self.cores
        )
        return (
            tuples
            * (costs * (1.0 + serial * (replicas - 1.0)) + self.ordering_s * (replicas > 1.0))
            * slow
        )

    def capacity(self, threads: int, replicas: Vector) -> float:
        """Return the tuples/s that each source could send without a target."""
        return self._capacity(threads, replicas, self.work(threads, replicas))

    def _capacity(self, threads: int, replicas: Vector, work: Vector) -> float:
        # least seconds per tuple that each operator, and all threads together, allow
        limits = np.append(work / replicas, work.sum() / (threads * (1.0 - self.scheduling)))
        most = limits.max()
        rate = 1.0 / (most * float(((limits / most) ** SHARPNESS).sum()) ** (1.0 / SHARPNESS))
        idle = max(0.0, threads - rate * float(work.sum()))
        return rate / (1.0 + self.idling * idle)

    def rate(self, threads: int, replicas: Vector) -> float:
        """Return the tuples/s that each source sends."""
        return self._paced(self.capacity(threads, replicas))

    def _paced(self, capacity: float) -> float:
        return capacity if self.target is None else min(self.target, capacity)

    def state(self, threads: int, replicas: Vector) -> StationaryState:
        """Return the state that a reading shows, without noise."""
        work = self.work(threads, replicas)
        capacity = self._capacity(threads, replicas, work)
        rate = self._paced(capacity)
        useful = rate * work
        loads = self._loads(threads, replicas, work)
        lengths = float(np.array([_mean_length(load) for load in loads]).sum())
        return StationaryState(
            rate=rate,
            capacity=capacity,
            useful=useful,
            full=np.array([_full_share(load) for load in loads]),
            utilisation=min(1.0, float(useful.sum()) / threads),
            latency_s=(lengths + float(useful.sum())) / rate if rate > 0.0 else 0.0,
        )

    def _loads(self, threads: int, replicas: Vector, work: Vector) -> Vector:
        """Return the load of each input port: the rate at which the operators before it could send,
        over the rate at which those behind it could take."""
        rates = replicas / work  # of each operator alone [tuples/s of each source]
        together = threads * (1.0 - self.scheduling) / float(work.sum())
        # too few threads: each operator gets its share, the heaviest too little
        rates *= min(1.0, together / float(rates.min()))
        before, behind = rates.copy(), rates.copy()
        if self.target is not None:
            sources = list(self.layout.sources)
            before[sources] = np.minimum(self.target, rates[sources])
        for link in self.layout.links:
            before[link.target] = min(before[link.target], before[link.source])
        for link in reversed(self.layout.links):
            behind[link.source] = min(behind[link.source], behind[link.target])
        loads = np.zeros(self.layout.inputs)
        for link in self.layout.links:
            loads[link.port] = before[link.source] / behind[link.target]
        return loads


def _full_share(load: float) -> float:
    """Return the share of time for which a queue of `QUEUE_BATCHES` is full."""
    if abs(load - 1.0) < 1e-6:
        return 1.0 / (QUEUE_BATCHES + 1.0)
    if load > 1.0:  # divided by the largest power, which would overflow
        return (1.0 - 1.0 / load) / (1.0 - load ** -(QUEUE_BATCHES + 1.0))
    return (1.0 - load) * load**QUEUE_BATCHES / (1.0 - load ** (QUEUE_BATCHES + 1.0))


def _mean_length(load: float) -> float:
    """Return the mean length of a queue of `QUEUE_BATCHES`, in batches."""
    if abs(load - 1.0) < 1e-6:
        return QUEUE_BATCHES / 2.0
    if load > 1.0:
        return QUEUE_BATCHES - _mean_length(1.0 / load)
    return load / (1.0 - load) - (QUEUE_BATCHES + 1.0) * load ** (QUEUE_BATCHES + 1.0) / (
        1.0 - load ** (QUEUE_BATCHES + 1.0)
    )
