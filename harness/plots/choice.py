"""Rows of the tables that a part of a figure shows: some of its panels, or one machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.machines.machine import split_cpus

PARAMETERS = (
    "operators",
    "width",
    "depth",
    "workers",
    "busy",
    "selectivity",
    "sources",
    "cost",
    "payload",
)
"""Columns that name a cell together with its topology, in the order of their display."""

ROW_KEYS = ("cell", "machine", "arm")
MOST_LISTED = 12


def chosen(
    tables: Mapping[str, pd.DataFrame],
    panels: Sequence[str],
    machine: str | None,
    without: Sequence[str] = (),
) -> dict[str, pd.DataFrame]:
    """Return the rows of panels and of a machine; those of all panels if none is named. `without`:
    names of arms that are left out.

    A panel is written as a cell is: `mix,cost=1000`. Raises UserError for one that does not exist,
    and for an arm that the panels do not have.
    """
    if not panels and machine is None and not without:
        return dict(tables)
    name, table = next(iter(tables.items()))
    if not {"cell", "machine", "arm"} <= set(table):
        option = "--panel" if panels else "--machine" if machine is not None else "--without"
        raise UserError(f"{option}: the table {name} has neither cells nor machines")
    if machine is not None:
        table = _of_machine(table, machine)
    if panels:
        table = table[pd.concat([_matches(table, panel) for panel in panels], axis=1).any(axis=1)]
    table = _without(table, without)
    return {name: table} | {
        other: _beside(rows, table) for other, rows in tables.items() if other != name
    }


def _without(table: pd.DataFrame, arms: Sequence[str]) -> pd.DataFrame:
    there = list(dict.fromkeys(table["arm"]))
    for arm in arms:
        if arm not in there:
            raise UserError(
                f"--without must be one of {', '.join(there)}, not {arm!r}"
                f"{did_you_mean(arm, there)}"
            )
    kept = table[~table["arm"].isin(arms)]
    if kept.empty:
        raise UserError("--without leaves no arm to draw")
    return kept


def names_of_panels(table: pd.DataFrame) -> list[str]:
    """Return the cells of a table with the parameters that differ between them."""
    cells = table.drop_duplicates("cell")
    varied = [
        name for name in PARAMETERS if name in cells and cells[name].nunique(dropna=False) > 1
    ]
    return list(
        dict.fromkeys(
            ",".join(
                [
                    str(row["topology"]),
                    *(f"{name}={_plain(row[name])}" for name in varied if pd.notna(row[name])),
                ]
            )
            for _, row in cells.iterrows()
        )
    )


def _of_machine(table: pd.DataFrame, machine: str) -> pd.DataFrame:
    """Return the rows of a machine; a name without a number of CPUs means all numbers of them."""
    there = [str(name) for name in table["machine"].unique()]
    meant = [name for name in there if machine in (name, split_cpus(name)[0])]
    if not meant:
        raise UserError(
            f"--machine must be one of {', '.join(sorted(there))}, not {machine!r}"
            f"{did_you_mean(machine, there)}"
        )
    return table[table["machine"].isin(meant)]


def _matches(table: pd.DataFrame, panel: str) -> pd.Series:
    found = pd.Series(True, index=table.index)
    for word in panel.split(","):
        name, equals, value = word.strip().partition("=")
        column, wanted = (name, value) if equals else ("topology", name)
        if column not in table:
            raise UserError(
                f"--panel {panel!r}: {column!r} is no parameter; parameters are: "
                f"{', '.join(each for each in ('topology', 'arm', *PARAMETERS) if each in table)}"
            )
        found &= table[column].map(_plain) == wanted
    if not found.any():
        names = names_of_panels(table)
        more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
        raise UserError(
            f"--panel {panel!r}: the figure has no such panel; its panels are: "
            f"{'; '.join(names[:MOST_LISTED])}{more}"
        )
    return found


def _beside(rows: pd.DataFrame, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of another table that belong to rows of the first one."""
    keys = [name for name in ROW_KEYS if name in rows and name in table]
    kept = pd.MultiIndex.from_frame(table[keys].astype(str))
    return rows[pd.MultiIndex.from_frame(rows[keys].astype(str)).isin(kept)]


def _plain(value: object) -> str:
    """Return a value as a user writes it: 1000 and not 1000.0."""
    return f"{value:.15g}" if isinstance(value, float) else str(value)
