"""Reasons for verdicts: what would have to be different for a claim of a paper to hold.

    python -m studies.reasons merge
    python -m studies.reasons --list

Each experiment simulates an arm of a claim with one thing changed, with several seeds unless it
says otherwise, and prints a table. Throughput of a run that never settled is by hops executed
(docs/explanation/simulator.md), and has a star. Ranges are over seeds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

from harness.measurement.run import run_once
from harness.measurement.spec import run_of

POLICIES = ("random", "max_queue_length", "min_latency", "least_recently_run", "max_running_time")
TREE = {"depth": 6, "branching": 2, "busy": 100}
SEEDS = (0, 1)
REFERENCE_OVER_CSTREAM = {"cstream": 0.66, "millrace": 0.242}
"""Time of a step on the core that a software's costs are given for, over that on C-Stream's machine
(clock x ipc of config/software and config/machines/cstream.yaml).
"""


def costing(software: str, name: str, microseconds: float) -> dict[str, float]:
    """Return the constant with which a step takes so long on C-Stream's machine."""
    return {f"cost.{name}": 1000 * REFERENCE_OVER_CSTREAM[software] * microseconds}


def merge(software: str) -> Iterator[str]:
    """Throughput of 12 operators side by side by threads, where a merge takes longer."""
    yield from table_of("merge takes", "policy", (8, 10, 12))
    slow = costing(software, "merge_tuple", 15)
    for label, constants in (
        ("as estimated", {}),
        ("15 µs", slow),
        ("15 µs, and a turn 100 µs", slow | costing(software, "coroutine_turn", 100)),
    ):
        for policy in POLICIES:
            runs = [
                coroutines(software, "replicated", side_by_side(12), each, policy, constants)
                for each in (8, 10, 12)
            ]
            yield row(label, policy, *map(throughput, runs))


def turns(software: str) -> Iterator[str]:
    """Throughput in trees by policy, where each turn of a co-routine takes longer."""
    yield from table_of("graph", "a turn takes", "policy", (4, 8))
    for graph in ("tree", "reverse-tree"):
        for label, constants in (
            ("as estimated", {}),
            ("100 µs", costing(software, "coroutine_turn", 100)),
        ):
            for policy in POLICIES[:2]:
                runs = [
                    coroutines(software, graph, TREE, each, policy, constants) for each in (4, 8)
                ]
                yield row(graph, label, policy, *map(throughput, runs))


def buffers(software: str) -> Iterator[str]:
    """Latency of operators side by side by their number, where buffers are as long or as many."""
    yield "| policy | 4 operators, buffers of 100 | 20, of 100 | 20, of 20 |"
    yield "|---|---:|---:|---:|"
    for policy in POLICIES:
        runs = [
            coroutines(software, "replicated", side_by_side(width), 4, policy, capacity=capacity)
            for width, capacity in ((4, 100), (20, 100), (20, 20))
        ]
        yield row(policy, *map(latency, runs))


