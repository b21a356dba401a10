"""Figures of M19: what is drawn for which rows of the tables."""

from __future__ import annotations

import json
from itertools import combinations

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex

from harness.plots import adaptation_panels, gain_panels, mw19_fig1, queue_arms, settled, style
from tests.plots.made_tables import (
    NEVER_SETTLED,
    arm_row,
    elastic_row,
    figure_named,
    frame,
    period_rows,
    ratio_row,
)

OURS, THEIRS = style.of_model("multilevel").color, queue_arms.LAWS["middleware19"].color
PINK = style.of_model("elastic").color
XEON16 = {"machine": "xeon:16", "simulated": True, "software": "millrace"}
XEON = XEON16 | {"machine": "xeon"}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.figure().subplots()


def multilevel_row(
    experiment, topology, cost, mean, level, queued, law="millrace", name="", **other
):
    """One row of the throughput table, of a multilevel arm."""
    row = elastic_row(experiment, topology, cost, mean, level, law=law, **other)
    suffix = "" if law == "millrace" else f"-{law}"
    return row | {"model": "multilevel", "arm": name or f"multilevel{suffix}", "queued": queued}


def shared_row(queued, mean, level=4.0, **other):
    """One row of an arm whose queues were placed by hand."""
    row = elastic_row("mw19_fig1", "pipeline", 100, mean, level, **other)
    return row | {"arm": f"dynamic-elastic-queued-{queued}pct", "queued": float(queued)}


def by_share(**other) -> list[dict]:
    rows = [
        shared_row(queued, mean, **other) for queued, mean in ((0, 10.0), (100, 15.0), (20, 30.0))
    ]
    return [*rows, multilevel_row("mw19_fig1", "pipeline", 100, 28.0, 3.0, 25.0, **other)]


def table(rows: list[dict], places: float = 100.0) -> pd.DataFrame:
    return frame([row | {"places": places} for row in rows])


def panels(figure):
    return {" / ".join(ax.get_title().splitlines()): ax for ax in figure.axes if ax.get_title()}


def lines_of(ax, color):
    return [line for line in ax.lines if to_hex(line.get_color()) == color]


# -- Figure 1 --


def test_queues_placed_by_hand_are_a_line_over_their_share_with_their_threads(ax):
    mw19_fig1.draw(ax, table(by_share()))
    line = next(line for line in lines_of(ax, PINK) if len(line.get_xdata()) == 3)
    assert list(line.get_xdata()) == [0, 20, 100]
    assert list(line.get_ydata()) == [10.0, 30.0, 15.0]
    assert [text.get_text() for text in ax.texts] == ["4", "4", "4", "3"]
    assert ax.get_ylim()[0] == 0


def test_levels_cover_neither_points_nor_each_other():
    rows = [shared_row(queued, mean) for queued, mean in ((0, 10.0), (20, 28.0), (100, 15.0))]
    rows += [
        multilevel_row("mw19_fig1", "pipeline", 100, mean, 16.0, 20.0) for mean in (27.0, 29.0)
    ]
    figure = figure_named("mw19_fig1", {"throughput": table(rows)})
    figure.draw_without_rendering()
    (ax,) = panels(figure).values()
    numbers = [text.get_window_extent() for text in ax.texts]
    assert len(numbers) == len(rows)
    assert not any(one.overlaps(other) for one, other in combinations(numbers, 2))
    points = [
        ax.transData.transform(point)
        for point in ((0, 10), (20, 27), (20, 28), (20, 29), (100, 15))
    ]
    assert not any(number.contains(*point) for number in numbers for point in points)


def test_what_multilevel_finds_is_a_line_across_with_a_marker_at_its_share(ax):
    mw19_fig1.draw(ax, table(by_share()))
    across, marker = lines_of(ax, OURS)
    assert list(across.get_ydata()) == [28.0, 28.0]
    assert (marker.get_xdata()[0], marker.get_ydata()[0]) == (25, 28.0)


def test_an_arm_that_failed_is_named_and_one_that_never_settled_is_open(ax):
    rows = [
        multilevel_row("e", "pipeline", 1, 5.0, 2.0, 10.0, **NEVER_SETTLED),
        shared_row(50, None),
    ]
    mw19_fig1.draw(ax, table(rows))
    (failed,) = [text for text in ax.texts if text.get_text() == "failed"]
    assert failed.xy[0] == 50
    assert to_hex(lines_of(ax, OURS)[-1].get_markerfacecolor()) == "#ffffff"


