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
from itertools import accumulate

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


@dataclass(frozen=True)
class Columns:
    """Streams; those into operator i are `first[i]` to `first[i + 1]`. `back_...`: those that close a cycle.

    `head`: the port, if it may have a queue, else -1. `through`: tuples for each tuple of each source. `share`: of all that the
    target gets. `passed`: of what the source gets.
    """

    first: Sequence[int]
    source: Sequence[int]
    head: Sequence[int]
    dealt: Sequence[bool]
    through: Sequence[float]
    share: Sequence[float]
    passed: Sequence[float]
    back_source: Sequence[int]
    back_head: Sequence[int]
    back_through: Sequence[float]


class Flow:
    """A layout with its operators in the direction of the streams; a stream that closes a cycle is followed no further.

    `order`: operators. `incoming`: by operator, the streams into it. `back`: streams that close a cycle. `tuples`: by operator,
    that it gets. `heads`: ports where a region may begin, places first and then threaded ones. `columns`: see there.
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
        self._columns(layout)

    def _columns(self, layout: Layout) -> None:
        """The same stream by stream, in the order of the operators that they lead to, for what is compiled (`limits`)."""
        threaded = dict.fromkeys(link.target for link in layout.links if link.threaded)
        head_of = {target: len(layout.ports) + number for number, target in enumerate(threaded)}
        self.heads = len(layout.ports) + len(threaded)

        def head(link: Link) -> int:
            return head_of[link.target] if link.threaded else -1 if link.place is None else link.place

        into = [link for links in self.incoming for link in links]
        self.columns = Columns(
            first=[0, *accumulate(len(links) for links in self.incoming)],
            source=[link.source for link in into],
            head=[head(link) for link in into],
            dealt=[link.dealt for link in into],
            through=[link.tuples for link in into],
            share=[
                link.tuples / self.tuples[link.target] if self.tuples[link.target] > 0.0 else 1.0 / len(links)
                for links in self.incoming
                for link in links
            ],
            passed=[min(1.0, link.tuples / got) if (got := layout.tuples[link.source]) > 0.0 else 0.0 for link in into],
            back_source=[link.source for link in self.back],
            back_head=[head(link) for link in self.back],
            back_through=[link.tuples for link in self.back],
        )
