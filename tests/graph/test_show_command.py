"""`millrace show`: it writes the picture, whole and readable, or says in one line why not."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import topologies
from harness.cli import main
from harness.graph import Graph
from harness.models import MODELS, make_model
from harness.plots.graph_drawing import figure

START = {"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", START)
def test_it_writes_the_format_that_the_name_asks_for(tmp_path, kind):
    path = tmp_path / f"graph.{kind}"
    assert (
        main(
            [
                "show",
                "mix",
                "--set",
                "width=2",
                "--set",
                "depth=2",
                "--model",
                "dynamic",
                "-o",
                str(path),
            ]
        )
        == 0
    )
    assert path.read_bytes().startswith(START[kind])


def test_the_same_graph_gives_the_same_file(tmp_path):
    paths = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for path in paths:
        assert (
            main(
                [
                    "show",
                    "bushy",
                    "--set",
                    "width=2",
                    "--set",
                    "cost=skewed",
                    "--seed",
                    "3",
                    "--model",
                    "dedicated",
                    "-o",
                    str(path),
                ]
            )
            == 0
        )
    assert paths[0].read_bytes() == paths[1].read_bytes()
    ElementTree.parse(paths[0])


@pytest.mark.parametrize("model", [None, *MODELS])
@pytest.mark.parametrize(
    ("name", "values"),
    [("pipeline", {"operators": 1}), ("mix", {"width": 40, "depth": 40}), ("bushy", {})],
)
def test_no_text_is_clipped_and_none_is_on_another(name, values, model):
    graph, parameters = topologies.build(name, values, 0)
    drawn = figure(graph, make_model(model) if model else None, parameters)
    canvas = FigureCanvasAgg(drawn)
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in drawn.axes[0].texts]
    assert all(
        box.x0 >= 0 and box.y0 >= 0 and box.x1 <= drawn.bbox.x1 and box.y1 <= drawn.bbox.y1
        for box in boxes
    )
    assert not [(i, j) for i, box in enumerate(boxes) for j in range(i) if box.overlaps(boxes[j])]


@pytest.mark.parametrize(
    ("model", "options", "told"),
    [
        ("manual", {}, "t1: the thread of the source; it calls everything downstream"),
        ("dedicated", {"queue_capacity": 7}, "queue before an input port; tuples it holds: 7"),
        ("dedicated", {}, "t2 and on: a thread for each queue"),
        ("dynamic", {"threads": 8}, "pool: any of 8 scheduler threads"),
        ("dynamic", {"threads": 1}, "pool: the only scheduler thread"),
        ("dynamic", {}, "a split has no queue: it runs on the thread that submits to it"),
        ("dynamic", {}, "operators that are folded together"),
    ],
)
def test_the_legend_says_what_the_model_does(model, options, told):
    graph, parameters = topologies.build("mix", {"width": 2, "depth": 30}, 0)
    assert told in words(figure(graph, make_model(model, **options), parameters))


def test_the_heading_counts_what_is_folded_too():
    graph, parameters = topologies.build("mix", {"width": 10, "depth": 100}, 0)
    told = words(figure(graph, make_model("dynamic", threads=4), parameters))
    assert (
        "width=10, depth=100, cost=100, payload=128, rate=0: 1,003 operators, 1,011 streams" in told
    )
    assert "dynamic: 4 scheduler threads and the thread of the source; 1,001 queues" in told


def test_a_pool_is_drawn_with_the_threads_that_the_graph_needs():
    graph = Graph("blocking", 8)
    user = graph.python("user", lambda sequence, value: value)
    graph.connect(graph.source("source"), user)
    graph.connect(user, graph.sink("sink"))
    told = words(figure(graph, make_model("dynamic", threads=1)))
    assert "pool: any of 2 scheduler threads" in told
    assert "dynamic: 2 scheduler threads and the thread of the source; 2 queues" in told


def words(drawn) -> list[str]:
    return [text.get_text() for text in drawn.axes[0].texts]


def test_names_are_not_taken_for_formulas():
    graph, _ = topologies.build("pipeline", {"operators": 1}, 0)
    graph.name = "$\\frac{1}{2}$"
    FigureCanvasAgg(figure(graph)).draw()


BAD = [
    ("show", "the following arguments are required: TOPOLOGY, -o/--output"),
    ("show pipeline", "the following arguments are required: -o/--output"),
    (
        "show pipeline -o graph.bmp",
        "-o must name a file ending in .svg, .png, .pdf, not 'graph.bmp'",
    ),
    ("show pipeline -o graph", "-o must name a file ending in .svg, .png, .pdf, not 'graph'"),
    (
        "show pipeline -o missing/graph.svg",
        "-o 'missing/graph.svg': there is no directory 'missing'",
    ),
    ("show pipeline -o folder.svg", "-o must name a file, not the directory 'folder.svg'"),
    ("show pipelin -o graph.svg", "topology 'pipelin' is unknown (did you mean 'pipeline'?)"),
    (
        "show mix --set width=abc -o graph.svg",
        "parameter width of topology mix must be a whole number from 1 to 100000, not 'abc'",
    ),
    ("show mix --set width -o graph.svg", "--set takes NAME=VALUE, not 'width'"),
    ("show mix --set width=1 --set width=2 -o graph.svg", "--set gives 'width' twice: '1' and '2'"),
    ("show mix --model magic -o graph.svg", "argument --model: invalid choice: 'magic'"),
    ("show mix --threads 2 -o graph.svg", "--threads 2 needs a --model"),
    ("show mix --queue-capacity 2 -o graph.svg", "--queue-capacity 2 needs a --model"),
    (
        "show mix --model manual --threads 2 -o graph.svg",
        "threads applies to dynamic, multilevel and coroutine only",
    ),
    (
        "show mix --model dynamic --threads 0 -o graph.svg",
        "--threads: must be a whole number from 1 to 1024, not '0'",
    ),
    (
        "show mix --model dynamic --threads two -o graph.svg",
        "--threads: must be a whole number from 1 to 1024, not 'two'",
    ),
    (
        "show mix --model dedicated --queue-capacity 0 -o graph.svg",
        "--queue-capacity: must be a whole number from 1 to 1048576, not '0'",
    ),
    ("show mix --seed -1 -o graph.svg", "--seed must be 0 or more, not -1"),
    ("show mix --colour red -o graph.svg", "unrecognized arguments: --colour red"),
]


@pytest.mark.parametrize(("line", "told"), BAD, ids=[line for line, _ in BAD])
def test_bad_input_is_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, line, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.svg").mkdir()
    try:
        code = main(line.split())
    except SystemExit as stopped:  # argparse's way
        code = stopped.code
    output = capsys.readouterr()
    assert (code, output.out) == (2, "")
    assert told in output.err
    assert output.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["folder.svg"]
