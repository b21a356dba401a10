"""Tests of docs/reference/machines.md: what it shows works as it stands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from harness.cli import main
from harness.files.checked_yaml import SCHEMAS
from harness.machines.machine import MACHINES, load_machine

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/reference/machines.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first block of that language on the page."""
    return re.search(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1]


def test_each_line_of_python_gives_what_its_comment_says():
    names = {"load_machine": load_machine}
    # a statement that goes over several lines is one
    text = re.sub(r"\(\n\s*(.*)\n\)", r"(\1)", block("python"))
    for line in text.splitlines():
        code, _, said = line.partition("#")
        if not said:
            exec(code, names)
        elif code.strip().startswith("machine.with_constants"):
            assert eval(code, names)["transfer.rmw.other_socket"] == 190
        else:
            assert repr(eval(code, names)) == said.strip().partition(", in ns")[0]


@pytest.mark.parametrize(
    "line", [line for line in block("").splitlines() if "my/server" not in line]
)
def test_each_command_works(line, capsys):
    assert main(line.partition("#")[0].split()[1:]) == 0
    assert capsys.readouterr().out


def test_the_example_of_a_constant_is_the_one_in_the_file():
    assert block("yaml").strip() in (MACHINES / "xeon.yaml").read_text(encoding="utf-8")


def test_the_table_names_every_constant_of_the_schema():
    rooms = json.loads((SCHEMAS / "machine.schema.json").read_text(encoding="utf-8"))["properties"]
    table = PAGE[PAGE.index("| constants |") : PAGE.index("Two things")]
    for room in ("core", "transfer", "atomic", "copy", "os"):
        for key in rooms[room]["properties"]:
            shown = "os.sched_*_us" if key.startswith("sched_") else key
            assert shown in table, f"{room}.{key}"
