"""The figure of latency over offered rates: a line ends where its arm saturates, and each has its
label.
"""

from __future__ import annotations

from itertools import chain, pairwise
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.plots import peer_rates, style
from tests.plots.made_tables import arm_row, figure_named, frame, latency_row, peer_row

RATES = (0, 10_000, 100_000, 1_000_000)


def at_rates(make, name: str, sustained: list[float], p50: float) -> tuple[list, list]:
    """Rows of an arm: its throughput at each of RATES, and its latency there."""
    rows = [
        make("peer_rates", "pipeline", 100, name, mean)
        | {"rate": float(rate), "cell": f"pipeline,rate={rate}"}
        for rate, mean in zip(RATES, sustained, strict=True)
    ]
    return rows, [latency_row(row, p50) | {"p99": 10 * p50} for row in rows]


@pytest.fixture
def tables():
    manual = at_rates(arm_row, "manual", [8e5, 1e4, 1e5, 8e5], 2e3)
    go = at_rates(peer_row, "go 1.26.8", [2e5, 1e4, 9e4, 2e5], 5e6)
    slow = at_rates(peer_row, "asyncio 3.11", [5e3, 5e3, 5e3, 5e3], 1e9)
    rows, latencies = zip(manual, go, slow, strict=True)
    return {"throughput": frame([*chain(*rows)]), "latency": frame([*chain(*latencies)])}


def test_a_line_has_the_rates_that_its_arm_keeps_up_with_and_ends_at_its_most(tables):
    lines = {line.name: line for line in peer_rates.lines(peer_rates.with_latency(tables))}
    assert list(lines) == ["manual", "asyncio", "go"]
    assert list(lines["manual"].points["rate"]) == [1e4, 1e5] and lines["manual"].most == 8e5
    assert list(lines["go"].points["rate"]) == [1e4] and lines["go"].most == 2e5
    assert lines["asyncio"].points.empty


def test_an_arm_that_falls_behind_once_has_saturated(tables):
    rows = peer_rates.with_latency(tables)
    rows = rows[(rows["arm"] == "manual") & (rows["rate"] > 0)].copy()
    rows["mean"] = [9e3, 1e5, 1e6]
    assert list(peer_rates.keeps_up(rows)) == [False, False, False]


def test_both_axes_are_logarithmic_and_each_line_has_its_name_beside_it(tables):
    figure = figure_named("peer_rates", tables)
    above, below = figure.axes
    for ax in (above, below):
        assert ax.get_xscale() == ax.get_yscale() == "log"
    assert [text.get_text() for text in above.texts] == ["manual", "go"]
    (said,) = [text.get_text() for text in below.texts if "keep up" in text.get_text()]
    assert said.splitlines() == [
        "10 k: manual 20 µs [1.6 µs, 3 µs], go 50 ms [4 ms, 7.5 ms]: too few runs to tell",
        "keep up with none of these rates: asyncio",
    ]
    (median,) = [line for line in above.lines if list(line.get_xdata()) == [1e4, 1e5]]
    assert list(median.get_ydata()) == pytest.approx([2e-6, 2e-6])
    style.plt.close(figure)


def rows_at_a_rate(*arms, n: int = 6):
    """Rows with latencies at 10,000 tuples/s, of (name, rate, p99, least, greatest) [µs]."""
    rows = [
        (peer_row if name in ("go", "tbb") else arm_row)(
            "peer_rates", "pipeline", 100, name, mean, final=True, n=n
        )
        | {"rate": 1e4}
        for name, mean, *_ in arms
    ]
    latencies = [
        latency_row(row, 1.0)
        | {"p99": p99 * 1e3, "p99_least": least * 1e3, "p99_greatest": greatest * 1e3}
        for row, (_, _, p99, least, greatest) in zip(rows, arms, strict=True)
    ]
    tables = {"throughput": frame(rows), "latency": frame(latencies)}
    return peer_rates.with_latency(tables)


def test_below_the_axis_stand_the_best_of_both_sides_and_whether_they_tie():
    manual, slow = ("manual", 1e4, 53.2, 50, 61), ("dynamic", 1e4, 70, 60, 80)
    apart, overlapping = ("go", 1e4, 78, 62, 90), ("go", 1e4, 78, 61, 90)
    behind = ("tbb", 9e3, 1, 1, 1)
    said = "10 k: manual 53 µs [50 µs, 61 µs], go 78 µs"
    assert peer_rates.verdict(rows_at_a_rate(slow, manual, apart, behind)) == (
        f"{said} [62 µs, 90 µs]"
    )
    assert peer_rates.verdict(rows_at_a_rate(manual, overlapping)) == (
        f"{said} [61 µs, 90 µs]: a tie"
    )
    few = peer_rates.verdict(rows_at_a_rate(manual, apart, n=4))
    assert few == f"{said} [62 µs, 90 µs]: too few runs to tell"
    assert peer_rates.verdict(rows_at_a_rate(manual, behind)) == ""


def test_ranges_of_equal_arms_are_seldom_apart():
    by_chance = 2 / comb(12, 6)
    assert 3 * 3 * by_chance < 0.02
    fewest = peer_rates.FEWEST_FOR_RANGE
    assert 3 * 3 * 2 / comb(fewest + 6, fewest) < 0.05, "if a run of one arm fails"


def test_finalists_have_a_bar_and_others_none(tables):
    tables["throughput"]["final"] = tables["throughput"]["arm"] == "manual"
    rows = peer_rates.with_latency(tables)
    bars = {row["arm"]: peer_rates._ends(row, "p50") for _, row in rows.iterrows()}
    assert bars["go"] is None
    (below,), (above,) = bars["manual"]
    assert below > 0 and above > 0


@given(st.lists(st.floats(0.0, 1.0), max_size=30).map(sorted))
def test_labels_are_apart_and_in_their_order(wanted):
    heights = peer_rates.spread_out(wanted, 0.03)
    assert len(heights) == len(wanted)
    assert all(b - a > 0.0299 for a, b in pairwise(heights))
    if all(b - a > 0.03 for a, b in pairwise(wanted)):
        assert heights == pytest.approx(wanted)
