"""M19 Figure 13: the share of heavy operators changes in mid-run; throughput, queues and threads
over time.

Reads   timeline.parquet     a row for each period: throughput_sink and throughput_source
                             [tuples/s], queued_ports, threads_active, times [s], tuples_sent,
                             parameters
        throughput.parquet   which cells and arms there are, and on what they were measured
Draws   a row for each machine, a panel for each arm: throughput above, queues and threads below;
        phases with more heavy operators shaded
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.plots import adaptation_panels
from harness.plots.thread_panels import shape_name
from harness.plots.time_panels import Burst

TABLES = ("throughput", "timeline")


def heavy_phases(rows: pd.DataFrame) -> Iterator[Burst]:
    """Yield the stretches in which the source sent tuples of even phases: in these the first
    operators have other work.

    `rows` are those of one run, from its first sample, in the order of time. Tuples that no sample
    saw were sent before the first sample: a simulated run settles for a moment before its law
    starts, and sources stop with the last sample.
    """
    phase = int(json.loads(rows["parameters"].iloc[0])["phase"])
    seen = np.concatenate([[0.0], (rows["throughput_source"] * rows["elapsed_s"]).cumsum()])
    sent = seen + max(0.0, rows["tuples_sent"].iloc[0] - seen[-1])
    times = np.concatenate([[0.0], rows["time_s"]])
    for begin in range(phase, round(sent[-1]) + 1, 2 * phase):
        yield Burst(*(float(np.interp(count, sent, times)) for count in (begin, begin + phase)))


KIND = adaptation_panels.Kind(
    "Adaptation to a change of load in mid-run (M19 Figure 13)", shape_name, heavy_phases, "more heavy operators"
)


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """Return the figure from the rows of its experiment."""
    return adaptation_panels.figure(tables, KIND)
