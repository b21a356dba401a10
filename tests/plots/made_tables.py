"""Tables made by hand, in the shape that Spark writes, for tests of figures. Their numbers are invented."""

from __future__ import annotations

import numpy as np
import pandas as pd

SIZES = {
    "pipeline": {"operators": 100},
    "data-parallel": {"width": 100},
    "mix": {"width": 10, "depth": 10},
    "bushy": {},
}


def arm_row(experiment: str, topology: str, cost: object, model: str, mean: float | None, **other: object) -> dict:
    """One row of the throughput table; `half` is half of its interval."""
    threads = other.pop("threads", None)
    half = other.pop("half", None if mean is None else 0.1 * mean)
    payload = other.pop("payload", 128)
    return {
        "experiment": experiment,
        "cell": f"{topology},cost={cost},payload={payload}",
        "topology": topology,
        **{name: SIZES[topology].get(name) for name in ("operators", "width", "depth")},
        "cost": str(cost),
        "payload": payload,
        "model": model,
        "arm": model if threads is None else f"{model}-{threads}",
        "threads": threads,
        "queue_capacity": 0 if model == "manual" else 128,
        "machine": "local",
        "simulated": False,
        "n": 0 if mean is None else 3,
        "failed": 3 if mean is None else 0,
        "unsettled": 0,
        "unsettled_used": False,
        "mean": mean,
        "lo": None if half is None else mean - half,
        "hi": None if half is None else mean + half,
        "cpu_model": "Invented CPU @ 1 GHz",
        "cpus_allowed": 6,
        "commit": "0123456789abcdef0123456789abcdef01234567+dirty",
        **other,
    }


def ratio_row(row: dict, ratio: float, lo: float | None, hi: float | None, against: str = "best") -> dict:
    """One row of the speedup table, for the arm of a throughput row."""
    kept = ("experiment", "cell", "topology", "operators", "width", "depth", "cost", "payload", "machine", "simulated")
    return {name: row[name] for name in (*kept, "arm", "model", "threads")} | {
        "against": against,
        "ratio": ratio,
        "lo": lo,
        "hi": hi,
        "n": 3,
    }


def frame(rows: list[dict]) -> pd.DataFrame:
    """The rows as pandas reads them from Parquet."""
    table = pd.DataFrame(rows)
    numbers = ["mean", "lo", "hi", "threads", "operators", "width", "depth", "ratio"]
    return table.astype({name: float for name in numbers if name in table})


def scaling(experiment: str, cells: dict[str, list[int]], levels: list[int]) -> pd.DataFrame:
    """Throughput of all arms: manual slowest, dynamic growing with its threads."""
    rows = []
    for topology, costs in cells.items():
        for cost in costs:
            base = 4e6 / (10 + cost)
            rows.append(arm_row(experiment, topology, cost, "manual", base))
            rows.append(arm_row(experiment, topology, cost, "dedicated", 1.7 * base))
            rows += [
                arm_row(experiment, topology, cost, "dynamic", base * (0.8 + 0.5 * np.log2(level)), threads=level)
                for level in levels
            ]
    return frame(rows)


def contest(cells: dict[str, tuple[list[int], list[int]]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Throughput and speedup of a crossover: manual wins where tuples are cheap, dynamic where they are dear."""
    rates, ratios = [], []
    for topology, (costs, payloads) in cells.items():
        for cost in costs:
            for payload in payloads:
                manual, dynamic, dedicated = 1000.0, 550.0 + 300 * np.log10(cost), 400.0 + 100 * np.log10(cost)
                rows = [
                    arm_row("crossover", topology, cost, "manual", manual, payload=payload),
                    arm_row("crossover", topology, cost, "dynamic", dynamic, payload=payload, threads=2),
                    arm_row("crossover", topology, cost, "dedicated", dedicated, payload=payload),
                ]
                best = max(row["mean"] for row in rows)
                for row in rows:
                    ratio = row["mean"] / best
                    spread = 1.0 if ratio == 1 else 1.2
                    ratios.append(ratio_row(row, ratio, ratio / spread, ratio * spread))
                rates += rows
    return frame(rates), frame(ratios)
