"""The committed tables of error rates have the sections that the study fills, and the page's
commands are accepted."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from studies.gate_error_rates import __main__ as command
from studies.gate_error_rates.report import LEGEND, Study, into

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "appendices" / "gate-error-rates.md"
TABLES = ROOT / "results" / "reference" / "gate-error-rates.md"


@pytest.mark.parametrize("key", ["short none", "short half", "default none", "simulated"])
def test_a_section_is_replaced_where_it_stands(key: str) -> None:
    before = TABLES.read_text(encoding="utf-8")
    after = into(before, Study(key, "T", "Made anew.", ()))
    assert "Made anew." in after
    assert after.split("<!--")[0] == before.split("<!--")[0]
    assert after.count("<!--") == before.count("<!--"), "not added at the end"


def test_the_file_explains_the_tables_as_the_command_does() -> None:
    assert LEGEND in TABLES.read_text(encoding="utf-8")


def test_the_commands_of_the_page_and_of_the_help_are_accepted() -> None:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    text = PAGE.read_text(encoding="utf-8") + command.DESCRIPTION
    commands = [
        line.strip().split("studies.gate_error_rates", 1)[1]
        for line in text.splitlines()
        if line.strip().startswith("python -m studies.gate_error_rates ")
    ]
    assert len(commands) >= 5
    for words in commands:
        parser.parse_args(words.split())
