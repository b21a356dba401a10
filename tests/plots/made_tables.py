"""Tables made by hand, in the shape that Spark writes, for tests of figures. Their numbers are
invented.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure

from harness.plots.draw import figure_of
from harness.plots.figures import FIGURES

SIZES = {
    "pipeline": {"operators": 100},
    "data-parallel": {"width": 100},
    "mix": {"width": 10, "depth": 10},
    "bushy": {},
    "load-balance": {"workers": 32},
    "chain": {"operators": 12, "busy": 100, "selectivity": 100},
    "replicated": {"width": 12, "busy": 100},
    "tree": {"depth": 6, "busy": 100},
    "reverse-tree": {"depth": 6, "busy": 100},
}


def figure_named(name: str, tables: dict[str, pd.DataFrame]) -> Figure:
    """A figure of the table of figures, from tables with its rows alone."""
    return figure_of(FIGURES[name], tables)


def arm_row(
    experiment: str, topology: str, cost: object, model: str, mean: float | None, **other: object
) -> dict:
    """One row of the throughput table; `half` is half of its interval."""
    threads = other.pop("threads", None)
    half = other.pop("half", None if mean is None else 0.1 * mean)
    payload = other.pop("payload", 128)
    row = {
        "experiment": experiment,
        "cell": f"{topology},cost={cost},payload={payload}",
        "topology": topology,
        **{
            name: SIZES[topology].get(name)
            for name in ("operators", "width", "depth", "workers", "busy", "selectivity")
        },
        "cost": str(cost),
        "payload": payload,
        "placement": None,
        "sources": None,
        "model": model,
        "peer": None,
        "arm": model if threads is None else f"{model}-{threads}",
        "threads": threads,
        "policy": None,
        "elastic": False,
        "law": None,
        "level": None,
        "level_lo": None,
        "level_hi": None,
        "queued": None,
        "places": None,
        "replicas": None,
        "replicas_lo": None,
        "replicas_hi": None,
        "queue_capacity": 0 if model == "manual" else 128,
        "machine": "local",
        "simulated": False,
        "software": None,
        "variants": 0,
        "variants_failed": 0,
        "variants_reached": 0,
        "band_lo": None,
        "band_hi": None,
        "context_switches_mean": None,
        "duration_mean": 1.0,
        "runnable_mean": None,
        "n": 0 if mean is None else 3,
        "final": False,
        "failed": 3 if mean is None else 0,
        "unsettled": 0,
        "no_rate": 0,
        "mean_of": None if mean is None else "tuples at the sinks",
        "unfit": 0,
        "hosts": 1,
        "mean": mean,
        "lo": None if half is None else mean - half,
        "hi": None if half is None else mean + half,
        "cpu_model": "Invented CPU @ 1 GHz",
        "cpus_allowed": 6,
        "commit": "0123456789abcdef0123456789abcdef01234567+dirty",
        **other,
    }
    return row | {"settled_share": 1 - row["unsettled"] / row["n"] if row["n"] else None}


NEVER_SETTLED = {"unsettled": 3, "settled_share": 0.0}


def ratio_row(
    row: dict,
    ratio: float,
    lo: float | None,
    hi: float | None,
    against: str = "best",
    rival: str = "another",
) -> dict:
    """One row of the speedup table, for the arm of a throughput row."""
    kept = (
        "experiment",
        "cell",
        "topology",
        "operators",
        "width",
        "depth",
        "cost",
        "payload",
        "machine",
        "simulated",
        "software",
    )
    return {name: row[name] for name in (*kept, "arm", "model", "threads")} | {
        "against": against,
        "rival": "another",
        "ratio": ratio,
        "lo": lo,
        "hi": hi,
        "n": 3,
    }


def latency_row(row: dict, p50: float | None) -> dict:
    """One row of the latency table, for the arm of a throughput row."""
    kept = ("experiment", "cell", "arm", "machine", "simulated", "software")
    return {name: row[name] for name in kept} | {
        "n": 3,
        "p50": p50,
        "p50_least": None if p50 is None else 0.8 * p50,
        "p50_greatest": None if p50 is None else 1.5 * p50,
        "p90": p50,
        "p99": p50,
        "p99_least": None if p50 is None else 0.8 * p50,
        "p99_greatest": None if p50 is None else 1.5 * p50,
        "max": p50,
        "mean": p50,
        "lo": None if p50 is None else 0.9 * p50,
        "hi": None if p50 is None else 1.1 * p50,
    }


def peer_row(
    experiment: str, topology: str, cost: object, peer: str, mean: float | None, **other: object
) -> dict:
    """One row of the throughput table of another runtime: `peer` is its name and version."""
    row = arm_row(experiment, topology, cost, peer.split()[0], mean, **other)
    return row | {"peer": peer, "queue_capacity": 1000}


def frame(rows: list[dict]) -> pd.DataFrame:
    """The rows as pandas reads them from Parquet."""
    table = pd.DataFrame(rows)
    numbers = [
        "mean",
        "lo",
        "hi",
        "threads",
        "level",
        "level_lo",
        "level_hi",
        "operators",
        "width",
        "depth",
        "workers",
        "ratio",
        "band_lo",
        "band_hi",
        "context_switches_mean",
        "runnable_mean",
        "queued",
        "places",
        "replicas",
    ]
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
                arm_row(
                    experiment,
                    topology,
                    cost,
                    "dynamic",
                    base * (0.8 + 0.5 * np.log2(level)),
                    threads=level,
                )
                for level in levels
            ]
    return frame(rows)


def contest(cells: dict[str, tuple[list[int], list[int]]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Throughput and speedup of a crossover: manual wins where tuples are cheap, dynamic where they
    are dear.
    """
    rates, ratios = [], []
    for topology, (costs, payloads) in cells.items():
        for cost in costs:
            for payload in payloads:
                manual = 1000.0
                dynamic = 550.0 + 300 * np.log10(cost)
                dedicated = 400.0 + 100 * np.log10(cost)
                rows = [
                    arm_row("crossover", topology, cost, "manual", manual, payload=payload),
                    arm_row(
                        "crossover", topology, cost, "dynamic", dynamic, payload=payload, threads=2
                    ),
                    arm_row("crossover", topology, cost, "dedicated", dedicated, payload=payload),
                ]
                for row in rows:
                    rival = max(
                        (other for other in rows if other is not row),
                        key=lambda other: other["mean"],
                    )
                    ratio = row["mean"] / rival["mean"]
                    for against in ("best", "other models"):
                        ratios.append(
                            ratio_row(row, ratio, ratio / 1.2, ratio * 1.2, against)
                            | {"rival": rival["arm"]}
                        )
                rates += rows
    return frame(rates), frame(ratios)


