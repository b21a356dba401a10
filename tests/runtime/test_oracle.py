"""The oracle finds each kind of fault: it is the judge of every run, so it must be able to say
no.
"""

from __future__ import annotations

import pytest

from harness.engine import Totals, open_engine
from harness.graph import Graph
from harness.models import Dedicated, Dynamic, Model
from tests.runtime.shapes import native, pipeline, run_to_end


def run_with(forged: list[int], port: str, model: Model, tuples: int = 50) -> Totals:
    engine = open_engine(pipeline(2), model, tuples=tuples)
    engine.core.forge(port, forged)
    engine.start()
    while not engine.finished():
        engine.sample(0.1)
    return engine.stop(drain=True, timeout_s=5.0)


@pytest.mark.parametrize("model", [Dedicated(), Dynamic(2)], ids=lambda model: model.name)
@pytest.mark.parametrize("port", ["work1[0]", "sink[0]"])
def test_a_tuple_that_nobody_sent_is_found_three_ways(model: Model, port: str) -> None:
    totals = run_with([7], port, model)
    assert totals.received == 51
    assert not totals.checksum_ok
    assert totals.conservation == [f"operator {port[:-3]!r} was sent 50 tuples and got 51"]
    assert totals.order_violations == 8  # the true 0 .. 6 come after it, and the true 7 repeats it
    assert not totals.correct


def test_a_tuple_that_comes_after_a_later_one_is_a_violation_of_order() -> None:
    assert run_with([3, 4, 9], "sink[0]", Dynamic(1), tuples=0).order_violations == 0
    assert run_with([3, 9, 4], "sink[0]", Dynamic(1), tuples=0).order_violations == 1
    assert run_with([3, 3], "sink[0]", Dynamic(1), tuples=0).order_violations == 1


def test_without_a_fault_it_says_yes() -> None:
    assert run_with([], "sink[0]", Dynamic(2)).correct


@pytest.mark.parametrize("kind", ["python", "native"])
def test_a_tuple_that_a_preserving_operator_loses_is_found_where_no_checksum_can_find_it(
    kind: str,
) -> None:
    """Behind it the number of copies depends on the tuple."""

    def lose(
        sequence: int, value: object, payload: object, size: int, control: float, state: object
    ) -> int:
        return int(sequence != 9)

    graph = Graph("uneven", 8)
    if kind == "native":
        user = native(graph, "user", lose, preserves=True)
    else:
        user = graph.python(
            "user", lambda sequence, value: value if sequence != 9 else None, preserves=True
        )
    spread = graph.work("spread", 1, outputs=2)
    graph.connect(graph.source("source"), user)
    graph.connect(user, spread)
    for name, port in (("a", 0), ("b", 1), ("c", 1)):
        graph.connect(spread.output(port), graph.sink(name))
    totals = run_to_end(graph, Dynamic(2), 100)
    assert totals.checksum_ok, "the sum that is expected is not known"
    assert totals.conservation == [f"{kind} 'user' did not pass on what it got"]
    assert not totals.correct
