"""Each peer that is built here runs the same graphs to the same counts. `make peers` builds them;
the others are skipped.
"""

from __future__ import annotations

import psutil
import pytest

import harness.measurement.observe as observe
from harness.machines.host.cpu import allowed_cpu_numbers
from harness.measurement.records import validate_record
from harness.measurement.spec import Run, run_of
from harness.peers import all_peers
from harness.peers.measure import measure_peer
from tests.peers.built import built_peer, is_cluster

pytestmark = pytest.mark.heavy

SHAPES = {
    "pipeline": {"operators": 4, "cost": 40, "payload": 128},
    "data-parallel": {"width": 5, "cost": 3, "payload": 13},
    "mix": {"width": 3, "depth": 2, "cost": 0, "payload": 300},
}
TUPLES = 1234  # no multiple of a batch, of a width, or of the samples of latency


# A cluster in one process takes many seconds to start.
PEERS = [
    pytest.param(name, marks=pytest.mark.slow if is_cluster(each) else ())
    for name, each in all_peers().items()
]


@pytest.fixture(params=PEERS)
def peer(request):
    return built_peer(request.param)


def spec(peer, topology, parameters, **options) -> Run:
    return run_of(topology, parameters, peer.name, peer=peer.label, **options)


def unlike(record) -> list[str]:
    """Warnings that a floating-point operation takes another time than ours."""
    return [each for each in record["host"]["host_warnings"] if "floating-point" in each]


@pytest.mark.parametrize("topology", list(SHAPES))
def test_a_bounded_run_passes_on_every_tuple_once(peer, topology):
    before = set(psutil.Process().children(recursive=True))
    for _ in range(10):  # others may have the CPU while a program measures its speed
        record = measure_peer(spec(peer, topology, SHAPES[topology], tuples=TUPLES))
        record |= {"commit": None}
        validate_record(record)
        assert record["error"] is None and record["correct"]
        if not unlike(record):
            break
    assert record["drained"] and record["settled"]
    assert record["tuples_sent"] == record["tuples_received"] == TUPLES
    assert (
        record["tuples_in_flight"] == 0 and record["conservation"] == [] and record["checksum_ok"]
    )
    assert record["order_checked"] == peer.ordered
    assert record["order_violations"] == 0 or not peer.ordered
    assert record["latency_ns"]["count"] == -(-TUPLES // 32), "every 32nd tuple is a sample"
    assert (
        0
        < record["latency_ns"]["p50"]
        <= record["latency_ns"]["p99"]
        <= record["latency_ns"]["max"]
    )
    executed = record["submitted_tuples_per_s"] * record["duration_s"]
    assert round(executed) == TUPLES * {"pipeline": 5, "data-parallel": 3, "mix": 4}[topology], (
        "source, split and work"
    )
    assert record["host"]["ns_per_flop"] > 0
    assert not unlike(record), "compiled code multiplies as ours"
    assert record["threads_total"] > 0 and record["duration_s"] > 0
    assert set(psutil.Process().children(recursive=True)) <= before
    if peer.folder.name == "flink" and topology == "data-parallel":
        assert record["queue_capacity"] == (2 * 5 + 8) * 32 * 1024 // 5 // (13 + 32), (
            "five chains share the buffers behind the source"
        )
    if peer.folder.name == "flink" and topology == "pipeline":
        tasks = {
            "flink": 1,
            "flink-split": min(len(allowed_cpu_numbers()), 4),
            "flink-unchained": 6,
        }
        assert record["threads_total"] == tasks[peer.name]
        assert (record["queue_capacity"] > 0) == (tasks[peer.name] > 1)


@pytest.mark.parametrize(
    ("name", "asked", "payload", "held"),
    [
        ("java", 1000, 8, 1000),
        ("java-batched", 1000, 8, 7 * 128),
        ("java-batched", 100_000, 4096, 16 * 63),
        ("java-batched", 100_000, 8, 64 * 128),
        ("disruptor", 1000, 8, 1024),
        ("disruptor-batched", 1000, 8, 32 * 128),  # a ring for four operators
        ("disruptor-batched", 100_000, 4096, 256 * 63),
        pytest.param("storm", 100, 8, 128, marks=pytest.mark.slow),
    ],
)
def test_the_record_has_the_tuples_that_a_queue_really_holds(name, asked, payload, held):
    found = built_peer(name)
    parameters = {"operators": 3, "cost": 1, "payload": payload}
    record = measure_peer(spec(found, "pipeline", parameters, tuples=100, queue_capacity=asked))
    assert record["error"] is None and record["correct"]
    assert record["queue_capacity"] == held


