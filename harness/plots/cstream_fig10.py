"""C-Stream Figure 10: adaptation of a chain with two busy operators.

Reads   throughput.parquet   busy, threads, replicas, elastic, law, level, mean, lo, hi [tuples/s at
                             the sinks], settled_share
        timeline.parquet     a row for each period: threads_requested, replicas (JSON by operator),
                             times [s]
Draws   throughput, and final threads and replicas, over cost; threads and replicas over time at 60
        µs (replica_panels)
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import replica_panels

TABLES = ("throughput", "timeline")
TITLE = "Adaptation of threads and replicas, two busy operators (C-Stream Figure 10)"
SHOWN_US = 60


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return replica_panels.figure(tables, TITLE, SHOWN_US)
