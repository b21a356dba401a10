"""Tests of where the picture of a graph puts operators, and what it folds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topologies
from harness.engine import open_engine
from harness.graph import Graph
from harness.graph.kinds import SOURCE, SPLIT
from harness.models import Dedicated, Dynamic, Manual
from harness.plots.graph_drawing import node_text, threads_of
from harness.plots.graph_layout import (
    FIRST_LEVELS,
    FIRST_ROWS,
    LAST_LEVELS,
    LAST_ROWS,
    MAX_BENT,
    MAX_LEVELS,
    MAX_ROWS,
    LayeredGraph,
    arrange,
    levels_of,
    spaced,
)

CALM = settings(
    derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)  # the machine may be busy

SHAPES = [
    ("pipeline", {"operators": 1}),
    ("pipeline", {"operators": MAX_LEVELS - 2}),
    ("pipeline", {"operators": MAX_LEVELS - 1}),
    ("pipeline", {"operators": 10_000}),
    ("data-parallel", {"width": 1}),
    ("data-parallel", {"width": MAX_ROWS}),
    ("data-parallel", {"width": MAX_ROWS + 1}),
    ("data-parallel", {"width": 10_000}),
    ("mix", {"width": 3, "depth": 2}),
    ("mix", {"width": 10, "depth": 100}),
    ("mix", {"width": 100, "depth": 100}),
    ("bushy", {}),
    ("bushy", {"width": 3, "depth": 7}),
    ("bushy", {"width": 8, "depth": 4}),
    ("bushy", {"width": 1, "depth": 30}),
]


def built(name: str, values: dict) -> Graph:
    return topologies.build(name, values, 0)[0]


@cache
def laid_out(name: str, **values: object) -> tuple[Graph, LayeredGraph]:
    """A graph and its layout, which no test changes."""
    graph = built(name, values)
    return graph, arrange(graph)


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Large graphs are not kept for the tests of other files."""
    yield
    laid_out.cache_clear()


def column(layout: LayeredGraph, level: int) -> list[list[str]]:
    """The operators of each node of a level, from top to bottom."""
    return [layout.nodes[node].names for node in layout.levels[level]]


@pytest.mark.parametrize(("name", "values"), SHAPES)
def test_every_operator_is_in_the_picture_once_and_nodes_do_not_overlap(name, values):
    graph, layout = laid_out(name, **values)
    assert sorted(operator for node in layout.nodes for operator in node.names) == sorted(
        graph.operators
    )
    assert len(layout.levels) <= MAX_LEVELS
    assert all(len(level) <= MAX_ROWS for level in layout.levels)
    for level in layout.levels:
        assert all(
            layout.nodes[below].y - layout.nodes[above].y >= 1 - 1e-9
            for above, below in pairwise(level)
        )


@pytest.mark.parametrize(("name", "values"), SHAPES)
def test_streams_of_the_picture_run_from_left_to_right(name, values):
    _, layout = laid_out(name, **values)
    for link in layout.links:
        assert [layout.nodes[node].level for node in link.stops] == list(
            range(layout.nodes[link.source].level, layout.nodes[link.target].level + 1)
        )


def test_what_fits_is_not_folded():
    _, layout = laid_out("bushy")
    assert all(len(node.names) == 1 for node in layout.nodes)
    assert len(layout.nodes) == 82


def test_a_long_chain_shows_its_ends():
    _, layout = laid_out("pipeline", operators=1000)
    shown = [names for level in range(len(layout.levels)) for names in column(layout, level)]
    assert [names[0] for names in shown if len(names) == 1] == [
        "source",
        "work1",
        "work2",
        "work3",
        "work999",
        "work1000",
        "sink",
    ]
    assert [len(names) for names in shown] == [1] * FIRST_LEVELS + [995] + [1] * LAST_LEVELS


def test_chains_side_by_side_fold_one_by_one():
    _, layout = laid_out("mix", width=10, depth=100)
    folded = column(layout, FIRST_LEVELS)
    assert [len(names) for names in folded] == [96] * 10
    assert folded[4] == [f"work5.{step}" for step in range(3, 99)]


def test_a_wide_level_shows_its_first_and_last():
    _, layout = laid_out("data-parallel", width=1000)
    names = [names if len(names) == 1 else len(names) for names in column(layout, 2)]
    assert names == [
        ["work1"],
        ["work2"],
        ["work3"],
        ["work4"],
        993,
        ["work998"],
        ["work999"],
        ["work1000"],
    ]
    assert len(names) == FIRST_ROWS + 1 + LAST_ROWS


