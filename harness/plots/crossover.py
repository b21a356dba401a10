"""Crossover maps: the threading model that wins over cost x payload, a map for each topology, with
its margin over the runner-up.

Reads   throughput.parquet   experiment, cell, topology, cost, payload, model, arm, mean
                             [tuples/s], failed
        speedup.parquet      the same, against = other models: ratio of an arm to `rival`, the best
                             of another model, and its 95 % interval, paired by repeat
Draws   a tile for each cell: winner's colour, winner, margin and interval; hatched where the
        interval includes 1 (a tie), dotted where there is none. With one payload alone all
        topologies of a machine share a map, a row for each.

A misreading to avoid: a margin is between the two best *models*, each by its best arm; the third
may be far behind or close. The interval allows for the choice: of equal models one "wins" a tile in
at most 5 % of them (spark.speedup).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from harness.plots import places, provenance, settled, style
from harness.plots.thread_panels import cost_key, shape_name, without_mean

INTERVAL = (
    "in brackets: 95 % interval of the ratio winner / runner-up, paired by repeat; it "
    "allows for the number of arms"
)
TILE_INCHES = (1.4, 0.75)  # at least
LINE_INCHES = 0.125  # height of a line of text in a tile
REST_INCHES = 1.75  # height of title, legend, axis and foot
WORDS = 3  # lines of text in a tile without reservations, at most
TIE, NO_INTERVAL = "///", "..."  # hatchings of tiles
# how much of the model's colour a tile has: dark text on it keeps a contrast above 7 : 1
TILE_TINT = 0.42


@dataclass(frozen=True)
class Winner:
    """Winner of a cell. `margin`: throughput of the winner over the runner-up's; None without a
    runner-up or without pairs.
    """

    winner: str  # arm
    model: str
    runner_up: str | None = None  # arm, of another model
    margin: float | None = None
    lo: float | None = None
    hi: float | None = None

    @property
    def is_tie(self) -> bool:
        """True if the data leave open which is faster: the interval includes 1."""
        return self.lo is not None and self.lo <= 1.0

    @property
    def is_open(self) -> bool:
        """True if it is not known which is faster: there is a runner-up, and no interval."""
        return self.runner_up is not None and self.lo is None


def verdict(throughput: pd.DataFrame, speedup: pd.DataFrame) -> Winner | None:
    """Return the verdict on one cell from its rows of both tables; None if no arm has a mean."""
    ranked = throughput[throughput["mean"].notna()].sort_values(
        ["mean", "arm"], ascending=[False, True]
    )
    if ranked.empty:
        return None
    best = ranked.iloc[0]
    others = ranked[ranked["model"] != best["model"]]
    if others.empty:
        return Winner(best["arm"], best["model"])
    pairs = speedup[(speedup["against"] == "other models") & (speedup["arm"] == best["arm"])]
    if pairs.empty:
        return Winner(best["arm"], best["model"], others.iloc[0]["arm"])
    pair = pairs.iloc[0]
    lo, hi = (None, None) if pd.isna(pair["lo"]) else (float(pair["lo"]), float(pair["hi"]))
    return Winner(best["arm"], best["model"], pair["rival"], float(pair["ratio"]), lo, hi)


@dataclass(frozen=True)
class Rows:
    """Rows of a map: a column of the throughput table, its values from below, their names, and the
    label of the axis.
    """

    column: str
    values: Sequence[Any]
    names: Sequence[str]
    label: str


def rows_of(throughput: pd.DataFrame) -> Rows:
    """Return the payloads of a topology as rows; of several topologies with one payload, the
    topologies, the first one on top.
    """
    topologies = style.in_order(throughput["topology"], style.TOPOLOGIES)[::-1]
    if len(topologies) > 1:
        names = [
            shape_name(throughput[throughput["topology"] == each].iloc[0]).replace(", ", "\n", 1)
            for each in topologies
        ]
        return Rows("topology", topologies, names, "")
    payloads = sorted(int(payload) for payload in throughput["payload"].dropna().unique())
    return Rows(
        "payload", payloads, [style.whole(payload) for payload in payloads], "payload [bytes]"
    )


def draw(ax: Axes, throughput: pd.DataFrame, speedup: pd.DataFrame) -> set[str]:
    """Draw one map: cost to the right, `rows_of` upwards. Cells that are not in the tables stay
    blank and say so. Return the hatchings that the map has.
    """
    costs, rows = sorted(throughput["cost"].unique(), key=cost_key), rows_of(throughput)
    hatched: set[str] = set()
    for x, cost in enumerate(costs):
        for y, value in enumerate(rows.values):
            here = throughput[(throughput["cost"] == cost) & (throughput[rows.column] == value)]
            hatched |= {_tile(ax, x, y, here, speedup[speedup["cell"].isin(here["cell"])])} - {""}
    ax.set_xlim(-0.5, len(costs) - 0.5)
    ax.set_ylim(-0.5, len(rows.values) - 0.5)
    ax.set_xticks(
        range(len(costs)),
        [style.whole(int(cost)) if str(cost).isdigit() else str(cost) for cost in costs],
    )
    ax.set_yticks(range(len(rows.values)), rows.names)
    ax.set_xlabel("cost [FLOP a tuple]")
    ax.set_ylabel(rows.label)
    ax.tick_params(length=0)
    ax.grid(False)
    ax.spines[:].set_visible(False)
    return hatched


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the rows of its experiment."""
    throughput, speedup = tables["throughput"], tables["speedup"]
    one_payload = throughput["payload"].nunique() == 1
    maps = list(places.by_place(throughput) if one_payload else places.rows_by_topology(throughput))
    across = 2 if len(maps) > 1 else 1
    down = -(-len(maps) // across)
    tile_width, least_height = TILE_INCHES
    lines = WORDS + max(len(_reservations(rows)) for _, rows in throughput.groupby("cell"))
    tile_height = max(least_height, LINE_INCHES * (lines + 1))
    costs = max(of["cost"].nunique() for _, of in maps)
    rows_high = max(len(rows_of(of).values) for _, of in maps)
    with style.applied():
        width, height = across * (tile_width * costs + 0.9), down * (tile_height * rows_high + 0.75)
        drawing = style.plt.figure(figsize=(max(width, 6.0), height + REST_INCHES))
        axes = list(drawing.subplots(down, across, squeeze=False).flat)
        hatched: set[str] = set()
        for ax, (called, rows) in zip(axes, maps, strict=False):
            pairs = places.at_place(speedup, rows.iloc[0])
            hatched |= draw(ax, rows, pairs[pairs["topology"].isin(rows["topology"])])
            shared = rows["topology"].nunique() > 1
            what = (
                f"payload {style.whole(rows['payload'].iloc[0])} B"
                if shared
                else shape_name(rows.iloc[0])
            )
            ax.set_title(", ".join([what, *([called] if called else [])]))
            places.tint(ax, rows)
        for ax in axes[len(maps) :]:
            ax.set_axis_off()
        style.title_with_legend(
            drawing, title, [*_legend(throughput, sorted(hatched)), *places.legend(throughput)]
        )
        provenance.stamp(drawing, throughput, INTERVAL)
    return drawing


def _tile(ax: Axes, x: int, y: int, throughput: pd.DataFrame, speedup: pd.DataFrame) -> str:
    """Draw one cell; return its hatching, "" without any."""
    said = verdict(throughput, speedup) if len(throughput) else None
    look = style.of_model(said.model) if said else None
    face = (
        tuple(1 - TILE_TINT * (1 - channel) for channel in to_rgb(look.color)) if look else "white"
    )
    tile = Rectangle(
        (x - 0.48, y - 0.46), 0.96, 0.92, facecolor=face, edgecolor="#cccccc", linewidth=0.8
    )
    ax.add_patch(tile)
    if said is None:
        why = (
            "\n".join(sorted({without_mean(row) for _, row in throughput.iterrows()}))
            or "not measured"
        )
        ax.text(x, y, why, ha="center", va="center", fontsize=7.5, color=style.FAINT)
        return ""
    hatch = TIE if said.is_tie else NO_INTERVAL if said.is_open else ""
    if hatch:
        tile.set(hatch=hatch, edgecolor="white")
    ax.text(x, y, "\n".join([*_words(said), *_reservations(throughput)]), **_text_look(said))
    return hatch


def _words(said: Winner) -> list[str]:
    if said.runner_up is None:
        return [said.winner, "alone"]
    if said.margin is None:
        return [said.winner, "not paired"]
    head = f"tie: {said.winner}" if said.is_tie else said.winner
    interval = "no interval" if said.lo is None else _interval(said.lo, said.hi)
    return [head, f"×{_factor(said.margin)} over {said.runner_up}", interval]


def _reservations(throughput: pd.DataFrame) -> list[str]:
    """Return the arms of the cell that failed, or some of whose runs never settled."""
    without = [
        f"{row['arm']} {without_mean(row)}"
        for _, row in throughput[throughput["mean"].isna()].iterrows()
    ]
    unsettled = throughput[throughput["settled_share"] < 1]
    return [*without, *(f"{row['arm']}: {settled.words(row)}" for _, row in unsettled.iterrows())]


def _factor(ratio: float, more: int = 0) -> str:
    """Return a ratio with three digits: 1.04, 12.3, 140; and with `more` digits after the point."""
    digits = (2 if ratio < 10 else 1 if ratio < 100 else 0) + more
    return f"{ratio:,.{digits}f}"


def _interval(lo: float, hi: float) -> str:
    """Return an interval with enough digits to distinguish its ends: `[1.04, 1.09]`, `[1.068,
    1.071]`.
    """
    for more in range(4):
        ends = [_factor(lo, more), _factor(hi, more)]
        if ends[0] != ends[1]:
            break
    return f"[{', '.join(ends)}]"


def _text_look(said: Winner) -> dict:
    hatched = said.is_tie or said.is_open
    backing = (
        {"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 1.5} if hatched else None
    )
    return {
        "ha": "center",
        "va": "center",
        "fontsize": 7,
        "color": style.INK,
        "linespacing": 1.25,
        "bbox": backing,
    }


def _legend(throughput: pd.DataFrame, drawn: Sequence[str]) -> list[Patch]:
    """Return the legend. `drawn`: the hatchings that tiles have."""
    models = style.in_order(throughput["model"], list(style.MODELS))
    patches = [
        Patch(facecolor=style.of_model(model).color, alpha=TILE_TINT, label=model)
        for model in models
    ]
    kinds = {
        TIE: "tie: interval includes 1",
        NO_INTERVAL: "no interval: fewer than three pairs of runs",
    }
    return [
        *patches,
        *(
            Patch(facecolor="#dddddd", edgecolor="white", hatch=kind, label=kinds[kind])
            for kind in drawn
        ),
    ]
