"""Runs under the model coroutine in which a law decides about threads and replicas: done, recorded,
played again.
"""

from __future__ import annotations

import json
from typing import ClassVar

import pytest

from harness import elasticity
from harness.bench.replay import parse_record, replay
from harness.elasticity import Decides, Decision, Law, Reading, decides_of
from harness.elasticity.cpu_limit import LeaveToOthers
from harness.errors import RunFailed, UserError
from harness.measurement.laws import check_law, pool_law
from harness.measurement.records import record_line
from harness.measurement.run import run_once
from harness.measurement.spec import Run, run_of
from harness.models import Coroutine, Dynamic
from harness.models.layout import layout_of
from topologies import build

LENGTH = 4  # of the chain, source and sink included


class Scripted(Law):
    """Threads and replicas of busy1 and busy2, an entry a period, the last one for good."""

    name = "scripted"
    summary = "for tests"
    decides = Decides.REPLICAS
    NEEDS = frozenset(("layout", "useful_s", "tuples", "full", "replicas"))
    script = ((2, 1, 3), (3, 2, 3), (2, 2, 1))
    readings: ClassVar[list[Reading]] = []

    def begin(self):
        """The first entry comes next."""
        self.steps = 0

    def decide(self, reading):
        """The next entry."""
        self.readings.append(reading)
        threads, first, second = self.script[min(self.steps, len(self.script) - 1)]
        self.steps += 1
        return Decision(threads, "as the script says", "scripted", replicas=(1, first, second, 1))

    def cpu_limit(self):
        """Never asked."""
        return LeaveToOthers(0.8)


@pytest.fixture
def scripted(monkeypatch):
    monkeypatch.setattr(Scripted, "readings", [])
    monkeypatch.setattr(elasticity, "law_class", lambda name, decides: Scripted)
    return Scripted


REAL = {"duration_s": 0.3, "period_s": 0.1, "warmup": 0.5}
SIMULATED = {
    "duration_s": 0.05,
    "period_s": 0.01,
    "warmup": 0.05,
    "machine": "cstream",
    "queue_capacity": 100,
}
BOTH = pytest.mark.parametrize(
    "where", [pytest.param(REAL, marks=pytest.mark.heavy), SIMULATED], ids=["real", "simulated"]
)


def spec(where=REAL, **changes) -> Run:
    usual = {
        "topology": "chain",
        "parameters": {"operators": 2, "busy": 5},
        "model": "coroutine",
        "maximum": 4,
        "elastic": True,
    }
    return run_of(**usual | where | changes)


@BOTH
def test_threads_and_replicas_come_and_go_as_the_law_says_and_the_record_tells(scripted, where):
    record = json.loads(record_line(run_once(spec(where))))
    assert record["correct"] and record["error"] is None and record["order_checked"]
    terms = record["elastic"]
    assert (terms["replicable"], terms["places"], terms["settled_replicas"]) == (
        ["busy1", "busy2"],
        None,
        1.5,
    )
    samples = [
        sample
        for sample in record["adaptation"] + record["samples"]
        if sample["law_state"] == "scripted"
    ]
    changes = [sample["replicas_changed"] for sample in samples]
    assert changes[:3] == [{"busy2": 3}, {"busy1": 2}, {"busy2": 1}] and not any(changes[3:])
    counts = [sample["replicas"] for sample in samples]
    assert counts[:3] == [{}, {"busy2": 3}, {"busy1": 2, "busy2": 3}] and all(
        each == {"busy1": 2} for each in counts[3:]
    )
    assert [sample["threads_requested"] for sample in samples[:4]] == [1, 2, 3, 2]
    assert (record["replicas"], record["threads"], record["arm"]) == (1, None, "coroutine-elastic")
    first, *_, last = scripted.readings
    assert len(first.useful_s) == len(first.tuples) == LENGTH and len(first.full) == LENGTH - 1
    assert list(last.replicas) == [1, 2, 1, 1] and all(0.0 <= share <= 1.0 for share in last.full)
    useful_s = sum(sum(reading.useful_s) for reading in scripted.readings)
    elapsed_s = sum(reading.elapsed_s for reading in scripted.readings)
    assert useful_s <= 4 * elapsed_s * 1.05, "no more than the threads had"


@BOTH
def test_a_replay_reads_what_the_law_has_read(scripted, where):
    record = run_once(spec(where))
    trace = parse_record(json.dumps(record))
    read = scripted.readings[:]
    decisions = replay("millrace", trace)  # the name that the run asked for
    again = scripted.readings[len(read) :]
    assert [decision.replicas for decision in decisions[:3]] == [
        (1, 1, 3, 1),
        (1, 2, 3, 1),
        (1, 2, 1, 1),
    ]
    assert trace.layout.replicable == [1, 2]
    for before, after in zip(read, again, strict=True):
        assert (after.useful_s, after.tuples, after.full, after.replicas) == (
            before.useful_s, before.tuples, before.full, tuple(before.replicas),
        )  # fmt: skip


