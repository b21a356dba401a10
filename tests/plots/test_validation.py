"""The figure of a validation: what is drawn where, and what is said of what cannot be drawn."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from harness.errors import UserError
from harness.plots import style, validation
from harness.validation.cases import cases
from harness.validation.comparison import compare
from harness.validation.table import as_frame
from tests.validation.made_runs import measured, predicted


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def table(*filters, factor=lambda case: 1.1, rate=lambda case: 1e8 / max(case.cost, 1), **changes):
    """The table of the cases that fit: three runs around a rate, predicted times a factor."""
    chosen = cases(filters)
    runs = [
        run
        for case in chosen
        for run in measured(case, *(rate(case) * part for part in (0.9, 1.0, 1.05)), **changes)
    ]
    forecasts = [
        predicted(case, rate(case) * factor(case)) for case in chosen if factor(case) is not None
    ]
    return as_frame(compare(chosen, runs, forecasts), runs, forecasts)


def test_each_case_is_a_marker_of_its_model_with_the_interval_of_its_median():
    ax = plt.figure().subplots()
    validation.scatter(ax, table("topology=mix,cost=1,payload=128"))
    markers = [line for line in ax.lines if line.get_marker() not in ("None", None)]
    assert [(line.get_marker(), line.get_color()) for line in markers] == [
        (style.of_model(model).marker, style.of_model(model).color)
        for model in ("manual", "dedicated", "dynamic", "dynamic")
    ]
    assert [line.get_xdata()[0] for line in markers] == [1e8] * 4
    assert [line.get_ydata()[0] for line in markers] == pytest.approx([1.1e8] * 4)
    bars = [list(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) == 2][
        1:
    ]  # the first line is that of equality
    assert bars == [pytest.approx([0.9e8, 1.05e8])] * 4


def test_equality_is_a_diagonal_between_the_bands_of_the_targets():
    ax = plt.figure().subplots()
    validation.scatter(ax, table("topology=mix"))
    diagonal = ax.lines[0]
    assert list(diagonal.get_xdata()) == list(diagonal.get_ydata())
    assert (ax.get_xscale(), ax.get_yscale(), ax.get_xlim()) == ("log", "log", ax.get_ylim())
    for band, share in zip(ax.collections, (0.40, 0.15), strict=True):
        ratios = {round(y / x, 9) for x, y in band.get_paths()[0].vertices}
        assert ratios == {1 - share, 1 + share}


def test_cases_without_a_measurement_or_prediction_are_counted():
    ax = plt.figure().subplots()
    validation.scatter(
        ax, table("cost=1,payload=128", factor=lambda case: None if case.topology == "mix" else 1.0)
    )
    assert [text.get_text() for text in ax.texts] == ["4 not shown"]


def test_every_case_has_its_error_in_the_row_of_its_arm_topology_cost_and_payload():
    ax = plt.figure().subplots()
    errors = {"manual": 0.9, "dedicated": 1.2, "dynamic-1": 1.0, "dynamic-2": 1.3}
    errors |= {"coroutine-2": 1.1, "coroutine-2-random": 0.8, "coroutine-2-replicas-2": 1.4}
    validation.by_group(ax, table(factor=lambda case: errors[case.arm]))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == [
        *errors,
        *style.TOPOLOGIES[:4],
        *("login-failures", "pipeline-100", "pipeline-1000", "unbalanced-tree", "vwap"),
        *("cost own", "cost 1", "cost 100", "cost 10,000"),
        *("payload own", "payload 128", "payload 4,096"),
    ]
    medians = {round(line.get_ydata()[0] + 0.4): line.get_xdata()[0] for line in ax.lines if len(line.get_xdata()) == 2 and
               line.get_linewidth() == 1.8}  # fmt: skip
    of_arms, others = [-0.1, 0.2, 0.0, 0.3, 0.1, -0.2, 0.4], [0.15, 0.2, 0.2, 0.15, 0.15]
    assert [medians[place] for place in range(23)] == pytest.approx(
        [*of_arms, *[0.1] * 4, *others, 0.15, *[0.1] * 3, 0.15, *[0.1] * 2]
    )
    dots = [line for line in ax.lines if line.get_marker() not in ("None", None)]
    assert len(dots) == 4 * 148


def test_an_error_beyond_the_axis_stands_at_its_edge_with_its_value():
    ax = plt.figure().subplots()
    validation.by_group(
        ax,
        table(
            "topology=mix,cost=1,payload=128",
            factor=lambda case: 6.0 if case.arm == "manual" else 1.0,
        ),
    )
    low, high = ax.get_xlim()
    assert high < 2 and low == -high
    assert all(low <= x <= high for line in ax.lines for x in line.get_xdata())
    assert [text.get_text() for text in ax.texts] == ["+500%"] * 4


def test_the_whole_figure_says_how_far_off_it_is_and_what_was_simulated():
    figure = validation.figure({"validation": table()})
    foot = " ".join(figure.get_supxlabel().split())
    assert "Measured on Invented CPU @ 1 GHz: median of 3 runs" in foot
    assert (
        "median of SIMULATED runs" in foot
        and "Absolute error: median 10.0 %, worst 10.0 %. 0 of 148 cases unstable" in foot
    )
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "manual", "dedicated", "dynamic", "coroutine", "± 15 %", "± 40 %", "median of a group"
    ]  # fmt: skip


def test_runs_that_never_settled_are_open_markers():
    unsettled = table("topology=mix,cost=1,payload=128", settled=False)
    ax = plt.figure().subplots()
    validation.scatter(ax, unsettled)
    markers = [line for line in ax.lines if line.get_marker() not in ("None", None)]
    assert {line.get_markerfacecolor() for line in markers} == {"white"}
    (legend,) = validation.figure({"validation": unsettled}).legends
    assert "never settled" in [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize(
    "made", [lambda: table(factor=lambda case: None), lambda: table("cost=1,model=manual").iloc[:1]]
)
def test_little_or_nothing_to_draw_is_drawn_as_well(made, tmp_path):
    style.save(validation.figure({"validation": made()}), [tmp_path / "figure.png"])
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_a_table_of_something_else_is_refused():
    with pytest.raises(
        UserError, match="the table validation lacks measured, error; `millrace validate` makes it"
    ):
        validation.figure({"validation": table("cost=1").drop(columns=["measured", "error"])})
