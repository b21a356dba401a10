"""ElasticLoadBalance with a source that falls silent: throughput and active output ports over time
(ELB, Bursty Rate).

Reads   timeline.parquet     a row for each period: throughput_sink [tuples/s], active_ports, times
                             [s], parameters (burst, silence: lengths in ms)
        throughput.parquet   which cells there are, and on what they were measured
Draws   a column for each run; throughput left, from 0, and active ports right, from 0, as steps;
        silence shaded
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import time_panels

TABLES = ("throughput", "timeline")


def silences(rows: pd.DataFrame) -> Iterator[time_panels.Burst]:
    """Yield the stretches in which the source sends nothing: first a burst, then silence, again and
    again. `rows` are those of one run.
    """
    parameters = json.loads(rows["parameters"].iloc[0])
    burst_s, silence_s = (int(parameters[name]) / 1e3 for name in ("burst", "silence"))
    begin_s = burst_s
    while begin_s < rows["time_s"].max():
        yield time_panels.Burst(begin_s, begin_s + silence_s)
        begin_s += burst_s + silence_s


KIND = time_panels.balancing("ElasticLoadBalance under bursts of tuples", bursts=silences, bursts_label="silence")


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return time_panels.figure(tables["timeline"], tables["throughput"], KIND)
