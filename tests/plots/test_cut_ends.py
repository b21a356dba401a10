"""An interval that goes on beyond the axes ends with an arrow and the value of its end."""

from __future__ import annotations

from itertools import combinations

import pandas as pd
import pytest

from harness.plots import cut_ends, style
from tests.plots.made_tables import (
    arm_row,
    elastic_row,
    figure_named,
    frame,
    latency_row,
    peer_row,
    period_rows,
    ratio_row,
)

LONG = {"lo": 1.0, "hi": 12_345_678.0}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    style.plt.close("all")


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def arrows(ax) -> list:
    return [line for line in ax.lines if line.get_marker() in ("^", "v") and line.get_ms() == 4]


@pytest.fixture
def ax():
    ax = style.plt.figure().subplots()
    ax.set_xlim(0, 10)
    ax.set_ylim(5, 100)
    return ax


def test_both_ends_are_named_at_the_edges(ax):
    assert cut_ends.draw(ax, [cut_ends.Ends(2.0, 1.0, 1234.0, "red")])
    assert texts(ax) == ["1.2 k", "1"]
    assert [line.get_ydata()[0] for line in arrows(ax)] == [100, 5]


def test_an_interval_within_the_axes_has_no_arrow(ax):
    assert not cut_ends.draw(ax, [cut_ends.Ends(2.0, 6.0, 99.0, "red")])
    assert not texts(ax) and not arrows(ax)


def test_values_of_neighbours_do_not_cover_each_other_and_stay_in_the_axes(ax):
    ends = [cut_ends.Ends(x, 10.0, 1e6 + x, "red") for x in (2.0, 2.1, 2.3, 9.9)]
    cut_ends.draw(ax, ends)
    ax.figure.draw_without_rendering()
    places = [text.get_window_extent() for text in ax.texts]
    assert not any(one.overlaps(other) for one, other in combinations(places, 2))
    assert places[-1].x1 <= ax.get_window_extent().x1


def policies() -> tuple[list[dict], list[dict]]:
    rows = [
        arm_row("cstream_fig4", "tree", 100, "coroutine", 100.0, threads=threads, policy="random")
        for threads in (1, 2)
    ]
    times = [latency_row(row, 2e6) for row in rows]
    return [rows[0] | LONG, rows[1]], [times[0], times[1] | {"lo": 1e3, "hi": 5.4e9}]


def test_rates_and_latencies_of_policies():
    rows, times = policies()
    above, below = figure_named(
        "cstream_fig4", {"throughput": frame(rows), "latency": frame(times)}
    ).axes
    assert texts(above) == ["12 M"] and len(arrows(above)) == 1
    assert texts(below) == ["5.4 s", "1 µs"] and len(arrows(below)) == 2


def test_rates_beside_runs_over_time():
    row = elastic_row("cstream_fig9", "chain", 20, 100.0, 3.0, law="cstream", replicas=2.0)
    row |= {"busy": 20.0, "model": "coroutine", **LONG}
    runs = pd.DataFrame(period_rows(row, [1, 2]))
    rate, *_ = figure_named("cstream_fig9", {"throughput": frame([row]), "timeline": runs}).axes
    assert texts(rate) == ["12 M"]
    row |= {"arm": "coroutine-elastic-random"}
    runs = pd.DataFrame(period_rows(row, [1, 2]))
    rate, *_ = figure_named("cstream_fig11", {"throughput": frame([row]), "timeline": runs}).axes
    assert texts(rate) == ["12 M"]


def test_rates_beside_storm_stand_below_the_comparison():
    rows = [
        arm_row("cstream_fig12", "tree", 0, "coroutine", 100.0, threads=2) | LONG,
        peer_row("cstream_fig12", "tree", 0, "storm 2.8.2", 50.0),
    ]
    figure = figure_named("cstream_fig12", {"throughput": frame(rows)})
    (ax,) = figure.axes
    assert "12 M" in texts(ax)
    figure.draw_without_rendering()
    places = [text.get_window_extent() for text in ax.texts]
    assert not any(one.overlaps(other) for one, other in combinations(places, 2))


def test_gains_of_a_law_say_how_many_of_its_runs_settled():
    place = {"machine": "xeon", "simulated": True, "software": "millrace"}
    manual = arm_row("mw19_fig9", "pipeline", "100", "manual", 100.0, places=5.0, **place)
    law = elastic_row("mw19_fig9", "pipeline", "100", 9.0, 3.0, places=5.0, **place)
    law |= {
        "n": 10,
        "unsettled": 6,
        "settled_share": 0.4,
        "settled_mean": 300.0,
        "settled_lo": 200.0,
    }
    law |= {"settled_hi": 400.0, "settled_level": 4.0}
    ratios = [ratio_row(law, 0.1, 0.05, 0.2, "manual") | {"rival": "manual"}]
    figure = figure_named(
        "mw19_fig9", {"throughput": frame([manual, law]), "speedup": frame(ratios)}
    )
    gains, shares = figure.axes
    assert "4 of 10 settled" in texts(gains)
    (bar,) = [patch for patch in gains.patches if patch.get_height() > 1]
    assert bar.get_height() == 2.0  # from 1 to 3 times manual
    assert not texts(shares) or texts(shares) == ["4"]


def test_gains_over_manual():
    rows = [
        arm_row("mw19_fig9", "pipeline", "100", model, 100.0, threads=threads, places=5.0)
        for model, threads in (("manual", None), ("dynamic", 2))
    ]
    ratios = [ratio_row(rows[1], 2.0, 0.01, 123.4, "manual")]
    figure = figure_named("mw19_fig9", {"throughput": frame(rows), "speedup": frame(ratios)})
    gains = figure.axes[0]
    assert {"0.010×", "123×"} <= set(texts(gains))
