"""The figure of a gate's history: what is drawn of a series, and that hosts are never joined in
silence.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from harness.gate.history import store
from harness.gate.history.trend import series_of
from harness.gate.host_key import host_key
from harness.plots import gate_trend, style
from tests.gate.history.made_verdicts import BIG_HOST, HOST, RATE, nights, result, verdict


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def series(tmp_path):
    """Series of the verdicts that are given."""

    def of(*verdicts, **how):
        for each in verdicts:
            store.add(each, tmp_path)
        return series_of(store.read(tmp_path), **how)

    return of


def step(night):
    return 10.0 if night < 15 else 11.0


def texts(drawing):
    """Return what is written in the panels, titles apart."""
    return [text.get_text() for ax in drawing.axes for text in ax.texts]


def foot(drawing):
    return " ".join(drawing.get_supxlabel().split())


def changes_of(ax):
    return [
        line
        for line in ax.lines
        if line.get_linestyle() == "--" and len(set(line.get_xdata())) == 1
    ]


def test_every_result_is_a_marker_with_the_interval_of_its_median(series):
    (one,) = series(*nights(6))
    drawing = gate_trend.figure([one])
    (bars,) = drawing.axes[0].containers
    markers, _, (lines,) = bars
    assert list(markers.get_ydata()) == list(one.rows["head_median"])
    ends = [tuple(segment[:, 1]) for segment in lines.get_segments()]
    assert ends == [
        pytest.approx(pair)
        for pair in zip(one.rows["head_low"], one.rows["head_high"], strict=True)
    ]


def test_a_change_is_a_line_between_its_two_results_with_its_size(series):
    (one,) = series(*nights(25, step))
    drawing = gate_trend.figure([one])
    (line,) = changes_of(drawing.axes[0])
    times = plt.matplotlib.dates.date2num(one.counted["started_at"].iloc[[14, 15]])
    assert plt.matplotlib.dates.date2num(line.get_xdata()[0]) == pytest.approx(np.mean(times))
    (told,) = texts(drawing)
    assert told.endswith(" %, worse")
    assert told.startswith(("+9.", "+10."))


def test_levels_are_the_medians_on_both_sides_of_a_change(series):
    (one,) = series(*nights(25, step))
    drawing = gate_trend.figure([one])
    flat = [
        line
        for line in drawing.axes[0].lines
        if line.get_marker() == "None" and len(set(line.get_ydata())) == 1
    ]
    heights = sorted({line.get_ydata()[0] for line in flat if line.get_linewidth() == 1.2})
    assert heights == [pytest.approx(10.0, rel=0.01), pytest.approx(one.level)]


def test_each_host_has_a_colour_of_its_own_in_every_panel(series):
    found = series(
        verdict(result("a"), result("b")),
        verdict(result("b"), host=BIG_HOST, night=1),
        verdict(result("b"), night=2),
    )
    drawing = gate_trend.figure(found)
    colors = [[bars[0].get_color() for bars in ax.containers] for ax in drawing.axes[:2]]
    assert colors[0] == [colors[1][0]]
    assert colors[1][0] != colors[1][1]
    labels = [text.get_text() for text in drawing.legends[0].get_texts()]
    assert labels == [host_key(HOST), host_key(BIG_HOST)]
    assert "JOINED" not in foot(drawing)


def test_joined_hosts_are_told_in_titles_legend_and_foot(series):
    both = [*nights(15), *nights(15, lambda night: 5.0, begin=15, host=BIG_HOST)]
    drawing = gate_trend.figure(series(*both, join_hosts=True))
    assert "2 HOSTS JOINED" in drawing.axes[0].get_title()
    assert "HOSTS JOINED" in [text.get_text() for text in drawing.legends[0].get_texts()]
    assert foot(drawing).startswith("HOSTS JOINED, whose numbers differ for other reasons too: ")
    assert host_key(HOST) in foot(drawing)
    assert host_key(BIG_HOST) in foot(drawing)
    assert [text.endswith("; ANOTHER HOST") for text in texts(drawing)] == [True]


def test_results_that_do_not_count_are_open(series):
    drawing = gate_trend.figure(series(*nights(3), verdict(night=4, control_failed=True)))
    fills = {bars[0].get_markerfacecolor() for bars in drawing.axes[0].containers}
    assert fills == {gate_trend.LOOKS[0][0], "white"}
    assert "does not count" in [text.get_text() for text in drawing.legends[0].get_texts()]


def test_a_drift_is_written_into_its_panel(series):
    drawing = gate_trend.figure(series(*nights(12, lambda night: 10 * 1.003**night)))
    assert any(
        text.startswith("drifts by +3.") and text.endswith("worse, in 10 results")
        for text in texts(drawing)
    )


def test_titles_say_which_direction_is_better_and_axes_have_units(series):
    drawing = gate_trend.figure(series(verdict(result("a"), result("b", metric=RATE, value=5e6))))
    assert [ax.get_title() for ax in drawing.axes] == [
        "a (lower is better)",
        "b (higher is better)",
    ]
    assert [ax.get_ylabel() for ax in drawing.axes] == ["ns_per_hop [ns]", "throughput [tuples/s]"]


def test_a_panel_that_is_not_needed_is_not_shown(series):
    drawing = gate_trend.figure(series(verdict(result("a"), result("b"), result("c"))))
    assert [ax.get_visible() for ax in drawing.axes] == [True, True, True, False]


def test_the_same_history_gives_the_same_file(series, tmp_path):
    found = series(*nights(20, step))
    for name in ("a.svg", "b.svg"):
        style.save(gate_trend.figure(found), [tmp_path / name])
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
