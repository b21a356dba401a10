"""Machines in figures: their order, names and colours. Simulated ones are named and tinted as such.

In the rows of the tables, `machine`, `simulated` and `software` give the origin; together these are
a *place*.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from harness.machines.machine import LOCAL, for_people, split_cpus
from harness.machines.software import DEFAULT_SOFTWARE
from harness.plots import style
from harness.spark.stationary import PLACE

T = TypeVar("T")

MACHINES = ("xeon", "power8")
"""Order of simulated machines, that of P17's figures; others follow by name. Of one machine, fewer
CPUs come first."""


def by_place(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each place with its name: simulated machines first. The name of this
    machine's threads is "" if there are no others.
    """
    parts = [rows for _, rows in table.groupby(PLACE, dropna=False, sort=False)]
    for rows in sorted(parts, key=lambda rows: _rank(rows.iloc[0])):
        row = rows.iloc[0]
        alone = len(parts) == 1 and not row["simulated"] and row["machine"] == LOCAL
        yield "" if alone else name(row), rows


def rows_by_topology(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the rows of each topology at each place, with the place's name: by topology, simulated
    places first.
    """
    places = list(by_place(table))
    topologies = style.in_order(table["topology"], style.TOPOLOGIES)
    for simulated in (True, False):
        for topology in topologies:
            for called, rows in places:
                chosen = rows[rows["topology"] == topology]
                if len(chosen) and bool(chosen["simulated"].iloc[0]) == simulated:
                    yield called, chosen


def side_by_side(rows: Sequence[Sequence[T]], most: int = 3) -> list[Sequence[T]]:
    """Return rows of panels unchanged; but if each has a single one, up to `most` of them share a
    row.
    """
    if any(len(row) > 1 for row in rows):
        return list(rows)
    flat = [panel for row in rows for panel in row]
    return [flat[first : first + most] for first in range(0, len(flat), most)]


def name(row: pd.Series) -> str:
    """Return a place for people: `xeon (simulated)`, `xeon with 16 CPUs (simulated, costs of
    streams-4.2)`, `local (measured)`.
    """
    if not row["simulated"]:
        return f"{row['machine']} (measured)"
    software = row.get("software")
    other = "" if pd.isna(software) or software == DEFAULT_SOFTWARE else f", costs of {software}"
    return f"{for_people(row['machine'])} (simulated{other})"


def at(table: pd.DataFrame, row: pd.Series) -> pd.DataFrame:
    """Return the rows of a table that have the cell and the place of `row`."""
    found = at_place(table, row)
    return found[found["cell"] == row["cell"]]


def at_place(table: pd.DataFrame, row: pd.Series) -> pd.DataFrame:
    """Return the rows of a table that have the place of `row`."""
    same = pd.Series(True, index=table.index)
    for column in PLACE:
        same &= table[column].isna() if pd.isna(row[column]) else table[column] == row[column]
    return table[same]


def tint(ax: Axes, rows: pd.DataFrame) -> None:
    """Colour the background of axes with simulated results."""
    if rows["simulated"].astype(bool).any():
        ax.set_facecolor(style.SIMULATED)


def legend(table: pd.DataFrame) -> list[Artist]:
    """Return the legend entry of the tint; empty if there is no tint."""
    if not table["simulated"].astype(bool).any():
        return []
    return [Patch(facecolor=style.SIMULATED, edgecolor=style.FAINT, lw=0.6, label="simulated")]


def _rank(row: pd.Series) -> tuple:
    machine, cpus = split_cpus(str(row["machine"]))
    place = MACHINES.index(machine) if machine in MACHINES else len(MACHINES)
    return (
        not row["simulated"],
        place,
        machine != LOCAL,
        machine,
        cpus or math.inf,
        str(row["software"]),
    )
