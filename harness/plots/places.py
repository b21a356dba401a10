"""Machines in figures: which there are, in what order, and what they are called. What is simulated says so, and looks so.

Rows of the tables tell where they are from by `machine`, `simulated` and `software`; together these are a *place*.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from harness.engine import DEFAULT_SOFTWARE, LOCAL
from harness.plots import style

MACHINES = ("xeon", "power8")
"""The order in which simulated machines appear, that of P17's figures; others follow by name."""

COLUMNS = ["machine", "simulated", "software"]


def by_place(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each place with its name: simulated machines first. The name is "" of real threads without any."""
    parts = [rows for _, rows in table.groupby(COLUMNS, dropna=False, sort=False)]
    for rows in sorted(parts, key=lambda rows: _rank(rows.iloc[0])):
        row = rows.iloc[0]
        yield ("" if len(parts) == 1 and not row["simulated"] else name(row)), rows


def rows_by_topology(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each topology at each place, with the place's name: topology by topology what is simulated, then the rest."""
    places = list(by_place(table))
    topologies = style.in_order(table["topology"], style.TOPOLOGIES)
    for simulated in (True, False):
        for topology in topologies:
            for called, rows in places:
                chosen = rows[rows["topology"] == topology]
                if len(chosen) and bool(chosen["simulated"].iloc[0]) == simulated:
                    yield called, chosen


def name(row: pd.Series) -> str:
    """A place for people: `xeon (simulated)`, `xeon (simulated, costs of streams-4.2)`, `local (measured)`."""
    if not row["simulated"]:
        return f"{row['machine']} (measured)"
    other = "" if row["software"] in (None, DEFAULT_SOFTWARE) or pd.isna(row["software"]) else f", costs of {row['software']}"
    return f"{row['machine']} (simulated{other})"


def at(table: pd.DataFrame, row: pd.Series) -> pd.DataFrame:
    """The rows of a table that are of the same cell at the same place as a row."""
    same = table["cell"] == row["cell"]
    for column in COLUMNS:
        same &= table[column].isna() if pd.isna(row[column]) else table[column] == row[column]
    return table[same]


def tint(ax: Axes, rows: pd.DataFrame) -> None:
    """Colour the background of axes that show what was simulated."""
    if rows["simulated"].astype(bool).any():
        ax.set_facecolor(style.SIMULATED)


def legend(table: pd.DataFrame) -> list[Artist]:
    """What the tint means, if there is any."""
    if not table["simulated"].astype(bool).any():
        return []
    return [Patch(facecolor=style.SIMULATED, edgecolor=style.FAINT, lw=0.6, label="simulated")]


def _rank(row: pd.Series) -> tuple:
    machine = str(row["machine"])
    place = MACHINES.index(machine) if machine in MACHINES else len(MACHINES)
    return not row["simulated"], place, machine != LOCAL, machine, str(row["software"])
