"""M19 Figure 11: pipelines side by side, by their length, payload and distribution of costs,
against manual.

Reads   throughput.parquet   depth, payload, cost, model, arm, law, mean [tuples/s], queued and
                             places [ports], level [threads]
        speedup.parquet      arm, against = manual: ratio, lo, hi
Draws   a row for each machine and distribution of costs, a panel for each length, bars by payload;
        below, queues and threads
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import gain_panels

TABLES = ("throughput", "speedup")
KIND = gain_panels.Kind(
    "Mixes: dynamic elastic and multilevel over manual (M19 Figure 11)", "payload", "depth", "cost"
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return gain_panels.figure(tables, KIND)
