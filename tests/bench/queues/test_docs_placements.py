"""What docs/laws-bench.md shows of the bench of placements works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from harness.bench.queues.scenario import scenarios
from harness.bench.queues.user_surfaces import KEYS, PHASE_KEYS, parse_surfaces
from harness.bench.report import QUEUES

PAGE = (Path(__file__).resolve().parents[3] / "docs/laws-bench.md").read_text(encoding="utf-8")
PART = PAGE.partition("## The bench of laws that place queues")[2].partition("\n## ")[0]


def test_the_example_of_surfaces_has_every_key_and_can_be_read():
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", PART, re.DOTALL | re.MULTILINE)
    document = yaml.safe_load(text)
    assert {key for entry in document for key in entry} == set(KEYS) - {
        "graph",
        "smt",
        "periods",
        "seed",
    }
    assert {key for entry in document for phase in entry.get("phases", []) for key in phase} == set(
        PHASE_KEYS
    )
    assert len(parse_surfaces(document)) == len(document)
    assert all(f"`{word}`" in PART for word in {*KEYS, *PHASE_KEYS} - {"name"})


def test_the_table_of_columns_and_the_size_of_the_library_are_true():
    assert f"The library has {len(list(scenarios()))} scenarios" in PART
    assert all(heading in PART for heading in QUEUES.columns)
