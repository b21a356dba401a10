"""ORDER, ONCE, ALONE and ENDS on every shape under every model: the run's oracle finds nothing, the
counts are right.
"""

from __future__ import annotations

import pytest

from harness.engine import open_engine
from tests.runtime.shapes import GRAPHS, MODELS, run_to_end, until

ARRIVING = {
    "diamond": 3,
    "threaded ports": 3,
    "split fan-out": 4,
    "shared splitters": 3,
    "annotations": 2,
    "several sources": 6,
    "load balances in a row": 4,
}
"""Tuples at the sinks for each that every source sends, where it is not one."""

DROPPING = ("filters", "selective", "windows", "windows, merge")
"""Graphs in which operators drop some tuples."""

BALANCES = ("threaded split", "load balance", "load balances in a row")


# Without a tuple, or with one, there is little but the end. So each shape has them under every
# second model in `make test`, where simulated runs have them under all. A full queue holds 1000.
COUNTS = [
    *((tuples, False) for tuples in (0, 1)),
    (2500, True),
    *(pytest.param(tuples, True, marks=pytest.mark.slow) for tuples in (0, 1)),
]


@pytest.mark.parametrize("shape", GRAPHS)
@pytest.mark.parametrize(("tuples", "under_all"), COUNTS)
def test_every_tuple_arrives_once_in_order_and_the_run_ends_by_itself(
    shape: str, tuples: int, under_all: bool
) -> None:
    for number, (name, model) in enumerate(MODELS.items(), start=list(GRAPHS).index(shape)):
        if not under_all and number % 2 != tuples:
            continue
        graph = GRAPHS[shape]()
        totals = run_to_end(graph, model, tuples)
        sources = sum(operator.is_source for operator in graph.operators.values())
        assert totals.error is None and not totals.stuck, name
        assert totals.drained, name
        assert totals.sent == sources * tuples, name
        assert totals.received == ARRIVING.get(shape, 1) * tuples or shape in DROPPING, name
        assert totals.in_flight == 0, name
        assert totals.order_checked and totals.order_violations == 0, name
        assert totals.checksum_ok, name
        assert totals.conservation == [], name
        assert totals.correct, name


@pytest.mark.parametrize("model", MODELS)
def test_each_operator_executes_exactly_the_tuples_sent_to_it(model: str) -> None:
    graph = GRAPHS["diamond"]()
    totals = run_to_end(graph, MODELS[model], 1000)
    executed = dict(zip(graph.operators, totals.processed, strict=True))
    assert executed == {
        "first": 1000,
        "second": 1000,
        "head": 1000,
        "left": 1000,
        "right": 1000,
        "join": 3000,
        "spread": 3000,
        "near": 1000,
        "far": 2000,
    }


@pytest.mark.parametrize("model", MODELS)
def test_a_run_cut_short_accounts_for_every_tuple_left_behind(model: str) -> None:
    for shape in (
        "pipeline",
        "merge, skewed",
        "diamond",
        "data-parallel",
        "split fan-out",
        *BALANCES,
    ):
        engine = open_engine(GRAPHS[shape](), MODELS[model])
        engine.start()
        until(engine, lambda sample: sample.source_tuples > 0)
        totals = engine.stop(drain=False, timeout_s=5.0)
        assert totals.correct, (shape, totals)
        assert totals.sent > 0
