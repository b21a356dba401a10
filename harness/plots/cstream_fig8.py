"""C-Stream Figure 8: what share of its tuples each operator passes on, a chain of 12 on 4 threads.

Reads   throughput.parquet   topology, operators, selectivity, policy, threads, submitted_mean, submitted_lo,
                             submitted_hi [tuples/s over all operators], settled_share
        latency.parquet      cell, arm, p50 [ns]
Draws   what the source sends above and median latency below, a line a policy (policy_panels)

A misreading to avoid: at the sinks arrives the less, the less operators pass on. What the paper has falling as they pass on
more is what goes in; it follows from what all operators submit, of which each passes on the same share.
"""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from harness.plots import policy_panels

TABLES = ("throughput", "latency")
TITLE = "Source rate and latency over selectivity, by policy (C-Stream Figure 8)"
ACROSS = policy_panels.Across("selectivity", "tuples that each operator passes on [%]")


def figure(tables: Mapping[str, pd.DataFrame]) -> Figure:
    """The figure from the rows of its experiment."""
    table = tables["throughput"]
    each = table.apply(submitted_for_each, axis=1)
    rates = {name: table[f"submitted_{name}"] / each for name in ("mean", "lo", "hi")}
    return policy_panels.figure(
        {**tables, "throughput": table.assign(**rates)}, TITLE, ACROSS, rate="tuples that the source sends"
    )


def submitted_for_each(row: pd.Series) -> float:
    """Tuples that the source and all operators of a chain submit for each that the source sends."""
    return sum((row["selectivity"] / 100) ** passed for passed in range(int(row["operators"]) + 1))
