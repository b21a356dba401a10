"""Programs on the Java virtual machine that are built here: what they tell of a run, how they fail,
and what they leave behind.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import topologies
from harness.errors import RunFailed
from harness.measurement.spec import run_of
from harness.peers import find_peer
from harness.peers.measure import measure_peer
from harness.peers.peer import Peer
from harness.peers.program import START_S, PeerProgram

pytestmark = pytest.mark.heavy


def built(name: str) -> Peer:
    found = find_peer(name)
    if found.built_version is None:
        pytest.skip(f"peer {name} is not built here (make peers)")
    return found


@pytest.fixture
def started():
    """Function that starts a peer's program with a pipeline whose plan has one text replaced."""
    programs = []

    def start(peer: Peer, old: str = "", new: str = "", tuples: int | None = 100) -> PeerProgram:
        graph, _ = topologies.build("pipeline", {"operators": 3, "cost": 1}, seed=0)
        text = peer.plan(graph, peer.capacity(graph), tuples).text
        assert old in text
        program = PeerProgram(peer.name, peer.filled(peer.command), text.replace(old, new))
        programs.append(program)
        program.ask("", "ready", START_S)
        return program

    yield start
    for program in programs:
        program.close()


def test_an_exception_in_a_handler_of_disruptor_is_the_reason_of_the_failure(started):
    # the sink has no place for a path of a negative number
    program = started(built("disruptor"), "stream 3 0 4 0", "stream 3 0 4 -5")
    with pytest.raises(RunFailed, match=r"peer disruptor ended with exit code 1 \(.*-5 out of b"):
        program.ask("start", "started", START_S)
        program.pass_time(60.0)


def test_a_virtual_machine_leaves_no_file_outside_its_folder(started):
    program = started(built("java"))
    assert not list(Path("/tmp").glob(f"hsperfdata_*/{program.pid}"))


@pytest.mark.parametrize("name", ["java", "disruptor", "flink", "jet", "storm"])
def test_every_virtual_machine_is_started_so(name):
    assert "-XX:-UsePerfData" in find_peer(name).command


@pytest.mark.parametrize(
    ("name", "parameters", "queue", "batch"),
    [
        ("java", {"cost": 1, "payload": 8}, None, 1),
        ("java-batched", {"cost": 1, "payload": 8}, None, 128),
        ("java-batched", {"cost": 1, "payload": 4064}, None, 64),
        ("disruptor-batched", {"cost": 10_000, "payload": 8}, None, 6),
        # a call of a processor has as much work as a batch elsewhere
        pytest.param("jet", {"cost": 10_000, "payload": 8}, None, 6, marks=pytest.mark.slow),
        pytest.param("jet", {"cost": 1, "payload": 8}, None, 128, marks=pytest.mark.slow),
        pytest.param(
            "storm-batched", {"cost": 10_000, "payload": 4096}, None, 100, marks=pytest.mark.slow
        ),
        pytest.param("storm-batched", {"cost": 1, "payload": 8}, 128, 64, marks=pytest.mark.slow),
    ],
)
def test_the_record_has_the_batch_that_there_was(name, parameters, queue, batch):
    asked = run_of(
        "pipeline",
        {"operators": 2} | parameters,
        name,
        peer=built(name).label,
        tuples=500,
        queue_capacity=queue,
    )
    record = measure_peer(asked)
    assert record["error"] is None and record["correct"]
    assert record["batch"] == batch


@pytest.mark.slow
def test_flink_split_does_not_wait_long_for_tuples_that_fill_a_buffer(tmp_path):
    file = tmp_path / "paced.yaml"
    file.write_text(
        "operators: [{source: in, rate: 100}, {work: a, cost: 1}, {work: b, cost: 1}, {sink: out}]\n"
        "streams: [in -> a, a -> b, b -> out]\n"
    )
    peer = built("flink-split")
    for _ in range(5):  # others may have the CPUs for a while
        record = measure_peer(
            run_of("paced", {}, peer.name, peer=peer.label, graph_file=str(file), tuples=300)
        )
        assert record["correct"]
        if record["latency_ns"]["p50"] < 20e6:
            return
    pytest.fail(f"half of the tuples waited for {record['latency_ns']['p50'] / 1e6:g} ms")


def test_a_batch_of_storm_is_as_long_for_expensive_and_for_large_tuples():
    graph, _ = topologies.build(
        "pipeline", {"operators": 2, "cost": 10_000, "payload": 4096}, seed=0
    )
    storm = find_peer("storm-batched")
    assert storm.batch_for(graph) == storm.batch == 100
    assert "batch 100" in storm.plan(graph, 4096, None).text.splitlines()
    bounded = replace(storm, bounded_batch=True)
    assert bounded.batch_for(graph) == 6
    assert "batch 6" in bounded.plan(graph, 4096, None).text.splitlines()