def test_a_point_of_the_line_is_the_paler_the_fewer_of_its_runs_settled(ax):
    rows = [
        shared_row(share, 10.0, unsettled=unsettled)
        for share, unsettled in ((0, 0), (50, 3), (100, 1))
    ]
    mw19_fig1.draw(ax, table(rows))
    faces = {
        line.get_xdata()[0]: to_hex(line.get_markerfacecolor())
        for line in ax.lines
        if len(line.get_xdata()) == 1
    }
    assert (faces[0], faces[50]) == (PINK, "#ffffff")
    assert faces[100] == to_hex(settled.shade(PINK, 2 / 3)), "two of three runs settled"


def test_figure_1_has_a_row_a_machine_fewer_cpus_first_and_a_panel_a_payload():
    rows = [
        row
        for machine in (XEON, XEON16, {})
        for payload in (1024, 1)
        for row in by_share(payload=payload, **machine)
    ]
    shown = panels(figure_named("mw19_fig1", {"throughput": table(rows)}))
    machines = ("xeon with 16 CPUs (simulated)", "xeon (simulated)", "local (measured)")
    assert list(shown) == [
        f"{machine} / payload {size} B" for machine in machines for size in ("1", "1,024")
    ]
    assert to_hex(shown["xeon (simulated) / payload 1 B"].get_facecolor()) == style.SIMULATED


# -- Figures 9 to 12 --


def cell_rows(topology="pipeline", cost=100, payload=128, **other) -> list[dict]:
    """Manual, dynamic elastic, multilevel under two laws; the last one with 10 of 100 queues and 3
    threads.
    """
    options = {"payload": payload, **other}
    return [
        arm_row("e", topology, cost, "manual", 10.0, **options),
        elastic_row("e", topology, cost, 20.0, 8.0, **options) | {"queued": 100.0},
        multilevel_row("e", topology, cost, 40.0, 4.0, 50.0, **options),
        multilevel_row("e", topology, cost, 5.0, 3.0, 10.0, law="middleware19", **options),
    ]


def over_manual(rows: list[dict]) -> pd.DataFrame:
    ratios = [
        ratio_row(row, row["mean"] / 10, None, None, "manual")
        for row in rows
        if row["mean"] is not None
    ]
    return frame([*ratios, *(ratio_row(row, 99.0, 98.0, 100.0, "best") for row in rows)])


def drawn(rows, along="payload"):
    figure = plt.figure()
    gains, shares = figure.subplots(2, 1)
    ratios = over_manual(rows)
    gain_panels.draw(gains, shares, table(rows), ratios[ratios["against"] == "manual"], along)
    return gains, shares


def test_bars_stand_on_manual_up_if_faster_and_down_if_slower():
    gains, _ = drawn(cell_rows())
    assert [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in gains.patches] == [
        (1, 2),
        (1, 4),
        (1, 0.5),
    ]
    assert [to_hex(bar.get_facecolor()) for bar in gains.patches] == [PINK, OURS, THEIRS]
    assert gains.get_yscale() == "log"
    assert gains.get_ylim()[0] < 0.5
    assert gains.get_ylim()[1] > 4


def test_the_end_of_a_bar_is_a_line_which_shows_what_is_as_fast_as_manual():
    gains, _ = drawn(cell_rows())
    ends = [
        line
        for line in gains.collections
        if isinstance(line, LineCollection) and to_hex(line.get_color()[0]) in (PINK, OURS, THEIRS)
    ]
    assert [line.get_segments()[0][0][1] for line in ends] == [2, 4, 0.5]


def test_intervals_end_in_caps_and_one_over_powers_of_ten_is_cut_with_arrows_so_that_bars_can_be_seen():
    figure = plt.figure()
    gains, shares = figure.subplots(2, 1)
    rows = cell_rows()[:3]
    ratios = frame(
        [ratio_row(rows[1], 2.0, 1.5, 3.0, "manual"), ratio_row(rows[2], 4.0, 1e-6, 1e7, "manual")]
    )
    gain_panels.draw(gains, shares, table(rows), ratios, "payload")
    ends = [
        (line.get_marker(), line.get_ydata()[0])
        for line in gains.lines
        if line.get_marker() not in (None, "None")
    ]
    assert ends == [("_", 1.5), ("_", 3.0), ("v", 1.0), ("^", 16.0)]
    assert gains.get_ylim()[1] < 64


