"""C-Stream Figure 6: cost of operators, data parallelism of 12 busy operators on 4 threads.

Reads   throughput.parquet   topology, busy, policy, threads, mean, lo, hi [tuples/s at the sinks],
                             settled_share
        latency.parquet      cell, arm, p50 [ns]
Draws   throughput above and median latency below, a line for each policy (policy_panels)
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import policy_panels

TABLES = ("throughput", "latency")
TITLE = "Throughput and latency over operator cost, by policy (C-Stream Figure 6)"


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return policy_panels.figure(
        tables, TITLE, policy_panels.Across("busy", "time a tuple keeps an operator busy [µs]")
    )
