"""Tables made by hand, in the shape that Spark writes, for tests of claims. Their numbers are
invented.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from harness.claims.evidence import Wanted, WantedCell, find
from harness.claims.tables import Tables, Venue

LOCAL = Venue("local", False, cpus=8)
XEON = Venue("xeon", True, "millrace", cpus=176)
POWER8 = Venue("power8", True, "millrace", cpus=184)

FIG9 = "pldi17_fig9"


def arm(
    name: str,
    mean: float | None,
    *,
    half: float | None = None,
    band: tuple[float, float] | None = None,
    **other: object,
) -> dict:
    """One arm of a cell: `half` of its interval, or its `band`; without them its range is not
    known.
    """
    model, _, level = name.partition("-")
    elastic = level.startswith("elastic")
    return {
        "arm": name,
        "model": model,
        "threads": float(level) if level.isdigit() else None,
        "elastic": elastic,
        "law": "pldi17" if level == "elastic-pldi17" else "millrace" if elastic else None,
        "n": 0 if mean is None else 3,
        "failed": 3 if mean is None else 0,
        "unsettled": 0,
        "no_rate": 0,
        "mean_of": None if mean is None else "tuples at the sinks",
        "mean": mean,
        "lo": None if half is None or mean is None else mean - half,
        "hi": None if half is None or mean is None else mean + half,
        "band_lo": band[0] if band else None,
        "band_hi": band[1] if band else None,
        "submitted_mean": None if mean is None else 10 * mean,
        "context_switches_mean": None,
        "cpu_seconds_mean": None,
        "kernel_seconds_mean": None,
        "duration_mean": 5.0,
        "runnable_mean": None,
        "level": None,
        "level_lo": None,
        "level_hi": None,
        **other,
    }


def cell_name(topology: str = "pipeline", **parameters: object) -> str:
    """The name of a cell as records have it."""
    values = {"operators": 1000, "cost": 1, "payload": 128} | parameters
    return ",".join([topology, *(f"{name}={value}" for name, value in values.items())])


def throughput(
    cells: Mapping[str, Sequence[dict]], venue: Venue = LOCAL, experiment: str = FIG9
) -> pd.DataFrame:
    """The throughput table of an experiment on one machine: the arms of each cell."""
    of_cell = {
        "experiment": experiment,
        "machine": venue.machine,
        "simulated": venue.simulated,
        "software": venue.software or None,
        "cpus_allowed": venue.cpus,
    }
    rows = [of_cell | {"cell": cell} | row for cell, arms in cells.items() for row in arms]
    numbers = (
        "threads",
        "mean",
        "lo",
        "hi",
        "band_lo",
        "band_hi",
        "submitted_mean",
        "context_switches_mean",
        "cpu_seconds_mean",
        "kernel_seconds_mean",
        "runnable_mean",
    )
    levels = ("level", "level_lo", "level_hi")
    return pd.DataFrame(rows).astype(dict.fromkeys((*numbers, *levels), float))


def periods(
    levels: Sequence[float],
    rates: Sequence[float] | None = None,
    *,
    arm: str = "dynamic-elastic",
    cell: str | None = None,
    venue: Venue = LOCAL,
    experiment: str = "pldi17_fig11",
    run: str = "a",
    **other: object,
) -> pd.DataFrame:
    """Rows of the timeline table: a run, with a period of a second for each level and
    throughput.
    """
    rates = rates or [100.0 * level for level in levels]
    return pd.DataFrame(
        {
            "experiment": experiment,
            "cell": cell or cell_name(),
            "arm": arm,
            "machine": venue.machine,
            "simulated": venue.simulated,
            "software": venue.software or None,
            "run_id": run,
            "repeat": 0,
            "failed": False,
            "time_s": [float(index + 1) for index in range(len(levels))],
            "elapsed_s": 1.0,
            "throughput_submitted": [10.0 * rate for rate in rates],
            "throughput_source": rates,
            "throughput_sink": rates,
            "threads_active": levels,
            "system_cpu": 0.5,
            "active_ports": None,
            "congestion": None,
            "tuples_sent": 0,
            "parameters": "{}",
        }
        | other
    )


def balanced(ports: Sequence[float], rates: Sequence[float], **other: object) -> pd.DataFrame:
    """Return a record of a load balancer: its level is that of its ports."""
    options = {"arm": "manual", "active_ports": [float(each) for each in ports]} | other
    return periods([0.0] * len(ports), list(rates), **options)


def tables(
    *frames: pd.DataFrame, timeline: Sequence[pd.DataFrame] = (), **others: pd.DataFrame
) -> Tables:
    """All of it, by experiment; several throughput tables of an experiment are put together."""
    found: dict[tuple[str, str], list[pd.DataFrame]] = {}
    for name, parts in {
        "throughput": frames,
        "timeline": timeline,
        **{name: [part] for name, part in others.items()},
    }.items():
        for part in parts:
            found.setdefault((part["experiment"].iloc[0], name), []).append(part)
    return Tables(
        {key: parts[0] if len(parts) == 1 else _stacked(parts) for key, parts in found.items()}
    )


def _stacked(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    return pd.DataFrame([row for part in parts for row in part.to_dict("records")])


def one_cell(*arms: dict, venue: Venue = LOCAL, **others: pd.DataFrame) -> WantedCell:
    """A pipeline of cost 1 on a machine, with these arms."""
    return cells({"1": arms}, venue, **others)[0]


def cells(
    of_cost: Mapping[str, Sequence[dict]], venue: Venue = LOCAL, **others: pd.DataFrame
) -> list[WantedCell]:
    """Pipelines on a machine, by their cost."""
    held = tables(
        throughput({cell_name(cost=cost): arms for cost, arms in of_cost.items()}, venue), **others
    )
    return [
        find(held, Wanted(FIG9, {"topology": "pipeline", "cost": cost}, {}), venue)
        for cost in of_cost
    ]
