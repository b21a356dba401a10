"""Regions of a graph under a placement of queues, and the work of each: what no number of threads can make faster.

A *placement* says at which places queues stand. Operators joined by calls are a *region*: from a source, or from a port with
a queue, to the next queues. One thread at a time executes a region, so a graph passes tuples no faster than its most loaded
region does. An operator that several regions call is executed under a *lock*, held until its tuples are in a queue or through
the operators called behind it (P17 §5.2; `runtime/submit.pyx`), so what is behind a lock is executed by one thread at a time,
too.

Tuples travel in batches. An operator that deals them out among its streams hands them one by one to those that it calls, a
filter lets runs of neighbours pass, and only a queue makes whole batches of them again; calls and locks are paid for by the
piece (`runtime/submit.pyx`).

Units: the work of the whole graph for one tuple of each source is 1, and the hops over queues are counted for as many tuples.
A hop costs time on both sides: the region before it pushes, the region behind it pops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.elasticity.layout import Layout, Link

Vector = NDArray[np.float64]

BATCH = 32  # tuples at most (`runtime/submit.pyx`)
CALL = 0.2  # of what it takes to lock


@dataclass(frozen=True)
class Loads:
    """What each serial part of the graph has to do: first the regions, then the locks, in no special order.

    `work`, `pushes`, `pops`: by part. `entries`: pieces that are locked, and in a small part those called, of a runtime that
    moves batches; `single`: of one that moves tuples. `contenders`: of a lock, how many regions call it; 1 for a region.
    `all_entries`, `all_single`: of the graph. `hops`: over queues that come and go. `queues`: how many of these there are;
    `own_threads`: of sources and ports.
    """

    work: Vector
    pushes: Vector
    pops: Vector
    entries: Vector
    single: Vector
    contenders: Vector
    all_entries: float
    all_single: float
    hops: float
    queues: int
    own_threads: int


class Flow:
    """A layout with its operators in the direction of the streams; a stream that closes a cycle is followed no further.

    `order`: operators. `incoming`: by operator, the streams into it. `back`: streams that close a cycle. `tuples`: by operator,
    that it gets. `called`: by operator, if one other alone sends to it, in batches: which, the place between, and the share of
    the tuples that get through.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        seen = dict.fromkeys(link.source for link in layout.links)  # a layout names them in the direction of the streams
        self.order = [*seen, *(index for index in range(layout.operators) if index not in seen)]
        position = {index: at for at, index in enumerate(self.order)}
        self.incoming: list[list[Link]] = [[] for _ in self.order]
        self.back: list[Link] = []
        for link in layout.links:
            forward = position[link.source] < position[link.target]
            (self.incoming[link.target] if forward else self.back).append(link)
        self.submitted = sum(layout.tuples[index] for index in seen)  # tuples on output ports for one tuple of each source
        self.tuples = [sum(link.tuples for link in links) for links in self.incoming]
        self.called: list[tuple[int, int | None, float] | None] = [None] * len(self.order)
        for index, links in enumerate(self.incoming):
            got = layout.tuples[links[0].source] if len(links) == 1 else 0.0
            if got > 0.0 and links[0].tuples > 0.0 and not links[0].threaded and not links[0].dealt:
                self.called[index] = links[0].source, links[0].place, min(1.0, links[0].tuples / got)


