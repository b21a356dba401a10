"""C-Stream Figure 13: co-routines beside Storm, with adaptation of threads and replicas.

Reads   throughput.parquet   cell, topology, busy, model, peer, arm, mean, lo, hi [tuples/s at the
                             sinks], settled_share
Draws   a panel for each machine, the rates of all arms by topology (storm_panels)
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import storm_panels

TABLES = storm_panels.TABLES
TITLE = "Co-routines with adaptation beside Storm (C-Stream Figure 13)"


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return storm_panels.figure(tables, TITLE)