def test_below_are_the_share_of_queues_and_the_threads():
    _, shares = drawn(cell_rows())
    assert [bar.get_height() for bar in shares.patches] == [100, 50, 10]
    assert [text.get_text() for text in shares.texts] == ["8", "4", "3"]


def test_cells_lie_along_the_axis_by_their_value_costs_that_are_words_last():
    rows = [row for cost in ("skewed", 10000, 1) for row in cell_rows(cost=cost)]
    gains, shares = drawn(rows, "cost")
    assert [label.get_text() for label in shares.get_xticklabels()] == ["1", "10,000", "skewed"]
    assert len(gains.patches) == 9
    assert gains.patches[0].get_x() < 0.5 < gains.patches[3].get_x()


def test_an_arm_that_failed_or_has_no_pair_says_so():
    rows = cell_rows()
    nothing = {"mean": None, "lo": None, "hi": None, "n": 0, "settled_share": None}
    rows[1] |= {**nothing, "no_rate": 3}
    rows[2] |= {**nothing, "failed": 3}
    gains, _ = drawn(rows)
    assert sorted(text.get_text() for text in gains.texts) == ["failed", "no rate"]
    figure = plt.figure()
    axes = figure.subplots(2, 1)
    gain_panels.draw(*axes, table(cell_rows()), over_manual(cell_rows()).iloc[:0], "payload")
    assert [text.get_text() for text in axes[0].texts] == ["no pair"] * 3


def with_streams(rows: list[dict], mean: float = 16.0, **other) -> list[dict]:
    """Return the same with thread elasticity under IBM's law."""
    row = elastic_row("e", "pipeline", 100, mean, 6.0, law="streams", payload=128, **other)
    return [*rows, row | {"arm": "dynamic-elastic-streams"}]


def numbers(rows):
    """Return what is written above the bars, from the left."""
    gains, _ = drawn(rows)
    return [
        text.get_text() for text in sorted(gains.texts, key=lambda text: text.get_position()[0])
    ]


def test_on_bars_of_multilevel_stands_what_they_are_over_thread_elasticity_alone_ibms_if_there():
    assert numbers(cell_rows()) == ["2.0×", "0.25×"]
    assert numbers(with_streams(cell_rows())) == ["2.5×", "0.31×"]
    assert numbers(with_streams(cell_rows(), mean=2.1)) == ["19×", "2.4×"]
    assert numbers(with_streams(cell_rows(), mean=0.125)) == ["320×", "40×"]


def test_no_number_stands_there_where_either_side_never_settled_or_is_not_there():
    rows = cell_rows()
    rows[2] |= NEVER_SETTLED
    assert numbers(rows) == ["0.25×"]
    assert numbers(with_streams(rows, **NEVER_SETTLED)) == []
    assert (
        numbers([row for row in cell_rows() if not row["elastic"] or row["model"] == "multilevel"])
        == []
    )


def test_how_many_runs_settled_stands_left_of_an_interval_and_the_values_of_its_ends_right():
    rows = cell_rows()[:3]
    rows[2] |= {"simulated": True, "n": 3, "unsettled": 1, "settled_share": 2 / 3}
    figure = plt.figure(figsize=(8, 6))
    gains, shares = figure.subplots(2, 1)
    ratios = frame(
        [ratio_row(rows[1], 2.0, 1.5, 3.0, "manual"), ratio_row(rows[2], 4.0, 1e-6, 1e7, "manual")]
    )
    gain_panels.draw(gains, shares, table(rows), ratios, "payload")
    figure.canvas.draw()
    (words,) = (text for text in gains.texts if "settled" in text.get_text())
    ends = [text for text in gains.texts if "×" in text.get_text()]
    middle = gains.transData.transform((words.xy[0], 1))[0]
    assert words.get_text() == "2 of 3 settled"
    assert words.get_window_extent().x1 < middle
    assert len(ends) == 2
    assert all(text.get_window_extent().x0 > words.get_window_extent().x1 for text in ends)


