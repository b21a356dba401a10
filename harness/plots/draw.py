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
from harness.plots import provenance, style
from harness.plots.choice import chosen
from harness.plots.data import write_csv, write_latex
from harness.spark.stationary import stationary

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
    without: Sequence[str] = ()  # arms

    def of(self, tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
        """Return the rows to draw, after writing them where the part says."""
        shown = chosen(tables, self.panels, self.machine, self.without)
        if self.csv is not None:
            write_csv(shown, self.csv)
        if self.latex is not None:
            write_latex(next(iter(shown.values())), self.latex)
        return shown


def draw(
    row: FigureRow,
    folder: Path,
    outputs: Sequence[Path],
    part: Part = Part(),
    title: str | None = None,
) -> str:
    """Draw one of `FIGURES`, or a part of it, from the tables in a folder. `title`: instead of that
    of the row. Return the sentence about points that are left out, "" without any.

    Raises UserError for a table that is missing or lacks what the figure shows, RunFailed if a file
    cannot be written.
    """
    tables = stationary({name: read_table(folder, name, row.name) for name in row.tables})
    shown = part.of(tables)
    says = row.shows_means and "throughput" in shown
    lost = provenance.left_out(shown["throughput"]) if says else ""
    if not outputs:
        return lost
    try:
        drawing = figure_of(row, shown, title)
    except KeyError as error:
        column = error.args[0]
        if any(column in table for table in tables.values()):
            raise
        rule = f"a table in {folder} has no column {column!r}; `millrace aggregate` makes it anew"
        raise UserError(f"--tables: {rule}") from error
    style.save(drawing, outputs)
    return lost


def figure_of(
    row: FigureRow, tables: Mapping[str, pd.DataFrame], title: str | None = None
) -> Figure:
    """Return the figure of a row of `FIGURES`, from the rows of its experiment in each table;
    `title`: instead of that of the row.
    """
    tables = stationary(tables)
    module, _, function = row.panel.partition(".")
    panel = getattr(importlib.import_module(f"harness.plots.{module}"), function)
    return panel(tables, row.heading if title is None else title, **row.options)


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
