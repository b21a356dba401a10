"""Records of an experiment to a table, without Spark: for as many as fit into memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from harness.measurement.interval import mean_interval
from harness.measurement.records import rate_of, read_records

KEY = ("cell", "machine", "simulated", "software", "arm", "model")
COLUMNS = (
    *KEY, "mean", "lo", "hi", "n", "failed", "no_rate", "unsettled", "settled_share", "mean_of",
    "elastic", "queue_capacity", "settled_mean", "settled_lo", "settled_hi", "unfit", "hosts",
    "cpu_model", "cpus_allowed", "commit",
)  # fmt: skip

RATES = ("mean", "lo", "hi", "settled_mean", "settled_lo", "settled_hi")

Record = Mapping[str, Any]


def table_of_folder(folder: Path) -> pd.DataFrame:
    """Return a row for each arm of each cell of the records in a folder, however deep: as Spark's
    table `throughput`, in these columns alone.
    """
    found = (record for path in sorted(folder.rglob("*.jsonl")) for record in read_records(path)[0])
    return table_of_records(found)


def table_of_records(records: Iterable[Record]) -> pd.DataFrame:
    """Return a row for each arm of each cell: its mean [tuples/s] over n correct runs with its
    95 % interval, none for fewer than two. Runs with other constants of a machine do not count,
    nor those that chose an arm for its final runs.
    """
    runs: dict[tuple[object, ...], list[Record]] = defaultdict(list)
    for record in records:
        simulation = record["simulation"] or {}
        if not simulation.get("constants"):
            key = {name: record[name] for name in KEY if name != "software"}
            key["software"] = simulation.get("software")
            runs[tuple(key[name] for name in KEY)].append(record)
    rows = [dict(zip(KEY, key, strict=True)) | _row(each) for key, each in runs.items()]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype(dict.fromkeys((*RATES, "settled_share"), float))


def in_order(
    table: pd.DataFrame, machines: Sequence[str], cells: Sequence[str], arms: Sequence[str]
) -> pd.DataFrame:
    """Return the rows by machine, cell and arm in these orders; others follow by name."""

    def ranks(column: pd.Series) -> pd.Series:
        known = {"machine": machines, "cell": cells, "arm": arms}[column.name]
        return column.map(lambda name: (_rank(known, name), name))

    keys = table[["machine", "cell", "arm"]].apply(ranks)
    order = keys.assign(simulated=table["simulated"]).sort_values(
        ["machine", "simulated", "cell", "arm"], kind="stable"
    )
    return table.loc[order.index].reset_index(drop=True)


def _rank(known: Sequence[str], name: str) -> int:
    return known.index(name) if name in known else len(known)


def _row(runs: Sequence[Record]) -> dict[str, object]:
    """Return the values of an arm, from all its runs; the host is that of the first one."""
    correct = [run for run in runs if run["error"] is None and run["correct"]]
    final = any(run.get("final") for run in runs)
    used = [run for run in correct if rate_of(run) is not None and run.get("final", False) is final]
    rates = [rate_of(run) for run in used]
    mean, low, high = _mean_of_rates(rates)
    of_settled = _mean_of_rates([rate_of(run) for run in used if run["settled"]])
    unsettled = sum(not run["settled"] for run in used)
    hosts = [run["host"] or {} for run in used]
    first = min(runs, key=lambda run: run["started_at"] or "")
    host = first["host"] or {}
    return {
        "mean": mean,
        "lo": low,
        "hi": high,
        "n": len(used),
        "failed": len(runs) - len(correct),
        "no_rate": sum(rate_of(run) is None for run in correct),
        "unsettled": unsettled,
        "settled_share": 1 - unsettled / len(used) if used else None,
        "mean_of": _mean_of(used, unsettled > 0),
        "elastic": any(run["elastic"] is not None for run in runs),
        "queue_capacity": max(run["queue_capacity"] for run in runs),
        **dict(zip(("settled_mean", "settled_lo", "settled_hi"), of_settled, strict=True)),
        "unfit": sum(not host.get("host_fit", True) for host in hosts),
        "hosts": len({host.get("hostname_hash") for host in hosts} - {None}),
        "cpu_model": host.get("cpu_model"),
        "cpus_allowed": host.get("cpus_allowed"),
        "commit": first["commit"],
    }


def _mean_of_rates(rates: Sequence[float]) -> tuple[float | None, float | None, float | None]:
    """Return the mean and the ends of its interval; None for what too few runs do not have."""
    return mean_interval(rates) if len(rates) > 1 else (*(rates or [None]), None, None)


def _mean_of(used: Sequence[Record], is_unsettled: bool) -> str | None:
    """Return the name of the rate, as Spark's table has it: a stationary run has one rate."""
    if not used:
        return None
    passed = [(run["simulation"] or {}).get("passed_tuples_per_s") is not None for run in used]
    if not is_unsettled or not any(passed):
        return "tuples at the sinks"
    return "hops executed" if all(passed) else "both"
