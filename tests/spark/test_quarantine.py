"""Tests of what is not a usable record is kept with the reason, the file and the line; what is
usable is not touched.
"""

from __future__ import annotations

import json

import pytest

from harness.measurement.record.declaration import BALANCER, PART_LATENCY
from tests.records import example, oldest
from tests.spark.conftest import assert_same_rows

pytestmark = pytest.mark.heavy

FORM = "not a record: "
VALUE = "impossible value: "


def bad_lines(make_record, sample) -> list[tuple[dict | str, str]]:
    """Lines, each with the reason that it must be given."""
    whole = json.dumps(make_record())
    inside = (
        FORM + "wrong type inside parameters, simulation, conservation, latency_ns, elastic, "
        "adaptation, samples, scheduling, "
        "application, left_out, time_use or host"
    )
    sampled = " of a sample is missing, negative or not finite"
    unlikely = " of a sample is negative or not finite"
    latency = make_record()["latency_ns"]
    return [
        ("", "empty line"),
        (" \t\r", "empty line"),
        (whole[:200], "unreadable JSON: cut short, damaged, or two in a line"),
        (whole[:-1], "unreadable JSON: cut short, damaged, or two in a line"),
        (whole + whole, "unreadable JSON: cut short, damaged, or two in a line"),
        (whole + " and more", "unreadable JSON: cut short, damaged, or two in a line"),
        ("\x00\x01PNG", "unreadable JSON: cut short, damaged, or two in a line"),
        ("[" * 3000, "unreadable JSON: cut short, damaged, or two in a line"),
        ("null", FORM + "not a JSON object"),
        ("[1, 2]", FORM + "not a JSON object"),
        (f"[{whole}]", FORM + "not a JSON object"),
        ('"text"', FORM + "not a JSON object"),
        ("{}", FORM + "without schema_version, run_id, experiment, cell, arm and 30 more"),
        ('{"name": "another tool\'s", '
         '"mean": 3}', FORM + "without schema_version, run_id, experiment, cell, arm and 30 more"),
        (make_record(schema_version=0), "schema_version is 0, not 1"),
        (make_record(schema_version=2, without="cell"), "schema_version is 2, not 1"),
        (make_record(without="schema_version"), FORM + "without schema_version"),
        (make_record(without="samples"), FORM + "without samples"),
        (make_record(run_id=None), FORM + "wrong type of run_id"),
        (make_record(schema_version="1"), FORM + "wrong type of schema_version"),
        (make_record(tuples_sent="ten"), FORM + "wrong type of tuples_sent"),
        (make_record(tuples_sent=1.5, settled=1), FORM + "wrong type of settled, tuples_sent"),
        (make_record(threads="two"), FORM + "wrong type of threads"),
        (make_record(parameters=[]), FORM + "wrong type of parameters"),
        (make_record(experiment={"a": 1}), FORM + "wrong type of experiment"),
        (make_record(arm=["a"]), FORM + "wrong type of arm"),
        (make_record(latency_ns={**latency, "p50": "fast"}), inside),
        (make_record(latency_ns={**latency, "parts": [example(PART_LATENCY, p99="fast")]}), inside),
        (make_record(samples=[sample(time_s="late")]), inside),
        (make_record(run_id=""), VALUE + "run_id is empty"),
        (make_record(tuples_sent=-3), VALUE + "tuples_sent is -3, not 0 or more"),
        (make_record(threads=0), VALUE + "threads is 0, not 1 or more"),
        (make_record(sink_tuples_per_s=-0.5), VALUE + "sink_tuples_per_s is -0.5, not 0 or more "
                                                      "and finite"),
        (make_record(sink_tuples_per_s=float("nan")), VALUE + "sink_tuples_per_s is NaN, not 0 or "
                                                            "more and finite"),
        (make_record(duration_s=float("inf")), VALUE + "duration_s is Infinity, not 0 or more and "
                                                       "finite"),
        (make_record(latency_ns={**latency, "p99": -1}), VALUE + "latency_ns.p99 is -1.0, not 0 or "
                                                            "more and finite"),
        (make_record(parameters={"operators": "many"}), VALUE + "parameters.operators is many, not "
                                                            "a whole number from 0"),
        (make_record(parameters={"width": -1}), VALUE + "parameters.width is -1, not a whole "
                                                        "number from 0"),
        (make_record(samples=[sample(), sample(time_s=-1.0)]), VALUE + "time_s" + sampled),
        (make_record(samples=[sample(cpu_s=float("nan"))]), VALUE + "cpu_s" + sampled),
        (make_record(samples=[sample(), None]), VALUE + "time_s" + sampled),
        (make_record(samples=[sample(threads_active=None)]), VALUE + "threads_active" + sampled),
        (make_record(adaptation=[sample(threads_active=-1)]), VALUE + "threads_active" + sampled),
        (make_record(samples=[sample(system_cpu=-0.5), sample()]), VALUE + "system_cpu" + unlikely),
        (make_record(samples=[sample(law_reason={"a": 1}, balancers="none")]), inside),
        (make_record(elastic={"law": "a law", "period_s": -1.0}), VALUE + "elastic.period_s is "
                                                            "-1.0, not 0 or more and "
                                                            "finite"),
    ]  # fmt: skip


