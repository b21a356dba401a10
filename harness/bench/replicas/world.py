"""What a graph of co-routines brings with some threads and replicas: the stationary state, by operators' costs.

An operator has work: the time of one thread for each tuple that each source sends. A replica is executed by one thread at a
time, and threads are shared out evenly among those that can go on. So the rate of the sources is that of the narrowest limit:

  an operator     replicas / work
  all threads     threads x (1 - scheduling) / all work
  the sources     the target, if they are paced

and a bit less where several limits are as narrow. Work grows with the configuration:

  work_i = tuples_i (cost_i (1 + serial_i (replicas_i - 1)) + ordering, if replicas_i > 1) x slow
  slow   = (1 + contention (n - 1)) max(1, threads / cores),  n = min(threads, cores)

`serial` is the share of an operator's work that its replicas can only do one after the other: a lock, or one device. Threads
without work take operators up for little (C-Stream §5.1), which costs `idling` of the throughput for each of them.

The queue before an operator is full as often as one of exponential arrivals and services would be (M/M/1/K): arrivals as fast
as everything before the port could send, services as fast as everything behind it could take. Time is the engines' thread
time, which passes for a thread that waits for a core, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from harness.elasticity import Layout

Vector = NDArray[np.float64]

SHARPNESS = 40.0  # exponent of the soft minimum: twelve limits as narrow bring 6 % less than one. A guess
SLOTS = 50  # a queue's capacity in batches, for how often it is full. A guess


@dataclass(frozen=True)
class State:
    """A stationary state. `useful`: threads that execute each operator; `full`: by input port."""

    rate: float  # tuples/s of each source
    capacity: float  # the same if it were not for the target
    useful: Vector
    full: Vector
    utilisation: float
    latency_s: float


@dataclass(frozen=True)
class World:
    """A graph with the costs of its operators [s a tuple], on a machine. Operators stand behind those that send to them."""

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
        """Of each operator, for each tuple that each source sends [thread seconds]."""
        tuples, costs, serial = self._vectors
        slow = (1.0 + self.contention * (min(threads, self.cores) - 1)) * max(1.0, threads / self.cores)
        return tuples * (costs * (1.0 + serial * (replicas - 1.0)) + self.ordering_s * (replicas > 1.0)) * slow

    def capacity(self, threads: int, replicas: Vector) -> float:
        """Tuples/s that each source could send, whatever its target."""
        return self._capacity(threads, replicas, self.work(threads, replicas))

    def _capacity(self, threads: int, replicas: Vector, work: Vector) -> float:
        limits = np.append(work / replicas, work.sum() / (threads * (1.0 - self.scheduling)))
        most = limits.max()
        rate = 1.0 / (most * float(((limits / most) ** SHARPNESS).sum()) ** (1.0 / SHARPNESS))
        idle = max(0.0, threads - rate * float(work.sum()))
        return rate / (1.0 + self.idling * idle)

    def rate(self, threads: int, replicas: Vector) -> float:
        """Tuples/s that each source sends."""
        capacity = self.capacity(threads, replicas)
        return capacity if self.target is None else min(self.target, capacity)

    def state(self, threads: int, replicas: Vector) -> State:
        """All that a reading shows, without noise."""
        work = self.work(threads, replicas)
        capacity = self._capacity(threads, replicas, work)
        rate = capacity if self.target is None else min(self.target, capacity)
        useful = rate * work
        loads = self._loads(threads, replicas, work)
        lengths = float(np.array([_length(load) for load in loads]).sum())
        return State(
            rate=rate,
            capacity=capacity,
            useful=useful,
            full=np.array([_full(load) for load in loads]),
            utilisation=min(1.0, float(useful.sum()) / threads),
            latency_s=(lengths + float(useful.sum())) / rate if rate > 0.0 else 0.0,
        )

    def _loads(self, threads: int, replicas: Vector, work: Vector) -> Vector:
        """Of each input port: what everything before it could send, over what everything behind it could take."""
        able = replicas / work
        together = threads * (1.0 - self.scheduling) / float(work.sum())
        able *= min(1.0, together / float(able.min()))  # too few threads: each operator gets its share, the heaviest too little
        before, behind = able.copy(), able.copy()
        if self.target is not None:
            before[list(self.layout.sources)] = np.minimum(self.target, able[list(self.layout.sources)])
        for link in self.layout.links:
            before[link.target] = min(before[link.target], before[link.source])
        for link in reversed(self.layout.links):
            behind[link.source] = min(behind[link.source], behind[link.target])
        loads = np.zeros(self.layout.inputs)
        for link in self.layout.links:
            loads[link.port] = before[link.source] / behind[link.target]
        return loads


def _full(load: float) -> float:
    """How often a queue of `SLOTS` is full."""
    if abs(load - 1.0) < 1e-6:
        return 1.0 / (SLOTS + 1.0)
    if load > 1.0:  # divided by the largest power, which would overflow
        return (1.0 - 1.0 / load) / (1.0 - load ** -(SLOTS + 1.0))
    return (1.0 - load) * load**SLOTS / (1.0 - load ** (SLOTS + 1.0))


def _length(load: float) -> float:
    """How many tuples stand in it, on average."""
    if abs(load - 1.0) < 1e-6:
        return SLOTS / 2.0
    if load > 1.0:
        return SLOTS - _length(1.0 / load)
    return load / (1.0 - load) - (SLOTS + 1.0) * load ** (SLOTS + 1.0) / (1.0 - load ** (SLOTS + 1.0))
