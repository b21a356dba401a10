"""P17 Figure 10: throughput against scheduler threads in the mix, pipelines side by side.

Reads   throughput.parquet   topology, cost, model, threads, mean, lo, hi [tuples/s at the sinks],
                             elastic, level [threads]
Draws   a panel for each cost; y from 0; dynamic as a line with 95 % intervals, elastic as a
        diamond, the others as lines with bands
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import thread_panels

TABLES = ("throughput",)
TITLE = "Throughput against scheduler threads: data parallelism of pipelines (P17 Figure 10)"


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return thread_panels.figure(tables["throughput"], TITLE)
