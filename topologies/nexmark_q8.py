"""Nexmark query 8: people who came to an auction site and opened an auction within 10 seconds.

The events are generated, and repeated without end or `cycles` times.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies.jobs import job, records


def build(path: str, records: int, seed: int, cycles: int | None) -> Graph:
    """Return the graph."""
    from harness.applications import nexmark

    return nexmark.job("q8", records, seed, cycles).graph


TOPOLOGY = job(
    name="nexmark-q8",
    summary="people who came to an auction site and opened an auction within 10 seconds",
    source="Nexmark query 8",
    application=build,
    operators=4,
    records=records(100_000, "events"),
)
