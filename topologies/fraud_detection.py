"""FraudDetection: transactions -> steps -> misses -> scores -> outliers. The transactions are
generated, or a file, plain or gzip. They are repeated without end or `cycles` times.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies import choice
from topologies.jobs import job, records

BUILT_IN = "built-in"


def build(path: str, records: int, seed: int, cycles: int | None, model: str) -> Graph:
    """Return the graph."""
    from harness.applications import fraud_detection

    model_path = "" if model == BUILT_IN else model
    return fraud_detection.job(path, records, seed, cycles, model_path).graph


TOPOLOGY = job(
    name="fraud-detection",
    summary="customers whose transactions a Markov model finds unlikely",
    source="DSPBench",
    application=build,
    operators=6,
    records=records(50_000, "transactions"),
    more=(choice("model", "a file with the model", BUILT_IN, path=True),),
    file="a file of transactions, may be gzip; -: standard input",
)
