"""ElasticLoadBalance at three tuple costs: throughput and active output ports over time (ELB, How
It Performs).

Reads   timeline.parquet     a row for each period: throughput_sink [tuples/s], active_ports, times
                             [s]
        throughput.parquet   which cells there are, and on what they were measured
Draws   a panel for each cost, cheapest first; throughput left, from 0, and active ports right, from
        0, as steps
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import time_panels

TABLES = ("throughput", "timeline")
KIND = time_panels.balancing(
    "ElasticLoadBalance: throughput and active ports over time, by tuple cost"
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return time_panels.figure(tables["timeline"], tables["throughput"], KIND, cells_across=True)
