"""C-Stream Figures 12 and 13: our arms beside Storm's at each topology, and what is said where
Storm did not run.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from harness.plots import storm_panels, style
from tests.plots.made_tables import arm_row, figure_named, frame, peer_row


def row(topology: str, model: str, mean: float | None, **other) -> dict:
    return arm_row("cstream_fig12", topology, 0, model, mean, **other)


@pytest.fixture
def rows() -> list[dict]:
    made = []
    for topology, ours in (("tree", 900.0), ("chain", 1500.0)):
        made += [
            row(topology, "coroutine", ours, threads=2),
            row(topology, "dynamic", ours / 3, threads=2),
        ]
        made += [peer_row("cstream_fig12", topology, 0, "storm 2.8.2", 1000.0)]
        made += [peer_row("cstream_fig12", topology, 0, "storm-batched 2.8.2", None)]
        made += [
            row(
                topology,
                "coroutine",
                9 * ours,
                threads=12,
                machine="cstream",
                simulated=True,
                level=12.0,
                replicas=6.5,
            )
        ]
    return made


def test_the_comparison_takes_the_best_of_ours_and_of_storm_where_both_ran(rows):
    table = frame(rows)
    assert (
        storm_panels.verdict(table[(table["topology"] == "chain") & ~table["simulated"]])
        == "ours\n1.50 [1.17, 1.83]\nof Storm"
    )
    assert storm_panels.verdict(table[table["simulated"]]) == ""


def test_topologies_stand_in_their_order_with_every_arm_and_what_failed_on_the_axis(rows):
    figure = figure_named("cstream_fig12", {"throughput": frame(rows)})
    simulated, measured = figure.axes
    assert (
        "cstream (simulated)" in simulated.get_title()
        and "local (measured)" in measured.get_title()
    )
    assert [label.get_text() for label in measured.get_xticklabels()] == [
        "chain\n12 operators\n100 µs a tuple",
        "tree\ndepth 6\n100 µs a tuple",
    ]
    drawn = [float(container.lines[0].get_ydata()[0]) for container in measured.containers]
    assert drawn == [1500.0, 500.0, 1000.0, 900.0, 300.0, 1000.0]
    lost = [line for line in measured.lines if line.get_marker() == "x"]
    assert [list(line.get_ydata()) for line in lost] == [[0], [0]]
    assert [text.get_text() for text in measured.texts] == [
        "ours\n1.50 [1.17, 1.83]\nof Storm",
        "ours\n0.90 [0.70, 1.10]\nof Storm",
    ]
    assert [text.get_text() for text in simulated.texts] == ["12 threads\n6.5 replicas"] * 2
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert names[:5] == [
        "dynamic-2",
        "coroutine-2",
        "coroutine-12",
        "storm 2.8.2",
        "storm-batched 2.8.2",
    ]
    style.plt.close(figure)


def test_arms_of_one_model_have_its_colour_and_markers_of_their_own(rows):
    looks = storm_panels.arm_looks(frame(rows))
    assert looks["coroutine-2"].color == looks["coroutine-12"].color
    assert looks["coroutine-2"].marker != looks["coroutine-12"].marker


def test_arms_of_one_peer_differ_in_the_legend(rows):
    short = peer_row("cstream_fig12", "chain", 0, "storm 2.8.2", 900.0) | {"arm": "storm-queue-100"}
    figure = figure_named("cstream_fig12", {"throughput": frame([*rows, short])})
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "storm 2.8.2" in names and "storm-queue-100 2.8.2" in names
    style.plt.close(figure)


def test_comparisons_of_neighbouring_topologies_do_not_overlap(rows):
    several = [
        {**each, "topology": topology}
        for each in rows
        if each["topology"] == "chain"
        for topology in ("chain", "replicated", "tree", "reverse-tree")
    ]
    figure = figure_named("cstream_fig12", {"throughput": frame(several)})
    figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in figure.axes[-1].texts]
    assert len(boxes) == 4
    assert all(not one.overlaps(other) for one, other in pairwise(boxes))
    style.plt.close(figure)
