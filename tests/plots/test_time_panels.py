"""Throughput and level over time: what is drawn for which rows of the timeline table."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from harness.plots import style, time_panels
from tests.plots.made_tables import (
    arm_row,
    balanced_rows,
    elastic_row,
    figure_named,
    frame,
    period_rows,
)

ROW = elastic_row("pldi17_fig11", "pipeline", 1, 1e6, 2.0)
COLOR = style.of_model("elastic").color


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.figure().subplots()


def run(levels, **other):
    return pd.DataFrame(period_rows(ROW, levels, rate=100.0, **other))


def test_throughput_is_at_the_middle_of_each_period(ax):
    time_panels.draw(ax, run([1, 4, 4]), time_panels.THREADS)
    (line,) = [line for line in ax.lines if line.get_color() == COLOR]
    assert list(line.get_xdata()) == [0.25, 0.75, 1.25]
    assert list(line.get_ydata()) == [
        1000.0,
        2000.0,
        2000.0,
    ]  # over all operators, not at the sinks


def test_the_level_is_a_step_over_each_whole_period(ax):
    right = time_panels.draw(ax, run([1, 4, 2]), time_panels.THREADS)
    (steps,) = right.lines
    assert steps.get_drawstyle() == "steps-pre"
    assert list(steps.get_xdata()) == [0.0, 0.5, 1.0, 1.5]
    assert list(steps.get_ydata())[1:] == [1, 4, 2]


@pytest.mark.parametrize(
    ("swings", "line"), [(time_panels.MAX_SWINGS, "-"), (time_panels.MAX_SWINGS + 1, "None")]
)
def test_a_level_that_swings_too_often_for_lines_is_a_mark_a_period_as_its_throughput_is(
    ax, swings, line
):
    levels = [1 + number % 2 for number in range(swings + 2)]
    right = time_panels.draw(ax, run(levels), time_panels.THREADS)
    (throughput,) = [each for each in ax.lines if each.get_color() == COLOR]
    assert throughput.get_linestyle() == line
    assert len(throughput.get_ydata()) == len(levels)
    if line == "None":
        assert right.lines[0].get_linestyle() == line
        assert list(right.lines[0].get_ydata()) == levels


@pytest.mark.parametrize("swings", [time_panels.MAX_SWINGS, time_panels.MAX_SWINGS + 1])
def test_the_legend_explains_marks_where_there_are_some(swings):
    rows = run([1 + number % 2 for number in range(swings + 2)])
    figure = figure_named("pldi17_fig11", {"throughput": frame([ROW]), "timeline": rows})
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    marks = "active threads, where they change too often for a line"
    assert (marks in told) == (swings > time_panels.MAX_SWINGS)


def test_a_long_climb_is_a_line_however_many_steps_it_has(ax):
    right = time_panels.draw(ax, run(range(1, 2 * time_panels.MAX_SWINGS)), time_panels.THREADS)
    assert right.lines[0].get_drawstyle() == "steps-pre"


def test_rows_in_any_order_give_the_same_lines(ax):
    right = time_panels.draw(ax, run([1, 4, 2]).iloc[::-1], time_panels.THREADS)
    assert list(right.lines[0].get_ydata())[1:] == [1, 4, 2]


def test_both_axes_start_at_0_and_threads_are_whole(ax):
    right = time_panels.draw(ax, run([1, 2, 1]), time_panels.THREADS)
    assert ax.get_ylim()[0] == right.get_ylim()[0] == 0
    assert right.get_ylim()[1] > 2
    assert all(tick == int(tick) for tick in right.get_yticks())
    assert ax.get_xlim() == (0, 1.5)


def test_the_measured_window_begins_at_a_line_if_something_came_before(ax):
    rows = run([1, 2, 3, 3])
    rows.loc[:1, "phase"] = "adaptation"
    time_panels.draw(ax, rows, time_panels.THREADS)
    assert [list(line.get_xdata()) for line in ax.lines if line.get_linestyle() == ":"] == [
        [1.0, 1.0]
    ]
    other = plt.figure().subplots()
    time_panels.draw(other, run([1, 2]), time_panels.THREADS)
    assert not [line for line in other.lines if line.get_linestyle() == ":"]


def test_a_run_that_failed_says_so_and_one_without_a_tuple_is_drawn(ax):
    rows = run([1, 1], failed=True, throughput_submitted=0.0)
    time_panels.draw(ax, rows, time_panels.THREADS)
    assert [text.get_text() for text in ax.texts] == ["failed"]
    assert ax.get_ylim() == (0, 1)


def panels(figure):
    """The left axes, by their titles."""
    return {ax.get_title(): ax for ax in figure.axes if ax.get_title()}


def test_figure_11_has_a_row_a_graph_and_a_column_a_run_on_the_same_scale():
    mix = elastic_row("pldi17_fig11", "mix", 1000, 1e6, 2.0)
    series = [
        period_rows(mix, [1, 2]),
        period_rows(ROW, [1, 2], repeat=1, run_id="first by its name, second by its repeat"),
        period_rows(ROW, [1, 8, 4], repeat=0, run_id="other"),
    ]
    timeline = pd.concat(map(pd.DataFrame, series))
    figure = figure_named("pldi17_fig11", {"throughput": frame([mix, ROW]), "timeline": timeline})
    shown = panels(figure)
    pipeline = "pipeline, 100 operators\ncost 1 FLOP"
    mixed = "mix, width 10, depth 10\ncost 1,000 FLOP"
    named = [
        f"{pipeline}, law millrace, run 1",
        f"{pipeline}, law millrace, run 2",
        f"{mixed}, law millrace, run 1",
    ]
    assert list(shown) == [*named, f"{mixed}, run 2"]
    first, second = (shown[name] for name in named[:2])
    assert len(first.lines[0].get_xdata()) == 3
    assert first.get_ylim() == second.get_ylim()
    assert first.get_xlim() == second.get_xlim() == (0, 1.5)
    assert [text.get_text() for text in shown[f"{mixed}, run 2"].texts] == ["no samples"]
    assert {ax.get_ylabel() for ax in figure.axes} == {
        "throughput, all operators\n[tuples/s]",
        "active threads",
        "",
    }
    foot = " ".join(figure.get_supxlabel().split())
    assert "Single runs, each in a fresh process. Queues of 128 tuples." in foot
    assert "Mean of" not in foot


def test_runs_of_two_laws_are_told_apart_and_those_that_left_nothing_are_said_to_be_missing():
    def laws(row, **streams):
        return [
            row | {"n": 1},
            row | {"arm": "dynamic-elastic-streams", "law": "streams", "n": 1, **streams},
        ]

    lost, whole = laws(ROW, failed=1), laws(elastic_row("pldi17_fig11", "mix", 1000, 1e6, 2.0))
    made = [(row, 0) for row in (*lost, *whole)] + [(whole[0], 1)]
    timeline = pd.concat(
        pd.DataFrame(period_rows(row, [1, 2], run_id=f"{nth}", repeat=nth)) for row, nth in made
    )
    shown = panels(
        figure_named("pldi17_fig11", {"throughput": frame([*lost, *whole]), "timeline": timeline})
    )
    of_lost = ["law millrace, run 1", "law streams, run 1", "run 3"]
    assert [title.partition(" FLOP, ")[2] for title in shown][:3] == of_lost
    assert [title.partition(" FLOP, ")[2] for title in shown][3:] == [
        "law millrace, run 1",
        "law millrace, run 2",
        "law streams, run 1",
    ]
    assert [text.get_text() for text in shown[list(shown)[2]].texts] == ["no samples"]


def test_cells_of_one_run_are_two_in_a_row_and_the_last_of_each_column_names_the_time():
    rows = [elastic_row("pldi17_fig11", "mix", cost, 1e6, 2.0) for cost in (1, 100, 1000)]
    timeline = pd.concat(pd.DataFrame(period_rows(row, [1, 2])) for row in rows)
    shown = panels(figure_named("pldi17_fig11", {"throughput": frame(rows), "timeline": timeline}))
    first, second, third = (ax.get_position() for ax in shown.values())
    assert first.y0 == second.y0 > third.y0
    assert first.x0 == third.x0 < second.x0
    assert [ax.get_xlabel() for ax in shown.values()] == [
        "",
        "time since the start [s]",
        "time since the start [s]",
    ]


def balancer(experiment, *costs):
    return [
        arm_row(experiment, "load-balance", cost, "manual", 1e6, queue_capacity=100)
        for cost in costs
    ]


def test_the_figure_of_costs_has_a_panel_a_cost_cheapest_first_with_the_active_ports():
    rows = balancer("elb_cost", 10000, 1, 1000)
    timeline = pd.DataFrame(
        [period for row in rows for period in balanced_rows(row, [1, 3, 2], [9.0, 8.0, 7.0])]
    )
    figure = figure_named("elb_cost", {"throughput": frame(rows), "timeline": timeline})
    assert list(panels(figure)) == [
        f"load-balance, 32 workers\ncost {cost} FLOP, buffers of 100"
        for cost in ("1", "1,000", "10,000")
    ]
    left = [ax for ax in figure.axes if ax.get_title()]
    assert {ax.get_position().y0 for ax in left} == {left[0].get_position().y0}  # side by side
    rights = [ax for ax in figure.axes if ax.get_ylabel() == "active output ports"]
    assert [list(ax.lines[0].get_ydata())[1:] for ax in rights] == [[1, 3, 2]] * 3
    assert list(left[0].lines[0].get_ydata()) == [9.0, 8.0, 7.0]


def test_the_figure_of_tolerances_has_the_smaller_one_first_and_names_it():
    rows = [
        row | {"cell": f"{row['cell']},tolerance={tolerance},period=2"}
        for tolerance in (20, 5)
        for row in balancer("elb_tolerance", 1000, 1)
    ]
    timeline = pd.DataFrame(
        [period for row in rows for period in balanced_rows(row, [1, 3, 2], [9.0, 8.0, 7.0])]
    )
    figure = figure_named("elb_tolerance", {"throughput": frame(rows), "timeline": timeline})
    shown = panels(figure)
    assert [title.split("\n")[1] for title in shown] == [
        f"cost {cost} FLOP, buffers of 100, tolerance {tolerance} %"
        for cost in ("1", "1,000")
        for tolerance in (5, 20)
    ]
    lefts = [ax.get_position().x0 for ax in shown.values()]
    assert lefts == sorted(lefts)


@pytest.mark.parametrize("runs", [1, 3])
def test_the_figure_of_costs_has_a_row_a_machine_or_one_for_each_of_its_runs(runs):
    here = balancer("elb_cost", 1, 1000)
    there = {"machine": "xeon:16", "simulated": True, "software": "millrace"}
    elsewhere = [row | there for row in balancer("elb_cost", 1, 1000, 10000)]
    periods = [
        period | there for row in elsewhere for period in balanced_rows(row, [1, 16], [9.0, 8.0])
    ]
    periods += [
        period | {"repeat": run, "run_id": f"{row['cell']}-{run}"}
        for row in here
        for run in range(runs)
        for period in balanced_rows(row, [1, 2], [9.0, 8.0])
    ]
    figure = figure_named(
        "elb_cost", {"throughput": frame([*here, *elsewhere]), "timeline": pd.DataFrame(periods)}
    )
    shown = {title: ax.get_position() for title, ax in panels(figure).items()}
    above = [
        place for title, place in shown.items() if title.startswith("xeon with 16 CPUs (simulated)")
    ]
    below = [place for title, place in shown.items() if title.startswith("local (measured)")]
    assert [len(above), len(below)] == [3, 2 * runs]
    assert [len({place.y0 for place in places}) for places in (above, below)] == [1, runs]
    assert min(place.y0 for place in above) > max(place.y0 for place in below)
    assert sorted({place.x0 for place in below}) == [place.x0 for place in above[:2]]


@pytest.mark.parametrize(
    ("name", "words"),
    [("elb_bursty_cost", "expensive tuples"), ("elb_bursty_rate", "silence")],
    ids=["cost", "rate"],
)
def test_bursts_are_shaded_within_the_run_and_told_in_the_legend(name, words):
    (row,) = balancer(name, 10000)
    periods = balanced_rows(row, [1, 2], [60.0, 20.0], cycle=100, burst=500, silence=9000)
    figure = figure_named(name, {"throughput": frame([row]), "timeline": pd.DataFrame(periods)})
    (panel,) = panels(figure).values()
    (shade,) = panel.patches
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == (0.5, 1.0)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "throughput",
        "active output ports",
        words,
    ]
