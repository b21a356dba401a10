"""The figure of any experiment, and the table that is made for it without Spark."""

from __future__ import annotations

import pytest

from harness.experiments.results import in_order, table_of_records
from harness.measurement.record.declaration import RECORD
from harness.plots import paper, style
from harness.plots.experiment_panels import figure_of_experiment
from harness.spark.stationary import without_unsettled
from tests.records import example


def record(cell, arm, rate, **changes):
    plain = {"machine": "local", "simulated": False, "simulation": None, "elastic": None}
    return example(
        RECORD, cell=cell, arm=arm, model=arm.split("-")[0], sink_tuples_per_s=rate, error=None,
        **(plain | changes),
    )  # fmt: skip


def simulated(cell, arm, rate, **changes):
    simulation = {"software": "invented", "passed_tuples_per_s": rate}
    return record(cell, arm, rate, machine="xeon", simulated=True, simulation=simulation, **changes)


def test_runs_that_chose_a_finalist_do_not_count():
    rates = [(9e6, {}), (None, {}), (1e6, {"final": True}), (3e6, {"final": True})]
    table = table_of_records([record("a", "manual", rate, **of) for rate, of in rates])
    assert list(table["mean"]) == [2e6] and list(table["n"]) == [2]
    assert list(table["no_rate"]) == [1] and list(table["failed"]) == [0]


def test_a_row_has_the_mean_of_the_correct_runs_with_its_interval():
    table = table_of_records(
        [
            record("a", "manual", 100.0),
            record("a", "manual", 200.0),
            record("a", "manual", None, correct=False),
            record("a", "dynamic-2", 50.0),
        ]
    )
    manual, dynamic = table.to_dict("records")
    assert (manual["mean"], manual["n"], manual["failed"]) == (150.0, 2, 1)
    assert manual["lo"] < 100.0 and manual["hi"] > 200.0
    assert (dynamic["mean"], dynamic["n"]) == (50.0, 1)
    assert dynamic["lo"] != dynamic["lo"]  # one run has no interval


def test_a_simulated_law_of_which_some_runs_settled_has_their_mean():
    runs = [
        simulated("a", "dynamic-elastic", rate, elastic={"law": "millrace"}, settled=ended)
        for rate, ended in ((100.0, True), (120.0, True), (900.0, False))
    ]
    table = without_unsettled(table_of_records(runs))
    (row,) = table.to_dict("records")
    assert (row["mean"], row["n"], row["unsettled"]) == (110.0, 3, 1)
    assert row["lo"] < 100.0 and row["hi"] > 120.0
    figure = figure_of_experiment(table, cells(a={"cost": 1}), "mine")
    (bars,) = figure.axes[0].containers[0].lines[2]
    ends = [float(y) for _, y in bars.get_segments()[0]]
    assert ends == pytest.approx([100.0, 120.0])  # of two runs their range
    foot = " ".join(figure.get_supxlabel().split())
    assert "Mean of the settled runs alone: on xeon dynamic-elastic (2 of 3) in a." in foot


def cells(**swept):
    return {name: {"topology": "pipeline", **values} for name, values in swept.items()}


@pytest.mark.parametrize(
    ("costs", "rates", "scales"),
    [((1, 2), (100.0, 90.0), ("linear", "linear")), ((1, 1000), (9e6, 9e3), ("log", "log"))],
)
def test_axes_are_logarithmic_where_values_are_far_apart(costs, rates, scales):
    both = cells(a={"cost": costs[0]}, b={"cost": costs[1]})
    table = table_of_records(
        [record(name, "manual", rate) for name, rate in zip("ab", rates, strict=True)]
    )
    (axes,) = figure_of_experiment(table, both, "mine").axes
    assert (axes.get_xscale(), axes.get_yscale()) == scales
    assert axes.get_xlabel() == "cost"


def bars_of(*rates):
    """Return the ends of the first arm's bar, none if it has no bar, and the foot of a figure of
    one cell.
    """
    table = table_of_records([record("a", "manual", rate) for rate in rates])
    figure = figure_of_experiment(table, cells(a={"cost": 1}), "mine")
    (bars,) = figure.axes[0].containers[0].lines[2]
    return [float(y) for _, y in (bars.get_segments() or [[]])[0]], figure.get_supxlabel()


def test_two_runs_show_their_range():
    ends, foot = bars_of(100.0, 900.0)
    assert ends == pytest.approx([100.0, 900.0])
    assert "of two runs their range" in foot.replace("\n", " ") and "--repeats" not in foot


def test_one_run_has_no_bar():
    ends, foot = bars_of(100.0)
    assert ends == []
    assert "Single runs" in foot


def test_three_runs_show_their_interval():
    ends, foot = bars_of(100.0, 110.0, 120.0)
    assert ends[0] < 100.0 and ends[1] > 120.0
    assert "bars: 95 % interval over the runs" in foot.replace("\n", " ")


def test_an_interval_that_goes_on_beyond_the_axis_has_an_arrow_with_its_value():
    table = table_of_records([record("a", "manual", rate) for rate in (1e6, 2e6, 9e6)])
    figure = figure_of_experiment(table, cells(a={"cost": 1}), "mine")
    high = table["hi"].iloc[0]
    assert high > figure.axes[0].get_ylim()[1]
    assert [text.get_text() for text in figure.axes[0].texts] == [style.rate(high)]
    assert "with an arrow and the end's value" in figure.get_supxlabel().replace("\n", " ")


def markers(axes):
    """Return the face of each marker of a mean; a cross for an arm without one."""
    lines = [line for line in axes.lines if line.get_marker() in ("x", "s", "o")]
    return ["x" if line.get_marker() == "x" else line.get_markerfacecolor() for line in lines]


