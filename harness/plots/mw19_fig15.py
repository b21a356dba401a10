"""M19 Figure 15: applications under manual, with threads by hand, with thread elasticity and with
multi-level elasticity.

Reads   throughput.parquet   topology, sources, placement, model, arm, law, mean, lo, hi [tuples/s
                             at the sinks], submitted_* of the same [tuples/s over all operators:
                             PacketAnalysis], level [threads]
Draws   a row for each application with its number of sources, a panel for each machine with its
        CPUs, a bar an arm with its threads
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import application_panels

TABLES = application_panels.TABLES


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return application_panels.figure(
        tables, "Applications by hand and elastic, and the threads used (M19 Figure 15)"
    )
