"""Tests of docs/how-to/graphs.md: what it shows works as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.graph import PortId
from harness.graph.files.file import load_graph

PAGE = (Path(__file__).resolve().parents[2] / "docs/how-to/graphs.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|yaml|json)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
BESIDE = {
    text.split()[1]: text for kind, text in BLOCKS if kind == "python" and text.startswith("# ")
}
"""Files beside graph files, which begin with their name."""
EXAMPLES = [block for block in BLOCKS if block[1] not in BESIDE.values()]


def test_the_page_has_an_example_of_everything():
    words = (
        "rates=",
        "costs=",
        "busy_us=",
        "window=",
        "threaded_port",
        "threaded_split(",
        ".barrier(",
        "barrier:",
        " >> ",
        "elastic_load_balance(",
        "elastic_load_balance:",
        "@threading",
        "@parallel",
        "control(",
        "inlet:",
        '"keys"',
        "python:",
    )
    assert all(any(word in text for _, text in EXAMPLES) for word in words)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_makes_a_sound_graph(tmp_path, number):
    kind, text = EXAMPLES[number]
    path = tmp_path / f"example.{'py' if kind == 'python' else kind}"
    path.write_text(text, encoding="utf-8")
    for name, beside in BESIDE.items():
        (tmp_path / name).write_text(beside, encoding="utf-8")
    load_graph(path).check()


def test_the_function_in_the_example_of_a_file_is_called(tmp_path):
    text = next(text for kind, text in EXAMPLES if kind == "yaml" and "python:" in text)
    (tmp_path / "mine.py").write_text(BESIDE["mine.py"], encoding="utf-8")
    (tmp_path / "example.yaml").write_text(text, encoding="utf-8")
    half = load_graph(tmp_path / "example.yaml").operators["half"]
    assert half.stateless and [half.function(0, value) for value in (3.0, 1.0)] == [1.5, None]


def test_the_example_of_a_file_means_what_it_says(tmp_path):
    path = tmp_path / "example.yaml"
    path.write_text(next(text for kind, text in EXAMPLES if "word count" in text), encoding="utf-8")
    graph = load_graph(path)
    assert graph.name == "word count"
    assert graph.threaded == {PortId("parse", 1): 500, PortId("out", 0): 1000}
    assert {"count.split", "count.4.look", "count.merge", "parse.control"} <= graph.operators.keys()
