"""P17 Figures 9 and 10: what is drawn for which rows of the throughput table."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import matplotlib.pyplot as plt
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from harness.plots import style, thread_panels
from tests.plots.made_tables import (
    NEVER_SETTLED,
    arm_row,
    elastic_row,
    figure_named,
    frame,
    scaling,
)

LEVELS = [1, 2, 4]
ARMS = ("manual", "dedicated", "dynamic_1", "dynamic_2", "dynamic_4")


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.figure().subplots()


def one_cell(**changes):
    """manual at 100, dedicated at 300, dynamic-1, -2 and -4 at 200, 400 and 350 tuples/s; `changes`
    by arm.
    """
    rates = {
        "manual": 100.0,
        "dedicated": 300.0,
        "dynamic-1": 200.0,
        "dynamic-2": 400.0,
        "dynamic-4": 350.0,
    }
    rows = []
    for arm, rate in rates.items():
        model, _, threads = arm.partition("-")
        own = {"mean": rate, **changes.get(arm.replace("-", "_"), {})}
        rows.append(
            arm_row(
                "e",
                "pipeline",
                100,
                model,
                own.pop("mean"),
                threads=int(threads) if threads else None,
                **own,
            )
        )
    return frame(rows)


def line_of(ax, model):
    return next(
        line
        for line in ax.lines
        if line.get_color() == style.of_model(model).color and len(line.get_xdata()) > 1
    )


def markers_of(ax, model):
    return [
        line
        for line in ax.lines
        if line.get_color() == style.of_model(model).color
        and line.get_marker() == style.of_model(model).marker
    ]


def test_dynamic_is_a_line_over_its_thread_levels(ax):
    thread_panels.draw(ax, one_cell())
    line = line_of(ax, "dynamic")
    assert list(line.get_xdata()) == LEVELS
    assert list(line.get_ydata()) == [200.0, 400.0, 350.0]


def test_every_level_has_an_error_bar_of_its_interval(ax):
    thread_panels.draw(ax, one_cell(dynamic_2={"half": 25.0}))
    (bars,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    ends = {
        path.vertices[0][0]: (path.vertices[0][1], path.vertices[1][1]) for path in bars.get_paths()
    }
    assert ends == {1: (180.0, 220.0), 2: (375.0, 425.0), 4: (315.0, 385.0)}


def test_models_without_levels_are_horizontal_lines_with_a_band(ax):
    thread_panels.draw(ax, one_cell())
    for model, rate in (("manual", 100.0), ("dedicated", 300.0)):
        assert set(line_of(ax, model).get_ydata()) == {rate}
    bands = sorted(
        (patch.get_y(), patch.get_y() + patch.get_height())
        for patch in ax.patches
        if isinstance(patch, Rectangle)
    )
    assert bands == [(90.0, 110.0), (270.0, 330.0)]


def arrows(ax):
    return [
        (line.get_xdata()[0], line.get_color())
        for line in ax.lines
        if line.get_marker() == "^" and not line.get_clip_on()
    ]


def test_the_y_axis_starts_at_0_and_holds_every_interval(ax):
    thread_panels.draw(ax, one_cell(dynamic_4={"half": 150.0}))
    low, high = ax.get_ylim()
    assert low == 0
    assert high > 350.0 + 150.0
    assert not arrows(ax)


def test_an_interval_that_would_press_the_rest_to_the_axis_ends_with_an_arrow(ax):
    thread_panels.draw(
        ax,
        with_elastic(level=2.0, half=9000.0, dynamic_4={"half": 4000.0}, dedicated={"half": 800.0}),
    )
    assert 400.0 < ax.get_ylim()[1] < 700.0
    where = {"elastic": 2, "dynamic": 4, "dedicated": 4.8}
    assert arrows(ax) == [(x, style.of_model(name).color) for name, x in where.items()]
    ends = {text.get_text() for text in ax.texts if text.get_text()[0].isdigit()}
    assert ends == {"9.4 k", "4.4 k", "1.1 k"}  # of intervals, upwards


def test_an_interval_of_levels_beyond_the_left_edge_names_its_end(ax):
    thread_panels.draw(ax, with_elastic(level=2.0, spread=1.8))
    assert "0.2" in [text.get_text() for text in ax.texts]
    thread_panels.draw(plt.figure().subplots(), with_elastic(level=2.0, spread=0.5))
    assert not [text for text in plt.gca().texts if text.get_text()[0].isdigit()]


def test_no_name_covers_the_end_of_an_interval_of_levels():
    _, ax = plt.subplots(figsize=(3.6, 2.3))
    slow = {
        "dynamic_1": {"mean": 380.0},
        "dynamic_2": {"mean": 350.0},
        "dynamic_4": {"mean": 340.0},
    }
    cell = with_elastic(
        mean=385.0, level=1.0, spread=0.9, manual={"mean": 3000.0}, dedicated={"mean": 83.0}, **slow
    )
    thread_panels.draw(ax, cell)
    ax.figure.draw_without_rendering()
    (end,) = [text for text in ax.texts if text.get_text() == "0.1"]
    others = [text for text in ax.texts if text is not end]
    assert len(others) == 4
    assert not any(end.get_window_extent().overlaps(text.get_window_extent()) for text in others)


def test_the_x_axis_names_the_levels(ax):
    thread_panels.draw(ax, one_cell())
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "2", "4"]


def test_many_levels_are_not_all_named_but_the_ends_are(ax):
    levels = [1, 2, 4, 8, 16, 32, 64, 88, 128, 176]
    thread_panels.draw(ax, scaling("e", {"pipeline": [1]}, levels))
    named = [int(text.get_text()) for text in ax.get_xticklabels()]
    assert named[0] == 1
    assert named[-1] == 176
    assert all(later / earlier > 1.8 for earlier, later in pairwise(named))


def test_a_point_that_never_settled_is_open(ax):
    thread_panels.draw(ax, one_cell(dynamic_2=NEVER_SETTLED, manual=NEVER_SETTLED))
    faces = {
        tuple(line.get_xdata()): to_hex(line.get_markerfacecolor())
        for line in markers_of(ax, "dynamic")
    }
    assert faces[(2.0,)] == "#ffffff"
    assert faces[(1.0,)] == faces[(4.0,)] == style.of_model("dynamic").color
    assert [to_hex(line.get_markerfacecolor()) for line in markers_of(ax, "manual")] == ["#ffffff"]
    assert [to_hex(line.get_markerfacecolor()) for line in markers_of(ax, "dedicated")] != [
        "#ffffff"
    ]


def test_an_arm_that_failed_is_a_cross_on_the_axis_and_named(ax):
    thread_panels.draw(ax, one_cell(dynamic_4={"mean": None}))
    (cross,) = [line for line in ax.lines if line.get_marker() == "x"]
    assert (list(cross.get_xdata()), list(cross.get_ydata())) == ([4], [0])
    assert list(line_of(ax, "dynamic").get_xdata()) == [1, 2]  # nothing is invented for level 4
    assert "dynamic-4: failed" in [text.get_text() for text in ax.texts]


def test_a_reference_that_failed_is_named_and_has_no_line(ax):
    thread_panels.draw(ax, one_cell(dedicated={"mean": None}))
    assert not markers_of(ax, "dedicated")
    assert "dedicated: failed" in [text.get_text() for text in ax.texts]


@pytest.mark.parametrize(
    ("why", "said"), [({"no_rate": 3}, "no rate"), ({"variants": 2}, "other constants only")]
)
def test_an_arm_without_a_mean_that_did_not_fail_says_why(ax, why, said):
    thread_panels.draw(ax, one_cell(manual={"mean": None, "n": 0, "failed": 0, **why}))
    assert f"manual: {said}" in [text.get_text() for text in ax.texts]


def test_some_failed_runs_are_counted(ax):
    thread_panels.draw(ax, one_cell(manual={"failed": 1, "n": 1, "no_rate": 1}))
    assert "manual: 1 of 3 failed" in [text.get_text() for text in ax.texts]


def test_one_run_has_no_interval_and_no_band(ax):
    alone = {"half": None, "lo": None, "hi": None, "n": 1}
    thread_panels.draw(ax, one_cell(**dict.fromkeys(ARMS, alone)))
    assert not [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    (bars,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    assert not [path for path in bars.get_paths() if all(map(math.isfinite, path.vertices.flat))]
    assert ax.get_ylim()[1] > 400.0


def test_a_cell_where_everything_failed_is_still_drawn(ax):
    thread_panels.draw(ax, one_cell(**{arm: {"mean": None} for arm in ARMS}))
    assert ax.get_ylim() == (0, 1)


def with_elastic(**changes):
    """The cell of `one_cell`, and elastic at 390 tuples/s, at a level of 2.5 from 2 to 3."""
    own = {"mean": 390.0, "level": 2.5, "spread": 0.5, "half": 20.0, **changes}
    fixed = one_cell(**{arm: own.pop(arm) for arm in ARMS if arm in own})
    row = elastic_row("e", "pipeline", 100, own.pop("mean"), own.pop("level"), **own)
    return frame([*fixed.to_dict("records"), row])


def diamonds(ax):
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in markers_of(ax, "elastic")]


def test_elastic_is_a_diamond_where_it_settled_with_a_thin_line_to_compare(ax):
    thread_panels.draw(ax, with_elastic())
    assert diamonds(ax) == [(2.5, 390.0)]
    assert set(line_of(ax, "elastic").get_ydata()) == {390.0}
    assert (
        list(line_of(ax, "dynamic").get_xdata()) == LEVELS
    )  # the elastic arm is no level of the fixed ones


def test_elastic_has_error_bars_both_ways(ax):
    thread_panels.draw(ax, with_elastic())
    color = style.of_model("elastic").color
    bars = [
        each
        for each in ax.collections
        if isinstance(each, LineCollection) and to_hex(each.get_color()[0]) == color
    ]
    ends = [
        [tuple(map(float, vertex)) for vertex in path.vertices]
        for bar in bars
        for path in bar.get_paths()
    ]
    assert sorted(ends) == [[(2.0, 390.0), (3.0, 390.0)], [(2.5, 370.0), (2.5, 410.0)]]


def test_an_interval_of_levels_that_reaches_below_1_ends_at_the_edge_and_one_above_the_highest_is_shown(
    ax,
):
    thread_panels.draw(ax, with_elastic(spread=4.0))
    left, right = ax.get_xlim()
    assert 0 < left < 1
    assert right > 6.5


def test_elastic_without_intervals_or_never_settled_is_drawn_and_failed_is_named(ax):
    thread_panels.draw(ax, with_elastic(spread=None, half=None, lo=None, hi=None, **NEVER_SETTLED))
    assert diamonds(ax) == [(2.5, 390.0)]
    assert to_hex(markers_of(ax, "elastic")[0].get_markerfacecolor()) == "#ffffff"
    other = plt.figure().subplots()
    thread_panels.draw(other, with_elastic(mean=None, level=None, spread=None, half=None))
    assert not diamonds(other)
    assert "dynamic-elastic: failed" in [text.get_text() for text in other.texts]


def test_each_law_is_named(ax):
    thread_panels.draw(plt.figure().subplots(), with_elastic(law="streams"))
    assert "law streams" in [text.get_text() for text in plt.gca().texts]
    second = elastic_row("e", "pipeline", 100, 300.0, 1.0, law="pldi17") | {
        "arm": "dynamic-elastic-pldi17"
    }
    thread_panels.draw(ax, frame([*with_elastic().to_dict("records"), second]))
    assert {"law millrace", "law pldi17"} <= {text.get_text() for text in ax.texts}


def test_the_names_of_models_and_of_laws_that_settled_together_can_all_be_read(ax):
    second = elastic_row("e", "pipeline", 100, 391.0, 2.5, law="pldi17") | {
        "arm": "dynamic-elastic-pldi17"
    }
    thread_panels.draw(ax, frame([*with_elastic().to_dict("records"), second]))
    ax.figure.draw_without_rendering()
    assert [text.get_text() for text in ax.texts if "law" not in text.get_text()] == [
        "manual",
        "dedicated",
        "dynamic",
    ]
    places = [text.get_window_extent() for text in ax.texts]
    assert len(places) == 5
    assert not any(one.overlaps(other) for one, other in combinations(places, 2))


def test_elastic_arms_alone_have_an_axis_too(ax):
    thread_panels.draw(ax, with_elastic().tail(1))
    assert [text.get_text() for text in ax.get_xticklabels()] == ["2", "3"]


def test_elastic_is_in_the_legend_beside_the_models():
    figure = thread_panels.figure({"throughput": with_elastic()}, "a title")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "manual",
        "dedicated",
        "dynamic",
        "elastic",
    ]


def test_figure_9_has_a_row_a_topology_and_a_panel_a_cost():
    table = scaling(
        "pldi17_fig9", {"data-parallel": [10000, 1, 1000], "pipeline": [1000, 100, 1]}, LEVELS
    )
    figure = figure_named("pldi17_fig9", {"throughput": table})
    assert [ax.get_title() for ax in figure.axes] == [
        "pipeline, 100 operators\ncost 1 FLOP",
        "pipeline, 100 operators\ncost 100 FLOP",
        "pipeline, 100 operators\ncost 1,000 FLOP",
        "data-parallel, width 100\ncost 1 FLOP",
        "data-parallel, width 100\ncost 1,000 FLOP",
        "data-parallel, width 100\ncost 10,000 FLOP",
    ]
    assert {ax.get_xlabel() for ax in figure.axes} == {"scheduler threads"}
    assert figure.axes[0].get_ylabel() == "throughput at the sinks\n[tuples/s]"
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "manual",
        "dedicated",
        "dynamic",
        "dynamic: our scheduler",
        "assumed: payload of 128 bytes",
    ]


def test_figure_10_says_what_it_is_made_of():
    table = scaling("pldi17_fig10", {"mix": [1, 100]}, LEVELS)
    figure = figure_named("pldi17_fig10", {"throughput": table})
    foot = " ".join(figure.get_supxlabel().split())
    assert foot.startswith(
        "Measured on Invented CPU @ 1 GHz, 6 CPUs allowed. Mean of n = 3 runs, each in a fresh "
        "process;"
    )
    assert "95 % interval" in foot
    assert "Queues of 128 tuples." in foot
    assert "Commit 0123456789+dirty." in foot
    assert len(figure.axes) == 2


def test_topologies_of_different_length_leave_no_empty_axes():
    table = scaling("e", {"pipeline": [1, 100, 1000], "mix": [1]}, LEVELS)
    figure = thread_panels.figure({"throughput": table}, "a title")
    assert sum(ax.axison for ax in figure.axes) == 4


def test_costs_are_in_the_order_of_their_numbers_and_words_come_last():
    assert sorted(["skewed", "1000", "20", "3"], key=thread_panels.cost_key) == [
        "3",
        "20",
        "1000",
        "skewed",
    ]


@pytest.mark.parametrize(
    ("means", "at_top"),
    [((1e5, 2e5, 2e6), True), ((2e6, 1.9e6, 1e5), False)],
    ids=["rising lines", "falling lines"],
)
def test_the_names_of_arms_without_a_mean_keep_clear_of_the_lines(ax, means, at_top):
    rows = [
        arm_row("pldi17_fig9", "pipeline", 1, "dynamic", mean, threads=level)
        for level, mean in zip(LEVELS, means, strict=True)
    ]
    lost = arm_row("pldi17_fig9", "pipeline", 1, "dedicated", None, failed=0, unsettled=3)
    thread_panels.draw(ax, frame([*rows, lost]))
    (text,) = [each for each in ax.texts if "dedicated" in each.get_text()]
    assert (text.get_position()[1] > 0.5) == at_top


@pytest.mark.parametrize(
    ("means", "law", "manual"),
    [((1e5, 2e5, 2.2e6), 2.2e6, 5e4), ((2e6, 1.9e6, 1e5), 1.5e5, 2e6)],
    ids=["top", "bottom"],
)
def test_no_line_across_crosses_the_names_of_arms_without_a_mean(means, law, manual):
    _, ax = plt.subplots(figsize=(3.6, 2.3))
    rows = [
        arm_row("pldi17_fig9", "pipeline", 1, "dynamic", mean, threads=level)
        for level, mean in zip(LEVELS, means, strict=True)
    ]
    rows.append(arm_row("pldi17_fig9", "pipeline", 1, "manual", manual))
    rows.append(elastic_row("pldi17_fig9", "pipeline", 1, law, 4))
    lost = arm_row("pldi17_fig9", "pipeline", 1, "dedicated", None, failed=0, unsettled=3)
    thread_panels.draw(ax, frame([*rows, lost]))
    ax.figure.draw_without_rendering()
    (text,) = [each for each in ax.texts if "dedicated" in each.get_text()]
    box = text.get_window_extent()
    assert not box.y0 < ax.transData.transform((1, law))[1] < box.y1
