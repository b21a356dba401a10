"""Tests of docs/how-to/gate-suites.md: what it shows works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.gate.suite import load_suite

PAGE = (Path(__file__).resolve().parents[2] / "docs/how-to/gate-suites.md").read_text(
    encoding="utf-8"
)
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("text", EXAMPLES)
def test_example_can_be_loaded(text: str, tmp_path: Path) -> None:
    path = tmp_path / "example.yaml"
    path.write_text(text, encoding="utf-8")
    assert load_suite(path).cells


def test_every_kind_has_an_example() -> None:
    assert {
        word for text in EXAMPLES for word in re.findall(r"(run|command|time|pytest):", text)
    } == {"run", "command", "time", "pytest"}
