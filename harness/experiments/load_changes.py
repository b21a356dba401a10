"""Times at which the load of a run changed, where its source or operators change it in mid-run.

Each function takes the rows of one run in the timeline table, in the order of time from the run's
beginning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

EXPENSIVE = (0.3, 0.4)  # of a cycle, from and to: as topologies/load_balance.py lays it out


@dataclass(frozen=True)
class Burst:
    """A stretch of a run in which its load was another one [s since the run's start]."""

    begin_s: float
    end_s: float


def heavy_phases(rows: pd.DataFrame) -> Iterator[Burst]:
    """Yield when the source sent tuples of even phases, for which the first operators have other
    work (M19 Figure 13).

    What no sample saw was sent before: a simulated run settles for a moment until its law looks,
    and sources stop with the last sample.
    """
    phase = int(json.loads(rows["parameters"].iloc[0])["phase"])
    seen = np.concatenate([[0.0], (rows["throughput_source"] * rows["elapsed_s"]).cumsum()])
    sent = seen + max(0.0, rows["tuples_sent"].iloc[0] - seen[-1])
    times = np.concatenate([[0.0], rows["time_s"]])
    for begin in range(phase, round(sent[-1]) + 1, 2 * phase):
        yield Burst(*(float(np.interp(count, sent, times)) for count in (begin, begin + phase)))


def expensive_bursts(rows: pd.DataFrame) -> Iterator[Burst]:
    """Yield when expensive tuples were passing, by the number of tuples that had arrived (ELB,
    Bursty Cost).

    Tuples in the buffers are not counted.
    """
    cycle = int(json.loads(rows["parameters"].iloc[0])["cycle"])
    arrived = np.concatenate([[0.0], (rows["throughput_sink"] * rows["elapsed_s"]).cumsum()])
    times = np.concatenate([[0.0], rows["time_s"]])
    for number in range(int(arrived[-1] // cycle) + 1):
        begin, end = ((number + share) * cycle for share in EXPENSIVE)
        if begin < arrived[-1]:
            yield Burst(
                float(np.interp(begin, arrived, times)), float(np.interp(end, arrived, times))
            )


def silences(rows: pd.DataFrame) -> Iterator[Burst]:
    """Yield when the source sends nothing (ELB, Bursty Rate): first comes a burst, then silence,
    over and over.
    """
    parameters = json.loads(rows["parameters"].iloc[0])
    burst_s, silence_s = (int(parameters[name]) / 1e3 for name in ("burst", "silence"))
    begin_s = burst_s
    while begin_s < rows["time_s"].max():
        yield Burst(begin_s, begin_s + silence_s)
        begin_s += burst_s + silence_s