def test_deep_and_wide_folds_both_ways():
    _, layout = laid_out("mix", width=100, depth=100)
    assert [[len(names) for names in column(layout, level)] for level in (2, 3, 4, 5, 6)] == [
        [1, 1, 1, 1, 93, 1, 1, 1],
        [1, 1, 1, 1, 93, 1, 1, 1],
        [96, 96, 96, 96, 93 * 96, 96, 96, 96],
        [1, 1, 1, 1, 93, 1, 1, 1],
        [1, 1, 1, 1, 93, 1, 1, 1],
    ]


def test_a_wide_typed_graph_shows_each_step_with_its_operators_side_by_side():
    graph, layout = laid_out("packet-analysis", records=1, sources=8)
    assert sorted(operator for node in layout.nodes for operator in node.names) == sorted(
        graph.operators
    )
    titles = {node.title for node in layout.nodes if len(node.names) > 1}
    assert {"packets ×8", "parse ×128", "pairs ×128", "names ×128", "tunnels window ×12"} <= titles
    assert len([node for node in layout.nodes if node.names]) == 19 + 1 + 3 * 4 + 1
    assert max(map(len, layout.levels)) <= MAX_ROWS


def test_streams_of_folded_operators_are_drawn_once():
    links = laid_out("data-parallel", width=1000)[1].links
    assert len(links) == 1 + 2 * (FIRST_ROWS + 1 + LAST_ROWS)


def test_children_stand_around_their_parent():
    _, layout = laid_out("bushy")
    y = {names[0]: node.y for node in layout.nodes if (names := node.names)}
    assert y["spread3.1"] == pytest.approx((y["spread4.1"] + y["spread4.2"] + y["spread4.3"]) / 3)
    assert y["source"] == y["spread1.1"] == y["join1.1"] == y["sink"] == pytest.approx(0)
    assert all(y[f"spread4.{number}"] == y[f"join4.{number}"] for number in range(1, 28))


def test_a_level_is_the_longest_way_from_a_source():
    graph = built("pipeline", {"operators": 3})
    graph.connect(graph.operators["source"], graph.operators["work3"])
    assert levels_of(graph) == {"source": 0, "work1": 1, "work2": 2, "work3": 3, "sink": 4}


def test_a_stream_that_skips_levels_bends_around_them():
    graph = built("pipeline", {"operators": 3})
    graph.connect(graph.operators["source"], graph.operators["sink"])
    layout = arrange(graph)
    link = next(link for link in layout.links if link.bends)
    assert [layout.nodes[bend].level for bend in link.bends] == [1, 2, 3]
    for bend in link.bends:
        level = layout.levels[layout.nodes[bend].level]
        assert all(
            abs(layout.nodes[bend].y - layout.nodes[other].y) >= 1
            for other in level
            if other != bend
        )


