"""Elastic against every fixed level: what a control law is worth where all levels can be measured.

Reads   throughput.parquet   as Figure 9 (thread_panels)
        speedup.parquet      arm, against = best: ratio, lo, hi, of repeats of the same block
Draws   a row for each topology, a panel for each cost; under each title the elastic arm's rate over
        that of the best of the other arms, with an interval that allows for the choice of the best
        (spark.speedup)

A misreading to avoid: the best of several arms is also the luckiest one, so a perfect law is a
little below 100 % wherever levels are alike; its interval then has 100 % in it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import means, places, thread_panels


def figure(tables: Mapping[str, pd.DataFrame], title: str) -> Figure:
    """Return the figure from the rows of its experiment."""
    ratios = tables["speedup"]
    ratios = ratios[(ratios["against"] == "best") & ratios["arm"].str.startswith("dynamic-elastic")]

    def note(panel: pd.Series) -> str:
        rows = [row for _, row in places.at(ratios, panel).iterrows()]
        return "\n".join(
            f"{'elastic' if len(rows) == 1 else row['arm'].removeprefix('dynamic-')} "
            + means.with_interval(row)
            for row in rows
        )

    return thread_panels.figure(tables, title, note)
