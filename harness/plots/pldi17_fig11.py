"""P17 Figure 11: throughput and thread level over time in individual elastic runs.

Reads   timeline.parquet     a row for each period: throughput_submitted [tuples/s, all operators],
                             threads_active, phase, times [s]
        throughput.parquet   which cells there are, and on what they were measured
Draws   a row for each graph, a column for each run; throughput left, from 0, and active threads
        right, from 0, as steps
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import time_panels

TABLES = ("throughput", "timeline")
KIND = time_panels.Kind(
    title="Elastic runs: throughput and scheduler threads over time (P17 Figure 11)",
    throughput="throughput_submitted",
    throughput_label="throughput, all operators",
    level="threads_active",
    level_label="active threads",
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return time_panels.figure(tables["timeline"], tables["throughput"], KIND)
