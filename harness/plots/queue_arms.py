"""Arms of figures in which queues come and go: what they are called, how they look, which share of the ports has a queue."""

from __future__ import annotations

import pandas as pd
from matplotlib.artist import Artist
from matplotlib.lines import Line2D

from harness.plots import style
from harness.plots.style import ModelStyle

MULTILEVEL = "multilevel"

LAWS = {
    "millrace": style.of_model(MULTILEVEL),
    "middleware19": ModelStyle("#8f6200", "X", (0, (4, 1.5))),
    "streams": ModelStyle("#4d3500", "*", (0, (1.5, 1.2))),
}
"""One model under several laws: shades of its colour, with markers of their own."""


def look(row: pd.Series) -> ModelStyle:
    """How an arm looks: multilevel by its law, dynamic by whether one chooses its threads, others by their model."""
    if row["model"] == MULTILEVEL:
        return LAWS.get(str(row["law"]), style.UNKNOWN_MODEL)
    return style.of_model("elastic" if row["elastic"] else row["model"])


def called(row: pd.Series) -> str:
    """An arm for people: `manual`, `dynamic elastic`, `multilevel (middleware19, history=false)`."""
    if row["model"] == MULTILEVEL:
        _, *told = str(row["arm"]).split("-")
        return MULTILEVEL + (f" ({', '.join(told)})" if told else "")
    if row["elastic"]:
        return f"{row['model']} elastic"
    return row["model"] if pd.isna(row["threads"]) else f"{row['model']}, {style.whole(row['threads'])} threads"


def order(row: pd.Series) -> tuple:
    """Sorts arms: by model, then the laws, ours first."""
    models, laws = list(style.MODELS), list(LAWS)
    model, law = row["model"], str(row["law"])
    return (
        models.index(model) if model in models else len(models),
        laws.index(law) if law in laws else len(laws),
        str(row["arm"]),
    )


def in_order(table: pd.DataFrame) -> list[pd.Series]:
    """The rows of arms in the order in which figures show them."""
    return sorted((row for _, row in table.iterrows()), key=order)


def shares(cell: pd.DataFrame) -> pd.Series:
    """Which share of the ports that may have a queue has one, 0 .. 1, for each arm; NaN: not known."""
    return (cell["queued"] / cell["places"]).astype(float)


def legend(table: pd.DataFrame) -> list[Artist]:
    """A line with its marker for each name of an arm in a throughput table."""
    found: dict[str, ModelStyle] = {}
    for row in in_order(table):
        found.setdefault(called(row), look(row))
    return [Line2D([], [], color=each.color, ls=each.line, marker=each.marker, label=name) for name, each in found.items()]
