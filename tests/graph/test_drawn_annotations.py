"""`millrace show`: threaded ports, annotations, control ports and the kinds of operator are drawn
as they are executed.
"""

from __future__ import annotations

import pytest

from harness.graph import Graph
from harness.graph.annotations import threading
from harness.models import Dedicated, Dynamic, Manual
from harness.plots.graph_drawing import figure, node_text, threads_of
from harness.plots.graph_layout import Node


def annotated() -> Graph:
    """A chain of annotated operators; `plain` has a second input, threaded, and a control port."""
    graph = Graph("annotated")
    last = graph.source("source", rate=1000)
    for model in ("manual", "dedicated", "dynamic"):
        work = threading(model=model)(lambda model=model: graph.work(model, busy_us=1500))()
        graph.connect(last, work)
        last = work
    plain = graph.work("plain", inputs=2, costs=[(1, 5), (2, 7)])
    graph.connect(last, plain)
    graph.connect(last, plain.input(1))
    graph.threaded_port(plain.input(1), 50)
    graph.connect(plain, graph.control(plain))
    graph.connect(plain, graph.filter("thin", 0.25))
    graph.connect(graph.operators["thin"], graph.sink("sink"))
    graph.check()
    return graph


def test_each_operator_has_the_threads_that_its_annotation_gives_it():
    assert threads_of(annotated(), Manual()) == {
        "source": ("t1",),
        "manual": ("t1",),
        "dedicated": ("t2",),
        "dynamic": ("pool",),
        "plain": ("t3", "pool"),
        "plain.control": ("t3", "pool"),
        "thin": ("t3", "pool"),
        "sink": ("t3", "pool"),
    }
    assert threads_of(annotated(), Dynamic(threads=2))["plain"] == ("pool", "t3")
    assert threads_of(annotated(), Dedicated())["plain"] == ("t3", "t4")


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (
            Manual(),
            "manual: 5 scheduler threads, 2 dedicated threads and the thread of the source; 3 "
            "queues",
        ),
        (
            Dedicated(),
            "dedicated: 5 scheduler threads, 6 dedicated threads and the thread of the source; 7 "
            "queues",
        ),
        (
            Dynamic(threads=4),
            "dynamic: 4 scheduler threads, 2 dedicated threads and the thread of the source; 7 "
            "queues",
        ),
        (
            Dynamic(elastic=True, maximum=8),
            "dynamic: 1 to 8 scheduler threads, 2 dedicated threads and the thread of the source; "
            "7 queues",
        ),
    ],
    ids=lambda model: getattr(model, "name", ""),
)
def test_the_heading_counts_what_annotations_add(monkeypatch, model, told):
    monkeypatch.setattr("harness.machines.host.cpu.allowed_cpus", lambda: 5)
    drawn = [text.get_text() for text in figure(annotated(), model).axes[0].texts]
    assert told in drawn
    assert "queue before an input port; tuples it holds: up to 1,000 or 50" in drawn
    assert "t2 and on: a thread for each threaded port" in drawn


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("source", "1,000 tuples/s"),
        ("manual", "1,500 µs"),
        ("plain", "5 to 7 FLOP"),
        ("thin", "passes 25 %"),
        ("plain.control", "control"),
    ],
)
def test_a_box_says_what_its_operator_does(name, told):
    assert node_text(annotated(), Node([name], 0), {})[1] == told


def test_a_split_by_key_says_so():
    graph = Graph("g")
    graph.split("split", 4, keys=1000)
    assert node_text(graph, Node(["split"], 0), {})[1] == "1 to 4 by 1,000 keys"
