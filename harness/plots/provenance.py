"""Origin of a figure's data, at its foot: measured or simulated, machine, number of runs, meaning
of the intervals, commit.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from harness.machines.machine import for_people
from harness.plots import paper, style
from harness.spark.stationary import is_of_some_runs
from harness.terminal.listed import listed

FOOT_PT = 7.5
BADGE_DOWN_PT = 8.0  # from the upper edge of a figure to the word SIMULATED, which has a frame
CHARACTERS_PER_INCH = 17  # of text of this size, by trial

MOST_CELLS = 8  # of a machine, that are named


class Runs(str):
    """Meaning of the lines and bands of a figure that shows runs over time, not means of them."""


def sentence(table: pd.DataFrame, interval: str | None) -> str:
    """Return the text at the foot of a figure about these rows of the throughput table; `interval`:
    meaning of its error bars, None if it shows single runs.
    """
    simulated = table["simulated"].astype(bool)
    parts = []
    if not simulated.all():
        parts.append(f"Measured on {_where(table[~simulated])}.")
    if simulated.any():
        parts.append(f"SIMULATED on {_described(table[simulated])}.")
    counts = sorted({int(count) for count in table["n"].dropna()} - {0})
    if interval is None or counts == [1]:
        parts.append(f"Single runs{_processes(simulated)}.")
    elif counts:
        spread = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
        where = ", where n is above 1" if counts[0] == 1 else ""
        of = "" if isinstance(interval, Runs) else "Mean of "
        parts.append(f"{of}n = {spread} runs{_processes(simulated)}; {interval}{where}.")
    if isinstance(interval, Runs):
        interval = None  # the later sentences are about means
    banded = table[table["band_lo"].notna()]
    if interval is not None and len(banded):
        parts.append(
            "Dashed fills: least and greatest mean over "
            f"{int(banded['variants'].max())} points at which all uncertain constants had other "
            "values."
        )
    unreached = table[(table["variants"] > 0) & (table["variants_reached"] == 0)]
    if interval is not None and len(unreached):
        parts.append(
            f"Not varied: {len(unreached)} of {int((table['variants'] > 0).sum())} arms, which no "
            "such value reaches."
        )
    if interval is not None and (wrong := int(table["variants_failed"].sum())):
        parts.append(f"No fill where one of those runs failed ({wrong} in all).")
    if interval is not None:
        lost = {"failed": "failed", "no_rate": "too short to have a rate"}
        losses = [
            f"{int(table[kind].sum())} {words}" for kind, words in lost.items() if table[kind].sum()
        ]
        parts += [f"Runs not in the means: {', '.join(losses)}."] if losses else []
        some = table.apply(is_of_some_runs, axis=1)
        drawn = table[table["mean"].notna() & ~some]
        if unsettled := int(drawn["unsettled"].sum()):
            parts.append(f"{unsettled} of {int(drawn['n'].sum())} runs in the means never settled.")
        parts += filter(None, [of_settled_runs(table), left_out(table)])
    elif len(moving := table[simulated & (table["unsettled"] > 0)]):
        parts.append(
            f"Not stationary from begin to end, as runs adapt: {int(moving['unsettled'].sum())} of "
            f"{int(table.loc[simulated, 'n'].sum())} simulated runs."
        )
    measured = table[~simulated]
    if disturbed := int(measured["unfit"].sum()):
        parts.append(
            f"{disturbed} of {int(measured['n'].sum())} measured runs were disturbed, as their "
            "records say."
        )
    if (hosts := measured["hosts"].max()) > 1:
        parts.append(f"Means are over runs of up to {int(hosts)} hosts.")
    queues = sorted(
        {int(capacity) for capacity in table["queue_capacity"].dropna() if capacity > 0}
    )
    if queues:
        parts.append(
            f"Queues of {' or '.join(style.whole(capacity) for capacity in queues)} tuples."
        )
    commits = sorted({_short(commit) for commit in table["commit"].dropna()})
    parts.append(f"Commit {', '.join(commits)}." if commits else "Commit unknown.")
    return " ".join(parts)


def of_settled_runs(table: pd.DataFrame) -> str:
    """Return the sentence about means of the settled runs alone; "" without any."""
    some = table[table.apply(is_of_some_runs, axis=1) & table["mean"].notna()]
    if some.empty:
        return ""
    named = some.assign(arm=[f"{row['arm']} ({_share(row)})" for _, row in some.iterrows()])
    return f"Mean of the settled runs alone: {_points(named, table)}."


def left_out(table: pd.DataFrame) -> str:
    """Return the sentence about arms that are not drawn because runs of them never settled; ""
    without any.
    """
    lost = table[table["mean"].isna() & (table["unsettled"] > 0)]
    return f"Left out, since not stationary: {_points(lost, table)}." if len(lost) else ""


def stamp(figure: Figure, table: pd.DataFrame, interval: str | None) -> None:
    """Write the sentence at the foot of the figure. A figure that is simulated as a whole also says
    so in its top corner; if only some panels are simulated, these panels say so.
    """
    foot(figure, sentence(table, interval))
    if table["simulated"].astype(bool).all() and paper.shape().titled:
        box = {"fc": style.SIMULATED_LABEL, "ec": style.INK}
        figure.text(
            0.985,
            1.0,
            "SIMULATED",
            ha="right",
            va="top",
            fontsize=8,
            weight="bold",
            bbox=box,
            transform=figure.transFigure
            + ScaledTranslation(0, -BADGE_DOWN_PT / 72, figure.dpi_scale_trans),
        )


def foot(figure: Figure, text: str) -> None:
    """Write a text at the foot of the figure, wrapped to its width. Without a title a figure has no
    foot either: both belong into the caption of a paper.
    """
    if not paper.shape().titled:
        paper.shape().foot.append(text)
        return
    lines = _lines(figure, text)
    figure.supxlabel(
        "\n".join(lines), x=0.01, ha="left", fontsize=FOOT_PT, color=style.FAINT, linespacing=1.4
    )
    paper.grow(figure, height_of(figure, text))


def height_of(figure: Figure, text: str) -> float:
    """Return the height of a text at the foot of a figure [inches], with the space above it."""
    return (len(_lines(figure, text)) + 1) * 1.4 * FOOT_PT / 72


def _lines(figure: Figure, text: str) -> list[str]:
    return textwrap.wrap(text, int(figure.get_figwidth() * CHARACTERS_PER_INCH))


def _points(points: pd.DataFrame, table: pd.DataFrame) -> str:
    """Return arms with their cells and machines, machine by machine, and cells with the same arms
    at once; of many cells the number of points. `table` has all cells of the figure.
    """
    parts, named = [], _short_names(table["cell"].unique())
    several = points.groupby("machine")["software"].nunique(dropna=False) > 1
    for (machine, software), rows in points.groupby(
        ["machine", "software"], sort=False, dropna=False
    ):
        place = f"on {for_people(str(machine))}"
        if several[machine]:
            place += f" with the costs of {software}"
        if rows["cell"].nunique() > MOST_CELLS:
            arms = listed(list(dict.fromkeys(rows["arm"])))
            parts.append(f"{place} {len(rows)} points of {arms}")
            continue
        cells_of: dict[str, list[str]] = {}
        for cell, arms in rows.groupby("cell", sort=False)["arm"]:
            cells_of.setdefault(listed(list(arms)), []).append(named[cell])
        cells = "; ".join(f"{arms} in {listed(cells)}" for arms, cells in cells_of.items())
        parts.append(f"{place} {cells}")
    return "; ".join(parts)


def _short_names(cells: Sequence[str]) -> dict[str, str]:
    """Return the names of cells without what all of them have in common; whole for one cell."""
    parts = {cell: cell.split(",") for cell in cells}
    common = set.intersection(*map(set, parts.values())) if len(parts) > 1 else set()
    return {
        cell: ",".join(part for part in words if part not in common) or cell
        for cell, words in parts.items()
    }


def _share(row: pd.Series) -> str:
    return f"{int(row['n'] - row['unsettled'])} of {int(row['n'])}"


def _processes(simulated: pd.Series) -> str:
    """Return the words about processes: measured runs have a process each; simulated ones need none
    of their own.
    """
    if simulated.all():
        return ""
    return (
        ", the measured ones each in a fresh process"
        if simulated.any()
        else ", each in a fresh process"
    )


def _where(table: pd.DataFrame) -> str:
    models = sorted({str(model) for model in table["cpu_model"].dropna()}) or ["an unknown CPU"]
    allowed = sorted({int(count) for count in table["cpus_allowed"].dropna()})
    cpus = (
        f", {' or '.join(map(str, allowed))} CPU{'s' if allowed != [1] else ''} allowed"
        if allowed
        else ""
    )
    return " and ".join(models) + cpus


def _described(table: pd.DataFrame) -> str:
    """Return the machines that were simulated, with the software whose costs they had."""
    machines = sorted({for_people(str(machine)) for machine in table["machine"]})
    software = sorted({str(name) for name in table["software"].dropna()})
    costs = f" with the software costs of {' and '.join(software)}" if software else ""
    return f"{listed(machines)}{costs}, in virtual time"


def _short(commit: str) -> str:
    head, plus, dirty = str(commit).partition("+")
    return head[:10] + plus + dirty