class Parts:
    """The regions and locks of a placement, without the work in them. One pass in the direction of the streams.

    Operators with the same innermost region or lock are in the same *part*. What it does the parts around it do as well.
    """

    def __init__(self, flow: Flow, queued: frozenset[int]) -> None:
        self._held: list[dict[int, float]] = []  # by part: itself and those around it, each with its share of the executions
        self._is_lock: list[bool] = []
        self._pushes: list[float] = []
        self._pops: list[float] = []
        self._entries: list[float] = []
        self._single: list[float] = []
        self._hops = 0.0
        self._own_threads = len(flow.layout.sources)
        self._queued = queued
        self._of_port: dict[tuple[str, int], int] = {}
        part_of, pieces = [-1] * len(flow.order), [1.0 / BATCH] * len(flow.order)
        entries, single, is_lock = self._entries, self._single, self._is_lock
        for index in flow.order:
            called = flow.called[index]
            if called is not None and called[1] not in queued:  # as below, in short: most operators are executed so
                source, _, passed = called
                part_of[index] = part = part_of[source]
                pieces[index] = piece = 1.0 - passed + passed * pieces[source]
                entries[part] += CALL * (flow.tuples[index] * piece)
                single[part] += CALL * flow.tuples[index]
                continue
            incoming = flow.incoming[index]
            locks = len(self._held)
            part_of[index] = part = self._part(incoming, part_of)
            if incoming:
                count, pieces[index] = self._pieces(flow, incoming, pieces)
                each = 1.0 if part >= locks and is_lock[part] else CALL
                entries[part] += each * count
                single[part] += each * flow.tuples[index]
        for link in flow.back:
            if link.place in queued:
                self._hop(part_of[link.source], self._region(link), link.tuples)
        self._part_of = np.array(part_of)
        self._around = np.array([[outer, part] for part, around in enumerate(self._held) for outer in around]).T
        self._executions = np.array([share for around in self._held for share in around.values()])
        self._locks = np.array(self._is_lock)
        self._contenders = np.where(
            self._locks, [sum(not self._is_lock[outer] for outer in around) for around in self._held], 1.0
        )
        self._first = np.argsort(self._locks, kind="stable")
        self._sums = [self._with_inner(np.array(counts)) for counts in (self._pushes, self._pops, self._entries, self._single)]

    def loads(self, shares: Sequence[float] | Vector) -> Loads:
        """`shares`: each operator's part of the work."""
        own = np.bincount(self._part_of, weights=shares, minlength=len(self._held))
        work = self._with_inner(own)
        return Loads(
            *(column[self._first] for column in (work, *self._sums, self._contenders)),
            all_entries=sum(self._entries),
            all_single=sum(self._single),
            hops=self._hops,
            queues=len(self._queued),
            own_threads=self._own_threads,
        )

    def _with_inner(self, own: Vector) -> Vector:
        """What each part has to do, with what is called behind it."""
        outer, inner = self._around
        return np.bincount(outer, weights=self._executions * own[inner], minlength=len(own))

    def _part(self, incoming: Sequence[Link], part_of: Sequence[int]) -> int:
        """The part that an operator with these streams is in."""
        if not incoming:
            return self._new({})
        if len(incoming) == 1:
            return self._caller(incoming[0], part_of)
        callers: dict[int, float] = {}
        for link in incoming:
            part = self._caller(link, part_of)
            callers[part] = callers.get(part, 0.0) + link.tuples
        if len(callers) == 1:
            return next(iter(callers))
        total = sum(callers.values())
        around: dict[int, float] = {}
        for part, tuples in callers.items():
            share = tuples / total if total > 0.0 else 1.0 / len(callers)
            for outer, executions in self._held[part].items():
                around[outer] = around.get(outer, 0.0) + share * executions
        return self._new(around, is_lock=True)

    def _pieces(self, flow: Flow, incoming: Sequence[Link], pieces: Sequence[float]) -> tuple[float, float]:
        """How many get into an operator for a tuple of each source, and for a tuple that it gets."""
        count = tuples = 0.0
        for link in incoming:
            tuples += link.tuples
            if link.threaded or link.place in self._queued:
                count += link.tuples / BATCH
            elif link.dealt:
                count += link.tuples
            elif (got := flow.layout.tuples[link.source]) > 0.0:
                passed = min(1.0, link.tuples / got)
                count += link.tuples * (1.0 - passed + passed * pieces[link.source])
        return count, count / tuples if tuples > 0.0 else 1.0 / BATCH

    def _caller(self, link: Link, part_of: Sequence[int]) -> int:
        """The part that executes what comes by a stream."""
        if link.threaded:
            return self._region(link)
        if link.place not in self._queued:
            return part_of[link.source]
        region = self._region(link)
        self._hop(part_of[link.source], region, link.tuples)
        return region

    def _region(self, link: Link) -> int:
        """The region that begins at a link's port."""
        key = ("thread", link.target) if link.place is None else ("place", link.place)
        if key not in self._of_port:
            self._own_threads += link.place is None
            self._of_port[key] = self._new({})
        return self._of_port[key]

    def _new(self, around: dict[int, float], is_lock: bool = False) -> int:
        part = len(self._held)
        self._held.append({**around, part: 1.0})
        self._is_lock.append(is_lock)
        self._pushes.append(0.0)
        self._pops.append(0.0)
        self._entries.append(0.0)
        self._single.append(0.0)
        return part

    def _hop(self, before: int, behind: int, tuples: float) -> None:
        self._pushes[before] += tuples
        self._pops[behind] += tuples
        self._hops += tuples


def loads_of(flow: Flow, shares: Sequence[float] | Vector, queued: frozenset[int]) -> Loads:
    """The loads under a placement; `shares`: each operator's part of the work."""
    return Parts(flow, queued).loads(shares)
