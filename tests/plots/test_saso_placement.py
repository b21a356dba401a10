"""The figure of the bench of placements: counts against the oracle's, and what it says."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest

from harness.errors import UserError
from tests.plots.made_tables import figure_named, placement_bench

LAWS = {"manual": 1.0, "millrace": 0.0, "streams": 0.5}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def drawn(laws=LAWS, **options):
    return figure_named("saso_placement", {"saso_placement": placement_bench(laws, **options)})


def test_a_panel_a_metric_and_a_row_a_law_the_least_regret_on_top():
    axes = drawn().axes
    assert [ax.get_title() for ax in axes] == [
        "accuracy",
        "settling",
        "threads",
        "queues",
        "regret",
    ]
    assert [label.get_text() for label in axes[0].get_yticklabels()] == [
        "millrace",
        "streams",
        "manual",
    ]


def test_threads_and_queues_are_in_doublings_of_the_oracles():
    _, _, threads, queues, _ = drawn({"millrace": 0.0, "manual": 1.0}).axes
    for ax, twice in ((threads, 1.0), (queues, 1.0)):
        medians = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "o"]
        assert medians == pytest.approx([0.0, twice])
        assert "0 is best" in ax.get_xlabel()


def test_less_than_the_oracle_is_in_the_picture():
    table = placement_bench({"manual": 0.0}).assign(settled_parts=0)
    _, _, _, queues, _ = figure_named("saso_placement", {"saso_placement": table}).axes
    (median,) = [line.get_xdata()[0] for line in queues.lines if line.get_marker() == "o"]
    assert queues.get_xlim()[0] < median < -3.0


def test_the_foot_says_that_nothing_was_measured_and_how_many_scenarios_there_were():
    foot = " ".join(drawn(scenarios=7).get_supxlabel().split())
    assert "Computed, not measured" in foot and "7 scenarios" in foot


def test_a_table_that_lacks_columns_is_told_which():
    table = placement_bench(LAWS).drop(columns=["best_parts", "scenario"])
    with pytest.raises(
        UserError,
        match="the table saso_placement lacks scenario, best_parts; `millrace laws bench "
        "--multilevel",
    ):
        figure_named("saso_placement", {"saso_placement": table})
