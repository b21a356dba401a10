"""Tests of where operators stand in the replay's picture."""

from __future__ import annotations

import math
import re

import pytest

import topologies
from harness.watch.drawing import ASPECT, MAX_DRAWN, MAX_NAMED, MAX_ROWS, Drawing, box_text, draw
from tests.watch.stories import chain

GRAPHS = {
    "a short pipeline": ("pipeline", {"operators": 10}),
    "a long one": ("pipeline", {"operators": 1000}),
    "a wide graph": ("data-parallel", {"width": 500}),
    "pipelines side by side": ("mix", {"width": 10, "depth": 50}),
    "a tree": ("bushy", {}),
}


def drawn(name: str) -> tuple[Drawing, list[str]]:
    topology, parameters = GRAPHS[name]
    graph = topologies.build(topology, parameters, 0)[0]
    return draw(graph), list(graph.operators)


@pytest.mark.parametrize("name", GRAPHS)
def test_every_operator_has_a_box_of_its_own_within_the_picture(name: str) -> None:
    drawing, names = drawn(name)
    assert sorted(name for spot in drawing.spots for name in spot.names) == sorted(names)
    places = {(spot.x, spot.y) for spot in drawing.spots}
    assert len(places) == len(names)
    box = drawing.box
    assert all(
        x > 0 and x + box.width <= drawing.width and y > 0 and y + box.height <= drawing.height
        for x, y in places
    )
    rows: dict[float, list[float]] = {}
    for x, y in places:
        rows.setdefault(y, []).append(x)
    for row in rows.values():
        assert all(
            right - left >= box.width
            for left, right in zip(sorted(row), sorted(row)[1:], strict=False)
        )


@pytest.mark.parametrize("name", ["a long one", "pipelines side by side"])
def test_a_long_graph_is_broken_into_lines_of_a_good_shape(name: str) -> None:
    drawing, _ = drawn(name)
    assert abs(math.log(drawing.width / drawing.height / ASPECT)) < math.log(2)


def test_a_wide_level_is_broken_into_columns() -> None:
    drawing, _ = drawn("a wide graph")
    assert drawing.height <= (MAX_ROWS + 3) * drawing.box.row


def test_small_graphs_have_names_and_large_ones_do_not() -> None:
    assert draw(chain(f"w{number}" for number in range(MAX_NAMED - 2))).named
    assert not draw(chain(f"w{number}" for number in range(MAX_NAMED + 1))).named
    assert box_text(["a-very-long-name-of-an-operator"]) == "a-very-…erator"
    assert box_text(["a", "b"]) == "2 more"


def test_a_huge_graph_is_folded() -> None:
    graph = chain(f"w{number}" for number in range(MAX_DRAWN))
    drawing = draw(graph)
    assert len(drawing.spots) < 20
    assert sum(len(spot.names) for spot in drawing.spots) == MAX_DRAWN + 2


def test_each_stream_is_drawn_once_or_as_two_stubs() -> None:
    drawing, _ = drawn("a short pipeline")
    streams = re.findall("M[^M]*", drawing.streams)
    stubs = [stream for stream in streams if "h" in stream]
    assert len(stubs) % 2 == 0 and len(streams) - len(stubs) // 2 == 11
