"""ElasticLoadBalance under bursts of expensive tuples: throughput and active output ports over time
(ELB, Bursty Cost).

Reads   timeline.parquet     a row for each period: throughput_sink [tuples/s], active_ports, times
                             [s], parameters (cycle [tuples])
        throughput.parquet   which cells there are, and on what they were measured
Draws   a column for each run; throughput left, from 0, and active ports right, from 0, as steps;
        expensive tuples shaded
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.plots import time_panels

TABLES = ("throughput", "timeline")
EXPENSIVE = (0.3, 0.4)  # start and end, as shares of a cycle, as in topologies/load_balance.py


def bursts(rows: pd.DataFrame) -> Iterator[time_panels.Burst]:
    """Yield the stretches in which expensive tuples passed, by the number of tuples that had
    arrived. Tuples in buffers are not counted.

    `rows` are those of one run, from its beginning, in the order of time.
    """
    cycle = int(json.loads(rows["parameters"].iloc[0])["cycle"])
    arrived = np.concatenate([[0.0], (rows["throughput_sink"] * rows["elapsed_s"]).cumsum()])
    times = np.concatenate([[0.0], rows["time_s"]])
    for number in range(int(arrived[-1] // cycle) + 1):
        begin, end = ((number + share) * cycle for share in EXPENSIVE)
        if begin < arrived[-1]:
            yield time_panels.Burst(float(np.interp(begin, arrived, times)), float(np.interp(end, arrived, times)))


KIND = time_panels.balancing(
    "ElasticLoadBalance under bursts of expensive tuples", bursts=bursts, bursts_label="expensive tuples"
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return time_panels.figure(tables["timeline"], tables["throughput"], KIND)