def elastic_row(
    experiment: str,
    topology: str,
    cost: object,
    mean: float | None,
    level: float | None,
    **other: object,
) -> dict:
    """One row of the throughput table, of an elastic arm; `spread` is half of the interval of its
    level.
    """
    spread, law = other.pop("spread", None), other.pop("law", "millrace")
    settled = (
        {"level": level, "level_lo": None, "level_hi": None}
        if spread is None
        else {"level": level, "level_lo": level - spread, "level_hi": level + spread}
    )
    row = arm_row(experiment, topology, cost, "dynamic", mean, **other)
    return row | settled | {"arm": "dynamic-elastic", "elastic": True, "law": law}


def period_rows(
    row: dict, levels: list[int], rate: float = 1e6, period_s: float = 0.5, **other: object
) -> list[dict]:
    """Rows of the timeline table: a run of the arm in a throughput row, a period a level;
    throughput grows with the level.
    """
    sizes = ("operators", "width", "depth", "workers", "cost", "payload")
    kept = ("experiment", "cell", "topology", *sizes, "machine", "simulated", "software", "model")
    shared = {name: row[name] for name in (*kept, "arm", "law")} | {
        "run_id": "a",
        "repeat": 0,
        "failed": False,
    }
    return [
        shared
        | {
            "phase": "measured",
            "time_s": (index + 1) * period_s,
            "elapsed_s": period_s,
            "throughput_submitted": 10 * rate * level**0.5,
            "throughput_source": rate * level**0.5,
            "throughput_sink": rate * level**0.5,
            "threads_active": level,
            "threads_requested": level,
            "queued_ports": 4,
            "replicas": "{}",
            "system_cpu": 0.8,
            "law_state": "climbing",
            "law_reason": "trend below, above untrusted → up",
            "balancer": None,
            "active_ports": None,
            "ports": None,
            "congestion": None,
            "balancer_reason": None,
            "tuples_sent": 0,
            "parameters": "{}",
        }
        | other
        for index, level in enumerate(levels)
    ]


def balanced_rows(
    row: dict, ports: list[int], rates: list[float], **parameters: object
) -> list[dict]:
    """Rows of the timeline table: a run with an elastic balancer, a period of half a second for
    each pair of ports and rate.
    """
    told = {
        "balancer": "balance",
        "ports": 32,
        "congestion": 0.9,
        "balancer_reason": "trend above → up",
        "law": None,
    }
    told["parameters"] = json.dumps({name: str(value) for name, value in parameters.items()})
    periods = zip(period_rows(row, [0] * len(ports)), ports, rates, strict=True)
    return [
        period
        | told
        | {"active_ports": active, "throughput_sink": rate, "throughput_submitted": 4 * rate}
        for period, active, rate in periods
    ]


def bench(laws: dict[str, float], scenarios: int = 40, seed: int = 1) -> pd.DataFrame:
    """The table of a bench: the larger the number of a law, the worse it does."""
    draw = np.random.default_rng(seed)
    rows = [
        {
            "law": law,
            "scenario": f"peak-{scenario}",
            "held_out": scenario % 2 == 1,
            "kind": "late" if scenario % 2 else "peak",
            "noise": 0.0,
            "drift": 0.02 * (scenario % 6),
            "accuracy": 1 - 0.1 * badness * draw.random(),
            "settling": 40 * badness * draw.random(),
            "overshoot": 1 + 3 * badness * draw.random(),
            "changes": int(9 * badness * draw.random()),
            "regret": 0.3 * badness * draw.random(),
        }
        for law, badness in laws.items()
        for scenario in range(scenarios)
    ]
    return pd.DataFrame(rows)


