"""Tests of docs/appendices/laws-bench.md: what it shows of the bench of placements works as it stands."""

from __future__ import annotations

from pathlib import Path

from harness.bench.queues.scenario import scenarios
from harness.bench.report import QUEUES

PAGE = (Path(__file__).resolve().parents[3] / "docs/appendices/laws-bench.md").read_text(
    encoding="utf-8"
)
PART = PAGE.partition("## The bench of laws that place queues")[2].partition("\n## ")[0]


def test_the_table_of_columns_and_the_size_of_the_library_are_true():
    assert f"The library has {len(list(scenarios()))} scenarios" in PART
    assert all(heading in PART for heading in QUEUES.columns)
