"""ElasticLoadBalance with a source that falls silent: throughput and active output ports over time
(ELB, Bursty Rate).

Reads   timeline.parquet     a row for each period: throughput_sink [tuples/s], active_ports, times
                             [s], parameters (burst, silence: lengths in ms)
        throughput.parquet   which cells there are, and on what they were measured
Draws   a column for each run; throughput left, from 0, and active ports right, from 0, as steps;
        silence shaded
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.experiments.load_changes import silences
from harness.plots import time_panels

TABLES = ("throughput", "timeline")

KIND = time_panels.balancing(
    "ElasticLoadBalance under bursts of tuples", bursts=silences, bursts_label="silence"
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return time_panels.figure(tables["timeline"], tables["throughput"], KIND)