def placement_bench(laws: dict[str, float], scenarios: int = 40, seed: int = 1) -> pd.DataFrame:
    """Return tables of the bench of placements; the oracle has 4 threads and 8 queues, a law of
    badness 1 twice as many.
    """
    table = bench(laws, scenarios, seed)
    badness = table["law"].map(laws)
    return table.assign(
        best_threads=4, best_parts=8, settled_threads=4 + 5 * badness, settled_parts=8 + 9 * badness
    )


def write_all(folder: Path) -> None:
    """Write the tables of all figures into a folder, in several files each, as Spark writes
    them.
    """
    throughput, speedup = contest({"pipeline": ([1, 100], [128])})
    fig9 = scaling("pldi17_fig9", {"pipeline": [1], "data-parallel": [1]}, [1, 2])
    fig10 = scaling("pldi17_fig10", {"mix": [1]}, [1, 2])
    fig11 = elastic_row("pldi17_fig11", "mix", 1, 1e6, 2.0)
    levels = scaling("elastic_levels", {"bushy": [1]}, [1, 2])
    found = elastic_row("elastic_levels", "bushy", 1, 1e5, 1.2)
    balancing = [
        arm_row(f"elb_{load}", "load-balance", 1, "manual", 1e6)
        for load in ("cost", "bursty_cost", "bursty_rate")
    ]
    lengths = {"cycle": 100, "burst": 500, "silence": 500}
    beside = [
        arm_row("peers", "mix", 1, "manual", 1e6),
        peer_row("peers", "mix", 1, "go 1.26.8", 4e5),
        arm_row("peer_rates", "mix", 1, "manual", 1e4) | {"rate": 10_000.0},
    ]
    names = [
        "multilevel",
        "applications",
        *(f"mw19_fig{number}" for number in (1, 6, 9, 10, 11, 12, 13, 14, 15)),
    ]
    multilevel = [elastic_row(name, "pipeline", 100, 1e5, 2.0) for name in names]
    multilevel = [
        row
        | {
            "model": "multilevel",
            "arm": "multilevel",
            "width": 50.0,
            "depth": 4.0,
            "queued": 7.0,
            "places": 50.0,
        }
        for row in multilevel
    ]
    policies = [
        arm_row(
            f"cstream_{name}",
            "chain",
            100,
            "coroutine",
            1e3,
            threads=2,
            policy="random",
            submitted_mean=1.3e4,
        )
        | {"submitted_lo": 1e4, "submitted_hi": 1.5e4}
        for name in ("fig4", "fig6", "fig7", "fig8", "fig12", "fig13", "policies")
    ]
    for row in policies:
        row["width"] = 12.0
    adaptation = [
        elastic_row(f"cstream_fig{n}", "chain", 100, 1e3, 2.0, law="cstream") | {"replicas": 2.0}
        for n in (9, 10)
    ]
    adaptation.append(
        elastic_row("cstream_fig11", "replicated", 100, 1e3, 2.0)
        | {"arm": "coroutine-elastic-utilisation-0.90"}
    )
    series = [
        period_rows(fig11, [1, 2]),
        *(balanced_rows(row, [1, 2], [50.0, 60.0], **lengths) for row in balancing),
    ]
    series += [
        period_rows(row, [1, 2], arm="multilevel", parameters='{"phase": "1000"}')
        for row in multilevel
    ]
    series += [period_rows(row, [1, 2], arm=row["arm"]) for row in adaptation]
    parts_of = {
        "throughput": [
            *(
                throughput,
                fig9,
                fig10,
                levels,
                frame([fig11, found, *balancing]),
                frame(multilevel),
                frame(beside),
            ),
            frame([*policies, *adaptation]),
        ],
        "speedup": [
            speedup,
            frame([ratio_row(found, 0.98, 0.95, 1.01)]),
            frame([ratio_row(row, 1.5, 1.2, 1.9, "manual") for row in multilevel]),
        ],
        "timeline": list(map(pd.DataFrame, series)),
        "latency": [frame([latency_row(row, 1e6) for row in [*beside, *policies]])],
        "saso": [bench({"millrace": 0.1, "fixed": 1.0})],
        "saso_placement": [placement_bench({"millrace": 0.1, "manual": 1.0})],
    }
    for name, parts in parts_of.items():
        table = folder / f"{name}.parquet"
        table.mkdir()
        schemas = [pa.Schema.from_pandas(part, preserve_index=False) for part in parts]
        schema = pa.unify_schemas(
            schemas, promote_options="permissive"
        )  # Spark gives all parts the same
        for number, part in enumerate(parts):
            rows = pa.Table.from_pandas(
                part.reindex(columns=schema.names), schema, preserve_index=False
            )
            pq.write_table(rows, table / f"part-{number}.parquet")
        (table / "_SUCCESS").touch()
