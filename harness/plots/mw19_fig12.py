"""M19 Figure 12: the bushy graph of 82 operators, by cost, payload and the cores that it may use,
against manual.

Reads   throughput.parquet   cost, payload, model, arm, law, mean [tuples/s], queued and places
                             [ports], level [threads]
        speedup.parquet      arm, against = manual: ratio, lo, hi
Draws   a row for each machine with its number of CPUs and a payload, bars by cost; below, queues
        and threads
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import gain_panels

TABLES = ("throughput", "speedup")
KIND = gain_panels.Kind(
    "Bushy graph: dynamic elastic and multilevel over manual (M19 Figure 12)",
    "cost",
    "payload",
    "topology",
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return gain_panels.figure(tables, KIND)