@BOTH
@pytest.mark.parametrize("law", ["millrace", "cstream", "utilisation"])
def test_a_record_replayed_by_its_own_law_decides_as_the_run_did(law, where):
    record = run_once(spec(where, law=law))
    assert record["correct"], record["error"]
    trace = parse_record(json.dumps(record))
    stepped = [
        sample
        for sample in record["adaptation"] + record["samples"]
        if sample["law_state"] is not None and not sample["law_reason"].startswith("put off: ")
    ]
    decisions = replay(law, trace)
    assert [(each.state, each.reason) for each in decisions] == [
        (each["law_state"], each["law_reason"]) for each in stepped
    ]
    assert (trace.decides is Decides.REPLICAS) and (decisions[-1].replicas is None) == (
        law == "utilisation"
    )


@BOTH
def test_a_fixed_number_of_replicas_runs_and_is_recorded(where):
    record = run_once(spec(where, elastic=False, maximum=None, threads=2, replicas=3))
    record_line(record)
    assert record["correct"] and (record["replicas"], record["elastic"]) == (3, None)
    assert record["arm"] == "coroutine-2-replicas-3"
    assert all(sample["replicas"] == {"busy1": 3, "busy2": 3} for sample in record["samples"])


def test_the_papers_law_finds_the_papers_replicas_on_its_machine_step_by_step():
    """C-Stream §5.2: 5 replicas of an operator of 80 µs, 4 of each of two of 60 µs, behind a source
    as in cstream_fig9.
    """
    told = {}
    for operators, busy in ((1, 80), (2, 60)):
        parameters = {"operators": operators, "busy": busy, "read": 18}
        timed = {
            "law": "cstream",
            "policy": "random",
            "maximum": 12,
            "period_s": 0.05,
            "warmup": 1.0,
            "duration_s": 0.25,
        }
        record = run_once(spec(SIMULATED, parameters=parameters, **timed))
        assert record["correct"] and record["conservation"] == []
        samples = record["adaptation"] + record["samples"]
        steps = [count for sample in samples for count in sample["replicas_changed"].items()]
        told[operators] = (samples[-1]["replicas"], steps)
    assert told[1] == ({"busy1": 5}, [("busy1", count) for count in (2, 3, 4, 5)])
    last, steps = told[2]
    assert last == {"busy1": 4, "busy2": 4} and sorted(steps) == [
        (f"busy{n}", count) for n in (1, 2) for count in (2, 3, 4)
    ]


def test_a_law_that_chooses_replicas_comes_before_one_of_the_same_name_that_does_not():
    told = {
        law: decides_of(law, "coroutine") for law in ("millrace", "cstream", "utilisation", "fixed")
    }
    replicas, threads = Decides.REPLICAS, Decides.THREADS
    assert told == {
        "millrace": replicas,
        "cstream": replicas,
        "utilisation": threads,
        "fixed": threads,
    }
    assert decides_of("millrace", "dynamic") is threads


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (
            Coroutine(elastic=True, law="middleware19"),
            "law 'middleware19' does not choose replicas or choose threads; laws that do",
        ),
        (
            Coroutine(elastic=True, law="nix"),
            "law 'nix' is unknown; laws are: millrace, cstream, pldi17, ",
        ),
        (
            Dynamic(elastic=True, law="cstream"),
            "law 'cstream' does not choose threads; laws that do are: millrace, pldi17, ",
        ),
        (
            Coroutine(elastic=True, law="cstream", law_settings=(("tua", 1),)),
            "law cstream has no setting 'tua'; its settings are: ",
        ),
        (
            Coroutine(elastic=True, law="cstream", law_settings=(("tau", 2),)),
            "tau must be from 0 to 1, not 2",
        ),
    ],
)
def test_a_law_that_cannot_be_is_told_in_one_line(model, told):
    with pytest.raises(UserError) as caught:
        check_law(model)
    assert str(caught.value).startswith(told) and "\n" not in str(caught.value)


def test_a_law_is_told_which_operators_it_may_replicate():
    graph, _ = build("replicated", {"width": 3}, 0)
    law = pool_law(layout_of(graph, Coroutine(elastic=True, law="cstream", maximum=12)))
    names = list(graph.operators)
    assert [names[index] for index in law.layout.replicable] == ["busy1", "busy2", "busy3"]
    assert (law.bounds.minimum, law.bounds.maximum, law.bounds.start, law.layout.most_replicas) == (
        1,
        12,
        1,
        64,
    )


@pytest.mark.parametrize(
    ("law", "changes_replicas"), [("millrace", True), ("cstream", True), ("utilisation", False)]
)
def test_an_engine_has_room_for_replicas_before_the_run_if_the_law_chooses_them(
    monkeypatch, law, changes_replicas
):
    asked = []

    def engine_of(*words, **options):
        asked.append(options["changes_replicas"])
        raise RunFailed("not today")

    monkeypatch.setattr("harness.measurement.prepare.engine_of", engine_of)
    run_once(spec(law=law))
    run_once(spec(law="", elastic=False, threads=2, maximum=None))
    assert asked == [changes_replicas, False]
