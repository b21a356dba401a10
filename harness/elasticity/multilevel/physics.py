"""How fast a graph may be under a placement and a thread level: one formula, and many hypotheses of its constants.

With the loads of `regions` (the work of the whole graph is 1) and m = own threads + min(level, queues) threads that find work,

  hop        q (1 + c log2 m) k^g                   time of a hop over one of k queues: push and pop, copies, synchronisation
  region     the most loaded one: work + hop (f pushes + (1 - f) pops + e entries of locks)
  lock       the same, with e (1 + l sqrt(min(contenders, m) - 1)): a lock that many want is handed from one CPU to the other
  capacity   m / (1 + a (m - 1)) up to a knee; (m / knee)^-t of that behind it: more threads than CPUs, SMT, memory
  threads    (1 + hop (hops + e entries)) / capacity
  throughput (region^p + lock^p + threads^p)^(-1/p)     the slowest of the three; p: how well threads are kept busy

where each region has a thread of its own, up to the knee, nobody waits for a thread: without the third, and the region takes
1 + a (m - 1) times as long. All is up to a factor that measurements say. A *hypothesis* is a choice of all constants. q and e
are drawn as times, and q is divided by the time of the graph's work, which the first measurement tells, so that a graph with
dear operators is known from the start to bear queues.

After the roofline's idea that the tightest of a few bounds explains throughput (Williams, Waterman and Patterson, CACM 52(4),
2009). The odds of the constants come from the bench and from `config/software`, not from any one machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from harness.elasticity.multilevel.regions import Loads, Vector

HOPS = np.concatenate([[0.0], np.geomspace(1e-5, 50.0, 35)])  # times of a hop over that of all work at which loads are kept
SIDES = (0.2, 0.4, 0.6, 0.8)  # f, of a runtime that moves batches, and then of one that moves tuples
ENTRIES = np.geomspace(0.015, 60.0, 7)  # e
HOP_NS, HOP_NS_BYTE = 22.0, 0.06  # median time of a hop: a push and a pop, and bytes copied
HOP_SPREAD = 1.3  # standard deviation of its logarithm
ENTRY_NS, ENTRY_SPREAD = 15.0, 0.9  # the same of a lock that nobody else has
WAITING, WAITING_SPREAD = 1.0, 1.2  # l: an atomic operation that two contend for takes several times as long


@dataclass(frozen=True)
class Hypotheses:
    """One value of each constant a hypothesis; `side` is an index into `SIDES`, twice."""

    hop: Vector
    sync: Vector
    footprint: Vector
    side: np.ndarray
    entry: Vector
    waiting: Vector
    serial: Vector
    knee: Vector
    tail: Vector
    sharp: Vector

    def take(self, which: np.ndarray) -> Hypotheses:
        """Those of an index, which may name one more than once."""
        return Hypotheses(*(getattr(self, field.name)[which] for field in fields(self)))

    def and_(self, others: Hypotheses) -> Hypotheses:
        """These and those."""
        columns = ((getattr(self, field.name), getattr(others, field.name)) for field in fields(self))
        return Hypotheses(*(np.concatenate(pair) for pair in columns))

    def slower(self, factor: float) -> Hypotheses:
        """The same where all work takes `factor` times as long and hops do not."""
        return replace(self, hop=self.hop / factor)

    def jittered(self, generator: np.random.Generator) -> Hypotheses:
        """Each a little beside itself, so that copies of one are not all the same."""
        count = len(self.hop)
        return replace(
            self,
            hop=self.hop * np.exp(0.15 * generator.standard_normal(count)),
            sync=self.sync * np.exp(0.2 * generator.standard_normal(count)),
            entry=self.entry * np.exp(0.2 * generator.standard_normal(count)),
            waiting=self.waiting * np.exp(0.2 * generator.standard_normal(count)),
            serial=self.serial * np.exp(0.2 * generator.standard_normal(count)),
            knee=np.maximum(1.0, self.knee * np.exp(0.1 * generator.standard_normal(count))),
            tail=self.tail + 0.1 * generator.standard_normal(count),
            sharp=np.maximum(1.5, self.sharp * np.exp(0.15 * generator.standard_normal(count))),
        )


def draw(generator: np.random.Generator, count: int, cpus: int, payload: int, work_s: float, batch: int = 0) -> Hypotheses:
    """From what is thought likely before anything is measured.

    `work_s`: time of all work for a tuple of each source. `batch`: tuples that the runtime moves at once, 0 if nobody knows.
    """

    def about(median: float, spread: float) -> Vector:
        return median * np.exp(spread * generator.standard_normal(count))

    hop_s = about(1e-9 * (HOP_NS + HOP_NS_BYTE * payload), HOP_SPREAD)
    anywhere = np.exp(generator.uniform(0.0, math.log(2.0 * cpus), count))
    where = generator.choice([1.0, 0.5, 0.0], count, p=[0.5, 0.25, 0.25])  # of the CPUs
    return Hypotheses(
        hop=hop_s / work_s,
        sync=about(0.06, 1.3),
        footprint=0.15 * np.abs(generator.standard_normal(count)),
        side=generator.integers(len(SIDES) if batch == 1 else 0, len(SIDES) if batch > 1 else 2 * len(SIDES), count),
        entry=np.clip(about(1e-9 * ENTRY_NS, ENTRY_SPREAD) / hop_s, *ENTRIES[[0, -1]]),
        waiting=about(WAITING, WAITING_SPREAD),
        serial=about(0.003, 1.5),
        knee=np.maximum(1.0, np.where(where > 0.0, where * cpus, anywhere)),
        tail=0.25 + 0.5 * generator.standard_normal(count),
        sharp=np.maximum(2.0, about(7.0, 0.6)),
    )


@dataclass(frozen=True)
class Bounds:
    """The loads of a placement at each time of `HOPS`: side x entry x hop, flat."""

    region: Vector
    lock: Vector
    contenders: float
    hops: float
    entries: float
    single: float
    queues: int
    own_threads: int

    @property
    def regions(self) -> int:
        """Parts of the graph that a thread executes at a time."""
        return self.own_threads + self.queues

    def busy(self, level: int) -> int:
        """Threads that find work at a level."""
        return self.own_threads + min(level, self.queues)


def bounds_of(loads: Loads) -> Bounds:
    """The loads as the formula wants them."""
    regions = loads.contenders <= 1.0
    push, entry = np.meshgrid(SIDES, ENTRIES, indexing="ij")
    sides = push[..., None] * loads.pushes + (1.0 - push[..., None]) * loads.pops
    hops = np.concatenate([sides + entry[..., None] * entries for entries in (loads.entries, loads.single)])
    region = (loads.work[regions] + HOPS[:, None] * hops[:, :, None, regions]).max(axis=-1)
    lock = (loads.work[~regions] + HOPS[:, None] * hops[:, :, None, ~regions]).max(axis=-1, initial=0.0)
    contended = loads.contenders[~regions]
    return Bounds(
        region=region.ravel(),
        lock=lock.ravel(),
        contenders=float(contended[int(np.argmax(loads.entries[~regions]))]) if len(contended) else 1.0,
        hops=loads.hops,
        entries=loads.all_entries,
        single=loads.all_single,
        queues=loads.queues,
        own_threads=loads.own_threads,
    )


def ideal(bounds: Bounds) -> float:
    """Throughput if queues cost nothing and each of the graph's own threads is a CPU, in units of that of all work on one."""
    return 1.0 / max(float(bounds.region[0]), float(bounds.lock[0]), 1.0 / bounds.own_threads)


