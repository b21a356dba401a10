"""Rates that the sources of a graph are to send at."""

from __future__ import annotations

from harness.graph import Graph


def offered_per_s(graph: Graph) -> float | None:
    """Return the mean rate of all paced sources together [tuples/s]; None if one at least is not
    paced: it sends as fast as it can.
    """
    rates = [
        _mean_rate(each.rate, each.rates) for each in graph.operators.values() if each.is_source
    ]
    known = [rate for rate in rates if rate is not None]
    return sum(known) if known and len(known) == len(rates) else None


def _mean_rate(rate: float | None, bursts: tuple[tuple[float, float | None], ...]) -> float | None:
    """Return the mean rate of a source; None if it sends as fast as it can, at times too."""
    if rate is not None or not bursts:
        return rate
    if any(each is None for _, each in bursts):
        return None
    return sum(seconds * (each or 0.0) for seconds, each in bursts) / sum(s for s, _ in bursts)
