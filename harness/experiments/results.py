"""Records of an experiment to a table, without Spark: for as many as fit into memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from harness.measurement.interval import mean_interval
from harness.measurement.records import rate_of, read_records

COLUMNS = ("cell", "machine", "simulated", "arm", "model", "mean", "lo", "hi", "n", "failed")


def table_of_folder(folder: Path) -> pd.DataFrame:
    """Return a row for each arm of each cell of the records in a folder, however deep: as Spark's
    table `throughput`, in these columns alone.
    """
    found = (record for path in sorted(folder.rglob("*.jsonl")) for record in read_records(path)[0])
    return table_of_records(found)


def table_of_records(records: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Return a row for each arm of each cell: its mean [tuples/s] over n correct runs with its
    95 % interval, none for fewer than two. Runs with other constants of a machine do not count.
    """
    rates: dict[tuple[object, ...], list[float]] = defaultdict(list)
    failed: dict[tuple[object, ...], int] = defaultdict(int)
    for record in records:
        if (record["simulation"] or {}).get("constants"):
            continue
        key = tuple(record[name] for name in ("cell", "machine", "simulated", "arm", "model"))
        rate = rate_of(record)
        if record["error"] is None and record["correct"] and rate is not None:
            rates[key].append(rate)
        else:
            failed[key] += 1
    rows = []
    for key in dict.fromkeys((*rates, *failed)):
        seen = rates[key]
        mean, low, high = mean_interval(seen) if len(seen) > 1 else (*(seen or [None]), None, None)
        rows.append((*key, mean, low, high, len(seen), failed[key]))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    return table.astype(dict.fromkeys(("mean", "lo", "hi"), float))