def log_throughput(
    bounds: Sequence[Bounds], numbers: Sequence[int] | np.ndarray, levels: Sequence[int] | np.ndarray, of: Hypotheses
) -> Vector:
    """Configuration x hypothesis; a configuration is the number of its placement's bounds, and a level."""
    chosen, rows = np.unique(np.array(numbers), return_inverse=True)
    each = [bounds[number] for number in chosen]
    busy = np.array([float(bounds[number].busy(level)) for number, level in zip(numbers, levels, strict=True)])[:, None]

    def column(name: str) -> Vector:
        return np.array([float(getattr(one, name)) for one in each])[rows, None]

    hop = of.hop * (1.0 + of.sync * np.log2(busy)) * np.maximum(column("queues"), 1.0) ** of.footprint
    dearer = of.entry * (1.0 + of.waiting * np.sqrt(np.minimum(column("contenders"), busy) - 1.0))
    part, at_hop = rows[:, None] * (2 * len(SIDES)) + of.side, _between(HOPS, hop)
    region = _at(np.concatenate([one.region for one in each]), part, _between(ENTRIES, of.entry), at_hop)
    lock = np.zeros_like(region)
    if len(locked := np.flatnonzero([each[row].contenders > 1.0 for row in rows])):
        table, there = np.concatenate([one.lock for one in each]), (at_hop[0][locked], at_hop[1][locked])
        lock[locked] = _at(table, part[locked], _between(ENTRIES, dearer[locked]), there)
    within = np.minimum(busy, of.knee)
    capacity = within / (1.0 + of.serial * (within - 1.0)) * np.maximum(busy / of.knee, 1.0) ** -of.tail
    entries = np.where(of.side < len(SIDES), column("entries"), column("single"))
    threads = (1.0 + hop * (column("hops") + of.entry * entries)) / capacity
    alone = (busy >= column("regions")) & (busy <= of.knee)
    region, threads = np.where(alone, region * (1.0 + of.serial * (busy - 1.0)), region), np.where(alone, 0.0, threads)
    slowest = np.maximum(np.maximum(region, lock), threads)
    apart = (region / slowest) ** of.sharp + (threads / slowest) ** of.sharp
    apart[locked] += (lock[locked] / slowest[locked]) ** of.sharp
    return -np.log(slowest) - np.log(apart) / of.sharp


def _at(table: Vector, part: np.ndarray, entry: Places, hop: Places) -> Vector:
    """Loads at times of an entry and of a hop between those of a table, along straight lines, and beyond the last ones.

    `table`: flat, by part, entry and hop.
    """
    (first, more), (place, beyond) = entry, hop
    low = (part * len(ENTRIES) + first) * len(HOPS) + place
    left, right = (_line(table, low + further, beyond) for further in (0, len(HOPS)))
    return left + more * (right - left)


def _line(table: Vector, low: np.ndarray, beyond: Vector) -> Vector:
    left = table.take(low)
    return left + beyond * (table.take(low + 1) - left)


Places = tuple[np.ndarray, Vector]


def _between(grid: Vector, values: Vector) -> Places:
    """The place in a grid before each value, and how far behind it the value is."""
    place = np.clip(np.searchsorted(grid, values) - 1, 0, len(grid) - 2)
    low = grid.take(place)
    return place, (values - low) / (grid.take(place + 1) - low)