@pytest.mark.parametrize(
    ("topology", "parameters", "threads"),
    [
        ("pipeline", {"operators": 7, "cost": 100, "payload": 8}, lambda cpus: 1 + min(7, cpus)),
        (
            "data-parallel",
            {"width": 7, "cost": 100, "payload": 8},
            lambda cpus: 2 + min(7, cpus) if cpus > 1 else 2,
        ),
        # chains that are cheaper than the source have one handler beside it
        ("pipeline", {"operators": 7, "cost": 1, "payload": 8}, lambda cpus: 2),
        ("data-parallel", {"width": 7, "cost": 1, "payload": 8}, lambda cpus: 2),
    ],
)
def test_disruptor_batched_has_as_many_handlers_as_cpus_or_one(topology, parameters, threads):
    found = built_peer("disruptor-batched")
    record = measure_peer(spec(found, topology, parameters, tuples=100))
    assert record["correct"] and record["threads_total"] == threads(
        len(psutil.Process().cpu_affinity())
    )


def test_full_queues_behind_copies_and_in_front_of_joins_lose_nothing(peer):
    if peer.chains_only:
        pytest.skip(f"peer {peer.name} runs chains only")
    record = measure_peer(
        spec(peer, "bushy", {"cost": 1, "payload": 8}, tuples=5000, queue_capacity=16)
    )
    assert record["error"] is None and record["correct"] and record["drained"]
    assert record["tuples_received"] == 5000


def test_the_record_has_the_tuples_that_a_queue_of_batches_holds(peer):
    if peer.folder.name not in ("asyncio", "crossbeam", "go", "tokio"):
        pytest.skip(f"peer {peer.name} has another bound")
    found = [
        measure_peer(spec(peer, "pipeline", {"operators": 2}, tuples=99, queue_capacity=asked))[
            "queue_capacity"
        ]
        for asked in (None, 1000, 1)
    ]
    batch = peer.batch
    assert found == [(peer.queue_batches or 1000) * batch, 1000 // batch * batch, batch]


def test_a_timed_run_that_is_cut_short_accounts_for_every_tuple(peer, monkeypatch):
    monkeypatch.setattr(observe, "STOP_S", 0.0)  # no time to drain
    parameters = {"operators": 6, "cost": 3_000_000, "payload": 128}  # milliseconds a tuple
    for duration_s in (0.2, 2.0, 20.0):  # others may have the CPUs for a while
        record = measure_peer(
            spec(
                peer, "pipeline", parameters, duration_s=duration_s, warmup=0.0, queue_capacity=256
            )
        ) | {"commit": None}
        validate_record(record)
        assert record["error"] is None and record["correct"]
        if record["tuples_sent"] > record["tuples_received"]:
            break
    assert record["tuples_sent"] == record["tuples_received"] + record["tuples_in_flight"]
    assert record["drained"] == (record["tuples_in_flight"] == 0)
    assert record["tuples_sent"] > record["tuples_received"]
    assert record["warmup_s"] >= peer.warmup_s, (
        "what compiles while it runs is let alone for so long"
    )
    assert (
        record["peer"] == peer.label and record["model"] == peer.name and record["threads"] is None
    )


def test_a_source_with_a_rate_stamps_tuples_when_they_are_due(peer, tmp_path):
    file = tmp_path / "paced.yaml"
    file.write_text(
        "operators: [{source: in, rate: 500}, {work: a, busy_us: 4000}, {sink: out}]\n"
        "streams: [in -> a, a -> out]\n"
    )
    record = measure_peer(
        run_of("paced", {}, peer.name, peer=peer.label, graph_file=str(file), tuples=100)
    )
    assert record["error"] is None and record["correct"] and record["tuples_received"] == 100
    assert record["duration_s"] >= 0.4, "100 tuples of 4 ms each, one after the other"
    assert record["latency_ns"]["count"] == 100, "with a rate, every tuple is a sample"
    # Tuple 96 is due after 192 ms, and 96 before it take 384: the wait is in its latency.
    assert record["latency_ns"]["max"] >= 192e6
