"""Tests of what the plan leaves out: locks and producer flags stand only where more than one thread
can get (P17 §5.2).
"""

from __future__ import annotations

import pytest

from harness.engine import open_engine
from harness.graph import Graph
from harness.models import Dedicated, Dynamic, Manual
from harness.runtime import engine as runtime
from tests.runtime.shapes import chain, diamond, pipeline, split_and_join, split_fan_out


def test_a_chain_needs_no_lock_and_no_producer_flag_under_any_model() -> None:
    for model in (Manual(), Dedicated(), Dynamic(4)):
        layout = open_engine(pipeline(5), model).core.guards()
        assert layout["locked"] == [] and layout["shared"] == []


def test_manual_has_no_queues_and_the_others_one_before_every_port_but_the_splitters() -> None:
    graph = split_and_join(3, 1)
    assert open_engine(graph, Manual()).core.guards()["queued"] == []
    for model in (Dedicated(), Dynamic(2)):
        assert open_engine(graph, model).core.guards()["queued"] == [
            "sink[0]",
            "w0_0[0]",
            "w1_0[0]",
            "w2_0[0]",
        ]


def test_only_the_sink_of_a_data_parallel_graph_is_fed_by_several_threads() -> None:
    for model in (Dedicated(), Dynamic(2)):
        layout = open_engine(split_and_join(3, 1), model).core.guards()
        assert layout["shared"] == ["sink[0]"]
        assert layout["locked"] == []  # its one port is executed by one thread at a time anyway


def test_an_operator_with_two_queued_ports_is_locked() -> None:
    layout = open_engine(diamond(), Dynamic(2)).core.guards()
    assert layout["locked"] == ["join", "far"]
    # `spread` gets its tuples from under the lock of `join`, one thread at a time
    assert layout["shared"] == ["join[1]"]


def test_an_operator_called_by_two_sources_is_locked_and_one_source_needs_none() -> None:
    assert open_engine(split_fan_out(), Dynamic(2)).core.guards()["locked"] == ["entry"]
    graph = Graph("two sources")
    join = graph.work("join", 1)
    for name in ("a", "b"):
        graph.connect(chain(graph, graph.source(name), 1, prefix=f"{name}_work"), join)
    graph.connect(join, graph.sink("sink"))
    # what follows `join` runs under its lock
    assert open_engine(graph, Manual()).core.guards()["locked"] == ["join"]


def test_threads_are_the_models() -> None:
    graph = split_and_join(3, 2)  # source, split, 6 work, sink
    assert open_engine(graph, Manual()).threads == 1
    assert open_engine(graph, Dedicated()).threads == 1 + 7
    assert open_engine(graph, Dynamic(5)).threads == 1 + 5


@pytest.mark.parametrize("busy", [0, 1, 5])
def test_what_a_flop_takes_is_measured_once_if_any_operator_is_busy(
    busy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured: list[float] = []

    def ns_per_flop() -> float:
        measured.append(0.5)
        return 0.5

    monkeypatch.setattr(runtime, "ns_per_flop", ns_per_flop)
    graph = Graph("busy")
    start = chain(graph, graph.source("source"), 1)
    for index in range(busy):
        operator = graph.work(f"busy{index}", busy_us=1)
        graph.connect(start, operator)
        start = operator
    graph.connect(start, graph.sink("sink"))
    open_engine(graph, Manual())
    assert len(measured) == min(busy, 1)
