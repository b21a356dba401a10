"""Fixtures that the Spark tests share: one session, records by hand, and a comparison of rows with
literals.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.measurement.record.declaration import ELASTIC, HOST, RECORD, SAMPLE, SIMULATION
from tests.records import example


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
def parse_files(spark) -> Callable[..., Any]:
    """Parsed records from the lines (dictionaries or text) of files, by the files' names."""
    from harness.spark.records import parse

    def make(files: Mapping[str, Iterable[dict | str]]):
        rows = [
            (
                f"file:///records/{name}.jsonl",
                0,
                row,
                json.dumps(line) if isinstance(line, dict) else line,
            )
            for name, lines in files.items()
            for row, line in enumerate(lines)
        ]
        frame = spark.createDataFrame(rows, "file string, block long, row long, value string")
        return parse(
            frame.coalesce(1)
        ).localCheckpoint()  # as `aggregate` does it, so that each table starts from here

    return make


@pytest.fixture(scope="session")
def parse_lines(parse_files) -> Callable[..., Any]:
    """Parsed records from lines (dictionaries or text), as if they were one file."""
    return lambda *lines: parse_files({"a": lines})


def assert_same_rows(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Compare rows, in any order, with literals: one dictionary a row, of the columns that
    matter.
    """
    assert expected, "an empty expectation has no columns to compare: count the rows instead"
    columns = list(expected[0])
    left = [{name: row[name] for name in columns} for row in found]
    for row in expected:
        assert row.keys() == set(columns), "all expected rows have the same columns"
        equal = [each for each in left if all(_is_same(each[name], row[name]) for name in columns)]
        assert equal, f"{row} is not among {left}"
        left.remove(equal[0])
    assert not left, f"{left} was not expected"


def _is_same(found: Any, expected: Any) -> bool:
    if isinstance(found, float) and isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-5, abs_tol=1e-8)
    if isinstance(found, list | tuple) and isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(map(_is_same, found, expected))
    return type(found) is type(expected) and found == expected


@pytest.fixture(scope="session")
def assert_rows() -> Callable[..., None]:
    """Compares the rows of a frame with literals, as `assert_same_rows`."""

    def check(frame: Any, expected: list[dict]) -> None:
        rows = frame.select(*expected[0]).collect()
        assert_same_rows([row.asDict(recursive=True) for row in rows], expected)

    return check
