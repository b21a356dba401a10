"""Draw a figure from the tables in a folder."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from matplotlib.figure import Figure

from harness.errors import UserError
from harness.files.given import is_table
from harness.plots import settled, style
from harness.plots.choice import chosen
from harness.plots.data import write_csv, write_latex

if TYPE_CHECKING:
    # no import: the workflow compares the row, so a figure does not depend on the rows of others
    from harness.plots.figures import FigureRow


@dataclass(frozen=True)
class Part:
    """Rows of the tables that are drawn, and where their data is written."""

    panels: Sequence[str] = ()
    machine: str | None = None
    csv: Path | None = None
    latex: Path | None = None

    def of(self, tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        """Return the rows to draw, after writing them where the part says."""
        shown = chosen(tables, self.panels, self.machine)
        if self.csv is not None:
            write_csv(shown, self.csv)
        if self.latex is not None:
            write_latex(next(iter(shown.values())), self.latex)
        return shown


def draw(row: FigureRow, folder: Path, outputs: Sequence[Path], part: Part = Part()) -> None:
    """Draw one of `FIGURES`, or a part of it, from the tables in a folder.

    Raises UserError for a table that is missing or lacks what the figure shows, RunFailed if a file
    cannot be written.
    """
    tables = stationary(row, {name: read_table(folder, name, row.name) for name in row.tables})
    shown = part.of(tables)
    if not outputs:
        return
    try:
        drawing = figure_of(row, shown)
    except KeyError as error:
        column = error.args[0]
        if any(column in table for table in tables.values()):
            raise
        rule = f"a table in {folder} has no column {column!r}; `millrace aggregate` makes it anew"
        raise UserError(f"--tables: {rule}") from error
    style.save(drawing, outputs)


def figure_of(row: FigureRow, tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure of a row of `FIGURES`, from the rows of its experiment in each table."""
    tables = stationary(row, tables)
    module, _, function = row.panel.partition(".")
    panel = getattr(importlib.import_module(f"harness.plots.{module}"), function)
    return panel(tables, row.heading, **row.options)


def stationary(row: FigureRow, tables: Mapping[str, pd.DataFrame]) -> Mapping[str, pd.DataFrame]:
    """Return the tables as a figure shows them: a figure of means has no simulated mean that is not
    stationary; one over time shows the way there.
    """
    if "throughput" in row.tables and "timeline" not in row.tables:
        return {**tables, "throughput": settled.without_unsettled(tables["throughput"])}
    return tables


def read_table(folder: Path, name: str, experiment: str) -> pd.DataFrame:
    """Return the rows of an experiment in a table, in a fixed order; all rows of a bench's table,
    which has the bench's name, unchanged.

    Raises UserError if the table cannot be read or has none.
    """
    path = folder / f"{name}.parquet"
    if not is_table(path):
        raise UserError(f"--tables: no table {path}; `millrace aggregate` makes it")
    try:
        table = pd.read_parquet(path)
    except (OSError, ValueError) as error:
        raise UserError(
            f"--tables: {path} cannot be read as Parquet: {str(error).splitlines()[0]}"
        ) from error
    if name == experiment and not table.empty:
        return table
    if table.empty or "experiment" not in table:
        raise UserError(f"--tables: {path} is empty")
    rows = table[table["experiment"] == experiment]
    if rows.empty:
        found = ", ".join(sorted(table["experiment"].unique()))
        raise UserError(
            f"--tables: {path} has no rows of the experiment {experiment!r}; it has: {found}"
        )
    order = [column for column in ("topology", "cell", "model", "arm") if column in rows]
    return rows.sort_values(order, kind="stable").reset_index(drop=True)
