"""C-Stream Figure 9: adaptation of a chain with one busy operator.

Reads   throughput.parquet   busy, threads, replicas, elastic, law, level, mean, lo, hi [tuples/s at
                             the sinks], settled_share
        timeline.parquet     a row for each period: threads_requested, replicas (JSON by operator),
                             times [s]
Draws   throughput, and final threads and replicas, over cost; threads and replicas over time at 80
        µs (replica_panels)
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import replica_panels

TABLES = ("throughput", "timeline")
TITLE = "Adaptation of threads and replicas, one busy operator (C-Stream Figure 9)"
SHOWN_US = 80


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return replica_panels.figure(tables, TITLE, SHOWN_US)
