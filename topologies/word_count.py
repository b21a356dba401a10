"""WordCount: sentences -> split -> count -> words. The text is generated, or a file, plain or gzip.
It is repeated without end or `cycles` times.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies.jobs import job, records


def build(path: str, records: int, seed: int, cycles: int | None) -> Graph:
    """Return the graph."""
    from harness.applications import word_count

    return word_count.job(path, records, seed, cycles).graph


TOPOLOGY = job(
    name="word-count",
    summary="how often each word is in a text",
    source="DSPBench",
    application=build,
    operators=5,
    records=records(10_000, "sentences"),
    file="a text, may be gzip; -: standard input",
)
