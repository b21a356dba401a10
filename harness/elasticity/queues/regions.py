"""Regions of a graph under a placement of queues, and the work of each, which no number of threads
can speed up.

A *placement* is the set of places that have queues. Operators joined by calls are a *region*: from
a source, or from a port with a queue, to the next queues. One thread at a time executes a region,
so a graph passes tuples no faster than its most loaded region does. An operator that several
regions call is executed under a *lock*. The lock is held until its tuples are in a queue or through
the operators called behind it (P17 §5.2; `runtime/native/submit.hpp`), so one thread at a time
executes all that, too.

Tuples travel in batches. An operator that deals them out among its streams hands them one by one to
those that it calls, a filter lets runs of neighbours pass, and only a queue makes whole batches of
them again; calls and locks are paid for by the piece (`runtime/native/submit.hpp`).

Units: the work of the whole graph for one tuple of each source is 1, and the hops over queues are
counted for as many tuples. A hop costs time on both sides: the region before it pushes, the region
behind it pops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from harness.elasticity.layout import Layout, Link

Vector = NDArray[np.float64]


CALL_COST_IN_LOCKS = 0.2  # cost of a call, as a share of the cost of a lock


@dataclass(frozen=True)
class Loads:
    """Load of each serial part of the graph: first the regions, then the locks, in no special
    order.

    `work`, `pushes`, `pops`: by part. `entries`: pieces that are locked, plus a small share of
    those called, in a runtime that moves batches; `single`: the same in one that moves tuples.
    `contenders`: number of regions that call a lock; 1 for a region. `all_entries`, `all_single`:
    sums over the graph. `hops`: hops over queues that may be switched. `queues`: number of these
    queues. `own_threads`: threads of sources and ports.
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
    """Columns of the streams; those into operator i are `first[i]` to `first[i + 1]`. `back_...`:
    those that close a cycle.

    `head`: the port, if it may have a queue, else -1. `through`: tuples for each tuple of each
    source. `share`: share of all tuples that the target gets. `passed`: tuples over those that the
    source operator gets.
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


class DirectedLayout:
    """Layout with its operators in the direction of the streams; a stream that closes a cycle is
    followed no further.

    `order`: operators. `incoming`: streams into each operator. `back`: streams that close a cycle.
    `tuples`: tuples that each operator gets. `heads`: number of ports where a region may begin,
    places first and then threaded ones. `columns`: the same stream by stream.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        # a layout names them in the direction of the streams
        seen = dict.fromkeys(link.source for link in layout.links)
        self.order = [*seen, *(index for index in range(layout.operators) if index not in seen)]
        position = {index: at for at, index in enumerate(self.order)}
        self.incoming: list[list[Link]] = [[] for _ in self.order]
        self.back: list[Link] = []
        for link in layout.links:
            forward = position[link.source] < position[link.target]
            (self.incoming[link.target] if forward else self.back).append(link)
        # tuples on output ports for one tuple of each source
        self.submitted = sum(layout.tuples[index] for index in seen)
        self.tuples = [sum(link.tuples for link in links) for links in self.incoming]
        self._columns(layout)

    def _columns(self, layout: Layout) -> None:
        """Compute the columns of the streams, in the order of their target operators, for the
        compiled code (`limits`)."""
        threaded = dict.fromkeys(link.target for link in layout.links if link.threaded)
        head_of = {target: len(layout.ports) + number for number, target in enumerate(threaded)}
        self.heads = len(layout.ports) + len(threaded)

        def head(link: Link) -> int:
            return (
                head_of[link.target] if link.threaded else -1 if link.place is None else link.place
            )

        into = [link for links in self.incoming for link in links]
        self.columns = Columns(
            first=[0, *accumulate(len(links) for links in self.incoming)],
            source=[link.source for link in into],
            head=[head(link) for link in into],
            dealt=[link.dealt for link in into],
            through=[link.tuples for link in into],
            share=[
                link.tuples / self.tuples[link.target]
                if self.tuples[link.target] > 0.0
                else 1.0 / len(links)
                for links in self.incoming
                for link in links
            ],
            passed=[
                min(1.0, link.tuples / got) if (got := layout.tuples[link.source]) > 0.0 else 0.0
                for link in into
            ],
            back_source=[link.source for link in self.back],
            back_head=[head(link) for link in self.back],
            back_through=[link.tuples for link in self.back],
        )
