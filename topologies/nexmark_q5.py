"""Nexmark query 5: auctions with the most bids in the last 10 seconds, each 5 seconds.

The events are generated, and repeated without end or `cycles` times.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies.jobs import job, records


def build(path: str, records: int, seed: int, cycles: int | None) -> Graph:
    """Return the graph."""
    from harness.applications import nexmark

    return nexmark.job("q5", records, seed, cycles).graph


TOPOLOGY = job(
    name="nexmark-q5",
    summary="auctions with the most bids in the last 10 seconds, each 5 seconds",
    source="Nexmark query 5",
    application=build,
    operators=5,
    records=records(100_000, "events"),
)
