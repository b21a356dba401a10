"""Scheduler behind the arm `dynamic`, and what is assumed, as the legend of a figure says them.

Measured runs have our own scheduler, and so have simulated ones with the costs of `millrace`. With
other software, it is that software's, as config/software describes it.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.artist import Artist

from harness.machines.software import DEFAULT_SOFTWARE
from harness.plots import style
from harness.terminal.listed import listed


def notes(table: pd.DataFrame, assumed: str) -> list[Artist]:
    """Return the entries that end the legend of a throughput table: the scheduler of `dynamic`, and
    what was assumed.
    """
    return [style.key(ls="", label=each) for each in (scheduler(table), f"assumed: {assumed}")]


def scheduler(table: pd.DataFrame) -> str:
    """Return whose scheduler `dynamic` has: `dynamic: our scheduler`, or that of other software."""
    simulated = table["simulated"].astype(bool)
    software = table["software"].where(simulated, DEFAULT_SOFTWARE).fillna(DEFAULT_SOFTWARE)
    others = sorted(set(software) - {DEFAULT_SOFTWARE})
    if not others:
        return "dynamic: our scheduler"
    if DEFAULT_SOFTWARE not in set(software):
        return f"dynamic: scheduler of {listed(others)}"
    ours = "local" if simulated[software == DEFAULT_SOFTWARE].sum() == 0 else "other panels"
    where = "tinted: that of" if ours == "local" else "where a title names one: that of"
    return f"dynamic: our scheduler ({where} {listed(others)})"
