"""Fixtures that the Spark tests share: one session, records by hand, and a comparison of rows with
literals.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.measurement.record.declaration import ELASTIC, HOST, RECORD, SAMPLE, SIMULATION
from tests.records import example

FILE = "file:///records/a.jsonl"


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    from harness.spark.session import SMALL_DATA_SETTINGS, open_session

    with open_session({**SMALL_DATA_SETTINGS, "spark.master": "local[2]"}) as session:
        yield session


@pytest.fixture(scope="session")
def make_record() -> Callable[..., dict]:
    """A correct, settled run of the manual model. Named arguments replace fields; `without` leaves
    one out.
    """
    numbers = itertools.count(1)

    def make(without: str = "", **fields: Any) -> dict:
        model = fields.get("model", "manual")
        few = {
            "run_id": f"{next(numbers):032x}",
            "experiment": "fig",
            "cell": "pipeline,operators=4",
            "arm": model,
            "topology": "pipeline",
            "parameters": {"operators": 4, "cost": 100, "payload": 128},
            "model": model,
            "threads_total": 1,
            "queue_capacity": 0 if model == "manual" else 8,
            "machine": "local",
            "duration_s": 1.0,
            "sink_tuples_per_s": 10.0,
            "submitted_tuples_per_s": 50.0,
            "ns_per_hop": 2.5e7,
            "hops": 4,
            "tuples_sent": 10,
            "latency_ns": {
                "p50": 100,
                "p90": 200,
                "p99": 300,
                "mean": 150,
                "max": 400,
                "count": 10,
            },
            "context_switches": 3,
            "cpu_seconds": 0.9,
            "kernel_seconds": 0.3,
            "samples": [make_sample(time_s=1.0), make_sample(time_s=1.5)],
            "host": example(HOST, cpu_model="a CPU", cpus_allowed=6, hostname_hash="a host"),
            "commit": "c0ffee",
        }
        record = example(RECORD, **few | fields)
        return {name: value for name, value in record.items() if name != without}

    return make


def make_elastic(**fields: Any) -> dict:
    few = {"law": "a law", "settings": {"sensitivity": 0.05, "greedy": False}, "settled_level": 3}
    return example(ELASTIC, **few | {"settled": True} | fields)


@pytest.fixture(scope="session")
def elastic() -> Callable[..., dict]:
    return make_elastic


@pytest.fixture(scope="session")
def simulated() -> Callable[..., dict]:
    """The fields of a run on `xeon`; named arguments are those of its simulation."""
    return lambda **fields: {
        "machine": "xeon",
        "simulated": True,
        "simulation": example(SIMULATION, **{"software": "millrace"} | fields),
    }


def make_sample(**fields: Any) -> dict:
    few = {
        "time_s": 1.0,
        "elapsed_s": 0.5,
        "sink_tuples_per_s": 12.0,
        "source_tuples_per_s": 11.0,
        "submitted_tuples_per_s": 50.0,
        "threads_active": 2,
    }
    return example(SAMPLE, **few | fields)


@pytest.fixture(scope="session")
def sample() -> Callable[..., dict]:
    return make_sample


@pytest.fixture(scope="session")
def write_lines() -> Callable[..., Path]:
    """Writes records (dictionaries) and other lines (text, bytes) to a file."""

    def write(path: Path, *lines: dict | str | bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = [
            line
            if isinstance(line, bytes)
            else (json.dumps(line) if isinstance(line, dict) else line).encode()
            for line in lines
        ]
        path.write_bytes(b"".join(text + b"\n" for text in texts))
        return path

    return write


@pytest.fixture(scope="session")
def parse_lines(spark) -> Callable[..., Any]:
    """Parsed records from lines (dictionaries or text), as if they were one file."""
    from harness.spark.records import parse

    def make(*lines: dict | str):
        rows = [
            (FILE, 0, row, json.dumps(line) if isinstance(line, dict) else line)
            for row, line in enumerate(lines)
        ]
        lines = spark.createDataFrame(rows, "file string, block long, row long, value string")
        return parse(
            lines.coalesce(1)
        ).localCheckpoint()  # as `aggregate` does it, so that each table starts from here

    return make


@pytest.fixture(scope="session")
def runs_of(parse_lines) -> Callable[..., Any]:
    """Runs, marked as used or not, from record dictionaries."""
    from harness.spark.records import runs
    from harness.spark.selection import mark_used

    return lambda *records: mark_used(runs(parse_lines(*records)))


@pytest.fixture(scope="session")
def assert_rows(spark) -> Callable[..., None]:
    """Compares the rows of a frame, in any order, with literals: one dictionary a row, of the
    columns that matter.
    """
    from pyspark.sql.types import StructType
    from pyspark.testing import assertDataFrameEqual

    def check(frame: Any, expected: list[dict]) -> None:
        assert isinstance(expected, list), "expected rows are literals, never a frame"
        assert expected, "an empty expectation has no columns to compare: count the frame instead"
        columns = list(expected[0])
        chosen = frame.select(*columns)
        schema = StructType([chosen.schema[name] for name in columns])
        for field in schema:
            field.nullable = True
        assertDataFrameEqual(
            chosen,
            spark.createDataFrame(
                [tuple(row[name] for name in columns) for row in expected], schema
            ),
        )

    return check