RUN = (
    "experiment",
    "run_id",
    "repeat",
    "sink_tuples_per_s",
    "asked",
    "ended",
    "elastic.law",
    "elastic.settings['doubling'] AS doubling",
    "get(adaptation, 0).threads_requested AS level",
    "get(get(samples, 0).balancers, 0).active AS ports",
    "latency_ns.parts.p99 AS latencies",
)
"""Columns of a run that tests look at."""


@pytest.fixture(scope="module")
def lines(make_record, sample, elastic) -> dict[str, list[dict | str]]:
    """The lines of all tests, by the file that they are in. Each file has an experiment of its
    own.
    """
    bad = [line for line, _ in bad_lines(make_record, sample)]
    terms = elastic(law="pldi17", settings={"sensitivity": 0.05, "doubling": False})
    controlled = sample(
        threads_requested=3,
        utilisation=None,
        law_state="climbing",
        law_reason="up",
        balancers=[example(BALANCER, active=1)],
    )
    seen = {"elastic": terms, "adaptation": [controlled], "samples": [controlled]}
    first, other = make_record(run_id="aa", repeat=1), make_record(run_id="bb", repeat=2)
    parts = [example(PART_LATENCY), example(PART_LATENCY, p99=5)]
    files = {
        "parts": [make_record(latency_ns={**first["latency_ns"], "parts": parts})],
        "bad": [make_record(), *bad, make_record(threads=2, error="boom", commit=None, samples=[])],
        "old": [oldest(make_record(sink_tuples_per_s=7.0))],
        "elastic": [make_record(model="dynamic", **seen), make_record()],
        "repeated": [first, other, make_record(run_id="aa", repeat=3), first],
    }
    for name in ("parts", "old", "elastic", "repeated"):
        files[name] = [line | {"experiment": name} for line in files[name]]
    return files


@pytest.fixture(scope="module")
def read(lines, parse_files) -> tuple[list[dict], list[dict]]:
    """The rows that are in quarantine, and the runs, of all lines. They are read once: Spark takes
    longer to plan than to read so few.
    """
    from harness.spark.quarantine import quarantine
    from harness.spark.records import runs

    records = parse_files(lines)
    frames = (quarantine(records, "/records"), runs(records).selectExpr(*RUN))
    rejected, usable = ([row.asDict() for row in frame.collect()] for frame in frames)
    return rejected, usable


def rejected_of(read, name: str) -> list[dict]:
    return [row for row in read[0] if row["file"] == f"{name}.jsonl"]


