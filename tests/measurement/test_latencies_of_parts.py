"""Records of graphs with parts that no stream connects have the latency of each part."""

from __future__ import annotations

import pytest

from harness.measurement.records import validate_record
from harness.measurement.run import run_once
from harness.measurement.spec import run_of

GRAPH = """
from harness.graph import Graph

def graph(rate: float = 200000.0, cost: int = 1000000):
    made = Graph("parts", payload=8)
    slow, fast = made.source("slow", rate=rate / 500), made.source("fast", rate=rate)
    made.chain(fast, made.work("quick", 1), made.sink("fast.sink"))
    made.chain(slow, made.work("long", cost), made.sink("slow.sink"))
    return made
"""


@pytest.fixture
def latency(tmp_path):
    """Run the graph; return the latencies of its record."""
    path = tmp_path / "parts.py"
    path.write_text(GRAPH, "utf-8")

    def made(parameters=None, **changes):
        usual = {"graph_file": str(path)}
        record = run_once(run_of("parts", parameters or {}, "manual", **usual | changes))
        assert record["error"] is None and record["correct"], record["error"]
        validate_record(record)
        return record["latency_ns"]

    return made


ON_XEON = {"machine": "xeon", "simulated": True}


def checked(found, slow_ns):
    """Check that all sinks together hide the slow part, and the parts do not."""
    slow, fast = found["parts"]
    assert (slow["first"], fast["first"]) == ("slow", "fast")
    assert (
        slow["count"] + fast["count"] == found["count"] and 0 < slow["count"] < fast["count"] / 99
    )
    assert slow["p99"] > slow_ns > 2 * fast["p99"]
    assert found["p99"] < slow_ns < found["max"]


@pytest.mark.parametrize("length", [{"duration_s": 0.1}, {"events": 2_000_000}])
def test_a_simulated_run_tells_the_parts_apart(latency, length):
    checked(latency(**ON_XEON, **length), 300_000)


def test_a_bounded_run_tells_the_parts_apart(latency):
    slow, fast = latency(**ON_XEON, tuples=100)["parts"]
    assert slow["count"] == fast["count"] == 100
    assert slow["p99"] > 300_000 > 2 * fast["p99"]


def test_a_part_in_which_nothing_arrives_has_no_latency(latency):
    slow, fast = latency({"rate": 1000.0}, **ON_XEON, duration_s=0.02)["parts"]
    assert slow == {"first": "slow", "p99": None, "count": 0}
    assert fast["p99"] > 0 and fast["count"] > 0


@pytest.mark.heavy
def test_a_real_run_tells_the_parts_apart(latency):
    """Ten milliseconds a tuple, so that others' turns on the CPUs do not matter."""
    slow, fast = latency({"rate": 5000.0, "cost": 10_000_000}, duration_s=1.0)["parts"]
    assert 0 < slow["count"] < fast["count"] / 99
    assert slow["p99"] > 5e6