def test_a_measured_point_that_never_settled_is_hollow():
    table = table_of_records(
        [record("a", "manual", 5.0, settled=False), record("a", "dynamic-2", 5.0)]
    )
    figure = figure_of_experiment(table, cells(a={"cost": 1}), "mine")
    hollow, full = markers(figure.axes[0])
    assert hollow == (1, 1, 1) and full != (1, 1, 1)
    assert "never settled" in [text.get_text() for text in figure.legends[0].texts]
    assert "1 of 2 runs in the means never settled" in figure.get_supxlabel()


def test_a_simulated_point_that_is_not_stationary_is_a_cross_and_named_in_the_foot():
    table = table_of_records(
        [simulated("a", "manual", 5.0, settled=False), simulated("a", "dynamic-2", 5.0)]
    )
    figure = figure_of_experiment(without_unsettled(table), cells(a={"cost": 1}), "mine")
    assert "x" in markers(figure.axes[0])
    foot = figure.get_supxlabel().replace("\n", " ")
    assert "Left out, since not stationary: on xeon manual in a" in foot
    assert "SIMULATED on xeon with the software costs of invented" in foot


def test_without_a_title_the_foot_is_kept_for_the_caption():
    table = table_of_records([record("a", "manual", 5.0)])
    shape = paper.Shape(titled=False)
    with paper.shaped(shape):
        figure = figure_of_experiment(table, cells(a={"cost": 1}), "mine")
    assert not figure.get_supxlabel()
    assert shape.foot[0].startswith("Measured on ")


def test_rows_have_the_order_of_the_experiment_and_not_of_the_records():
    table = table_of_records(
        [simulated("b", "manual", 1.0)]
        + [record(cell, arm, 1.0) for cell in "ba" for arm in ("dynamic-10", "dynamic-2", "manual")]
    )
    arms = ["manual", "dynamic-2", "dynamic-10"]
    ordered = in_order(table, ["local", "xeon"], ["a", "b"], arms)
    assert list(ordered["cell"] + " " + ordered["arm"]) == [
        f"{cell} {arm}" for cell in "ab" for arm in arms
    ] + ["b manual"]
    figure = figure_of_experiment(ordered, cells(a={"cost": 1}, b={"cost": 2}), "mine")
    assert [text.get_text() for text in figure.legends[0].texts][:3] == arms


@pytest.mark.parametrize("width", [None, 3.3, 5.0])
def test_panels_are_read_in_the_same_order_at_every_width(width):
    grid = cells(
        **{f"c{load}{cost}": {"cost": cost, "payload": load} for load in range(5) for cost in (1, 2, 3, 4, 5, 6)}
    )  # fmt: skip
    table = table_of_records([record(name, "manual", 5.0) for name in grid])
    with paper.shaped(paper.Shape(width=width)):
        figure = figure_of_experiment(table, grid, "mine")
        figure.draw_without_rendering()
    shown = [ax for ax in figure.axes if ax.get_visible()]
    places = [ax.get_position() for ax in shown]
    read = sorted(range(5), key=lambda number: (-round(places[number].y0, 2), places[number].x0))
    titles = [shown[number].get_title("left") for number in read]
    assert titles == [f"pipeline payload={load}" for load in range(5)]


@pytest.mark.parametrize("costs", [(10, 1_000_000), (900_000, 1_000_000)])
def test_large_values_of_a_parameter_are_short(costs):
    both = cells(a={"cost": costs[0]}, b={"cost": costs[1]})
    table = table_of_records([record(name, "manual", 1_234_567.0) for name in "ab"])
    axes = figure_of_experiment(table, both, "mine").axes[0]
    axes.figure.draw_without_rendering()
    assert axes.get_xticklabels()[-1].get_text() == "1 M"
    for text in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        assert len(text.get_text()) <= len("1.25 M")
    assert not axes.xaxis.get_offset_text().get_text()
    assert not axes.yaxis.get_offset_text().get_text()


def test_a_number_that_is_no_short_multiple_has_commas():
    numbers = (0.5, 9999, 10_000, 1_500_000, 16_384)
    assert [style.short(each) for each in numbers] == ["0.5", "9999", "10 k", "1.5 M", "16,384"]


def test_each_combination_of_the_other_parameters_has_a_panel():
    grid = cells(
        a={"cost": 1, "payload": 1}, b={"cost": 2, "payload": 1}, c={"cost": 3, "payload": 9}
    )
    table = table_of_records([record(name, "manual", 5.0) for name in grid])
    drawn = [each for each in figure_of_experiment(table, grid, "mine").axes if each.get_visible()]
    assert [each.get_title("left") for each in drawn] == [
        "pipeline payload=1",
        "pipeline payload=9",
    ]


def test_explained_runs_show_what_the_threads_of_each_arm_spend_time_on():
    both = cells(a={"cost": 10}, b={"cost": 2})
    rates = [record(cell, arm, 5.0) for cell in both for arm in ("manual", "dynamic-2")]
    shares = dict.fromkeys(style.TIME_COLORS, 0.0) | {"work": 0.75, "queues": 0.25}
    uses = {(cell, "local", arm): shares for cell in both for arm in ("manual", "dynamic-2")}
    throughput, time = figure_of_experiment(table_of_records(rates), both, "mine", uses).axes
    assert throughput.get_xlabel() == "cost"
    names = [label.get_text() for label in time.get_yticklabels()]
    assert names == ["2 manual", "2 dynamic-2", "10 manual", "10 dynamic-2"]
    widths = [bar.get_width() for bar in time.patches if bar.get_width()]
    assert sorted(widths) == [0.25] * 4 + [0.75] * 4
