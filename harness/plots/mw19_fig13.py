"""M19 Figure 13: the share of heavy operators changes in mid-run; throughput, queues and threads
over time.

Reads   timeline.parquet     a row for each period: throughput_sink and throughput_source
                             [tuples/s], queued_ports, threads_active, times [s], tuples_sent,
                             parameters
        throughput.parquet   which cells and arms there are, and on what they were measured
Draws   a row for each machine, a panel for each arm: throughput above, queues and threads below;
        phases with more heavy operators shaded
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.experiments.load_changes import heavy_phases
from harness.plots import adaptation_panels
from harness.plots.thread_panels import shape_name

TABLES = ("throughput", "timeline")

KIND = adaptation_panels.Kind(
    "Adaptation to a change of load in mid-run (M19 Figure 13)",
    shape_name,
    heavy_phases,
    "more heavy operators",
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return adaptation_panels.figure(tables, KIND)
