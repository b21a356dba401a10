"""Tables without what is not stationary, as figures and claims read them.

A simulated arm of which a run never settled has no number: its queues still fill, and more events
would give another one. A law may go on for ever. So an arm under a law has the mean of those of its
runs that settled, and no number if none did. Measured arms keep the means of all correct runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

PLACE = ["machine", "simulated", "software"]
"""Columns that give the origin of a row."""

MEANS = (
    "mean",
    "lo",
    "hi",
    "band_lo",
    "band_hi",
    "submitted_mean",
    "submitted_lo",
    "submitted_hi",
    "context_switches_mean",
    "runnable_mean",
)
"""Columns of the throughput table that a run makes, and that figures and claims read."""

ENDS = ("_lo", "_hi")
OF_SETTLED = (
    *MEANS[:3],
    *MEANS[5:8],
    *(f"{name}{end}" for name in ("level", "queued", "replicas") for end in ("", *ENDS)),
)
"""Columns that the table has a second time, as settled_mean and so on, over the settled runs."""

CHOOSES_QUEUES = "multilevel"  # model whose laws place queues; elsewhere they are a setting


def stationary(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Return the tables without what is not stationary: of an arm that is left out, its rates, its
    latencies and the ratios with it. Latencies of settled runs alone are not known.
    """
    kept = dict(tables)
    if "throughput" not in kept:
        return kept
    rates = kept["throughput"] = without_unsettled(kept["throughput"])
    changed = rates[rates.apply(is_left_out, axis=1) | rates.apply(is_of_some_runs, axis=1)]
    if changed.empty:
        return kept
    if len(kept.get("latency", ())):
        kept["latency"] = _without_latencies(kept["latency"], changed)
    if "speedup" in kept:
        kept["speedup"] = _without_ratios(kept["speedup"], rates, changed)
    return kept


def without_unsettled(table: pd.DataFrame) -> pd.DataFrame:
    """Return a throughput table without the numbers of simulated arms that are not stationary. An
    arm under a law of which some runs settled has the means of these runs.
    """
    some, lost = (table.apply(test, axis=1).astype(bool) for test in (is_of_some_runs, is_left_out))
    table = _of_settled_runs(table, some)
    lost |= some & table["mean"].isna()
    chosen = {
        "level": lost & table["elastic"].astype(bool),
        "replicas": lost & table["elastic"].astype(bool),
        "queued": lost & (table["model"] == CHOOSES_QUEUES),
    }
    hidden = dict.fromkeys((*MEANS, "at_points"), lost) | {
        f"{name}{end}": rows for name, rows in chosen.items() for end in ("", *ENDS)
    }
    hidden["sd"] = lost | some  # that of the settled runs alone is not known
    return table.assign(
        **{name: table[name].mask(rows) for name, rows in hidden.items() if name in table}
    )


def runs_in_mean(row: pd.Series) -> int:
    """Return the number of runs that the mean of an arm is over."""
    return int(row["n"] - row["unsettled"] if is_of_some_runs(row) else row["n"])


def is_left_out(row: pd.Series) -> bool:
    """Return True if an arm of the throughput table is simulated and not stationary."""
    if not row["simulated"] or not row["n"]:
        return False
    return row["unsettled"] >= (row["n"] if row["elastic"] else 1)


def is_of_some_runs(row: pd.Series) -> bool:
    """Return True if an arm is simulated under a law, and some of its runs settled and some not."""
    return bool(row["simulated"] and row["elastic"] and 0 < row["unsettled"] < row["n"])


def _of_settled_runs(table: pd.DataFrame, some: pd.Series) -> pd.DataFrame:
    """Return the table with the means of the settled runs in some of its rows. A table that does
    not know them gets none.
    """
    if not some.any():
        return table
    means = {
        name: table[name].where(~some, table.get(f"settled_{name}", math.nan))
        for name in OF_SETTLED
        if name in table
    }
    factor = (means["mean"] / table["mean"]).where(some, 1.0)
    bands = {name: table[name] * factor for name in ("band_lo", "band_hi") if name in table}
    if "at_points" in table:
        bands["at_points"] = [
            [mean * times for mean in means_at] if there and means_at is not None else means_at
            for means_at, times, there in zip(table["at_points"], factor, some, strict=True)
        ]
    rate = table["mean_of"].mask(some, "tuples at the sinks")
    return table.assign(**means, **bands, mean_of=rate)


def _key(table: pd.DataFrame, arm: str = "arm") -> pd.MultiIndex:
    """Return the place, the cell and an arm of each row."""
    import pandas as pd

    return pd.MultiIndex.from_frame(table[[*PLACE, "cell", arm]].astype(str))


def _without_latencies(latency: pd.DataFrame, changed: pd.DataFrame) -> pd.DataFrame:
    lost = latency["cell"].notna() & _key(latency).isin(_key(changed))
    names = [name for name in latency.select_dtypes("float") if name not in PLACE]
    return latency.assign(**{name: latency[name].mask(lost) for name in names})


def _without_ratios(
    ratios: pd.DataFrame, rates: pd.DataFrame, changed: pd.DataFrame
) -> pd.DataFrame:
    """Return the ratios of stationary arms. One with an arm of which some runs settled is that of
    the two means, and its interval goes from the least to the greatest ratio of their ends. The
    best of several arms is not chosen anew: such a ratio has no interval.
    """
    own, rival = _key(ratios), _key(ratios, "rival")
    touched = own.isin(_key(changed)) | rival.isin(_key(changed))
    means = rates.set_index(_key(rates))[["mean", "lo", "hi"]].astype(float)
    means = means[~means.index.duplicated()]
    over, under = (means.reindex(key).set_index(ratios.index) for key in (own, rival))
    alone = ratios["against"] == "manual"
    made = ratios.assign(
        ratio=ratios["ratio"].mask(touched, over["mean"] / under["mean"]),
        lo=ratios["lo"].mask(touched, (over["lo"] / under["hi"]).where(alone)),
        hi=ratios["hi"].mask(touched, (over["hi"] / under["lo"]).where(alone)),
    )
    return made[made["ratio"].notna()]
