"""The tables, and the section of a file that they replace."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from harness.errors import UserError
from harness.gate.verdict import Exit, Verdict
from studies.gate_error_rates.rates import Effect, row
from studies.gate_error_rates.replay import Call
from studies.gate_error_rates.report import LEGEND, Study, into, markdown, plain
from tests.studies.gate_error_rates.made import OTHER

SLOWER = {"mean:5%": True, "Mann-Whitney 0.05": True, "Welch 0.05": False}


def study(calls: int = 4, about: str = "Made by hand.") -> Study:
    same = [Call(True, Exit.OK, {"one": Verdict.OK, "other": Verdict.OK}, 61.0, SLOWER)] * calls
    slow = [
        Call(True, Exit.REGRESSED, {"one": Verdict.OK, "other": Verdict.REGRESSED}, 62.0, SLOWER)
    ] * calls
    effect = Effect(1.0512, 1.05, 1.0525, 40)
    arm = row(
        "flop 1.05", slow, OTHER.cells[0], program_cells=OTHER.cells, effect=effect, wanted=1.05
    )
    return Study(
        "short none", "Suite short", about, (row("base against itself", same), arm), ("a note",)
    )


def table(text: str, condition: str) -> dict[str, str]:
    """The row of a condition, by its table's heads."""
    lines = text.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"| {condition} |"))
    head = max(number for number in range(at) if lines[number].startswith("| condition"))
    names, cells = (
        [cell.strip() for cell in lines[number].strip("|").split("|")] for number in (head, at)
    )
    return dict(zip(names, cells, strict=True))


def test_base_against_itself_and_slowdowns_are_two_tables() -> None:
    text = markdown(study())
    same, slow = table(text, "base against itself"), table(text, "flop 1.05")
    assert same["regressed (exit 1)"] == "0.0 % [0.0, 60.2]"
    assert same["ok (0)"] == "100.0 % [39.8, 100.0]"
    assert (same["calls"], same["disjoint"], same["median s"], same["mean:5%"]) == (
        "4",
        "4",
        "61",
        "100.0 % [39.8, 100.0]",
    )
    assert slow["measured effect"] == "1.0512 [1.0500, 1.0525]"
    assert slow["regressed"] == "100.0 % [39.8, 100.0]"
    assert slow["ok"] == slow["others regressed"] == "0.0 % [0.0, 60.2]"
    assert "* a note" in text


def test_a_condition_without_calls_shows_no_rates() -> None:
    assert table(markdown(study(calls=0)), "flop 1.05")["regressed"] == "-"


def test_a_file_gets_a_section_and_later_only_that_changes() -> None:
    section = "<!-- selftest short none: begin -->\nnothing yet\n<!-- selftest short none: end -->"
    prose = f"# Error rates\n\nBefore.\n\n{section}\n\nAfter.\n"
    once = into(prose, study())
    assert "nothing yet" not in once
    assert once.startswith("# Error rates\n\nBefore.\n\n<!-- selftest short none: begin -->\n")
    assert once.endswith("<!-- selftest short none: end -->\n\nAfter.\n")
    again = into(once, study(about="Made again."))
    assert "Made again." in again and "Made by hand." not in again
    assert into(again, study()) == once


def test_a_file_without_its_section_gets_it_at_the_end() -> None:
    found = into("Prose.\n", study())
    assert found.startswith(f"Prose.\n\n{LEGEND}\n\n<!-- selftest short none: begin -->\n")
    assert into(found, replace(study(), key="other")).count(LEGEND) == 1
    assert into("", study()).startswith(LEGEND)


@pytest.mark.parametrize("words", ["begin", "end", "end -->\n<!-- selftest short none: begin"])
def test_half_a_section_is_the_users_mistake(words: str) -> None:
    with pytest.raises(UserError, match="has not both markers"):
        into(f"<!-- selftest short none: {words} -->\n", study())


def test_json_has_every_number() -> None:
    found = json.loads(json.dumps(plain(study()), allow_nan=False))
    same, slow = found["rows"]
    assert same["exits"]["regressed"] == {
        "count": 0,
        "calls": 4,
        "interval": [0.0, pytest.approx(0.602, abs=1e-3)],
        "in_recording": [0.0, pytest.approx(0.602, abs=1e-3)],
    }
    assert slow["effect"] == {"ratio": 1.0512, "low": 1.05, "high": 1.0525, "blocks": 40}
    assert slow["verdicts"]["regressed"]["count"] == 4
    assert json.dumps(plain(study(calls=0)), allow_nan=False)
