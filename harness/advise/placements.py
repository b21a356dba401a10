"""Queues that divide a graph into regions of about equal work.

An operator joins the region that sends to it, and is then called by its thread, as long as the
region's work stays within a limit; else it gets a queue and begins a region. Where several regions
meet, it gets a queue if its work is worth one, and is called under a lock otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from harness.advise.costs import GraphCosts

REGIONS = (2, 3, 4, 6, 8, 16, 32, 64, 128)  # that a graph is divided into, at most, in turn
SHARES = (0.5, 0.25, 0.1, 0.03)  # of all work, as the limit of a region
STEPS = 30  # of the bisection for the least limit that gives so many regions


@dataclass(frozen=True)
class Placement:
    """Operators with a queue, and the work of each region by its first operator [ns a tuple of the
    sources], without queues.
    """

    queued: tuple[str, ...]
    loads: dict[str, float]
    own: frozenset[str]  # regions that a thread of their own executes, as that of a source
    queue_shares: dict[str, float]  # tuples that each queue takes for one of the sources


def placements(costs: GraphCosts, may_queue: Set[str], hop_ns: float) -> list[Placement]:
    """Return different placements, those with few queues first. `may_queue`: operators that may
    have a queue.
    """
    found = {placement.queued: placement for placement in _tried(costs, may_queue, hop_ns)}
    return sorted(found.values(), key=lambda each: len(each.queued))


def divide(costs: GraphCosts, may_queue: Set[str], hop_ns: float, limit_ns: float) -> Placement:
    """Return the placement with at most so much work in a region, where operators can be apart."""
    region: dict[str, str] = {}
    loads: dict[str, float] = {}
    queued = []
    own = set()
    for operator in costs.operators.values():
        regions = {region[name] for name in operator.behind}
        load = operator.load_ns
        joins = len(regions) == 1
        home = regions.pop() if joins else operator.name
        fits = joins and loads[home] + load <= limit_ns
        worth_a_queue = not joins and operator.tuple_ns > hop_ns
        if operator.is_source or operator.name in costs.threaded:
            own.add(operator.name)
            home = operator.name
        elif operator.name in may_queue and not fits and (joins or worth_a_queue):
            queued.append(operator.name)
            home = operator.name
        region[operator.name] = home
        loads[home] = loads.get(home, 0.0) + load
    shares = {name: costs.operators[name].share for name in (*queued, *costs.threaded)}
    return Placement(tuple(queued), loads, frozenset(own), shares)


def placed(costs: GraphCosts, queued: Set[str]) -> Placement:
    """Return the placement with queues before these operators alone."""
    return divide(costs, queued, -1.0, -1.0)


def can_be_named(name: str) -> bool:
    """Return True if the option `queued` can name an operator."""
    return bool(re.match(r"[^\W0-9]", name)) and "," not in name and name == name.strip()


def _tried(costs: GraphCosts, may_queue: Set[str], hop_ns: float) -> Iterator[Placement]:
    total = costs.total_ns
    for share in SHARES:
        yield divide(costs, may_queue, hop_ns, share * total)
    for count in REGIONS:
        if count > len(costs.operators):
            return
        low, high = 0.0, total
        for _ in range(STEPS):
            middle = (low + high) / 2
            placed = divide(costs, may_queue, hop_ns, middle)
            low, high = (low, middle) if len(placed.loads) <= count else (middle, high)
        yield divide(costs, may_queue, hop_ns, high)


def names_of(queued: Sequence[str]) -> str:
    """Return the value of the option `queued` for these operators."""
    return ",".join(queued) or "none"
