"""M19 Figure 6: settling of multi-level elasticity over time, with and without the rules that
shorten it.

Reads   timeline.parquet     a row for each period: throughput_sink [tuples/s], queued_ports,
                             threads_active, times [s]
        throughput.parquet   the cells and arms that exist, and the machines that ran them
Draws   a row for each machine, a panel for each arm: throughput above, queues and threads below
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import adaptation_panels, style
from harness.plots.thread_panels import shape_name

TABLES = ("throughput", "timeline")


def cell_name(row: pd.Series) -> str:
    """Return a cell for people: `pipeline, 500 operators, skewed, 1,024 B`."""
    return f"{shape_name(row)}, {row['cost']}, {style.whole(row['payload'])} B"


KIND = adaptation_panels.Kind("How multi-level elasticity settles (M19 Figure 6)", cell_name)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return adaptation_panels.figure(tables, KIND)
