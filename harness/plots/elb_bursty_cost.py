"""ElasticLoadBalance under bursts of expensive tuples: throughput and active output ports over time
(ELB, Bursty Cost).

Reads   timeline.parquet     a row for each period: throughput_sink [tuples/s], active_ports, times
                             [s], parameters (cycle [tuples])
        throughput.parquet   which cells there are, and on what they were measured
Draws   a column for each run; throughput left, from 0, and active ports right, from 0, as steps;
        expensive tuples shaded
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.experiments.load_changes import expensive_bursts
from harness.plots import time_panels

TABLES = ("throughput", "timeline")

KIND = time_panels.balancing(
    "ElasticLoadBalance under bursts of expensive tuples",
    bursts=expensive_bursts,
    bursts_label="expensive tuples",
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return time_panels.figure(tables["timeline"], tables["throughput"], KIND)