def test_thread_elasticity_has_a_look_and_a_name_for_each_law():
    rows = with_streams(cell_rows())
    gains, _ = drawn(rows)
    assert len({to_hex(bar.get_facecolor()) for bar in gains.patches}) == 4
    assert [queue_arms.called(row) for row in queue_arms.in_order(table(rows))][1:3] == [
        "dynamic elastic",
        "dynamic elastic (streams)",
    ]


def test_bars_over_a_manual_arm_that_never_settled_are_hollow():
    rows = cell_rows()
    assert not any(bar.get_hatch() for bar in drawn(rows)[0].patches)
    rows[0] |= NEVER_SETTLED
    assert all(bar.get_hatch() for bar in drawn(rows)[0].patches)


@pytest.mark.parametrize(
    ("name", "topology", "sizes", "titles"),
    [
        (
            "mw19_fig9",
            "pipeline",
            [{"operators": 1000}, {"operators": 100}],
            ["100 operators", "1,000 operators"],
        ),
        ("mw19_fig10", "data-parallel", [{"width": 100}, {"width": 50}], ["width 50", "width 100"]),
        ("mw19_fig11", "mix", [{"depth": 100}, {"depth": 50}], ["depth 50", "depth 100"]),
    ],
)
def test_figures_9_to_11_have_rows_by_machine_and_costs_and_panels_by_size(
    name, topology, sizes, titles
):
    rows = []
    for place in (XEON, {}):
        for cost in ("skewed", 100):
            for size in sizes:
                for payload in (16384, 128):
                    cell = f"{topology},{size},{cost},{payload}"
                    rows += [
                        row | size | {"cell": cell}
                        for row in cell_rows(topology, cost, payload, **place)
                    ]
    shown = panels(figure_named(name, {"throughput": table(rows), "speedup": over_manual(rows)}))
    assert list(shown) == [
        f"{machine} / {title}, {costs}"
        for machine in ("xeon (simulated)", "local (measured)")
        for costs in ("cost 100 FLOP", "skewed costs")
        for title in titles
    ]
    assert all(len(ax.patches) == 6 for ax in shown.values())


def test_figure_12_has_a_row_a_number_of_cpus_and_bars_by_cost():
    rows = [
        row | {"cell": f"bushy,{cost},{payload}"}
        for place in (XEON, XEON16)
        for payload in (128, 1024)
        for cost in (10000, 1)
        for row in cell_rows("bushy", cost, payload, **place)
    ]
    figure = figure_named("mw19_fig12", {"throughput": table(rows), "speedup": over_manual(rows)})
    assert list(panels(figure)) == [
        f"{machine} (simulated) / payload {payload} B, bushy"
        for machine in ("xeon with 16 CPUs", "xeon")
        for payload in ("128", "1,024")
    ]
    assert "cost [FLOP a tuple]" in {ax.get_xlabel() for ax in figure.axes}


def test_ratios_are_those_of_the_same_machine():
    rows, others = cell_rows(**XEON), cell_rows()
    ratios = pd.concat([over_manual(rows), over_manual(others).assign(ratio=7.0)])
    shown = panels(
        figure_named("mw19_fig9", {"throughput": table([*rows, *others]), "speedup": ratios})
    )
    tops = {
        name.split(" / ")[0]: [bar.get_height() for bar in ax.patches] for name, ax in shown.items()
    }
    assert tops == {"xeon (simulated)": [1, 3, -0.5], "local (measured)": [6, 6, 6]}


def test_the_legend_names_the_arms_with_their_laws():
    rows = cell_rows()
    (legend,) = figure_named(
        "mw19_fig9", {"throughput": table(rows), "speedup": over_manual(rows)}
    ).legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "manual",
        "dynamic elastic",
        "multilevel",
        "multilevel (middleware19)",
        "n× on a bar: over dynamic elastic",
        "number below: scheduler threads",
    ]


