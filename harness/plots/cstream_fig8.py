"""C-Stream Figure 8: selectivity, the share of its tuples that each operator passes on, a chain of
12 on 4 threads.

Reads   throughput.parquet   topology, operators, selectivity, policy, threads, submitted_mean,
                             submitted_lo, submitted_hi [tuples/s over all operators],
                             settled_share
        latency.parquet      cell, arm, p50 [ns]
Draws   the source's rate above and median latency below, a line for each policy (policy_panels)

A misreading to avoid: the less operators pass on, the less arrives at the sinks. The rate that
falls in the paper as they pass on more is that of the source. It follows from the tuples that all
operators submit, of which each passes on an equal share.
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
    """Return the figure from the rows of its experiment."""
    table = tables["throughput"]
    each = table.apply(submitted_for_each, axis=1)
    rates = {name: table[f"submitted_{name}"] / each for name in ("mean", "lo", "hi")}
    return policy_panels.figure(
        {**tables, "throughput": table.assign(**rates)},
        TITLE,
        ACROSS,
        rate="tuples that the source sends",
    )


def submitted_for_each(row: pd.Series) -> float:
    """Return the number of tuples that the source and all operators of a chain submit for each
    tuple of the source.
    """
    return sum((row["selectivity"] / 100) ** passed for passed in range(int(row["operators"]) + 1))
