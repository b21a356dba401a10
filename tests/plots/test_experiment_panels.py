"""The figure of any experiment, and the table that is made for it without Spark."""

from __future__ import annotations

import pytest

from harness.experiments.results import table_of_records
from harness.measurement.record.declaration import RECORD
from harness.plots import style
from harness.plots.experiment_panels import figure_of_experiment
from tests.records import example


def record(cell, arm, rate, **changes):
    return example(
        RECORD, cell=cell, arm=arm, model=arm.split("-")[0], machine="local", simulated=False,
        simulation=None, sink_tuples_per_s=rate, error=None, **changes,
    )  # fmt: skip


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
    """The ends of the first arm's bar, and the label, of a figure of one cell."""
    table = table_of_records([record("a", "manual", rate) for rate in rates])
    (axes,) = figure_of_experiment(table, cells(a={"cost": 1}), "mine").axes
    (bars,) = axes.containers[0].lines[2]
    return [float(y) for _, y in bars.get_segments()[0]], axes.get_ylabel()


def test_two_runs_show_their_range():
    ends, label = bars_of(100.0, 900.0)
    assert ends == pytest.approx([100.0, 900.0])
    assert "range of fewer than 3 runs (more --repeats)" in label


def test_one_run_has_no_bar():
    ends, _ = bars_of(100.0)
    assert ends == pytest.approx([100.0, 100.0])


def test_three_runs_show_their_interval():
    ends, label = bars_of(100.0, 110.0, 120.0)
    assert ends[0] < 100.0 and ends[1] > 120.0
    assert "bars: 95 % intervals" in label


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
    assert names == ["2 dynamic-2", "2 manual", "10 dynamic-2", "10 manual"]
    widths = [bar.get_width() for bar in time.patches if bar.get_width()]
    assert sorted(widths) == [0.25] * 4 + [0.75] * 4
