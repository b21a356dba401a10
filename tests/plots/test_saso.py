"""The figure of the SASO bench: strips of quantiles, the order of the laws, and which way is
better.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from harness.errors import UserError
from harness.plots import saso, style
from harness.plots.saso_kinds import shares_by_kind
from tests.plots.made_tables import bench, figure_named

LAWS = {"fixed": 1.0, "millrace": 0.1, "pldi17": 0.5}
HELD_OUT, ACCURACY, SETTLING, OVERSHOOT, STABILITY, REGRET = saso.METRICS


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def strip(metric, values, law="pldi17"):
    """The axes with one law that has these values."""
    ax = plt.figure().subplots()
    saso.draw(ax, pd.DataFrame({"law": law, metric.column: values}), metric, [law])
    return ax


def test_a_strip_is_the_median_the_quartiles_and_5_to_95_percent():
    ax = strip(REGRET, [share / 100 for share in range(101)])
    assert [list(line.get_xdata()) for line in ax.lines] == [
        pytest.approx([0.05, 0.95]),
        pytest.approx([0.25, 0.75]),
        pytest.approx([0.5]),
    ]
    assert [text.get_text() for text in ax.texts] == ["50.0 %"]


@pytest.mark.parametrize("missing", [float("nan"), float("inf")])
def test_scenarios_in_which_a_law_never_settled_are_counted_and_not_averaged(missing):
    ax = strip(SETTLING, [10.0, 10.0, 10.0, missing])
    assert list(ax.lines[-1].get_xdata()) == [10.0]
    assert {text.get_text() for text in ax.texts} == {"10", "none in 25.0 %"}


def test_a_law_that_never_settled_at_all_has_no_strip():
    ax = strip(SETTLING, [float("nan")] * 3)
    assert not ax.lines
    assert [text.get_text() for text in ax.texts] == ["none in 100.0 %"]


@pytest.mark.parametrize(
    ("values", "side"),
    [([0.0, 9.0, 0.0], "left"), ([0.0, 5.0, 9.0], "center"), ([0.0, 9.0, 9.0], "right")],
)
def test_the_median_in_figures_stays_within_its_panel(values, side):
    (text,) = strip(SETTLING, values).texts
    assert text.get_horizontalalignment() == side


def test_every_panel_says_which_way_is_better():
    labels = {metric.title: metric.direction for metric in saso.METRICS}
    assert labels.pop("accuracy, held out") == labels.pop("accuracy, chosen on") == "better →"
    assert labels.pop("overshoot") == "1 is best"
    assert set(labels.values()) == {"← better"}


@pytest.mark.parametrize("metric", saso.METRICS, ids=lambda metric: metric.column)
def test_the_best_value_and_every_strip_are_in_the_picture(metric):
    ax = strip(metric, [1.0, 1.0] if metric.best or metric.more_is_better else [0.0, 0.0])
    low, high = ax.get_xlim()
    best = 1.0 if metric.best or metric.more_is_better else 0.0
    assert low < best < high
    wide = strip(metric, [0.25, 0.5, 8.0] if metric.best else [0.3, 0.5, 0.9])
    low, high = wide.get_xlim()
    assert all(low <= x <= high for line in wide.lines for x in line.get_xdata())


def test_the_figure_has_a_panel_a_metric_and_a_row_a_law_the_best_on_top():
    figure = figure_named("saso", {"saso": bench(LAWS)})
    *panels, _ = figure.axes
    assert [ax.get_title() for ax in panels] == [metric.title for metric in saso.METRICS]
    first = figure.axes[0]
    assert [label.get_text() for label in first.get_yticklabels()] == [
        "millrace",
        "pldi17",
        "fixed",
    ]
    top, bottom = first.get_ylim()[::-1]
    assert top < 0 < 2 < bottom  # row 0 is above row 2


def test_scenarios_that_only_score_have_a_panel_of_their_own():
    table = bench(LAWS)
    table["held_out"] = table["scenario"] == table["scenario"].iloc[0]
    table.loc[table["held_out"], "accuracy"] = 0.25
    figure = figure_named("saso", {"saso": table})
    panel = dict(zip((ax.get_title() for ax in figure.axes), figure.axes, strict=True))
    assert {x for line in panel["accuracy, held out"].lines for x in line.get_xdata()} >= {0.25}
    assert 0.25 not in {x for line in panel["accuracy, chosen on"].lines for x in line.get_xdata()}


def test_millrace_alone_is_highlighted():
    figure = figure_named("saso", {"saso": bench(LAWS)})
    ours = style.of_model("elastic").color
    *panels, _ = figure.axes
    for ax in panels:
        assert {line.get_color() for line in ax.lines if line.get_ydata()[0] == 0} == {ours}
        assert ours not in {line.get_color() for line in ax.lines if line.get_ydata()[0] != 0}
    assert [label.get_weight() for label in figure.axes[0].get_yticklabels()] == [
        "bold",
        "normal",
        "normal",
    ]


def test_the_foot_says_that_nothing_was_measured_and_how_many_scenarios_there_are():
    foot = " ".join(
        figure_named("saso", {"saso": bench(LAWS, scenarios=7)}).get_supxlabel().split()
    )
    assert foot.startswith("Computed, not measured: each law in closed loop with 7 scenarios")


def test_missing_columns_are_named():
    with pytest.raises(UserError, match="the table saso lacks scenario, regret"):
        figure_named("saso", {"saso": bench(LAWS).drop(columns=["scenario", "regret"])})


def by_kind():
    """A bench in which `fixed` finds the best level of peaks alone."""
    made = bench({"fixed": 1.0, "millrace": 0.1})
    found = (made["law"] == "millrace") | (made["kind"] == "peak")
    return made.assign(accuracy=0.5 + 0.5 * found)


def test_shares_are_by_kind_and_law_and_noisy_scenarios_do_not_count():
    table = by_kind()
    noisy = table.assign(drift=0.1, accuracy=0.0)
    assert shares_by_kind(pd.concat([table, noisy])).to_dict("index") == {
        (False, "peak"): {"fixed": 1.0, "millrace": 1.0},
        (True, "late"): {"fixed": 0.0, "millrace": 1.0},
    }


def test_the_best_law_of_a_kind_is_bold_and_kinds_that_only_score_come_last():
    *_, ax = figure_named("saso", {"saso": by_kind()}).axes
    cells = [(text.get_text(), text.get_weight()) for text in ax.texts]
    assert cells[:4] == [("100", "bold"), ("100", "bold"), ("100", "bold"), ("0", "normal")]
    assert [text for text, _ in cells[4:]] == ["chosen on", "held out"]
    kinds = [label.get_text().partition(" ")[0] for label in ax.get_yticklabels()]
    assert kinds == ["peak", "late"]
    assert [line.get_ydata()[0] for line in ax.lines] == [0.5]
