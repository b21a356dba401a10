"""Groups of operators of similar cost, whose queues laws switch together (M19 §3.1).

A law that follows M19 decides on operators, not on ports: all ports of an operator that are places
are switched together. Costs are shares of the work as the profiler saw them; one that is not known
counts as 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from harness.elasticity.layout import Layout

GROUPS = 9
"""Number of groups, the lightest first. M19 names no number; this is that of IBM Streams."""

Groups = list[list[int]]
"""Operators by group; within a group in ascending order."""


def places_of_operators(layout: Layout) -> dict[int, tuple[int, ...]]:
    """Return the places of each operator that has any, ascending."""
    found: dict[int, tuple[int, ...]] = {}
    for place, operator in sorted(enumerate(layout.at), key=lambda pair: pair[1]):
        found[operator] = (*found.get(operator, ()), place)
    return found


def places(found: Mapping[int, tuple[int, ...]], operators: Iterable[int]) -> frozenset[int]:
    """Return the places of some operators."""
    return frozenset(place for operator in operators for place in found[operator])


def by_halves(operators: Iterable[int], costs: Sequence[float]) -> Groups:
    """Return logarithmic groups: the last is (max/2, max], the one before it (max/4, max/2], ...;
    the first has the rest."""
    known = {operator: _cost(costs, operator) for operator in operators}
    heaviest = max(known.values(), default=0.0)
    groups: Groups = [[] for _ in range(GROUPS)]
    for operator, cost in sorted(known.items()):
        halvings = math.log2(heaviest / cost) if cost > 0.0 else math.inf
        groups[GROUPS - 1 - int(min(halvings, GROUPS - 1))].append(operator)
    return groups


def by_parts_of_the_heaviest(operators: Iterable[int], costs: Sequence[float]) -> Groups:
    """Return the groups in which IBM Streams adds queues.

    They are not logarithmic: from the last one on (max/2, max], (max/3, max/2], (max/4, max/3], ...
    """
    known = {operator: _cost(costs, operator) for operator in operators}
    heaviest = max(known.values(), default=0.0)
    groups: Groups = [[] for _ in range(GROUPS)]
    for operator, cost in sorted(known.items()):
        parts = heaviest / cost if cost > 0.0 else math.inf
        groups[GROUPS - int(min(parts, GROUPS))].append(operator)
    return groups


def by_doubles_of_the_lightest(operators: Iterable[int], costs: Sequence[float]) -> Groups:
    """Return the groups in which IBM Streams removes queues.

    The first has cost 0, then follow [min, 2 min), [2 min, 4 min), ...; the last has the rest.
    """
    known = {operator: _cost(costs, operator) for operator in operators}
    lightest = min((cost for cost in known.values() if cost > 0.0), default=1.0)
    groups: Groups = [[] for _ in range(GROUPS)]
    for operator, cost in sorted(known.items()):
        times = int(min(cost / lightest, 2.0**GROUPS))
        groups[min(times.bit_length(), GROUPS - 1)].append(operator)
    return groups


def _cost(costs: Sequence[float], operator: int) -> float:
    cost = costs[operator] if operator < len(costs) else 0.0
    return cost if 0.0 < cost < math.inf else 0.0
