"""The table that decides: a line a law, the numbers of all scenarios with at most 5 % noise, the noisier ones below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean, median
from typing import TYPE_CHECKING

from harness.elasticity import DEFAULT_LAW
from harness.saso.bench import Row

if TYPE_CHECKING:
    import pandas as pd

ACCURATE = 0.97  # of the best: what counts as having found it
QUIET = 0.05  # noise up to here is in the first table
WIDE = 256

HEADINGS = (
    "law",
    "accurate",
    "accuracy",
    f"settling (≤ {64})",
    f"settling ({WIDE})",
    "overshoot > 2",
    "highest",
    "changes",
    "regret",
)

EXPLANATION = f"""\
Accurate: scenarios in which the settled throughput is at least {ACCURATE:.0%} of the best. Accuracy: its mean. Settling: median
of periods until settled, with up to 64 levels and with {WIDE}. Overshoot: scenarios in which the law climbed to more than
twice the best level, and the highest multiple in 99 of 100. Changes: of level after settling, in 50 periods. Regret:
throughput lost against an oracle, from the first period on. All throughputs are those of curves, not of runs."""


def summary(rows: Sequence[Row]) -> str:
    """Markdown: one table for each strength of noise; our own law is the last line of each."""
    tables = []
    groups = {
        "no noise": lambda row: _noise(row) == 0.0,
        "noise up to 5 %": lambda row: _noise(row) <= QUIET,
        "noise of 10 %": lambda row: _noise(row) > QUIET,
    }
    for title, belongs in groups.items():
        chosen = [row for row in rows if belongs(row)]
        if chosen:
            scenarios = len({row.scenario for row in chosen})
            tables.append(f"**{title}** ({scenarios} scenarios)\n\n" + _table(chosen))
    return "\n\n".join([*tables, EXPLANATION]) + "\n"


def as_document(rows: Sequence[Row]) -> dict[str, object]:
    """The rows as JSON."""
    return {"results": [asdict(row) for row in rows]}


def as_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """The rows as a table, without the levels: what the figure is drawn from."""
    import pandas as pd

    return pd.DataFrame([{key: value for key, value in asdict(row).items() if key != "levels"} for row in rows])


def _noise(row: Row) -> float:
    return max(row.noise, row.drift)


def _table(rows: Sequence[Row]) -> str:
    laws = sorted({row.law for row in rows}, key=lambda law: (law == DEFAULT_LAW, _first(rows, law)))
    cells = [HEADINGS, *(_line(law, [row for row in rows if row.law == law]) for law in laws)]
    return markdown(cells)


def markdown(cells: Sequence[Sequence[str]]) -> str:
    """A table, its first line the headings; columns behind the first one are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(_padded(line, widths)) + " |" for line in cells]
    rule = "|" + "|".join("-" * (width + 2) if i == 0 else "-" * (width + 1) + ":" for i, width in enumerate(widths)) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])


def _first(rows: Sequence[Row], law: str) -> int:
    return next(place for place, row in enumerate(rows) if row.law == law)


def _padded(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]


def _line(law: str, rows: Sequence[Row]) -> tuple[str, ...]:
    narrow = [row.settling for row in rows if row.maximum <= 64]
    wide = [row.settling for row in rows if row.maximum == WIDE]
    overshoots = sorted(row.overshoot for row in rows)
    return (
        law,
        f"{fmean(row.accuracy >= ACCURATE for row in rows):.1%}",
        f"{fmean(row.accuracy for row in rows):.1%}",
        f"{median(narrow):g}" if narrow else "-",
        f"{median(wide):g}" if wide else "-",
        f"{fmean(row.overshoot > 2.0 for row in rows):.1%}",
        f"{overshoots[int(0.99 * (len(overshoots) - 1))]:.1f} ×",
        f"{fmean(row.changes for row in rows):.2f}",
        f"{fmean(row.regret for row in rows):.1%}",
    )