def balance(software: str) -> Iterator[str]:
    """Ports of ElasticLoadBalance on 16 CPUs in the last third of runs, by period and tolerance."""
    yield "| cost | period | tolerance | mean ports | periods that change them |"
    yield "|---:|---:|---:|---|---|"
    for cost in (1000, 10_000):
        for period_ms, tolerance, periods in ((2, 5, 120), (2, 20, 120), (20, 5, 60)):
            parameters = {
                "workers": 32,
                "buffer": 100,
                "cost": cost,
                "period": period_ms,
                "tolerance": tolerance,
            }
            ends = []
            for seed in (1, 2):
                run = run_of(
                    "load-balance",
                    parameters,
                    "manual",
                    machine="xeon",
                    cpus=16,
                    software=software,
                    duration_s=periods * period_ms / 1000,
                    period_s=period_ms / 1000,
                    warmup=0.0,
                    seed=seed,
                )
                seen = [sample["balancers"] for sample in run_once(run)["samples"]]
                levels = [each[0]["active"] for each in seen if each]
                ends.append(levels[2 * len(levels) // 3 :])
            changes = [fmean(one != other for one, other in pairwise(end)) for end in ends]
            yield row(
                f"{cost:,}",
                f"{period_ms} ms",
                f"{tolerance} %",
                ranged([fmean(end) for end in ends], "{:.1f}"),
                ranged(changes, "{:.2f}"),
            )


def queues(software: str) -> Iterator[str]:
    """Throughput of P17's pipeline at cost 1 on the Xeon, by operators and the length of queues."""
    yield "| operators | queues hold | dedicated | 64 threads | 176 threads |"
    yield "|---:|---:|---:|---:|---:|"
    for operators, seeds, events in (
        (200, SEEDS, (12_000_000, 8_000_000)),
        (1000, SEEDS[:1], (25_000_000, 15_000_000)),
    ):
        for capacity in (64, 1000):
            cells = []
            for threads in (None, 64, 176):
                records = [
                    run_once(
                        run_of(
                            "pipeline",
                            {"operators": operators, "cost": 1},
                            "dynamic" if threads else "dedicated",
                            machine="xeon",
                            software=software,
                            events=events[1 if threads else 0],
                            queue_capacity=capacity,
                            seed=seed,
                            **({"threads": threads} if threads else {}),
                        )
                    )
                    for seed in seeds
                ]
                cells.append(throughput(records))
            yield row(f"{operators:,}", f"{capacity:,}", *cells)


EXPERIMENTS: Mapping[str, tuple[Callable[[str], Iterator[str]], str]] = {
    "merge": (merge, "cstream"),
    "turns": (turns, "cstream"),
    "buffers": (buffers, "cstream"),
    "balance": (balance, "streams-4.2"),
    "queues": (queues, "streams-4.2"),
}
"""Experiments with the software whose costs they have unless another is asked for."""


def side_by_side(width: int) -> dict[str, int]:
    """Return the parameters of so many operators of 100 µs side by side."""
    return {"width": width, "busy": 100}


def coroutines(
    software: str,
    graph: str,
    parameters: Mapping[str, int],
    threads: int,
    policy: str,
    constants: Mapping[str, float] | None = None,
    capacity: int = 100,
) -> list[dict[str, Any]]:
    """Return records of co-routines on C-Stream's machine, one for each seed."""
    return [
        run_once(
            run_of(
                graph,
                parameters,
                "coroutine",
                machine="cstream",
                software=software,
                threads=threads,
                policy=policy,
                queue_capacity=capacity,
                events=100_000,
                constants=constants or {},
                seed=seed,
            )
        )
        for seed in SEEDS
    ]


def throughput(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the throughput of the runs of a cell, in thousands of tuples/s."""
    rates = [
        each["sink_tuples_per_s"] if each["settled"] else each["simulation"]["passed_tuples_per_s"]
        for each in records
    ]
    star = "" if all(each["settled"] for each in records) else " *"
    return ranged([rate / 1000 for rate in rates], "{:,.1f}") + star


def latency(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the mean latencies of the runs of a cell, in ms."""
    return ranged([each["latency_ns"]["mean"] / 1e6 for each in records], "{:.0f}")


def ranged(values: Sequence[float], form: str) -> str:
    """Return the least and the greatest of some numbers, or one if they look alike."""
    ends = dict.fromkeys(form.format(end) for end in (min(values), max(values)))
    return " to ".join(ends)


def table_of(*columns: str | Sequence[int]) -> Iterator[str]:
    """Yield the head of a table whose last columns are numbers of threads."""
    *words, levels = columns
    yield row(*words, *(f"{level} threads" for level in levels))
    yield f"|{'---|' * len(words)}{'---:|' * len(levels)}"


def row(*cells: str) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table of an experiment, or list them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", nargs="?", choices=EXPERIMENTS)
    parser.add_argument("--software", help="whose costs are simulated")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    given = parser.parse_args()
    if given.list or given.experiment is None:
        for name, (experiment, _) in EXPERIMENTS.items():
            print(f"{name:10}{(experiment.__doc__ or '').splitlines()[0]}")
        return
    experiment, software = EXPERIMENTS[given.experiment]
    for line in experiment(given.software or software):
        print(line, flush=True)


if __name__ == "__main__":
    main()
