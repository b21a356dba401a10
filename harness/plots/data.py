"""Data behind a figure, for other programs (CSV) and for a paper (a LaTeX table)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from harness.errors import UserError
from harness.files.whole import write_whole
from harness.plots import places
from harness.plots.choice import PARAMETERS

LEAST_DIGITS, MOST_DIGITS = 3, 4
"""Significant digits of a mean in a LaTeX table."""

ENDS = ("lo", "hi")

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}
"""Characters that LaTeX takes for commands, and their spelling as text."""


def csv_files(path: Path, names: list[str]) -> dict[str, Path]:
    """Return the file of each table: the first has the name itself; the others follow it with a
    dash.
    """
    return {
        name: path if number == 0 else path.with_name(f"{path.stem}-{name}{path.suffix}")
        for number, name in enumerate(names)
    }


def write_csv(tables: Mapping[str, pd.DataFrame], path: Path) -> list[Path]:
    """Write the rows that a figure is drawn from, a file a table, without empty columns. Raises
    RunFailed if a file cannot be written.
    """
    files = csv_files(path, list(tables))
    for name, file in files.items():
        write_whole(file, as_csv(tables[name]).encode())
    return list(files.values())


def as_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV without empty columns."""
    return table.dropna(axis="columns", how="all").to_csv(index=False, lineterminator="\n")


def write_latex(table: pd.DataFrame, path: Path) -> None:
    """Write a throughput table as a LaTeX table. Raises UserError for another table."""
    if not {"cell", "arm", "mean"} <= set(table):
        raise UserError("--latex is for figures of throughput; --csv writes the data of any figure")
    write_whole(path, as_latex(table).encode())


def as_latex(table: pd.DataFrame) -> str:
    """Return a throughput table as LaTeX: the parameters that differ, the arm, its mean and
    interval [tuples/s], rounded to what the interval supports, and the number of runs.
    """
    rows = table[table["mean"].notna()]
    several = [
        name
        for name in ("topology", *PARAMETERS)
        if name in rows and rows[name].nunique(dropna=False) > 1
    ]
    has_places = {"machine", "simulated"} <= set(rows)
    head = [*several, *(["machine"] if has_places else []), "arm"]
    head += ["tuples/s", r"95\,\% interval", "runs"]
    lines = []
    for _, row in rows.iterrows():
        words = [_number(row[name]) for name in several]
        words += [escaped(places.name(row))] if has_places else []
        unit = unit_of(row["mean"], row["lo"], row["hi"])
        ends = [_rounded(row[end], max(unit / 1000, unit_of(row[end], most=unit))) for end in ENDS]
        words += [escaped(str(row["arm"])), _rounded(row["mean"], unit)]
        words += ["--".join(ends) if all(ends) else "", _number(row.get("n"))]
        lines.append(" & ".join(words) + r" \\")
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{tabular}}{{{'l' * (len(head) - 3)}rrr}}",
            r"\toprule",
            " & ".join(head) + r" \\",
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            "",
        ]
    )


def escaped(text: str) -> str:
    """Return a text that LaTeX prints as it is."""
    return "".join(SPECIAL.get(character, character) for character in text)


def unit_of(
    mean: float, low: float = math.nan, high: float = math.nan, most: float = math.inf
) -> float:
    """Return the power of ten to which a mean is rounded: the second digit of half its interval, if
    that leaves 3 or 4 digits of the mean; the third digit of the mean without an interval. `most`:
    largest unit.
    """
    if pd.isna(mean) or mean == 0:
        return min(1.0, most)
    digits = LEAST_DIGITS
    if pd.notna(low) and high > low:
        half = (high - low) / 2
        digits = math.floor(math.log10(abs(mean))) - math.floor(math.log10(half)) + 2
    digits = min(max(digits, LEAST_DIGITS), MOST_DIGITS)
    return min(10.0 ** (math.floor(math.log10(abs(mean))) - digits + 1), most)


def _rounded(value: float, unit: float) -> str:
    """Return a number rounded to a power of ten, as `_number`; "" for none."""
    if pd.isna(value):
        return ""
    decimals = -round(math.log10(unit))
    return f"{round(float(value), decimals):,.{max(decimals, 0)}f}".replace(",", "{,}")


def _number(value: object) -> str:
    """Return a number with commas that LaTeX does not space out; words are escaped."""
    if value is None or pd.isna(value):
        return ""
    if isinstance(value, str):
        return escaped(value)
    return f"{float(value):,.15g}".replace(",", "{,}")
