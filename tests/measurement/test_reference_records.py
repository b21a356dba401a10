"""The committed reference run stays readable: a change of the record format that forgets it fails
here.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.measurement.records import read_records

FILES = sorted((Path(__file__).parents[2] / "results" / "reference").rglob("*.jsonl"))


def test_there_is_a_reference_run():
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reference_records_fit_the_schema_and_were_correct(path: Path):
    records, problems = read_records(path)
    assert problems == []
    assert len(records) == 15
    assert all(record["correct"] and record["order_checked"] for record in records)
