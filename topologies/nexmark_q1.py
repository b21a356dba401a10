"""Nexmark query 1: each bid of an auction site, with its price in euros.

The events are generated, and repeated without end or `cycles` times.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies.jobs import job, records


def build(path: str, records: int, seed: int, cycles: int | None) -> Graph:
    """Return the graph."""
    from harness.applications import nexmark

    return nexmark.job("q1", records, seed, cycles).graph


TOPOLOGY = job(
    name="nexmark-q1",
    summary="each bid of an auction site, with its price in euros",
    source="Nexmark query 1",
    application=build,
    operators=3,
    records=records(100_000, "events"),
)
