"""P17 Figure 9: throughput against scheduler threads, 1,000 operators in a pipeline and side by
side.

Reads   throughput.parquet   topology, cost, model, threads, mean, lo, hi [tuples/s at the sinks],
                             elastic, level [threads]; machine, simulated, software, band_lo,
                             band_hi; context_switches_mean, duration_mean, runnable_mean
Draws   a row for each topology and machine, a panel for each cost; y from 0; dynamic as a line with
        95 % intervals, elastic as a diamond, the others as lines with bands; below, context
        switches and runnable threads in the pipeline
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import switch_table, thread_panels

TABLES = ("throughput",)
TITLE = (
    "Throughput against scheduler threads: pure pipeline and pure data parallelism (P17 Figure 9)"
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    switches = switch_table.lines(tables["throughput"], "pipeline")
    below = (
        thread_panels.Below(
            lambda ax: switch_table.draw(ax, switches), switch_table.height(switches)
        )
        if switches
        else None
    )
    return thread_panels.figure(tables["throughput"], TITLE, below=below)
