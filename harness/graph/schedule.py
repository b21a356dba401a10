"""Schedules of paced sources: tuples at a rate, or in cycles of bursts."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from harness.graph.data import OperatorGraph
from harness.graph.operator import Operator


@dataclass(frozen=True)
class Schedule:
    """Schedule of the sources of a graph; those without a rate send all they can."""

    sources: tuple[Operator, ...]

    @classmethod
    def of(cls, graph: OperatorGraph) -> Schedule:
        """Return the schedule of a graph."""
        return cls(tuple(each for each in graph.operators.values() if each.is_source))

    @property
    def is_paced(self) -> bool:
        """True if each source has a rate, at least at times."""
        return all(each.rates or each.rate is not None for each in self.sources)

    @property
    def mean_per_s(self) -> float | None:
        """Mean rate of all sources together [tuples/s]; None if one sends all it can, at times at
        least.
        """
        found = [
            (due_tuples(each, 0.0, length_s), length_s)
            for each in self.sources
            for length_s in (_cycle_s(each) or 1.0,)
        ]
        if not found or any(tuples is None for tuples, _ in found):
            return None
        return sum((tuples or 0.0) / length_s for tuples, length_s in found)

    @property
    def cycle_s(self) -> float:
        """Length of the longest cycle of bursts [s]; 0 if there are no bursts."""
        return max(map(_cycle_s, self.sources), default=0.0)

    def per_s(self, begin_s: float, end_s: float) -> float | None:
        """Return the rate at which all sources together have to send between two moments since the
        start [tuples/s]; None if one sends all it can.
        """
        wanted = [due_tuples(each, begin_s, end_s) for each in self.sources]
        known = [tuples for tuples in wanted if tuples is not None]
        if len(known) < len(wanted) or end_s <= begin_s:
            return None
        return sum(known) / (end_s - begin_s)


def _cycle_s(source: Operator) -> float:
    """Return the length of a source's cycle of bursts [s]; 0 if it has none."""
    return sum(seconds for seconds, _ in source.rates)


def due_tuples(source: Operator, begin_s: float, end_s: float) -> float | None:
    """Return the tuples that a source has to send between two moments since the start; None: all it
    can.
    """
    if not source.rates:
        return None if source.rate is None else source.rate * (end_s - begin_s)
    whole_s = _cycle_s(source)
    tuples, at_s = 0.0, math.floor(begin_s / whole_s) * whole_s
    for length_s, rate in itertools.cycle(source.rates):
        if at_s >= end_s:
            return tuples
        overlap_s = min(end_s, at_s + length_s) - max(begin_s, at_s)
        if overlap_s > 0.0 and rate is None:
            return None
        tuples += max(0.0, overlap_s) * (rate or 0.0)
        at_s += length_s
    return tuples
