"""The table that decides: a line a law, the numbers of all scenarios with at most 5 % noise, the noisier ones below it.

Kinds of curves weigh the same, however many scenarios there are of each: there are 64 sharp peaks, and one flat curve. Kinds
that only score have columns of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    "accurate, held out",
    "regret, held out",
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
throughput lost against an oracle, from the first period on. Held out: on kinds of curves that only score; the other columns are
of the kinds that constants of our law were chosen on. Shares and means weigh kinds of curves the same. All throughputs are
those of curves, not of runs."""


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
            held_out = len({row.scenario for row in chosen if row.held_out})
            of_them = f", {held_out} of them held out" if held_out else ""
            tables.append(f"**{title}** ({scenarios} scenarios{of_them})\n\n" + _table(chosen))
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


def _line(law: str, every: Sequence[Row]) -> tuple[str, ...]:
    held_out, rows = [row for row in every if row.held_out], [row for row in every if not row.held_out]
    rows = rows or every  # a table of held-out kinds alone has them in all columns
    narrow = [row.settling for row in rows if row.maximum <= 64]
    wide = [row.settling for row in rows if row.maximum == WIDE]
    overshoots = sorted(row.overshoot for row in rows)
    return (
        law,
        f"{by_kind(held_out, lambda row: row.accuracy >= ACCURATE):.1%}" if held_out else "-",
        f"{by_kind(held_out, lambda row: row.regret):.1%}" if held_out else "-",
        f"{by_kind(rows, lambda row: row.accuracy >= ACCURATE):.1%}",
        f"{by_kind(rows, lambda row: row.accuracy):.1%}",
        f"{median(narrow):g}" if narrow else "-",
        f"{median(wide):g}" if wide else "-",
        f"{by_kind(rows, lambda row: row.overshoot > 2.0):.1%}",
        f"{overshoots[int(0.99 * (len(overshoots) - 1))]:.1f} ×",
        f"{by_kind(rows, lambda row: row.changes):.2f}",
        f"{by_kind(rows, lambda row: row.regret):.1%}",
    )


def by_kind(rows: Sequence[Row], number: Callable[[Row], float]) -> float:
    """The mean over kinds of curves of the mean of each."""
    kinds: dict[str, list[float]] = {}
    for row in rows:
        kinds.setdefault(row.kind, []).append(float(number(row)))
    return fmean(fmean(numbers) for numbers in kinds.values())
