"""All applications under all models on this machine.

Reads   throughput.parquet   topology, sources, placement, model, arm, law, mean, lo, hi [tuples/s
                             at the sinks], submitted_* of the same [tuples/s over all operators:
                             PacketAnalysis], level [threads]
Draws   a panel for each application, a bar for each arm with its threads
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import application_panels

TABLES = application_panels.TABLES


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return application_panels.figure(tables, "Applications under every model")
