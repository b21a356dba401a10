"""Tuples that operators have got and sent are compared, operator by operator."""

from __future__ import annotations

import pytest

from harness.engine.conservation import of_tuples
from harness.graph import Graph
from harness.graph.schema import Schema

NUMBER = Schema("number", {"number": "uint32"})


@pytest.mark.parametrize("cut", [True, False])
def test_an_operator_that_sends_one_for_one_may_have_given_up_some_only_if_the_run_was_cut(cut):
    graph = Graph("one for one")
    same = graph.typed("same", lambda port, each: [(0, each)], NUMBER, NUMBER, one_for_one=True)
    graph.chain(
        graph.typed_source("in", lambda: (), NUMBER),
        same,
        graph.typed_sink("out", lambda port, each: None, NUMBER),
    )
    operators = list(graph.operators.values())
    place = {each.name: index for index, each in enumerate(operators)}
    processed = [{"in": 10, "same": 10, "out": 9}[each.name] for each in operators]
    emitted = [{"same": 9}.get(each.name, 0) for each in operators]
    problems = of_tuples(
        operators,
        [(place["in"], 0, place["same"], 0), (place["same"], 0, place["out"], 1)],
        processed,
        emitted,
        {(place["in"], 0): 10, (place["same"], 0): 9},
        [0, 0, 0],
        [0, 0, 0],
        {},
        cut=cut,
    )
    assert problems == ([] if cut else ["typed 'same' did not pass on what it got"])
