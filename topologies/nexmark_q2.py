"""Nexmark query 2: bids of an auction site on each 123rd auction.

The events are generated, and repeated without end or `cycles` times.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies.jobs import job, records


def build(path: str, records: int, seed: int, cycles: int | None) -> Graph:
    """Return the graph."""
    from harness.applications import nexmark

    return nexmark.job("q2", records, seed, cycles).graph


TOPOLOGY = job(
    name="nexmark-q2",
    summary="bids of an auction site on each 123rd auction",
    source="Nexmark query 2",
    application=build,
    operators=3,
    records=records(100_000, "events"),
)
