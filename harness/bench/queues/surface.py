"""Throughput over placement and threads, without noise: the true values of the bench.

The time of a source tuple is about the largest of its limits, and a bit more if several limits are
near each other:

  1/x = (all^p + busiest^p + locked^p + memory^p)^(1/p)

  all      work of all regions over the power of the busy threads: cores, SMT, clock, turns on a
           CPU (`world.power`); 0 if each region has a thread and a CPU of its own
  busiest  work of the busiest region: one thread at a time executes it (ALONE), which bounds
           pipelines (P17 §4.1)
  locked   time for which the busiest lock is held, which grows with its contenders (P17 §5.2)
  memory   time of bytes through memory if the queues are larger than the last cache

Besides its operators a region pays for queues. A push costs publishing and a copy (P17 §4.1.5) into
the memory of the queues. A take costs the transfer from the sender's cache and a share of a drain:
ready list, flags, and a search (M19 §1), which cost more the more threads meet there. Drains are
long if many queues wait for few threads, and short if threads wait for tuples.

Some effects are in no simple model: each operator, queue and thread level has a hidden factor of
its own, a push behind a queue has a further one, and each surface has its own p. The surface's seed
draws them, and no law sees them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from harness.bench.queues.regions import Regions
from harness.bench.queues.world import HEADER, Array, Prices, QueueWorld
from harness.elasticity import Layout
from harness.models import COPY_FLOP

# Standard deviations of the hidden factors' logarithms. Of queues: the most that this runtime's
# places can differ by where all are alike (tests/benchmarks/limits/hops.py, upper ends of 97.5 %).
# Of operators and levels: guesses; profilers see the former.
QUEUE_SPREAD, NEAR_SPREAD = 0.09, 0.13
OPERATOR_SPREAD, LEVEL_SPREAD = 0.15, 0.006
SHARPNESS = (6.0, 14.0)  # range of p, the sharpness of the corner between two limits
IDLE_THREAD_CPU = 0.04  # share of a CPU that an idle scheduler thread uses: a guess, not tuned
# highest factor on the cost of the ready list if threads outnumber queues: a guess, not tuned
MAX_READY_LIST_FACTOR = 4.0


class Surface:
    """Surface of a graph in a world.

    Placements are of `layout.ports`; thread levels are scheduler threads, from 1.
    """

    def __init__(
        self,
        layout: Layout,
        world: QueueWorld,
        seed: int = 0,
        flop: Sequence[float] | None = None,
        others: float = 0.0,
    ) -> None:
        """Draw the hidden factors.

        `flop`: work of the operators a tuple; None: that of the layout. `others`: share of the CPUs
        that other processes use.
        """
        self.layout, self.world, self.others = layout, world, others
        self.places = len(layout.ports)
        self.prices = Prices(world)
        self.regions = Regions(layout)
        draw = np.random.default_rng(seed)
        flop = np.asarray(layout.flop if flop is None else flop, dtype=float)
        self.work = self.prices.work(flop) * np.exp(
            OPERATOR_SPREAD * draw.standard_normal(layout.operators)
        )
        self.work += self._of_ends()
        self._slow = np.maximum(
            0.0, self.prices.flop * flop * (1.0 - 1.0 / self.prices.overlapped(flop))
        )
        self._call = np.full(layout.operators, self.prices.cost["call_batch"])
        self._call[self._sinks()] = self.prices.cost["sink_batch"]
        self._push_factor = np.exp(QUEUE_SPREAD * draw.standard_normal(self.regions.heads))
        self._near = np.exp(NEAR_SPREAD * draw.standard_normal(layout.operators))
        self._level = np.exp(LEVEL_SPREAD * draw.standard_normal(1025))
        self._sharp = draw.uniform(*SHARPNESS)
        self._bytes = layout.payload + HEADER
        self._capacity = self.prices.capacity(
            self.places, self._bytes, bool(np.max(flop, initial=0.0) < COPY_FLOP)
        )
        self._threaded_capacity = self.prices.threaded_capacity(self._bytes)
        # threads besides the scheduler's
        self._own = len(layout.sources) + self.regions.heads - self.places
        self._pushed = np.zeros(self.places)
        for link in layout.links:
            if link.place is not None:
                self._pushed[link.place] += link.tuples
        self._known: dict[tuple[frozenset[int], int], float] = {}
        # tuples a source tuple, over all operators
        self.submitted = sum(link.tuples for link in layout.links)

    def throughput(self, queued: Collection[int], threads: int) -> float:
        """Return tuples/s submitted over all operators."""
        where = frozenset(queued), threads
        if where not in self._known:
            placement = np.zeros((1, self.places), dtype=np.uint8)
            placement[0, list(where[0])] = 1
            self._known[where] = float(self.rates(placement, np.array([threads]))[0])
        return self._known[where]

    def dedicated(self) -> float:
        """Return tuples/s with a queue before every port, and a thread for each of them."""
        return float(
            self.rates(np.ones((1, self.places), dtype=np.uint8), np.array([1]), dedicated=True)[0]
        )

    def rates(self, queued: np.ndarray, threads: np.ndarray, dedicated: bool = False) -> Array:
        """Return tuples/s of many placements (a row each, 0 or 1) and levels at once."""
        queued = np.ascontiguousarray(queued, dtype=np.uint8)
        queues = queued.sum(axis=1)
        heads = self._own + queues
        workers = np.minimum(
            self._own + np.where(queues > 0, queues if dedicated else threads, 0), 1024
        ).astype(float)
        cpus = self.world.cpus * (1.0 - self.others)
        # the busy threads depend on the limits, and the limits on the busy threads: two rounds are
        # near enough
        busy = np.minimum(workers, np.minimum(heads, self.world.cpus)).astype(float)
        for _ in range(2):
            totals, memory = self._totals(queued, queues, workers, busy, dedicated)
            idle = IDLE_THREAD_CPU * (workers - busy) if not dedicated else 0.0
            limit = np.minimum(workers, heads)
            speed = self.prices.power(np.maximum(busy, 1.0), self.others) / np.maximum(busy, 1.0)
            together = np.maximum(0.2, self.prices.power(limit, self.others) - idle)
            late = self.prices.late(workers, self.others)
            shared = np.where((workers < heads) | (workers > cpus), totals[:, 0] / together, 0.0)
            spans = np.stack(
                [shared, late * totals[:, 1] / speed, late * totals[:, 2] / speed, memory]
            )
            longest = spans.max(axis=0)
            span = longest * ((spans / longest) ** self._sharp).sum(axis=0) ** (1.0 / self._sharp)
            busy = np.clip(totals[:, 0] / speed / span, 1.0, limit)
        return (
            self.submitted
            * 1e9
            / span
            * self._level[np.where(queues > 0, np.minimum(threads, 1024), 0)]
        )

    def busy(self, queued: Collection[int], threads: int) -> float:
        """Return the share of their time that threads execute operators, about: work over time, the
        same for all threads."""
        workers = self._own + (threads if queued else 0)
        rate = self.throughput(queued, threads) / self.submitted / 1e9
        return float(min(1.0, rate * float(np.dot(self.work, self.layout.tuples)) / workers))

    def shares(self) -> Array:
        """Return each operator's share of the work, as a profiler without noise would show it (M19
        §3)."""
        work = self.work * np.asarray(self.layout.tuples)
        return work / work.sum()

    def _of_ends(self) -> Array:
        """Return the further work of sources and sinks [ns a tuple]."""
        cost, extra = self.prices.cost, np.zeros(self.layout.operators)
        making = (
            cost["source_batch"] / self.prices.batch
            + cost["source_tuple"]
            + cost["source_byte"] * self.layout.payload
        )
        extra[list(self.layout.sources)] = making
        extra[self._sinks()] = cost["sink_tuple"] + cost["sink_byte"] * self.layout.payload
        return extra

    def _sinks(self) -> list[int]:
        senders = {link.source for link in self.layout.links}
        return [index for index in range(self.layout.operators) if index not in senders]

    def _totals(
        self, queued: np.ndarray, queues: np.ndarray, workers: Array, busy: Array, dedicated: bool
    ) -> tuple[np.ndarray, Array]:
        """Return `Regions.measure` at the prices of these placements, and the time for memory [ns a
        source tuple]."""
        prices, cost, batch = self.prices, self.prices.cost, self.prices.batch
        each = np.maximum(queues, 1)
        capacity = self._threaded_capacity if dedicated else self._capacity
        footprint = np.maximum(1.0, queues * capacity * float(self._bytes))
        remote = prices.remote(busy)
        write = prices.bandwidth(footprint, np.minimum(np.maximum(busy, 1.0), each))
        push = cost["push_tuple"] + prices.machine["copy.call"] + self._bytes / write
        read = (1.0 - remote) / prices.read[0] + remote / prices.read[1]
        hand = (1.0 - remote) * prices.transfer[0] + remote * prices.transfer[1]
        away = 1.0 - 1.0 / np.maximum(workers, 1.0)  # odds that another thread had it before
        take = cost["take_batch"] / batch + away * (self._bytes * read + 2.0 * hand / batch)
        take = take + self._drain(each, workers, hand, dedicated)
        # a row a placement, a column a number of contenders; no more than threads can be there at
        # once
        at_once = np.minimum(np.arange(workers.max() + 1)[None, :], workers[:, None]).astype(int)
        meets = prices.contended[np.minimum(at_once, self.world.cpus)]
        lock = cost["lock"] + meets + hand[:, None] * np.maximum(0, at_once - 1) ** 0.5
        by_operator = self.work, self._slow, self._call
        besides = cost["push_batch"], cost["way"], cost["way_tuple"]
        totals = self.regions.measure(
            queued, *by_operator, self._push_factor, self._near, push, take, lock, besides, batch
        )
        third = prices.machine["cache.l3"] * prices.sockets
        spilt = np.clip(np.log2(footprint / (0.7 * third)) / 2.0, 0.0, 1.0)
        return totals, spilt * (queued @ self._pushed) * self._bytes / prices.memory + 1e-9

    def _drain(self, queues: np.ndarray, workers: Array, hand: Array, dedicated: bool) -> Array:
        """Return a tuple's share of the cost of a drain without its tuples [ns]."""
        prices, cost = self.prices, self.prices.cost
        # threads take turns if they outnumber CPUs; else they wait for equally fast neighbours
        if dedicated:
            each = np.where(workers > self.world.cpus, prices.switch_ns, prices.wake_ns)
            return each / (self._threaded_capacity / 4.0)
        room = max(1.0, self._capacity / 2.0 - prices.batch)
        waiting = 1.0 - np.exp(
            -0.5 * np.maximum(0.0, queues / np.maximum(1.0, workers - self._own) - 0.5)
        )
        length = prices.batch + room * waiting
        pressure = np.minimum(MAX_READY_LIST_FACTOR, np.maximum(1.0, workers / queues))
        meets = prices.contended[np.minimum(workers.astype(int), prices.world.cpus)]
        drain = (
            cost["drain"]
            + cost["list_push"]
            + cost["list_pop"]
            + cost["flag"]
            + pressure * (2.0 * meets + hand)
        )
        # ports without their queue stay in the list and are looked at (M19 §3, reference
        # implementation)
        if prices.walks:
            drain = drain + np.minimum(64.0, self.places / queues) * (
                cost["search"] + cost["list_pop"] + cost["list_push"]
            )
        return drain / length
