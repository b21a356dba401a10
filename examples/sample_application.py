"""The sample application of C-Stream (§2.2, Listing 1): names, of which the empty ones are dropped,
each combined with a value.

name_source -> empty_filter -> combiner -> sink
              value_source ---^
"""

from __future__ import annotations

from examples.pipeline import run
from harness.engine import Totals
from harness.graph import Graph
from harness.models import Dynamic, Model


def graph() -> Graph:
    """Return the graph for `millrace run examples/sample_application.py`."""
    flow = Graph("sample_application")
    names, values = flow.source("name_source"), flow.source("value_source")
    empty_filter, combiner, sink = (
        flow.filter("empty_filter", 0.9),
        flow.barrier("combiner", 2),
        flow.sink("sink"),
    )
    names >> empty_filter >> combiner.input(0)
    values >> combiner.input(1) >> sink
    return flow


def sample(model: Model, tuples: int) -> Totals:
    """Send so many tuples from both sources; the account."""
    return run(graph(), tuples, model)


def main(tuples: int = 100_000) -> None:
    """Run it on two threads, or as many as its barrier needs, and print what became of the
    tuples.
    """
    totals = sample(Dynamic(threads=2), tuples)
    verdict = "correct" if totals.correct else totals
    print(f"{tuples} names and {tuples} values: {totals.received} combined, {verdict}")


if __name__ == "__main__":
    main()
