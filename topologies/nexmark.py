"""Queries of Nexmark. The events are generated, and repeated without end or `cycles` times."""

from __future__ import annotations

from harness.graph import Graph
from topologies import Topology
from topologies.jobs import job, records


def query(number: int, summary: str, operators: int) -> Topology:
    """Return the topology of a query."""

    def build(path: str, records: int, seed: int, cycles: int | None) -> Graph:
        from harness.applications import nexmark

        return nexmark.job(f"q{number}", records, seed, cycles).graph

    return job(
        name=f"nexmark-q{number}",
        summary=summary,
        source=f"Nexmark query {number}",
        application=build,
        operators=operators,
        records=records(100_000, "events"),
    )
