"""The figure of other runtimes: which one is fastest beside ours, and what it says where there is
nothing to compare.
"""

from __future__ import annotations

import pytest

from harness.plots import means, peers, style
from tests.plots.made_tables import arm_row, figure_named, frame, latency_row, peer_row


@pytest.fixture
def rows():
    made = []
    for cost, ours in ((1, 1e6), (100, 4e5)):
        made += [
            arm_row("peers", "mix", cost, "manual", ours / 2),
            arm_row("peers", "mix", cost, "dynamic", ours, threads=2),
        ]
        made += [
            peer_row("peers", "mix", cost, "go 1.26.8", 0.4 * ours),
            peer_row("peers", "mix", cost, "tbb 2023.2.0", None),
        ]
    made += [peer_row("peers", "mix", 100, "java 17.0.15", 4.4e5, settled_share=0.0, unsettled=3)]
    return made


def texts(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_the_verdict_compares_the_fastest_peer_with_the_fastest_of_ours(rows):
    table = frame(rows)
    assert peers.verdict(table[table["cost"] == "1"]) == "go\n0.40\n[0.33, 0.51]\nof ours"
    assert (
        peers.verdict(table[table["cost"] == "100"]) == "java\n1.10\n[0.86, 1.41]\nof ours: a tie"
    )
    assert peers.verdict(table[table["peer"].isna()]) == ""
    assert peers.verdict(table[table["peer"].notna()]) == ""


def test_the_verdict_is_of_the_runs_that_did_not_choose_the_finalists(rows):
    lucky = peer_row("peers", "mix", 1, "tokio 1.50", 9e6)
    table = frame([*rows, lucky])
    table = table[table["cost"] == "1"]
    assert peers.verdict(table).startswith("tokio\n9.00\n")
    final = table["arm"].isin(["manual", "dynamic-2", "go"])
    assert peers.verdict(table.assign(final=final)) == "go\n0.40\n[0.33, 0.51]\nof ours"


def test_only_means_of_several_runs_have_an_interval():
    row = frame([arm_row("peers", "mix", 1, "manual", 10.0)]).iloc[0].copy()
    assert means.bar(row) == [[1.0], [1.0]]
    row["n"] = 2
    assert means.bar(row) is None


def test_every_arm_has_a_line_with_its_costs_in_order_and_what_failed_is_named(rows):
    figure = figure_named(
        "peers",
        {
            "throughput": frame(rows),
            "latency": frame([latency_row(row, 2e6) for row in rows if row["mean"]]),
        },
    )
    above, below = figure.axes
    drawn = {line.get_label(): line for line in above.lines if not line.get_label().startswith("_")}
    assert list(drawn["dynamic-2"].get_ydata()) == [1e6, 4e5]
    assert list(drawn["go"].get_ydata()) == [4e5, pytest.approx(1.6e5)]
    assert drawn["dynamic-2"].get_linewidth() > drawn["go"].get_linewidth()
    assert [tick.get_text() for tick in below.get_xticklabels()] == ["1", "100"]
    assert texts(above).count(
        "failed:\ntbb"
    ) == 2 and "java\n1.10\n[0.86, 1.41]\nof ours: a tie" in texts(above)
    assert above.get_yscale() == below.get_yscale() == "log"
    medians = [float(y) for bars in below.containers for y in bars.lines[0].get_ydata()]
    assert len(medians) == 7 and medians == pytest.approx([2e-3] * 7)
    (legend,) = figure.legends
    assert {"manual", "dynamic-2", "go 1.26.8", "java 17.0.15"} <= {
        text.get_text() for text in legend.get_texts()
    }
    style.plt.close(figure)
