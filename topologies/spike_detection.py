"""SpikeDetection: readings -> moving averages -> spikes. The readings are generated, or a file in
the form of the Intel Berkeley Research lab's data, plain or gzip. They are repeated without end or
`cycles` times.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies import Parameter
from topologies.jobs import job, records

VALUES = ("temperature", "humidity", "light", "voltage")


def build(path: str, records: int, seed: int, cycles: int | None, value: str) -> Graph:
    """Return the graph."""
    from harness.applications import spike_detection

    return spike_detection.job(path, records, seed, cycles, value).graph


TOPOLOGY = job(
    name="spike-detection",
    summary="readings of sensors that are far from the moving average",
    source="DSPBench",
    application=build,
    operators=4,
    records=records(60_000, "readings"),
    more=(Parameter("value", "temperature", "", None, None, "of a file's readings", VALUES),),
    file="a file of readings, may be gzip; -: standard input",
)
