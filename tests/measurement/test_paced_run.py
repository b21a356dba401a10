"""A run behind paced sources whose law finds the fewest threads that keep up: done, recorded,
played again.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from harness.bench.replay import parse_record, replay
from harness.measurement.run import run_once
from harness.measurement.spec import run_of

GRAPH = """
from harness.graph import Graph

def graph(rate: float = 20000.0, operators: int = 8, cost: int = 20000):
    made = Graph("paced", payload=8)
    before = made.source("source", rate=rate)
    for number in range(operators):
        work = made.work(f"work{number}", cost)
        made.connect(before, work)
        before = work
    made.connect(before, made.sink("sink"))
    return made
"""


@pytest.fixture
def run(tmp_path):
    path = tmp_path / "paced.py"
    path.write_text(GRAPH, "utf-8")

    def made(parameters=None, **changes):
        usual = {"graph_file": str(path), "elastic": True, "maximum": 16}
        record = run_once(run_of("paced", parameters or {}, "dynamic", **usual | changes))
        assert record["error"] is None and record["correct"], record["error"]
        return record

    return made


SIMULATED = {
    "machine": "xeon",
    "simulated": True,
    "period_s": 0.02,
    "duration_s": 0.1,
    "queue_capacity": 64,
}


def stepped(record):
    return [
        sample
        for sample in record["adaptation"] + record["samples"]
        if sample["law_state"] is not None
    ]


@pytest.mark.parametrize(
    ("rate", "few", "many"), [(8000.0, 1, 2), (20000.0, 3, 5), (27000.0, 4, 6)]
)
def test_it_settles_on_as_few_threads_as_keep_up(run, rate, few, many):
    """One thread does 13,300 tuples/s, the busiest operator's 54,000: eight operators and 20,000
    FLOP each.
    """
    record = run({"rate": rate}, law_settings={"bound": 0.002}, **SIMULATED)
    last = record["samples"][-1]
    assert few <= last["threads_requested"] <= many
    assert record["elastic"]["settings"]["bound"] == 0.002
    assert last["law_read"]["target"] == pytest.approx(rate) and last["law_read"][
        "done"
    ] == pytest.approx(rate, rel=0.05)
    assert 0.0 < last["law_read"]["latency_s"] < 0.002


def test_a_record_replayed_decides_as_the_run_did(run):
    record = run(law_settings={"bound": 0.002}, **SIMULATED)
    decisions = replay("millrace", parse_record(json.dumps(record)), {"bound": 0.002})
    assert [(each.state, each.reason) for each in decisions] == [
        (s["law_state"], s["law_reason"]) for s in stepped(record)
    ]
    assert any(one.threads != other.threads for one, other in pairwise(decisions))


def test_where_a_source_sends_all_it_can_the_law_is_told_of_no_pace(tmp_path):
    record = run_once(
        run_of("pipeline", {"operators": 8}, "dynamic", elastic=True, maximum=4, **SIMULATED)
    )
    assert all(sample["law_read"] is None for sample in stepped(record))


@pytest.mark.heavy
def test_real_threads_keep_up_with_a_pace(run):
    for _ in range(10):  # while others have the CPUs, the law may rightly try more threads
        record = run(
            {"rate": 2000.0, "operators": 4, "cost": 200}, period_s=0.1, duration_s=0.5, warmup=1.0
        )
        read = [sample["law_read"] for sample in stepped(record) if sample["law_read"]]
        assert read and all(
            each["target"] == pytest.approx(2000.0) and each["utilisation"] is not None
            for each in read
        )
        if record["samples"][-1]["threads_requested"] == 1:
            break
    assert record["samples"][-1]["threads_requested"] == 1, (
        "a thread has far more time than that takes"
    )
