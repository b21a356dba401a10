"""Speed-up over manual, and its queues and threads. The form of M19 Figures 9 to 12.

A misreading to avoid: bars begin at 1, which is manual, on a logarithmic axis: a bar that hangs
down is slower than manual. Below is the state that the law settled on; the share is of the ports
that may have a queue, and the number on it the scheduler threads, some of which may have no work.
The number on a bar of multilevel is its throughput over that of thread elasticity, not of manual.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from harness.plots import places, provenance, queue_arms, settled, style
from harness.plots.thread_panels import cost_key, without_mean
from harness.spark.stationary import PLACE

INTERVAL = (
    "error bars: 95 % interval of the ratio to manual, paired by repeat; an arrow names the end of "
    "one that is cut, at four times the ratio"
)
PANEL_INCHES = (3.6, 3.4)
HEIGHTS = (2.1, 1.0)  # of speed-ups, and of the shares below
MIN_WIDTH = 8.6  # inches; the title needs them
# factor at which intervals end: one of two runs may span powers of ten, and hide the bars
INTERVAL_LIMIT = 4.0
# free part of the axis above the highest bar, for a number, as a share of the part below it
LABEL_ROOM = 0.32
GROUP_WIDTH = 0.8  # width of the bars of a cell together; 1 is the distance to the next cell


def draw(gains: Axes, shares: Axes, rows: pd.DataFrame, ratios: pd.DataFrame, along: str) -> None:
    """Draw one panel, in two axes. `rows` of the throughput table, `ratios` of the speedup table
    against manual.
    """
    values = _values(rows, along)
    known = ratios.set_index(["cell", "arm"])
    for place, value in enumerate(values):
        cell = rows[rows[along] == value]
        share = queue_arms.shares(cell)
        arms = [row for row in queue_arms.in_order(cell) if row["model"] != "manual"]
        manual = cell[cell["model"] == "manual"]
        threads_alone = queue_arms.thread_elasticity(cell)
        width = GROUP_WIDTH / max(1, len(arms))
        for number, row in enumerate(arms):
            x = place + (number - (len(arms) - 1) / 2) * width
            _gain(gains, x, 0.9 * width, row, known, manual)
            _share(shares, x, 0.9 * width, row, share[row.name])
            if row["model"] == queue_arms.MULTILEVEL and threads_alone is not None:
                _over_threads_alone(gains, x, row, threads_alone, known)
    gains.axhline(
        1, color=style.of_model("manual").color, ls=style.of_model("manual").line, lw=1.2, zorder=2
    )
    gains.set_yscale("log", base=2)
    low, high = gains.get_ylim()
    low, high = min(low, 0.5) / 1.1, max(high, 2.0)
    gains.set_ylim(low, high * (high / low) ** LABEL_ROOM)
    gains.yaxis.set_major_locator(LogLocator(base=2, numticks=7))
    gains.yaxis.set_major_formatter(FuncFormatter(lambda ratio, _: f"{ratio:g}×"))
    gains.yaxis.set_minor_formatter(NullFormatter())
    shares.set_ylim(0, 135)  # room for the threads
    shares.set_yticks([0, 50, 100])
    for ax in (gains, shares):
        ax.set_xlim(-0.6, len(values) - 0.4)
        ax.set_xticks(range(len(values)), [_short(value) for value in values])
        ax.grid(False, axis="x")
        places.tint(ax, rows)
    gains.tick_params(labelbottom=False)


def figure(
    tables: Mapping[str, pd.DataFrame], title: str, along: str, across: str, down: str
) -> Figure:
    """Return the figure from its experiment's rows: throughput, and speedup (against manual).

    Columns of the throughput table differ `along` the x axis, `across` from panel to panel, and
    `down` from row to row.
    """
    table = tables["throughput"]
    ratios = tables["speedup"][tables["speedup"]["against"] == "manual"]
    lines = places.side_by_side(list(_lines(table, across, down)))
    columns = max(map(len, lines))
    with style.applied():
        drawing, grid = style.grid(len(lines), columns, PANEL_INCHES, 1.2, MIN_WIDTH)
        for number, line in enumerate(lines):
            for column, (called, rows) in enumerate(line):
                inner = grid[number, column].subgridspec(2, 1, height_ratios=HEIGHTS, hspace=0.06)
                gains, shares = drawing.add_subplot(inner[0]), drawing.add_subplot(inner[1])
                draw(gains, shares, rows, places.at_place(ratios, rows.iloc[0]), along)
                gains.set_title(called)
                shares.set_xlabel(LABELS[along])
                if column == 0:
                    gains.set_ylabel("throughput\nover manual")
                    shares.set_ylabel("queues\n[%]")
        style.title_with_legend(drawing, title, [*_legend(table), *places.legend(table)])
        provenance.stamp(drawing, table, INTERVAL)
    return drawing


LABELS = {"payload": "payload [bytes]", "cost": "cost [FLOP a tuple]"}


def _lines(table: pd.DataFrame, across: str, down: str) -> Iterator[list[tuple[str, pd.DataFrame]]]:
    """Yield the rows of panels, each panel with its title."""
    for name, of_place in places.by_place(table):
        for value in _values(of_place, down):
            rows = of_place[of_place[down] == value]
            panels = []
            for size in _values(rows, across):
                point = ", ".join(
                    _parameter_text(column, each)
                    for column, each in ((across, size), (down, value))
                )
                panels.append(("\n".join(filter(None, (name, point))), rows[rows[across] == size]))
            yield panels


def _values(rows: pd.DataFrame, column: str) -> list:
    """Return the different values of a parameter: numbers by size, then words."""
    return sorted(rows[column].dropna().unique(), key=lambda value: cost_key(_plain(value)))


def _parameter_text(column: str, value: object) -> str:
    """Return a parameter for people: `100 operators`, `payload 128 B`, `cost 100 FLOP`, `skewed
    costs`; a topology by its name.
    """
    text = _short(value)
    if column == "topology":
        return text
    if column == "cost":
        return f"cost {text} FLOP" if _plain(value).isdigit() else f"{text} costs"
    return {"operators": f"{text} operators", "payload": f"payload {text} B"}.get(
        column, f"{column} {text}"
    )


def _plain(value: object) -> str:
    """Return a parameter as the tables of records have it: whole numbers without a point."""
    return str(int(value)) if isinstance(value, int | float) else str(value)


def _short(value: object) -> str:
    text = _plain(value)
    return style.whole(int(text)) if text.isdigit() else text


def _gain(
    ax: Axes, x: float, width: float, row: pd.Series, known: pd.DataFrame, manual: pd.DataFrame
) -> None:
    """Draw a bar, hatched if a run of either side of its ratio never settled, the paler the more of
    them; `manual`: the other side.
    """
    look = queue_arms.look(row)
    key = (row["cell"], row["arm"])
    if pd.isna(row["mean"]) or key not in known.index:
        why = (
            without_mean(row)
            if pd.isna(row["mean"])
            else "no tuple arrived"
            if row["mean"] == 0
            else "no pair"
        )
        ax.text(x, 1.05, why, rotation=90, fontsize=6.5, ha="center", va="bottom", zorder=5)
        return
    ratio = known.loc[key]
    sides = [row, *(each for _, each in manual.iterrows())]
    pale = settled.shade(
        look.color,
        min(side["settled_share"] if pd.notna(side["settled_share"]) else 1.0 for side in sides),
    )
    hatch = settled.hatch(sides)
    face = (
        {"facecolor": pale, "edgecolor": look.color, "hatch": hatch}
        if hatch
        else {"color": look.color}
    )
    ax.bar(x, ratio["ratio"] - 1, width, bottom=1, zorder=3, **face)
    left, right = x - width / 2, x + width / 2
    # as fast as manual: a bar without height
    ax.hlines(ratio["ratio"], left, right, color=look.color, linewidth=2.5, zorder=5)
    if some := settled.words_of_some_runs(row):
        look = {"rotation": 90, "fontsize": 6, "ha": "right", "va": "bottom", "zorder": 7}
        # left of the interval, as the values of its ends are on its right
        offset = {"xytext": (-1, 2), "textcoords": "offset points"}
        ax.annotate(some, (x, 1), path_effects=settled.TEXT_HALO, **offset, **look)
    if pd.notna(ratio["lo"]):
        _interval(ax, x, *ratio[["lo", "ratio", "hi"]])


def _interval(ax: Axes, x: float, lo: float, ratio: float, hi: float) -> None:
    """Draw an interval: capped where it ends, with an arrow and the value of its end where it is
    cut.
    """
    for end, farthest, nearer, arrow in (
        (lo, ratio / INTERVAL_LIMIT, max, "v"),
        (hi, ratio * INTERVAL_LIMIT, min, "^"),
    ):
        shown = nearer(end, farthest)
        ax.plot([x, x], [ratio, shown], color=style.INK, lw=1, zorder=4)
        ax.plot(
            [x],
            [shown],
            ls="",
            marker="_" if shown == end else arrow,
            ms=4,
            color=style.INK,
            zorder=4,
        )
        if shown != end:
            ax.annotate(
                f"{_two_digits(end)}×",
                (x, shown),
                xytext=(4, 0),
                textcoords="offset points",
                rotation=90,
                fontsize=5.5,
                ha="center",
                va="top" if arrow == "^" else "bottom",
                color=style.INK,
                path_effects=settled.TEXT_HALO,
                zorder=6,
            )


def _over_threads_alone(
    ax: Axes, x: float, row: pd.Series, threads_alone: pd.Series, known: pd.DataFrame
) -> None:
    """Write the ratio of multilevel to thread elasticity alone on a bar, as in the paper. Nothing
    if a run of either never settled.
    """
    key = (row["cell"], row["arm"])
    if key not in known.index or any(each["settled_share"] != 1 for each in (row, threads_alone)):
        return
    ratio = known.loc[key, "ratio"]
    top = min(known.loc[key, ["ratio", "hi"]].max(), INTERVAL_LIMIT * ratio)
    speedup = (
        f"{_two_digits(row['mean'] / threads_alone['mean'])}×" if threads_alone["mean"] > 0 else ""
    )
    look = {"rotation": 90, "fontsize": 6.5, "ha": "center", "va": "bottom", "color": style.INK}
    ax.annotate(
        speedup, (x, max(1.0, top)), xytext=(0, 3), textcoords="offset points", zorder=5, **look
    )


def _two_digits(number: float) -> str:
    """Return a number as `0.39`, `2.4`, `19`; all digits before the point if there are more."""
    return f"{number:.0f}" if number >= 9.95 else f"{number:#.2g}"


def _share(ax: Axes, x: float, width: float, row: pd.Series, share: float) -> None:
    if pd.isna(share):
        return
    ax.bar(x, 100 * share, width, color=queue_arms.look(row).color, alpha=0.55, zorder=3)
    threads = row["level"] if pd.notna(row["level"]) else row["threads"]
    if pd.notna(threads):
        ax.text(
            x,
            100 * share + 4,
            f"{threads:.3g}",
            fontsize=6.5,
            ha="center",
            va="bottom",
            color=style.INK,
            zorder=4,
        )


def _legend(table: pd.DataFrame) -> list[Artist]:
    patches: dict[str, Artist] = {}
    for row in queue_arms.in_order(table[table["model"] != "manual"]):
        name = queue_arms.called(row)
        patches.setdefault(name, Patch(color=queue_arms.look(row).color, label=name))
    return [
        *queue_arms.legend(table[table["model"] == "manual"]),
        *patches.values(),
        *settled.hatches(table),
        *_numbers(table),
    ]


def _numbers(table: pd.DataFrame) -> list[Artist]:
    """Return the explanations of the numbers on bars, as entries of the legend."""
    cells = [cell for _, cell in table.groupby([*PLACE, "cell"], dropna=False)]
    bases = [
        queue_arms.thread_elasticity(cell)
        for cell in cells
        if (cell["model"] == queue_arms.MULTILEVEL).any()
    ]
    over = {
        queue_arms.called(base) for base in bases if base is not None and base["settled_share"] == 1
    }
    # IBM's law first, as `thread_elasticity` prefers it
    names = ", or else ".join(sorted(over, reverse=True))
    texts = [f"n× on a bar: over {names}"] if over else []
    texts += (
        ["number below: scheduler threads"]
        if table[["level", "threads"]].notna().any(axis=None)
        else []
    )
    return [style.key(ls="", label=each) for each in texts]
