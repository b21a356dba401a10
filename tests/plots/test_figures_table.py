"""The table of figures: what it names exists, and docs/reference/figures.md lists what it has."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest
from docutils.core import publish_doctree

from harness.experiments.config import BENCHES
from harness.plots.figures import FIGURES, ROWS
from harness.spark.schemas import TABLES

ROOT = Path(__file__).resolve().parents[2]


def test_every_experiment_and_every_bench_has_a_row():
    experiments = {path.stem for path in (ROOT / "config/experiments").glob("*.yaml")}
    assert set(FIGURES) == experiments | set(BENCHES)
    assert len(FIGURES) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_names_a_function_with_its_options_and_tables_that_exist(row):
    module, _, function = row.panel.partition(".")
    panel = getattr(importlib.import_module(f"harness.plots.{module}"), function)
    inspect.signature(panel).bind({}, row.heading, **row.options)
    assert row.tables and set(row.tables) <= {*TABLES, *BENCHES}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_caption_begins_with_the_title_and_is_clean_text(row):
    assert row.full_caption.startswith(f"**{row.title}")
    document = publish_doctree(row.full_caption, settings_overrides={"report_level": 5})
    assert [each.tagname for each in document.children] == ["paragraph"]
    assert "problematic" not in str(document)


def test_the_page_of_figures_lists_the_rows_in_their_order():
    """Without a match, the table in docs/reference/figures.md should be what this test expects."""
    page = (ROOT / "docs/reference/figures.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `\w+` \|.*$", page, re.MULTILINE)
    assert listed == [
        f"| `{row.name}` | {row.title} | {row.paper_figure or row.source} |" for row in ROWS
    ]
