"""docs/how-to/gate.md and --help say the same as the code."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from harness.cli import gate
from harness.cli.parser import OldSpelling
from harness.gate.verdict import MARKS, Exit, Verdict

DOCS = (Path(__file__).parents[2] / "docs/how-to/gate.md").read_text(encoding="utf-8")


def test_the_options_that_the_page_names_exist_and_it_links_to_all():
    parser = argparse.ArgumentParser(add_help=False)
    gate.add_arguments(parser)
    options = {
        word
        for action in parser._actions
        if not isinstance(action, OldSpelling)
        for word in action.option_strings
    }
    commands = [
        line.partition(" -- ")[0] for line in re.findall(r"millrace gate (.*)$", DOCS, re.M)
    ]
    named = {word for line in commands for word in re.findall(r"--[a-z-]+", line)}
    named |= set(re.findall(r"`(--[a-z-]+)", DOCS))
    assert {"--base", "--bisect", "--json"} <= named <= options
    assert "](../reference/command-line.md)" in DOCS


def test_every_exit_code_is_in_the_docs_and_in_the_help():
    codes = {*map(int, Exit), gate.GATE_FAILED_STATUS, 129, 130, 143}
    assert {
        int(code)
        for code in re.findall(
            r"^\| (\d+) \| ", DOCS.split("## Exit codes")[1].split("\n## ")[0], re.M
        )
    } == codes
    assert {int(code) for code in re.findall(r"^  (\d+) +\w", gate.DESCRIPTION, re.M)} == codes


def test_every_mark_is_in_the_docs_with_its_verdicts():
    rows = dict(
        re.findall(
            r"^\| (`.`|) ?\| ([a-z].*) \|$",
            DOCS.split("| mark | verdict |")[1].split("\n\n")[0],
            re.M,
        )
    )
    for verdict in Verdict:
        mark = f"`{MARKS[verdict]}`" if MARKS[verdict] else ""
        assert str(verdict) in rows[mark]