@pytest.mark.parametrize(
    ("operators", "bends"), [(MAX_BENT // 2, True), (MAX_BENT // 2 + 1, False)]
)
def test_only_so_many_streams_that_skip_levels_are_bent(operators, bends):
    graph = built("pipeline", {"operators": 2})
    ends = [graph.operators["sink"], graph.sink("audit")]
    graph.connect(graph.operators["work2"], ends[1])
    for number in range(operators):
        graph.connect(graph.operators["source"], graph.work(f"short{number}", 1))
        for end in ends:  # two levels on
            graph.connect(graph.operators[f"short{number}"], end)
    assert sum(bool(link.bends) for link in arrange(graph).links) == (2 * operators if bends else 0)


def test_crossings_are_undone():
    graph = Graph("crossed")
    ends = [graph.sink("sink a"), graph.sink("sink b")]
    for number, end in zip((0, 1), reversed(ends), strict=True):
        graph.connect(graph.source(f"source{number}"), end)
    layout = arrange(graph)
    assert column(layout, 0) == [["source0"], ["source1"]]
    assert column(layout, 1) == [["sink b"], ["sink a"]]


@CALM
@given(st.lists(st.floats(-50, 50), min_size=1, max_size=20))
def test_spaced_places_are_apart_and_stay_around_their_wishes(wishes):
    places = spaced(wishes)
    assert all(after - before >= 1 - 1e-9 for before, after in pairwise(places))
    assert sum(places) == pytest.approx(sum(wishes), abs=1e-6)


@CALM
@given(st.lists(st.floats(1, 5), min_size=1, max_size=20))
def test_wishes_that_are_apart_are_granted(steps):
    wishes = [sum(steps[: number + 1]) for number in range(len(steps))]
    assert spaced(wishes) == pytest.approx(wishes)


def test_manual_runs_all_on_the_threads_of_the_sources():
    graph = built("bushy", {})
    assert set(threads_of(graph, Manual()).values()) == {("t1",)}
    graph.connect(graph.source("second"), graph.operators["join1.1"])
    threads = threads_of(graph, Manual())
    assert threads["spread1.1"] == ("t1",)
    assert sorted(threads["join1.1"]) == sorted(threads["sink"]) == ["t1", "t2"]


def test_dynamic_shares_the_pool_but_splits_run_on_the_thread_that_submits():
    threads = threads_of(built("mix", {"width": 2, "depth": 1}), Dynamic(threads=2))
    expected = {"source": "t1", "split": "t1", "work1.1": "pool", "work2.1": "pool", "sink": "pool"}
    assert threads == {name: (thread,) for name, thread in expected.items()}


@pytest.mark.parametrize(
    ("name", "values"), [shape for shape in SHAPES if shape[1].get("width", 0) < 9]
)
def test_dedicated_gives_every_queue_its_own_thread(name, values):
    graph, _ = laid_out(name, **values)
    threads = threads_of(graph, Dedicated())
    unqueued = [
        operator.name for operator in graph.operators.values() if operator.kind in (SOURCE, SPLIT)
    ]
    assert {threads[name] for name in unqueued} == {("t1",)}
    own = [threads[name] for name in graph.operators if name not in unqueued]
    assert own == [(f"t{number}",) for number in range(2, len(own) + 2)]


@pytest.mark.parametrize("name", topologies.TOPOLOGIES)
def test_the_picture_has_as_many_threads_as_the_runtime(name):
    few = {"records": 10} if "records" in topologies.TOPOLOGIES[name].parameters else {}
    for model in (Manual(), Dedicated()):
        graph = built(name, few)
        drawn = {thread for threads in threads_of(graph, model).values() for thread in threads}
        assert len(drawn) == open_engine(graph, model, tuples=0).threads, model


def test_an_operator_has_a_dedicated_thread_for_each_input_port():
    graph = Graph("two ports")
    sink = graph.sink("sink", inputs=2)
    for port in range(2):
        graph.connect(graph.source(f"source{port}"), sink.input(port))
    assert threads_of(graph, Dedicated())["sink"] == ("t3", "t4")


@pytest.mark.parametrize(
    ("name", "values", "model", "texts"),
    [
        (
            "pipeline",
            {"operators": 1, "cost": 10_000},
            None,
            [("source", ""), ("work1", "10,000 FLOP"), ("sink", "")],
        ),
        (
            "pipeline",
            {"operators": 1},
            Manual(),
            [("source", "t1"), ("work1", "100 FLOP · t1"), ("sink", "t1")],
        ),
        (
            "pipeline",
            {"operators": 20},
            Dedicated(),
            [("… 15 more …", "100 FLOP each · t5 to t19")],
        ),
        (
            "pipeline",
            {"operators": 20, "cost": "skewed"},
            Dynamic(2),
            [("… 15 more …", "1 to 10,000 FLOP · pool")],
        ),
        (
            "mix",
            {"width": 100, "depth": 100},
            Dedicated(),
            [("… 8,928 more …", "100 FLOP each · 8,928 threads")],
        ),
        ("data-parallel", {"width": 2}, Dynamic(2), [("split", "1 to 2 · t1")]),
    ],
)
def test_boxes_tell_cost_and_threads(name, values, model, texts):
    graph, layout = laid_out(name, **values)
    threads = threads_of(graph, model) if model else {}
    told = [node_text(graph, node, threads) for node in layout.nodes]
    assert [text for text in texts if text not in told] == []


def test_long_names_are_shortened():
    graph = Graph("named")
    graph.connect(graph.source("n" * 40), graph.sink("sink"))
    assert node_text(graph, arrange(graph).nodes[0], {}) == ("nnnnnnnnn…nnnnnnnn", "source")
