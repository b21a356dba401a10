"""Tests of what a watcher of a run sees: the samples of its record, one by one, each within its
phase.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.measurement.live import sample_of
from harness.measurement.process import run_in_fresh_process
from harness.measurement.run import run_once
from harness.measurement.spec import Run, run_of

STEADY = [(1000.0, 1000.0)]


def watched(spec: Run) -> tuple[list[tuple[str, dict[str, Any]]], dict[str, Any]]:
    """Phase and sample of each line that tells one, and the record."""
    lines: list[str] = []
    record = run_once(spec, lines.append)
    phase, seen = "", []
    for line in lines:
        sample = sample_of(line)
        if sample is not None:
            seen.append((phase, sample))
        phase = phase if sample is not None else line.partition(":")[0]
    return seen, record


def test_an_elastic_run_tells_its_adaptation_and_then_its_window_with_what_the_law_said(
    play, script
) -> None:
    script([2, 4])
    play(STEADY).level = 1
    spec = run_of(
        "pipeline",
        {"operators": 4},
        "dynamic",
        elastic=True,
        maximum=16,
        duration_s=1.0,
        period_s=0.5,
        live=True,
    )
    seen, record = watched(spec)
    assert [sample for phase, sample in seen if phase == "adapting"] == json.loads(
        json.dumps(record["adaptation"])
    )
    assert [sample for phase, sample in seen if phase == "measuring"] == json.loads(
        json.dumps(record["samples"])
    )
    assert len(seen) == len(record["adaptation"]) + len(record["samples"])
    assert seen[0][1]["law_reason"] == "because of 1"


def test_a_fixed_run_tells_its_warm_up_too(play) -> None:
    play([(1000.0, 0.0), (1000.0, 500.0), *STEADY])
    seen, record = watched(
        run_of("pipeline", {"operators": 4}, "dynamic", threads=2, duration_s=1.0, live=True)
    )
    warming = [sample for phase, sample in seen if phase == "warming up"]
    assert sum(sample["elapsed_s"] for sample in warming) == pytest.approx(record["warmup_s"])
    assert [sample for phase, sample in seen if phase == "measuring"] == record["samples"]


def test_a_bounded_run_tells_all_of_it(play) -> None:
    play(STEADY, tuples=500)
    seen, record = watched(
        run_of("pipeline", {"operators": 4}, "dynamic", threads=2, tuples=500, live=True)
    )
    assert [sample for _, sample in seen][: len(record["samples"])] == record["samples"]


def test_nobody_is_told_samples_who_did_not_ask(play) -> None:
    play(STEADY)
    assert watched(run_of("pipeline", {"operators": 4}, "dynamic", threads=2))[0] == []


def test_a_record_is_the_same_whether_somebody_watches_or_not(play) -> None:
    records = []
    for live in (False, True):
        play(STEADY)
        records.append(
            run_once(run_of("pipeline", {"operators": 4}, "dynamic", threads=2, live=live))
        )
    assert {name for name in records[0] if records[0][name] != records[1][name]} <= {
        "run_id",
        "started_at",
        "host",
    }


@pytest.mark.heavy
def test_it_is_told_across_processes() -> None:
    lines: list[str] = []
    spec = run_of("pipeline", {"operators": 3}, "manual", duration_s=0.2, warmup=0.1, live=True)
    record = run_in_fresh_process(spec, announce=lines.append)
    samples = [sample for sample in map(sample_of, lines) if sample is not None]
    assert samples[-len(record["samples"]) :] == record["samples"]
    assert len(samples) == len(record["samples"]) + 1, "and the warm-up"