def runs_of(read, name: str) -> list[dict]:
    return [row for row in read[1] if row["experiment"] == name]


def test_each_bad_line_is_kept_with_its_reason_and_place(make_record, sample, lines, read):
    reasons = [reason for _, reason in bad_lines(make_record, sample)]
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines["bad"][1:-1]]
    assert_same_rows(
        rejected_of(read, "bad"),
        [
            {"file": "bad.jsonl", "line": number, "reason": reason, "text": text[:500]}
            for number, (reason, text) in enumerate(zip(reasons, texts, strict=True), start=2)
        ],
    )


def test_records_from_before_fields_were_added_are_usable(make_record, lines, read):
    (old,) = lines["old"]
    assert make_record().keys() - old.keys() >= {"elastic", "asked", "ended"}
    assert rejected_of(read, "old") == []
    assert_same_rows(
        runs_of(read, "old"), [{"sink_tuples_per_s": 7.0, "asked": None, "ended": None}]
    )


def test_records_of_elastic_runs_are_usable_and_keep_what_the_law_did(read):
    assert rejected_of(read, "elastic") == []
    assert_same_rows(
        runs_of(read, "elastic"),
        [
            {"law": "pldi17", "doubling": "false", "level": 3, "ports": 1},
            {"law": None, "doubling": None, "level": None, "ports": None},
        ],
    )


def test_records_of_graphs_with_parts_are_usable(read):
    assert rejected_of(read, "parts") == []
    assert_same_rows(runs_of(read, "parts"), [{"latencies": [None, 5.0]}])


def test_the_first_of_equal_runs_is_kept(lines, read):
    first, _, again, _ = lines["repeated"]
    assert_same_rows(
        runs_of(read, "repeated"), [{"run_id": "aa", "repeat": 1}, {"run_id": "bb", "repeat": 2}]
    )
    place = {"file": "repeated.jsonl", "reason": "duplicate: run aa is in repeated.jsonl"}
    assert_same_rows(
        rejected_of(read, "repeated"),
        [
            {**place, "line": 3, "text": json.dumps(again)[:500]},
            {**place, "line": 4, "text": json.dumps(first)[:500]},
        ],
    )


def test_files_are_named_and_lines_counted_however_they_are_called_and_cut_up(
    spark, make_record, write_lines, assert_rows, tmp_path
):
    from harness.spark.quarantine import quarantine
    from harness.spark.records import parse, read_lines, runs
    from harness.spark.storage import as_source

    root = tmp_path / "raw [1] {a,b} +100%25 *é"
    good = [make_record() for _ in range(12)]
    write_lines(root / "x=1, ü+%41.jsonl", *good[:7], "{broken", *good[7:], "")
    write_lines(root / "deeper" / "b.jsonl", good[3], b'\xff\xfe{"a": 1}')
    write_lines(root / "notes.txt", "not looked at")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "6000")  # three lines or four for each task
    try:
        lines = read_lines(spark, as_source(str(root)))
        assert lines.select("file", "block").distinct().count() > 3
        records = parse(lines).localCheckpoint()
        assert runs(records).count() == 12
        assert_rows(
            quarantine(records, str(root)),
            [
                {
                    "file": "x=1, ü+%41.jsonl",
                    "line": 8,
                    "reason": "unreadable JSON: cut short, damaged, or two in a line",
                    "text": "{broken",
                },
                {"file": "x=1, ü+%41.jsonl", "line": 14, "reason": "empty line", "text": ""},
                {
                    "file": "deeper/b.jsonl",
                    "line": 2,
                    "reason": "not UTF-8 text",
                    "text": '\ufffd\ufffd{"a": 1}',
                },
                {
                    "file": "x=1, ü+%41.jsonl",
                    "line": 4,
                    "reason": f"duplicate: run {good[3]['run_id']} is in deeper/b.jsonl",
                    "text": json.dumps(good[3])[:500],
                },
            ],
        )
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
