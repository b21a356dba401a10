"""Arms of figures in which queues come and go: their names, their styles, and the share of ports
with a queue.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.artist import Artist

from harness.plots import style
from harness.plots.style import ModelStyle

MULTILEVEL, ELASTIC = "multilevel", "elastic"

LAWS = {
    "millrace": style.of_model(MULTILEVEL),
    "middleware19": ModelStyle("#8f6200", "X", (0, (4, 1.5))),
    "streams": ModelStyle("#4d3500", "*", (0, (1.5, 1.2))),
}
"""Styles of one model under several laws: shades of its colour, with markers of their own."""

THREAD_LAWS = {
    "millrace": style.of_model(ELASTIC),
    "streams": ModelStyle("#7d3a5f", "d", (0, (4, 1.5))),
}
"""Styles of the dynamic model by the law that chooses its threads."""

OURS = "millrace"  # the law that needs no name in a legend


def look(row: pd.Series) -> ModelStyle:
    """Return the style of an arm: multilevel by its law, dynamic by the law of its threads if it
    has one, others by their model.
    """
    if row["model"] == MULTILEVEL or row["elastic"]:
        laws = LAWS if row["model"] == MULTILEVEL else THREAD_LAWS
        return laws.get(str(row["law"]), style.UNKNOWN_MODEL)
    return style.of_model(row["model"])


def called(row: pd.Series) -> str:
    """Return an arm for people: `manual`, `dynamic elastic (streams)`, `multilevel (middleware19,
    plain)`; our law is not named.
    """
    if row["model"] == MULTILEVEL:
        _, *options = str(row["arm"]).split("-")
        return MULTILEVEL + (f" ({', '.join(options)})" if options else "")
    if row["elastic"]:
        return f"{row['model']} elastic" + ("" if row["law"] == OURS else f" ({row['law']})")
    return (
        row["model"]
        if pd.isna(row["threads"])
        else f"{row['model']}, {style.whole(row['threads'])} threads"
    )


def order(row: pd.Series) -> tuple:
    """Return the sort key of an arm: by model, then the laws, ours first."""
    models, laws = list(style.MODELS), list(LAWS)
    model, law = row["model"], str(row["law"])
    return (
        models.index(model) if model in models else len(models),
        laws.index(law) if law in laws else len(laws),
        str(row["arm"]),
    )


def in_order(table: pd.DataFrame) -> list[pd.Series]:
    """Return the rows of arms in the order in which figures show them."""
    return sorted((row for _, row in table.iterrows()), key=order)


def thread_elasticity(cell: pd.DataFrame) -> pd.Series | None:
    """Return the arm that M19 compares with: queues everywhere and threads chosen by IBM's law, or
    else by ours. None if the cell has neither.
    """
    rows = cell[(cell["model"] == "dynamic") & cell["elastic"].astype(bool)].set_index(
        "law", drop=False
    )
    return next((rows.loc[law] for law in ("streams", OURS) if law in rows.index), None)


def shares(cell: pd.DataFrame) -> pd.Series:
    """Return for each arm the share of the ports that may have a queue that have one, 0 .. 1; NaN:
    not known.
    """
    return (cell["queued"] / cell["places"]).astype(float)


def legend(table: pd.DataFrame) -> list[Artist]:
    """Return a line with its marker for each name of an arm in a throughput table."""
    found: dict[str, ModelStyle] = {}
    for row in in_order(table):
        found.setdefault(called(row), look(row))
    return [
        style.key(color=each.color, ls=each.line, marker=each.marker, label=name)
        for name, each in found.items()
    ]
