"""Tables as lines of text, laid out by `rich`: columns are two blanks apart and have no lines."""

from __future__ import annotations

import io
from collections.abc import Container, Sequence

ANY_WIDTH = 100_000
"""Characters of a line that nobody cuts: a table goes into pipes and logs, too."""


def aligned_rows(
    rows: Sequence[Sequence[str]],
    right: Container[int] = (),
    indent: int = 0,
    least: Sequence[int] = (),
    width: int | None = None,
) -> list[str]:
    """Return the rows, of which the first one usually has the headings, as lines.

    `right`: columns that are aligned to the right. `least`: width of each column at least, for
    rows that are printed before the next ones are known. `width`: characters of a line at most;
    the last column is then folded.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    columns = len(rows[0]) if rows else 0
    table = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    for column in range(columns):
        table.add_column(
            justify="right" if column in right else "left",
            min_width=least[column] if least else None,
            no_wrap=width is None or column < columns - 1,
        )
    for row in rows:
        table.add_row(*(Text(cell, overflow="fold") for cell in row))
    text = io.StringIO()
    console = Console(
        file=text, width=(width or ANY_WIDTH) - indent, color_system=None, force_terminal=False
    )
    console.print(table)
    return [f"{' ' * indent}{line}".rstrip() for line in text.getvalue().splitlines()]
