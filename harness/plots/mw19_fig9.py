"""M19 Figure 9: pipelines by size, payload and distribution of costs: dynamic elastic and
multilevel against manual.

Reads   throughput.parquet   operators, payload, cost, model, arm, law, mean [tuples/s], queued,
                             places [ports], level [threads]
        speedup.parquet      arm, against = manual: ratio, lo, hi
Draws   a row for each machine and distribution of costs, a panel for each number of operators, bars
        by payload; below, queues and threads
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import gain_panels

TABLES = ("throughput", "speedup")
KIND = gain_panels.Kind(
    "Pipelines: dynamic elastic and multilevel over manual (M19 Figure 9)",
    "payload",
    "operators",
    "cost",
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return gain_panels.figure(tables, KIND)
