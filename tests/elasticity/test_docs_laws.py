"""What docs/laws.md shows works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

from harness.cli import main
from harness.elasticity import LAWS
from harness.elasticity.law import Law

PAGE = (Path(__file__).resolve().parents[2] / "docs/laws.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def texts(kind: str) -> list[str]:
    return [text for language, text in EXAMPLES if language == kind]


def test_the_example_of_a_law_passes_its_test():
    names: dict = {}
    for text in texts("python"):
        exec(text, names)
    assert issubclass(names["LAW"], Law)
    names["test_it_climbs_until_a_thread_brings_nothing"]()


def test_the_example_of_a_trace_prints_what_the_page_shows(tmp_path, monkeypatch, capsys):
    (tmp_path / "trace.json").write_text(texts("json")[0], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    command, printed = texts("")
    assert main(command.split()[1:]) == 0
    assert capsys.readouterr().out == printed


def test_the_page_tells_of_every_law():
    assert all(f"**{name}**" in PAGE for name in LAWS)