def test_the_legend_of_runs_over_time_has_every_law_that_is_drawn():
    rows = [
        multilevel_row("mw19_fig13", "pipeline", "skewed", 5.0, 2.0, 4.0, law=law)
        for law in ("millrace", "middleware19")
    ]
    phase = json.dumps({"phase": "1000"})
    runs = pd.DataFrame(
        [period for row in rows for period in run_rows(row, [1, 2], [0, 4], parameters=phase)]
    )
    (legend,) = figure_named("mw19_fig13", {"throughput": table(rows), "timeline": runs}).legends
    handles = dict(
        zip([text.get_text() for text in legend.get_texts()], legend.legend_handles, strict=True)
    )
    assert {name: to_hex(handles[name].get_color()) for name in list(handles)[:2]} == {
        "multilevel, law millrace": OURS,
        "multilevel, law middleware19": THEIRS,
    }


# -- Figures 6 and 13 --


def run_rows(row, levels, queues, **other) -> list[dict]:
    periods = period_rows(row, levels, rate=100.0, arm=row["arm"], **other)
    return [period | {"queued_ports": count} for period, count in zip(periods, queues, strict=True)]


def test_queues_and_threads_are_steps_on_axes_of_their_own():
    row = multilevel_row("mw19_fig6", "pipeline", "skewed", 5.0, 2.0, 4.0)
    rate, below, threads = plt.figure().subplots(3, 1)
    adaptation_panels.draw(
        rate,
        below,
        threads,
        pd.DataFrame(run_rows(row, [1, 4, 4], [0, 7, 9])),
        OURS,
        adaptation_panels.AdaptationStyle(str),
    )
    assert list(rate.lines[0].get_xdata()) == [0.25, 0.75, 1.25]
    assert list(rate.lines[0].get_ydata()) == [100.0, 200.0, 200.0]  # at the sinks
    assert list(below.lines[0].get_ydata()) == [0, 0, 7, 9]
    assert list(threads.lines[0].get_ydata()) == [1, 1, 4, 4]
    assert {ax.get_ylim()[0] for ax in (rate, below, threads)} == {0}


def test_figure_6_has_a_panel_an_arm_on_the_same_scale():
    names = ("multilevel-middleware19-plain", "multilevel-middleware19-satisfied")
    theirs = [
        multilevel_row(
            "mw19_fig6", "pipeline", "skewed", 5.0, 2.0, 4.0, law="middleware19", name=name
        )
        for name in names
    ]
    ours = multilevel_row("mw19_fig6", "pipeline", "skewed", 5.0, 2.0, 4.0)
    timeline = [
        *run_rows(theirs[0], [1, 2], [0, 50]),
        *run_rows(ours, [1, 2, 8, 8], [0, 4, 4, 5]),
        *run_rows(ours, [1, 1], [0, 1], repeat=1, run_id="second"),
    ]
    shown = panels(
        figure_named(
            "mw19_fig6", {"throughput": table([*theirs, ours]), "timeline": pd.DataFrame(timeline)}
        )
    )
    cell = "pipeline, 100 operators, skewed, 128 B"
    told = (
        "multilevel (millrace)",
        "multilevel (middleware19, plain)",
        "multilevel (middleware19, satisfied)",
    )
    assert list(shown) == [f"{cell} / {name}" for name in told]
    first, second, third = shown.values()
    assert list(first.lines[-1].get_ydata()) == [100.0, 100.0], "of two runs the slower one"
    assert (first.get_xlim(), first.get_ylim()) == (second.get_xlim(), second.get_ylim())
    assert [text.get_text() for text in third.texts] == ["no samples"]


def test_the_line_of_figure_6_has_the_colour_of_the_elasticity_that_moved_it():
    row = multilevel_row("mw19_fig6", "pipeline", "skewed", 5.0, 2.0, 4.0)
    rates = [100.0, 400.0, 300.0, 1300.0, 1310.0]
    runs = run_rows(row, [1, 2, 2, 4, 4], [0, 0, 7, 9, 9])
    runs = [run | {"throughput_sink": rate} for run, rate in zip(runs, rates, strict=True)]
    figure = figure_named("mw19_fig6", {"throughput": table([row]), "timeline": pd.DataFrame(runs)})
    rate, queues, threads = figure.axes
    movers = [
        adaptation_panels.THREADS,
        adaptation_panels.QUEUES,
        adaptation_panels.BOTH,
        adaptation_panels.NEITHER,
    ]
    drawn = [(line.get_color(), list(line.get_ydata())) for line in rate.lines[:4]]
    assert drawn == [
        (mover.color, rates[number : number + 2]) for number, mover in enumerate(movers)
    ]
    assert {text.get_text() for text in rate.texts} == {
        "thread count: +300",
        "placement of queues: −100",
        "both: +1 k",
        "neither: +10",
    }
    assert queues.lines[0].get_color() == adaptation_panels.QUEUES.color
    assert threads.lines[0].get_color() == adaptation_panels.THREADS.color
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "throughput after a change of thread count" in told


