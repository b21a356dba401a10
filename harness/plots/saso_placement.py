"""The SASO bench in two dimensions: quality of laws that place queues and choose threads, over all
scenarios (M19 §1).

Reads   saso_placement.parquet   a row for each law and scenario: law, accuracy [settled
                                 throughput over the oracle's], regret [share lost against the
                                 oracle], settling [periods], settled_threads, best_threads; and
                                 settled_parts, best_parts, which are queues
Draws   a panel for each metric, a row for each law, best on top, as `saso`; threads and queues as
        doublings of the oracle's numbers

A misreading to avoid: fewer threads or queues than the oracle's are a saving only where accuracy is
near 100 %.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.plots import style
from harness.plots.saso import ScoreColumn, check, panels

COUNTED = {"threads": "threads", "queues": "parts"}

METRICS = (
    ScoreColumn(
        "accuracy", "accuracy", "settled throughput / best", more_is_better=True, is_share=True
    ),
    ScoreColumn("settling", "settling", "periods until settled"),
    ScoreColumn("threads", "threads", "doublings over the oracle's", best=0.0, is_signed=True),
    ScoreColumn("queues", "queues", "doublings over the oracle's", best=0.0, is_signed=True),
    ScoreColumn("regret", "regret", "lost against an oracle", is_share=True),
)


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the bench's table. Raises UserError, naming them, if columns are
    missing.
    """
    table = tables["saso_placement"]
    counts = [f"{which}_{what}" for what in COUNTED.values() for which in ("settled", "best")]
    check(
        table,
        "saso_placement",
        ["accuracy", "settling", "regret", *counts],
        "millrace laws bench --multilevel --table",
    )
    doublings = {
        name: np.log2((table[f"settled_{what}"] + 1.0) / (table[f"best_{what}"] + 1.0))
        for name, what in COUNTED.items()
    }
    return panels(table.assign(**doublings), METRICS, title, _sentence(table))


def _sentence(table: pd.DataFrame) -> str:
    """Return the text at the foot: nothing here was measured."""
    scenarios = table["scenario"].nunique()
    return (
        f"Computed, not measured: each in closed loop with {style.whole(scenarios)} scenarios "
        "(throughput over placement and "
        "threads, noise, phases), seeded and the same for all. The oracle knows the truth. Best "
        "mean regret on top. Counts "
        "are raised by one, since zero has no logarithm."
    )
