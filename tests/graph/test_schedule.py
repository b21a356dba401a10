"""Schedules of paced sources: what they have to send, and when."""

from __future__ import annotations

from typing import Any

import pytest

from harness.graph import Graph
from harness.graph.schedule import Schedule


def sources(*given: dict[str, Any]) -> Graph:
    graph = Graph("paced", 8)
    for index, options in enumerate(given):
        graph.connect(graph.source(f"source{index}", **options), graph.sink(f"sink{index}"))
    return graph


@pytest.mark.parametrize(
    ("given", "begin_s", "end_s", "expected"),
    [
        ([{"rate": 100.0}, {"rate": 50.0}], 3.0, 5.0, 150.0),
        ([{"rate": 100.0}, {}], 3.0, 5.0, None),
        ([{"rates": [(1.0, 100.0), (3.0, 20.0)]}], 0.0, 4.0, 40.0),
        ([{"rates": [(1.0, 100.0), (3.0, 20.0)]}], 8.5, 9.5, 60.0),
        ([{"rates": [(1.0, 100.0), (3.0, 0.0)]}], 2.0, 3.0, 0.0),
        ([{"rates": [(1.0, 100.0), (1.0, None)]}], 2.0, 3.0, 100.0),
        ([{"rates": [(1.0, 100.0), (1.0, None)]}], 2.5, 3.5, None),
    ],
    ids=["two", "one-unpaced", "cycle", "across-two", "silence", "before-full-speed", "full-speed"],
)
def test_the_target_is_what_paced_sources_were_to_send(given, begin_s, end_s, expected):
    assert Schedule.of(sources(*given)).per_s(begin_s, end_s) == (
        None if expected is None else pytest.approx(expected)
    )


@pytest.mark.parametrize(
    ("given", "mean_per_s", "cycle_s"),
    [
        ([{"rate": 100.0}, {"rate": 50.0}], 150.0, 0.0),
        ([{"rate": 100.0}, {}], None, 0.0),
        ([{"rates": [(1.0, 100.0), (3.0, 20.0)]}, {"rate": 1.0}], 41.0, 4.0),
        ([{"rates": [(1.0, 10.0)]}, {"rates": [(0.5, 10.0), (2.0, 0.0)]}], 12.0, 2.5),
        ([{"rates": [(1.0, 100.0), (1.0, None)]}], None, 2.0),
    ],
    ids=["two", "one-unpaced", "bursts", "two-cycles", "full-speed"],
)
def test_the_mean_is_that_of_whole_cycles(given, mean_per_s, cycle_s):
    schedule = Schedule.of(sources(*given))
    assert schedule.mean_per_s == (None if mean_per_s is None else pytest.approx(mean_per_s))
    assert schedule.cycle_s == cycle_s
