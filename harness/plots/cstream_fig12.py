"""C-Stream Figure 12: co-routines beside Storm, without adaptation.

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
TITLE = "Co-routines beside Storm, without adaptation (C-Stream Figure 12)"


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return storm_panels.figure(tables, TITLE)
