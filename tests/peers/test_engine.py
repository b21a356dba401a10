"""The engine of a peer starts its program as our own runs are."""

from __future__ import annotations

import pytest

import harness.peers.engine as engine
from harness.errors import RunFailed
from harness.graph import Graph
from harness.measurement.spec import run_of
from harness.peers import find_peer
from harness.peers.measure import measure_peer


@pytest.mark.parametrize(("rate", "sharp"), [(None, False), (500.0, True)])
def test_a_program_sleeps_exactly_if_a_source_has_a_rate(monkeypatch, rate, sharp):
    graph = Graph("any", 8)
    graph.connect(graph.source("in", rate=rate), graph.sink("out"))
    found = []

    def start(name, command, plan, sharp):
        found.append(sharp)
        raise RunFailed("not started")

    monkeypatch.setattr(engine, "PeerProgram", start)
    with pytest.raises(RunFailed, match="not started"):
        engine.PeerEngine(graph, find_peer("asyncio"), [], None, None).start()
    assert found == [sharp]


@pytest.mark.heavy
def test_a_loop_of_two_tasks_lets_the_thread_that_answers_run(monkeypatch):
    monkeypatch.setattr(engine, "ANSWER_S", 5.0)
    label = find_peer("asyncio").label
    record = measure_peer(
        run_of(
            "pipeline",
            {"operators": 0, "payload": 4096},
            "asyncio",
            peer=label,
            duration_s=1.0,
            warmup=0.0,
        )
    )
    assert record["error"] is None and record["correct"]
