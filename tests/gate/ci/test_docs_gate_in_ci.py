"""docs/how-to/gate-in-ci.md: what it says of exit codes and commands is what they are."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from harness.cli import OneLineParser, gate_history
from harness.gate.verdict import Exit
from tests.gate.ci.repositories import EXAMPLES

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/how-to/gate-in-ci.md").read_text(encoding="utf-8")
SCRIPT = (EXAMPLES / "gate.sh").read_text(encoding="utf-8")


def test_its_table_has_every_exit_code_with_the_word_of_the_script():
    rows = dict(re.findall(r"^\| (\d+) \| ([\w ]+) \|", PAGE, re.MULTILINE))
    assert sorted(map(int, rows)) == sorted(Exit)
    for code, word in rows.items():
        assert re.search(rf'^ +{code}\) say "{word}[:" ]', SCRIPT, re.MULTILINE), code


@pytest.mark.parametrize(
    "line",
    re.findall(r"^ *millrace gate history (.*)$", PAGE + gate_history.DESCRIPTION, re.MULTILINE),
)
def test_its_commands_of_the_history_are_commands(line):
    parser = OneLineParser(prog="millrace gate history")
    gate_history.add_arguments(parser)
    assert callable(parser.parse_args(shlex.split(line)).action)


def test_the_files_it_links_to_are_there():
    links = {target.partition("#")[0] for target in re.findall(r"\]\(([^)]+)\)", PAGE)}
    ours = {target for target in links if target.startswith("../../")}
    assert ours == {
        "../../examples/ci/gate.sh",
        "../../examples/ci/action.yml",
        "../../examples/ci/workflow.yml",
        "../../.ci/run",
    }
    assert all((ROOT / "docs/how-to" / target).exists() for target in ours)
    assert links - ours == {"gate.md", "../explanation/gate-statistics.md"}


def test_variables_that_it_names_are_those_of_the_script():
    named = set(re.findall(r"`(GATE_\w+)`", PAGE))
    assert named
    assert named <= set(re.findall(r"GATE_\w+", SCRIPT))