def test_where_colours_say_what_changed_the_line_is_one_run_the_one_of_median_throughput():
    row = multilevel_row("mw19_fig6", "pipeline", "skewed", 5.0, 2.0, 4.0)
    levels = {"a": ([1, 4, 4], [0, 7, 9]), "b": ([1, 1, 4], [0, 1, 2]), "c": ([1, 9], [0, 50])}
    runs = [
        period
        for number, (name, each) in enumerate(levels.items())
        for period in run_rows(row, *each, run_id=name, repeat=number)
    ]
    rate, queues, threads = figure_named(
        "mw19_fig6", {"throughput": table([row]), "timeline": pd.DataFrame(runs)}
    ).axes
    assert list(rate.lines[-1].get_ydata()) == [100.0, 200.0, 200.0]  # of means 167, 133 and 200
    assert list(queues.lines[0].get_ydata()) == [0, 0, 7, 9]
    assert list(threads.lines[0].get_ydata()) == [1, 1, 4, 4]
    assert "thread count: +0" not in {text.get_text() for text in rate.texts}


def test_figure_6_ends_at_twice_the_time_of_its_last_change():
    row = multilevel_row("mw19_fig6", "pipeline", "skewed", 5.0, 2.0, 4.0)
    still = run_rows(row, [1, 2, *[4] * 20], [0] * 22)  # periods of half a second
    figure = figure_named(
        "mw19_fig6", {"throughput": table([row]), "timeline": pd.DataFrame(still)}
    )
    assert {ax.get_xlim()[1] for ax in figure.axes} == {2.0}


def test_several_runs_are_their_median_and_a_band_from_the_least_to_the_greatest():
    row = multilevel_row("mw19_fig6", "pipeline", "skewed", 5.0, 2.0, 4.0)
    levels = {"a": ([1, 4, 4], [0, 7, 9]), "b": ([1, 1, 9], [0, 1, 2]), "c": ([1, 9], [0, 50])}
    runs = [
        run_rows(row, *each, run_id=name, repeat=number)
        for number, (name, each) in enumerate(levels.items())
    ]
    failed = run_rows(row, [99, 99], [99, 99], run_id="d", repeat=3, failed=True)
    rate, below, threads = plt.figure().subplots(3, 1)
    rows = pd.DataFrame([*(period for run in runs for period in run), *failed])
    kind = adaptation_panels.AdaptationStyle(str)
    adaptation_panels.draw(rate, below, threads, rows, OURS, kind)
    assert list(rate.lines[0].get_ydata()) == [100.0, 200.0, 250.0]
    assert list(below.lines[0].get_ydata()) == [0, 0, 7, 5.5]
    for ax, low, high in ((rate, 100.0, 300.0), (below, 0, 50), (threads, 1, 9)):
        (band,) = ax.collections
        edges = band.get_paths()[0].vertices[:, 1]
        assert (edges.min(), edges.max()) == (low, high)
    foot = figure_named(
        "mw19_fig6", {"throughput": table([row | {"n": 3}]), "timeline": rows}
    ).get_supxlabel()
    assert "n = 3 runs" in foot.replace(
        "\n", " "
    ) and "from the least to the greatest" in foot.replace("\n", " ")


def test_the_phase_with_more_heavy_operators_is_shaded():
    row = multilevel_row("mw19_fig13", "pipeline", None, 5.0, 2.0, 4.0) | {
        "topology": "phase-change"
    }
    rows = run_rows(
        row, [1] * 4, [0, 4, 4, 9], throughput_source=100.0, parameters=json.dumps({"phase": "75"})
    )
    figure = figure_named(
        "mw19_fig13", {"throughput": table([row]), "timeline": pd.DataFrame(rows)}
    )
    (panel,) = panels(figure).values()
    (shade,) = panel.patches
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == (
        0.75,
        1.5,
    )  # 50 tuples a period of half a second
    assert "more heavy operators" in [text.get_text() for text in figure.legends[0].get_texts()]
