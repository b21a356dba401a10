"""Crossover maps: who wins a tile, by what margin, and what is not said."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from harness.plots import crossover, style
from tests.plots.made_tables import NEVER_SETTLED, arm_row, contest, figure_named, frame, ratio_row

CELLS = {"pipeline": ([1, 100, 10000], [128, 4096]), "bushy": ([1, 100, 10000], [128, 4096])}


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def cell(*arms, ratios=()):
    """Both tables for one cell: `arms` are (arm, mean), `ratios` are (rival, ratio of the best arm
    to it, lo, hi).
    """
    rows = {}
    for arm, mean in arms:
        model, _, threads = arm.partition("-")
        rows[arm] = arm_row(
            "crossover", "pipeline", 1, model, mean, threads=int(threads) if threads else None
        )
    best = max(
        (row for row in rows.values() if row["mean"] is not None),
        key=lambda row: row["mean"],
        default=None,
    )
    pairs = [
        ratio_row(best, ratio, lo, hi, against="other models") | {"rival": rival}
        for rival, ratio, lo, hi in ratios
    ]
    columns = ratio_row(
        best or next(iter(rows.values())), 9.0, 9.0, 9.0
    )  # must not be mistaken for it
    return frame(list(rows.values())), frame([columns, *pairs])


def test_the_fastest_model_wins_by_its_margin_over_the_next_best_model():
    said = crossover.verdict(
        *cell(("manual", 50.0), ("dynamic-2", 100.0), ratios=[("manual", 2.0, 1.6, 2.5)])
    )
    assert (said.winner, said.model, said.runner_up) == ("dynamic-2", "dynamic", "manual")
    assert (said.margin, said.lo, said.hi) == pytest.approx((2.0, 1.6, 2.5))
    assert not said.is_tie


def test_another_arm_of_the_same_model_is_no_runner_up():
    tables = cell(
        ("manual", 50.0),
        ("dynamic-2", 100.0),
        ("dynamic-4", 99.0),
        ratios=[("manual", 2.0, 1.6, 2.5)],
    )
    assert crossover.verdict(*tables).runner_up == "manual"


@pytest.mark.parametrize(
    ("lo", "hi", "is_tie"), [(1.01, 1.2, False), (1.0, 1.2, True), (0.8, 1.2, True)]
)
def test_it_is_a_tie_if_the_interval_includes_1(lo, hi, is_tie):
    assert (
        crossover.verdict(
            *cell(("manual", 90.0), ("dedicated", 100.0), ratios=[("manual", 1.1, lo, hi)])
        ).is_tie
        is is_tie
    )


def test_without_an_interval_nobody_has_won():
    said = crossover.verdict(
        *cell(("manual", 90.0), ("dedicated", 100.0), ratios=[("manual", 1.1, None, None)])
    )
    assert said.is_open and not said.is_tie
    assert said.margin == pytest.approx(1.1)


def test_arms_that_share_no_repeat_are_not_compared():
    said = crossover.verdict(*cell(("manual", 90.0), ("dedicated", 100.0)))
    assert (said.winner, said.runner_up, said.margin) == ("dedicated", "manual", None)


def test_a_model_alone_has_no_margin():
    said = crossover.verdict(*cell(("manual", None), ("dedicated", 100.0)))
    assert (said.winner, said.runner_up, said.is_tie) == ("dedicated", None, False)


def test_nobody_wins_where_everything_failed():
    assert crossover.verdict(*cell(("manual", None), ("dedicated", None))) is None


def drawn(throughput, speedup):
    ax = plt.figure().subplots()
    crossover.draw(ax, throughput, speedup)
    return ax


def tile_at(ax, x, y):
    """The tile, and the words on it."""
    (tile,) = [
        tile
        for tile in ax.patches
        if abs(tile.get_x() + tile.get_width() / 2 - x) < 0.1 and abs(tile.get_y() + 0.46 - y) < 0.1
    ]
    (text,) = [text for text in ax.texts if text.get_position() == (x, y)]
    return tile, text.get_text()


def test_a_tile_a_cell_with_costs_to_the_right_and_payloads_upwards():
    throughput, speedup = contest({"pipeline": CELLS["pipeline"]})
    ax = drawn(throughput, speedup)
    assert len(ax.patches) == 6
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "100", "10,000"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["128", "4,096"]


def test_a_tile_has_the_winners_colour_and_says_winner_margin_and_interval():
    ax = drawn(*contest({"pipeline": CELLS["pipeline"]}))
    tile, words = tile_at(ax, 0, 0)
    assert words == "manual\n×1.82 over dynamic-2\n[1.52, 2.18]"
    assert tile.get_hatch() is None
    red, green, blue = to_rgb(style.of_model("manual").color)
    assert tile.get_facecolor()[:3] == pytest.approx(
        [1 - crossover.TILE_TINT * (1 - each) for each in (red, green, blue)]
    )


def test_a_tie_is_hatched_and_says_so():
    tile, words = tile_at(drawn(*contest({"pipeline": CELLS["pipeline"]})), 1, 0)
    assert tile.get_hatch()
    assert words.startswith("tie: dynamic-2\n×1.15 over manual\n[0.96, 1.38]")


def test_cells_that_are_missing_or_failed_say_so_and_have_no_colour():
    throughput, speedup = contest({"pipeline": CELLS["pipeline"]})
    missing = throughput["cell"] == "pipeline,cost=100,payload=4096"
    failed = throughput["cell"] == "pipeline,cost=1,payload=128"
    throughput.loc[failed, ["mean", "lo", "hi"]] = None
    throughput.loc[failed, "failed"] = 3
    ax = drawn(throughput[~missing], speedup)
    for place, words in (((1, 1), "not measured"), ((0, 0), "failed")):
        tile, said = tile_at(ax, *place)
        assert said == words
        assert tile.get_facecolor()[:3] == (1.0, 1.0, 1.0)


def test_an_arm_that_failed_or_never_settled_is_named_on_its_tile():
    throughput, speedup = cell(
        ("manual", 50.0),
        ("dedicated", 100.0),
        ("dynamic-2", None),
        ratios=[("manual", 2.0, 1.6, 2.5)],
    )
    throughput.loc[throughput["arm"] == "dedicated", list(NEVER_SETTLED)] = list(
        NEVER_SETTLED.values()
    )
    _, words = tile_at(drawn(throughput, speedup), 0, 0)
    assert words.splitlines()[-2:] == ["dynamic-2 failed", "dedicated: never settled"]


def test_the_figure_has_a_map_a_topology_with_a_legend_of_the_models():
    throughput, speedup = contest(CELLS)
    figure = figure_named("crossover", {"throughput": throughput, "speedup": speedup})
    maps = [ax for ax in figure.axes if ax.axison]
    assert [ax.get_title() for ax in maps] == ["pipeline, 100 operators", "bushy"]
    assert {(ax.get_xlabel(), ax.get_ylabel()) for ax in maps} == {
        ("cost [FLOP a tuple]", "payload [bytes]")
    }
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "manual",
        "dedicated",
        "dynamic",
        "tie: interval includes 1",
    ]
    assert "paired by repeat" in " ".join(figure.get_supxlabel().split())


def test_simulated_numbers_are_told_apart_at_a_glance():
    throughput, speedup = contest({"bushy": CELLS["bushy"]})
    plain = figure_named("crossover", {"throughput": throughput, "speedup": speedup})
    simulated = figure_named(
        "crossover",
        {"throughput": throughput.assign(simulated=True, machine="xeon"), "speedup": speedup},
    )
    assert "SIMULATED" not in [text.get_text() for text in plain.texts]
    assert "SIMULATED" in [text.get_text() for text in simulated.texts]
    assert simulated.get_supxlabel().startswith("SIMULATED on xeon")
    simulated.draw_without_rendering()
    (badge,) = [text for text in simulated.texts if text.get_text() == "SIMULATED"]
    assert badge.get_bbox_patch().get_window_extent().y1 < simulated.bbox.y1


def test_a_place_without_a_topology_stays_empty():
    throughput, speedup = contest(
        {name: ([1], [128, 1024]) for name in ("pipeline", "data-parallel", "mix")}
    )
    drawn = [
        ax
        for ax in figure_named("crossover", {"throughput": throughput, "speedup": speedup}).axes
        if ax.axison
    ]
    assert len(drawn) == 3
    assert all(ax.get_title() for ax in drawn)


def test_with_one_payload_the_topologies_share_a_map():
    throughput, speedup = contest(
        {name: ([1, 100], [128]) for name in ("pipeline", "data-parallel", "mix")}
    )
    (ax,) = [
        ax
        for ax in figure_named("crossover", {"throughput": throughput, "speedup": speedup}).axes
        if ax.axison
    ]
    names = [label.get_text().split("\n")[0] for label in ax.get_yticklabels()]
    assert (names, ax.get_title()) == (["mix", "data-parallel", "pipeline"], "payload 128 B")
    assert len(ax.texts) == 6


def test_a_map_of_one_topology_has_its_name():
    throughput, speedup = contest({"pipeline": ([1, 100], [128])})
    (ax,) = [
        ax
        for ax in figure_named("crossover", {"throughput": throughput, "speedup": speedup}).axes
        if ax.axison
    ]
    assert ax.get_title() == "pipeline, 100 operators"
    assert [label.get_text() for label in ax.get_yticklabels()] == ["128"]


def test_a_tie_and_a_cell_without_an_interval_look_different_and_the_legend_has_what_is_drawn():
    tie = cell(("manual", 90.0), ("dedicated", 100.0), ratios=[("manual", 1.1, 0.9, 1.4)])
    unpaired = cell(("manual", 90.0), ("dedicated", 100.0))
    won = cell(("manual", 50.0), ("dedicated", 100.0), ratios=[("manual", 2.0, 1.6, 2.5)])
    hatchings = {}
    for name, (throughput, speedup) in {"tie": tie, "unpaired": unpaired, "won": won}.items():
        figure = figure_named("crossover", {"throughput": throughput, "speedup": speedup})
        hatchings[name] = figure.axes[0].patches[0].get_hatch()
        told = [text.get_text() for text in figure.legends[0].get_texts()]
        assert sum(word.startswith(("tie", "no interval")) for word in told) == (name != "won")
    assert len(set(hatchings.values())) == 3


@pytest.mark.parametrize(
    ("lo", "hi", "told"),
    [
        (1.04, 1.09, "[1.04, 1.09]"),
        (1.0678, 1.0712, "[1.068, 1.071]"),
        (12.34, 12.36, "[12.3, 12.4]"),
        (12.31, 12.34, "[12.31, 12.34]"),
    ],
)
def test_the_ends_of_an_interval_can_be_told_apart(lo, hi, told):
    assert crossover._interval(lo, hi) == told


def test_what_was_measured_is_not_compared_with_what_was_simulated():
    throughput, speedup = contest(CELLS)
    there = {"simulated": True, "machine": "xeon"}
    tables = {
        "throughput": pd.concat(
            [throughput, throughput.assign(**there, mean=throughput["mean"] * 100)],
            ignore_index=True,
        ),
        "speedup": pd.concat([speedup, speedup.assign(**there)], ignore_index=True),
    }
    panels = [ax for ax in figure_named("crossover", tables).axes if ax.get_title()]
    assert [ax.get_title().rpartition(", ")[2] for ax in panels] == ["xeon (simulated)"] * 2 + [
        "local (measured)"
    ] * 2
    simulated, measured = panels[0], panels[2]
    assert simulated.get_facecolor() != measured.get_facecolor()
    assert [text.get_text() for text in simulated.texts] == [
        text.get_text() for text in measured.texts
    ]


@pytest.mark.parametrize("topologies", [["pipeline"], ["pipeline", "mix"]])
def test_a_tile_is_as_high_as_its_words(topologies):
    throughput, speedup = contest({name: ([1], [128]) for name in topologies})
    throughput = throughput.assign(settled_share=0.5)
    figure = figure_named("crossover", {"throughput": throughput, "speedup": speedup})
    figure.draw_without_rendering()
    (ax,) = [ax for ax in figure.axes if ax.get_title()]
    for tile in ax.patches:
        box = tile.get_window_extent()
        (text,) = [
            text for text in ax.texts if box.contains(*ax.transData.transform(text.get_position()))
        ]
        assert text.get_text().count("\n") == 5
        assert text.get_window_extent().height <= box.height
