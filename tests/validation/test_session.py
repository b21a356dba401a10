"""The runs of a session: their order, what is kept of one that was interrupted, and the file that
they are kept in.
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import RunFailed, UserError
from harness.measurement.records import read_records, record_line
from harness.validation import session, state
from harness.validation.cases import cases
from harness.validation.session import (
    RecordLog,
    kept,
    left,
    measure,
    predict,
    read_measured,
    rounds,
)
from harness.validation.state import SameStateRunner
from tests.validation.made_runs import PIPELINE, case, measured, predicted, record_of


@given(repeats=st.integers(0, 4), seed=st.integers(0, 2**63))
def test_each_round_measures_every_case_once_the_arms_of_a_cell_together(repeats, seed):
    chosen = cases(["topology=mix", "topology=pipeline"])
    order = rounds(chosen, repeats, 0.2, seed)
    assert Counter((spec.cell, spec.arm, spec.repeat) for spec in order) == Counter(
        (each.cell, each.arm, repeat) for repeat in range(repeats) for each in chosen
    )
    assert [spec.repeat for spec in order] == sorted(spec.repeat for spec in order)
    assert [
        len(list(arms)) for _, arms in groupby(order, key=lambda spec: (spec.repeat, spec.cell))
    ] == [4] * 12 * repeats
    assert [spec.order_in_block for spec in order] == list(range(len(order)))


def test_the_order_differs_between_rounds_and_seeds_and_not_between_calls():
    def order(seed, repeats=2):
        return [(spec.repeat, spec.cell, spec.arm) for spec in rounds(cases(), repeats, 0.2, seed)]

    assert order(1) == order(1) == order(1, repeats=3)[: len(order(1))]
    assert order(1) != order(2)
    assert [cell for repeat, *cell in order(1) if repeat == 0] != [
        cell for repeat, *cell in order(1) if repeat == 1
    ]


def test_what_was_measured_is_not_measured_again():
    specs = rounds([PIPELINE, case("dedicated")], 3, 0.2, 1)
    records = kept(measured(PIPELINE, 5.0, 6.0), specs)
    assert [record["sink_tuples_per_s"] for record in records] == [5.0, 6.0]
    assert sorted((spec.arm, spec.repeat) for spec in left(specs, records)) == [
        ("dedicated", 0), ("dedicated", 1), ("dedicated", 2), ("manual", 2)
    ]  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        {"experiment": "pldi17_fig9"},
        {"machine": "xeon", "simulated": True},
        {"simulated": True},
        {"duration_s": 2.0},
        {"duration_s": 0.05},
        {"repeat": 3},
        {"arm": "coroutine"},
        {"cell": "pipeline,operators=1000"},
    ],
    ids=str,
)
def test_records_of_other_runs_are_not_taken_for_those_of_a_session(other):
    specs = rounds([PIPELINE], 3, 0.2, 1)
    assert kept(measured(PIPELINE, 5.0, **other), specs) == []


def test_a_failed_run_stays_failed_and_a_run_counts_once():
    specs = rounds([PIPELINE], 2, 0.2, 1)
    failed = measured(PIPELINE, 0.0, error="no memory", duration_s=0.0)
    assert kept([*failed, *measured(PIPELINE, 7.0)], specs) == failed


def test_runs_are_made_in_their_order_the_measured_ones_under_the_lock(monkeypatch, tmp_path):
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    seen = []

    def run(spec, announce):
        announce("measuring")
        return record_of(spec, 1.0)

    monkeypatch.setattr(session, "run_in_fresh_process", run)
    monkeypatch.setattr(state, "shared_cache", lambda sizes: 90e6)
    specs = rounds([PIPELINE, case("dedicated")], 2, 0.2, 1)
    tells_nothing = SameStateRunner(SimpleNamespace(get={}.get), 0.0)
    records = list(
        measure(specs, lambda spec, phase: seen.append((spec, phase)), pytest.fail, tells_nothing)
    )
    assert [(record["arm"], record["repeat"]) for record in records] == [
        (spec.arm, spec.repeat) for spec in specs
    ]
    assert seen == [(spec, "measuring") for spec in specs]
    assert (tmp_path / "lock").exists()
    assert [
        record["simulated"] for record in predict([PIPELINE.predicted(0)], lambda spec, phase: None)
    ] == [True]


def test_a_log_holds_each_run_as_soon_as_it_ends(tmp_path):
    path = tmp_path / "new" / "log.jsonl"
    first, second, third = measured(PIPELINE, 1.0, 2.0, 3.0)
    with RecordLog(path, [first]) as log:
        assert read_records(path) == ([first], [])
        log.append(second)
        assert read_records(path) == ([first, second], [])
        log.append(third)
    assert read_measured(path, "--resume") == [first, second, third]
    with RecordLog(path):
        assert path.read_bytes() == b""  # begun anew


def test_a_log_on_a_full_disk_is_told(tmp_path):
    path = tmp_path / "log.jsonl"
    path.symlink_to("/dev/full")
    log = RecordLog(path)
    with log, pytest.raises(RunFailed, match=f"^cannot write {path}: No space left on device$"):
        log.append(measured(PIPELINE, 1.0)[0])
    with pytest.raises(RunFailed, match=r"^cannot write /proc/log\.jsonl: "):
        RecordLog(Path("/proc/log.jsonl"))


def test_the_torn_last_line_of_a_killed_session_is_passed_over(tmp_path):
    path = tmp_path / "log.jsonl"
    lines = [record_line(record) for record in measured(PIPELINE, 1.0, 2.0)]
    path.write_text(f"{lines[0]}\n{lines[1][:500]}", encoding="utf-8")
    assert [record["sink_tuples_per_s"] for record in read_measured(path, "--resume")] == [1.0]


@pytest.mark.parametrize("bad", ["", "{}", "PAR1\x00\x15", '{"schema_version": 1}', "[" * 100_000])
def test_a_file_that_holds_anything_else_is_refused_with_its_first_bad_line(bad, tmp_path):
    path = tmp_path / "log.jsonl"
    good = record_line(measured(PIPELINE, 1.0)[0])
    path.write_text(f"{good}\n{bad}\n{good}\n", encoding="utf-8")
    if not bad:
        assert len(read_measured(path, "--measured")) == 2  # an empty line is nothing
        return
    with pytest.raises(UserError) as caught:
        read_measured(path, "--measured")
    assert str(caught.value).startswith(f"--measured: line 2 of {path} holds no record: ")
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(
        UserError, match=r"nowhere\.jsonl: cannot be read: No such file or directory"
    ):
        read_measured(tmp_path / "nowhere.jsonl", "--measured")


def test_predictions_among_measured_runs_are_passed_over(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text(record_line(predicted(PIPELINE, 5.0)) + "\n", encoding="utf-8")
    assert read_measured(path, "--measured") == []
