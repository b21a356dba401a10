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
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, product
from math import log, nan, sqrt
from pathlib import Path
from statistics import fmean, median
from tempfile import TemporaryDirectory
from typing import Any

import topologies
from harness.graph import Graph
from harness.machines.machine import load_machine
from harness.measurement.profiling import Profiled, profile, save_profile
from harness.measurement.run import run_once
from harness.measurement.spec import run_of
from studies import sink_lock

POLICIES = ("random", "max_queue_length", "min_latency", "least_recently_run", "max_running_time")
TREE = {"depth": 6, "branching": 2, "busy": 100}
SEEDS = (0, 1)
SEEDS_OF_LAWS = (0, 1, 2)
SEEDS_OF_PIPELINES = {"xeon": (0, 1), "power8": (0, 1, 2, 3)}
EVENTS = 5_000_000  # at most, of a run of co-routines, as in the quick figures
MEDIUM, LONG = 20_000_000, 100_000_000  # at most, of a run of P17's graphs
ALL_THREADS = {"xeon": 176, "power8": 184}
PIPELINE_200 = {"operators": 200, "cost": 1}
PIPELINE_1000 = {"operators": 1000, "cost": 1}
SIDE_BY_SIDE = {"width": 1000, "cost": 10_000}
MIX_10 = {"width": 10, "depth": 10}
MIX_100 = {"width": 10, "depth": 100, "cost": 1000}
MIXES = (
    (10, 1, 64),
    (10, 1, 1000),
    (10, 1000, 64),
    (10, 1000, 8),
    (100, 1, 64),
    (100, 1000, 64),
    (100, 1000, 8),
)
"""Depths, costs and lengths of queues."""

LAW_CELLS = (
    ("power8", "pipeline", PIPELINE_200),
    ("xeon", "data-parallel", SIDE_BY_SIDE),
    ("power8", "data-parallel", SIDE_BY_SIDE),
    ("xeon", "mix", MIX_10 | {"cost": 1000}),
    ("power8", "mix", MIX_10 | {"cost": 1}),
)
"""Cells of P17's Figures 9 and 10 in the quick size."""

TRACES = (
    ("xeon", "pipeline", PIPELINE_1000),
    ("power8", "pipeline", PIPELINE_1000),
    ("xeon", "data-parallel", SIDE_BY_SIDE),
    ("power8", "data-parallel", {"width": 1000, "cost": 100_000}),
    ("xeon", "mix", MIX_100),
    ("power8", "mix", MIX_100),
)
"""Cells of P17's Figure 11."""

LAW_WORDS = {"streams": "IBM's", "pldi17": "as printed"}
KEPT_LAWS = (
    ("xeon", "pipeline", {"operators": 200, "cost": 1000}, "", "streams", 64, 50, (160, 176)),
    ("power8", "pipeline", PIPELINE_200, "", "streams", 64, 20, (160, 184)),
    ("xeon", "data-parallel", SIDE_BY_SIDE, "", "streams", 16, 20, (48, 64)),
    ("power8", "data-parallel", SIDE_BY_SIDE | {"cost": 1}, "", "streams", 16, 20, (4, 8)),
    ("xeon", "mix", MIX_10 | {"cost": 1000}, "", "streams", 64, 20, (48, 64)),
    ("xeon", "mix", MIX_10 | {"cost": 1000}, "", "pldi17", 64, 20, (16, 64)),
    ("xeon", "mix", MIX_10 | {"cost": 1000}, "p17-printed", "pldi17", 64, 20, (16, 64)),
    ("xeon", "mix", MIX_10 | {"cost": 1000}, "p17-printed", "streams", 64, 20, (16, 64)),
)
"""Machines, graphs, sizes, costs, laws, lengths of queues, periods [ms] and fixed levels."""

LAWS_OF_QUEUES = {
    "all queues, IBM's": ("dynamic", "streams"),
    "IBM's": ("multilevel", "streams"),
    "as printed": ("multilevel", "middleware19"),
}
"""Model and law by the words of a table."""

NOTHING: Mapping[str, Any] = {"words": ""}
NO_READ: Mapping[str, Any] = {
    "words": "Snk does not read the payload",
    "constants": {"cost.sink_byte": 0.001},
}
PAYLOAD_CELLS = (
    (128, "all queues, IBM's", 10, NOTHING),
    (128, "IBM's", 10, NOTHING),
    (128, "as printed", 10, NOTHING),
    (128, "all queues, IBM's", 100, NOTHING),
    (128, "as printed", 100, NOTHING),
    (1024, "all queues, IBM's", 10, NOTHING),
    (1024, "IBM's", 10, NOTHING),
    (1024, "as printed", 10, NOTHING),
    (1024, "all queues, IBM's", 100, NOTHING),
    (1024, "as printed", 100, NOTHING),
    (16_384, "all queues, IBM's", 30, NOTHING),
    (16_384, "IBM's", 30, NOTHING),
    (16_384, "as printed", 30, NOTHING),
    (16_384, "all queues, IBM's", 120, NOTHING),
    (16_384, "as printed", 120, NOTHING),
    (16_384, "as printed", 30, NO_READ),
    (16_384, "as printed", 120, NO_READ),
)
"""Payloads [B], laws, periods [ms] and what is changed."""

SKEWED: Mapping[str, Any] = {"words": "skewed costs", "sizes": {"cost": "skewed"}}
WORKER_CELLS = (
    *((128, "all queues, IBM's", 5, {"words": f"{n} queues", "queued": n}) for n in ("1", "5")),
    *((128, "all queues, IBM's", 5, {"words": f"{n} queues", "queued": n}) for n in ("10", "25")),
    (128, "all queues, IBM's", 5, {"words": "a queue at Snk", "queued": "sink"}),
    (128, "all queues, IBM's", 5, {"words": "no queues", "queued": "none"}),
    *((payload, "all queues, IBM's", 5, NOTHING) for payload in (128, 1024, 16_384)),
    *((payload, "IBM's", 5, NOTHING) for payload in (128, 1024, 16_384)),
    *((payload, "as printed", 5, NOTHING) for payload in (128, 1024, 16_384)),
    (128, "as printed", 5, {"words": "a lock is free", "constants": {"cost.lock": 0.001}}),
    *((payload, "as printed", 5, SKEWED) for payload in (128, 1024, 16_384)),
    *(
        (
            payload,
            "all queues, IBM's",
            5,
            SKEWED | {"words": "skewed costs, no queues", "queued": "none"},
        )
        for payload in (128, 1024, 16_384)
    ),
    (
        16_384,
        "as printed",
        5,
        {
            "words": "skewed costs, Snk does not read the payload",
            "sizes": {"cost": "skewed"},
            "constants": NO_READ["constants"],
        },
    ),
)
"""Payloads [B], laws, periods [ms] and what is changed."""

MIX_CELLS = (
    *((128, law, 20, NOTHING) for law in LAWS_OF_QUEUES),
    *((1024, law, 20, NOTHING) for law in LAWS_OF_QUEUES),
    (1024, "all queues, IBM's", 100, NOTHING),
    (1024, "as printed", 100, NOTHING),
)
"""Payloads [B], laws, periods [ms] and what is changed."""

UNASSISTED_CELLS = (
    (16, 100, 8, 20, SEEDS_OF_LAWS),
    (16, 100, 64, 20, SEEDS_OF_LAWS),
    (16, 100, 64, 5, SEEDS_OF_LAWS),
    (16, 500, 8, 100, (0,)),
    (88, 100, 8, 20, SEEDS_OF_LAWS),
    (176, 100, 8, 20, SEEDS_OF_LAWS),
    (88, 500, 8, 100, SEEDS_OF_LAWS),
)
"""CPUs, operators, lengths of queues, periods [ms] and seeds."""

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
    """Ports of ElasticLoadBalance in the last third of runs, by CPUs, period and tolerance."""
    yield "| CPUs | cost | period | tolerance | highest level | mean of the last third | changes |"
    yield "|---:|---:|---:|---:|---|---|---|"
    for cpus, cost in ((16, 1000), (16, 10_000), (4, 10_000)):
        for period_ms, tolerance, periods in ((2, 5, 120), (2, 20, 120), (20, 5, 60)):
            parameters = {
                "workers": 32,
                "buffer": 100,
                "cost": cost,
                "period": period_ms,
                "tolerance": tolerance,
            }
            runs = []
            for seed in (1, 2, 3):
                run = run_of(
                    "load-balance",
                    parameters,
                    "manual",
                    machine="xeon",
                    cpus=cpus,
                    software=software,
                    duration_s=periods * period_ms / 1000,
                    period_s=period_ms / 1000,
                    warmup=0.0,
                    seed=seed,
                )
                seen = [sample["balancers"] for sample in run_once(run)["samples"]]
                runs.append([each[0]["active"] for each in seen if each])
            ends = [levels[2 * len(levels) // 3 :] for levels in runs]
            changes = [fmean(one != other for one, other in pairwise(end)) for end in ends]
            yield row(
                str(cpus),
                f"{cost:,}",
                f"{period_ms} ms",
                f"{tolerance} %",
                ranged([max(levels) for levels in runs], "{:d}"),
                ranged([fmean(end) for end in ends], "{:.1f}"),
                ranged(changes, "{:.2f}"),
            )


def operators(software: str) -> Iterator[str]:
    """P17's pipelines by machine, number of operators, cost, and length of the queues."""
    yield (
        "| machine | operators | cost | queues hold | manual | dedicated | 64 threads | all CPUs "
        "| load of dedicated |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for machine in ALL_THREADS:
        for number, cost, capacity in (
            (200, 1, 64),
            (200, 1, 1000),
            (200, 1000, 64),
            (1000, 1, 64),
            (1000, 1000, 64),
        ):
            graph = ("pipeline", {"operators": number, "cost": cost})
            arms = [
                fixed(*graph, machine, software, threads, capacity=capacity, events=LONG)
                for threads in ("manual", "dedicated", 64, ALL_THREADS[machine])
            ]
            load = ranged([each["simulation"]["load"] for each in arms[1]], "{:,.0f}")
            yield row(
                machine, f"{number:,}", f"{cost:,}", f"{capacity:,}", *map(throughput, arms), load
            )


def more_levels(software: str) -> Iterator[str]:
    """P17's pipelines of 1,000 operators by machine and cost, with more numbers of threads."""
    yield from table_of("machine", "cost", (128, 160))
    for machine in ALL_THREADS:
        for cost in (1, 1000):
            sizes = PIPELINE_1000 | {"cost": cost}
            arms = [
                fixed("pipeline", sizes, machine, software, threads, events=LONG)
                for threads in (128, 160)
            ]
            yield row(machine, f"{cost:,}", *map(throughput, arms))


def mix(software: str) -> Iterator[str]:
    """P17's mix by machine, depth, cost and the length of queues."""
    yield (
        "| machine | depth | cost | queues hold | manual | dedicated | 16 threads | 64 threads "
        "| all CPUs |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|"
    for machine in ALL_THREADS:
        for depth, cost, capacity in MIXES:
            graph = ("mix", {"width": 10, "depth": depth, "cost": cost})
            arms = [
                fixed(*graph, machine, software, threads, capacity, LONG)
                for threads in ("manual", "dedicated", 16, 64, ALL_THREADS[machine])
            ]
            words = (f"{depth:,}", f"{cost:,}", f"{capacity:,}")
            yield row(machine, *words, *map(throughput, arms))


def periods(software: str) -> Iterator[str]:
    """P17's law by the length of its periods and of the queues, from half-full queues on."""
    yield (
        "| machine | graph | cost | queues hold | period | highest level | level at the end "
        "| throughput at the end |"
    )
    yield "|---|---|---:|---:|---:|---|---|---|"
    for machine, name, sizes in LAW_CELLS:
        for capacity, period_ms, number in ((64, 10, 60), (8, 10, 60), (64, 50, 40)):
            ends = [
                adapted(name, sizes, machine, software, capacity, period_ms, number, seed)
                for seed in SEEDS_OF_LAWS
            ]
            yield row(
                machine,
                name,
                f"{sizes['cost']:,}",
                str(capacity),
                f"{period_ms} ms",
                *columns(ends),
            )


def settling(software: str) -> Iterator[str]:
    """P17's law in the cells of its Figure 11, by the length of queues."""
    yield "| machine | graph | cost | queues hold | highest level | level at the end | changes |"
    yield "|---|---|---:|---:|---|---|---|"
    for machine, name, sizes in TRACES:
        for capacity in (64, 8):
            ends = [
                adapted(name, sizes, machine, software, capacity, 15, 40, seed)
                for seed in SEEDS_OF_LAWS
            ]
            yield row(
                machine,
                name,
                f"{sizes['cost']:,}",
                str(capacity),
                listed([end.highest for end in ends]),
                listed([end.level for end in ends]),
                listed([end.changes for end in ends]),
            )


def history(software: str) -> Iterator[str]:
    """Throughput of a level of P17's mix at once, and where the law comes back to it from above."""
    cells = (("xeon", 1000, 64), ("power8", 1, 16), ("power8", 1000, 64))
    yield from histories(cells, MIX_10, 64, software)


def full_history(software: str) -> Iterator[str]:
    """Throughput of a level as in `history`, with 1,000 operators on Power8 and queues of 8."""
    cells = (("power8", 1, 64), ("power8", 100, 64))
    yield from histories(cells, MIX_100, 8, software)


def histories(
    cells: Sequence[tuple[str, int, int]], shape: Mapping[str, int], capacity: int, software: str
) -> Iterator[str]:
    """Yield the table of `history` for machines, costs and levels."""
    yield "| machine | cost | level | hardware threads | at once | on the way up | from above |"
    yield "|---|---:|---:|---|---:|---:|---:|"
    for machine, cost, level in cells:
        sizes = dict(shape) | {"cost": cost}
        for words, constants in (("as estimated", {}), ("as fast as cores", free_smt(machine))):
            at_once = fixed(
                "mix", sizes, machine, software, level, capacity, MEDIUM, constants=constants
            )
            up, down = [], []
            for seed in SEEDS:
                cell = ("mix", sizes, machine, software, capacity, 10, 40, seed, constants)
                samples = law_samples(*cell)
                levels = [each["threads_active"] for each in samples]
                rates = [each["sink_tuples_per_s"] / 1000 for each in samples]
                top = next(at for at, each in enumerate(levels) if each > level)
                up.append(rates[top - 1])
                down += [
                    rate
                    for rate, each in zip(rates[top:], levels[top:], strict=True)
                    if each == level
                ]
            back = ranged(down, "{:,.0f}") if down else "never there"
            yield row(
                machine,
                f"{cost:,}",
                str(level),
                words,
                throughput(at_once),
                ranged(up, "{:,.0f}"),
                back,
            )


def free_smt(machine: str) -> dict[str, float]:
    """Return constants with which hardware threads of a core do not slow each other down."""
    return {
        path: float(path.split(".")[-1])
        for path in load_machine(machine).constants
        if path.startswith("core.smt_")
    }


def stalls(software: str) -> Iterator[str]:
    """Operators of 10,000 FLOP side by side on Power8, by threads and the length of queues."""
    yield "| threads | queues hold | throughput | longest time without a tuple sent [ms] |"
    yield "|---:|---:|---:|---|"
    for threads, capacity in ((64, 8), (64, 64), (184, 8), (184, 64), (184, 256), (184, 1000)):
        options = {"threads": threads, "queue_capacity": capacity}
        place = {"machine": "power8", "software": software}
        arm = fixed("data-parallel", SIDE_BY_SIDE, *place.values(), threads, capacity, MEDIUM)
        times = {"duration_s": 0.3, "period_s": 0.005, "warmup": 0.0}
        silences = []
        for seed in SEEDS:
            run = run_of(
                "data-parallel", SIDE_BY_SIDE, "dynamic", **options, **place, **times, seed=seed
            )
            silences.append(silence(run_once(run)["samples"]))
        yield row(
            str(threads),
            f"{capacity:,}",
            throughput(arm),
            ranged([1000 * each for each in silences], "{:,.0f}"),
        )


def contended(machine: str) -> dict[str, float]:
    """Return a machine's times of contended atomic operations, at the dear ends of their ranges."""
    return {
        path: each.high
        for path, each in load_machine(machine).constants.items()
        if path.startswith(("atomic.contended", "atomic.cas_factor")) and each.high
    }


def sink(software: str) -> Iterator[str]:
    """Operators of 10,000 FLOP side by side, by threads and by what a tuple takes at the sink."""
    levels = (4, 8, 12, 16, 24, 32, 64)
    yield f"| machine | at Snk | {levels[0]} threads | {' | '.join(map(str, levels[1:]))} |"
    yield f"|---|---|{'---:|' * len(levels)}"
    for machine in ALL_THREADS:
        for words, constants, reading in (
            ("as estimated", {}, "elided"),
            ("atomics at the dear ends", contended(machine), "elided"),
            ("a tuple takes 0.5 µs", {"cost.sink_tuple": 500}, "elided"),
            ("a tuple takes 1 µs", {"cost.sink_tuple": 1000}, "elided"),
            ("called, lock as estimated", {}, "by calls"),
            ("called, lock takes 0.2 µs", {"cost.lock": 200}, "by calls"),
            ("called, lock takes 1 µs", {"cost.lock": 1000}, "by calls"),
        ):
            cells = []
            for threads in levels:
                run = sink_lock.run_for(machine, 10_000, threads, reading)
                run = replace(run, constants=constants, events=MEDIUM)
                cells.append(throughput([run_once(replace(run, seed=seed)) for seed in SEEDS]))
            yield row(machine, words, *cells)


def second(software: str) -> Iterator[str]:
    """P17's pipeline of 200 operators at cost 1 with few threads, by the length of queues."""
    yield from table_of("machine", "queues hold", (1, 2, 3, 4, 8))
    for machine in ALL_THREADS:
        for capacity in (8, 64, 256, 1000):
            arms = [
                fixed("pipeline", PIPELINE_200, machine, software, threads, capacity)
                for threads in (1, 2, 3, 4, 8)
            ]
            yield row(machine, f"{capacity:,}", *map(throughput, arms))


def sink_law(software: str) -> Iterator[str]:
    """Levels at which P17's law ends side by side, by what a tuple takes at the sink."""
    yield "| machine | at Snk | highest level | level at the end | throughput at the end |"
    yield "|---|---|---|---|---|"
    for machine in ALL_THREADS:
        for words, constants in (
            ("as estimated", {}),
            ("a tuple takes 1 µs", {"cost.sink_tuple": 1000}),
        ):
            cell = ("data-parallel", SIDE_BY_SIDE, machine, software, 64, 50, 40)
            ends = [adapted(*cell, seed, constants) for seed in SEEDS_OF_LAWS]
            yield row(machine, words, *columns(ends))


def placing(software: str) -> Iterator[str]:
    """M19's bushy graph under three laws, by period and sensitivity."""
    yield "| graph | cost | law | period | throughput at the end | threads | queues |"
    yield "|---|---:|---|---:|---|---|---|"
    bushy = {"payload": 1024}
    for graph, sizes in (("bushy", bushy | {"cost": 1}), ("bushy", bushy | {"cost": 100})):
        for words, model, law, period_ms, settings in (
            ("all queues, IBM's", "dynamic", "streams", 10, {}),
            ("IBM's", "multilevel", "streams", 10, {}),
            ("as printed", "multilevel", "middleware19", 10, {}),
            ("as printed", "multilevel", "middleware19", 40, {}),
            ("as printed, s = 0", "multilevel", "middleware19", 10, {"sensitivity": 0.0}),
        ):
            ends = [
                placed(graph, sizes, model, law, period_ms, settings, software, seed)
                for seed in range(4)
            ]
            yield row(
                graph,
                str(sizes["cost"]),
                words,
                f"{period_ms} ms",
                listed([round(rate / 1000) for rate, _, _ in ends]),
                listed([threads for _, threads, _ in ends]),
                listed([queues for _, _, queues in ends]),
            )


def placed(
    graph: str,
    sizes: Mapping[str, int],
    model: str,
    law: str,
    period_ms: int,
    settings: Mapping[str, float],
    software: str,
    seed: int,
    cpus: int = 16,
) -> tuple[float, int, int]:
    """Return throughput over the last third of 100 periods, and threads and queues at the end."""
    run = run_of(
        graph,
        sizes,
        model,
        elastic=True,
        law=law,
        law_settings=tuple(settings.items()),
        minimum=2,
        maximum=cpus,
        machine="xeon",
        cpus=cpus,
        software=software,
        queue_capacity=8,
        duration_s=0.1 * period_ms,
        period_s=period_ms / 1000,
        warmup=0.0,
        seed=seed,
    )
    samples = run_once(run)["samples"]
    last = samples[-1]
    rate = fmean(sample["sink_tuples_per_s"] for sample in samples[2 * len(samples) // 3 :])
    return rate, last["threads_active"], last["queued_ports"]


def vwap_graph() -> Graph:
    """Return VWAP without threads placed by hand."""
    return topologies.build("vwap", {"placement": "none"}, 0)[0]


def vwap_by_hand() -> Graph:
    """Return VWAP with threads placed by hand."""
    return topologies.build("vwap", {"placement": "hand"}, 0)[0]


def vwap(software: str) -> Iterator[str]:
    """VWAP on 16 CPUs by the cost of its parser, the source's included, with a profile of today."""
    levels = (2, 4, 8)
    yield (
        "| parser and source cost | manual | by hand | queues hold | 2 threads | 4 threads "
        "| 8 threads |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|"
    found = profile(vwap_graph())
    names = list(vwap_graph().operators)
    for words, factor in (("as profiled", 1.0), ("half", 0.5), ("a quarter", 0.25)):
        costs = [
            cost * (factor if name in ("parse", "lines") else 1.0)
            for name, cost in zip(names, found.cost_ns, strict=True)
        ]
        changed = replace(found, cost_ns=tuple(costs))
        alone = [vwap_cell(each, 0, changed, software) for each in ("manual", "by hand")]
        for capacity in (8, 64):
            cells = [vwap_cell(each, capacity, changed, software) for each in levels]
            yield row(words, *alone, str(capacity), *cells)


def vwap_cell(threads: str | int, capacity: int, costs: Profiled, software: str) -> str:
    """Return the throughput of VWAP on 16 CPUs; `threads`: of dynamic, or manual, or by hand."""
    of_hand, dynamic = threads == "by hand", isinstance(threads, int)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "profile.json"
        save_profile(file, vwap_by_hand() if of_hand else vwap_graph(), "", costs)
        run = run_of(
            "vwap",
            {},
            "dynamic" if dynamic else "manual",
            machine="xeon",
            cpus=16,
            software=software,
            events=MEDIUM,
            profile=str(file),
            **({"threads": threads, "queue_capacity": capacity} if dynamic else {}),
        )
        function = "vwap_by_hand" if of_hand else "vwap_graph"
        run = replace(run, graph_file=f"{__file__}:{function}")
        return throughput([run_once(replace(run, seed=seed)) for seed in SEEDS])


def adaptation(software: str) -> Iterator[str]:
    """C-Stream's law in chains by its thresholds and what the source can send."""
    yield "| busy operators | source [µs] | U_l | U_h | threads at the end | replicas at the end |"
    yield "|---|---:|---:|---:|---|---|"
    for operators, busy in ((1, 80), (2, 60)):
        for source, low, high in (
            (18, 0.9, 0.95),
            (16, 0.9, 0.95),
            (18, 0.8, 0.85),
            (18, 0.7, 0.75),
        ):
            sizes = {"operators": operators, "busy": busy, "read": source}
            ends = [
                utilised("chain", sizes, "cstream", low, high, software, seed)
                for seed in SEEDS_OF_LAWS
            ]
            replicas = [max(end["replicas"].values(), default=1) for end in ends]
            yield row(
                f"{operators} of {busy} µs",
                str(source),
                f"{low:g}",
                f"{high:g}",
                listed([end["threads_active"] for end in ends]),
                listed(replicas),
            )


def thresholds(software: str) -> Iterator[str]:
    """C-Stream's law for 12 operators side by side, by what a merge and a turn take."""
    yield "| a merge, a turn take | threads, U_h = 0.90 | U_h = 0.95 | U, U_h = 0.90 | U_h = 0.95 |"
    yield "|---|---|---|---|---|"
    for words, constants in (
        ("as estimated", {}),
        ("10 µs, as estimated", costing(software, "merge_tuple", 10)),
        ("15 µs, as estimated", costing(software, "merge_tuple", 15)),
        ("as estimated, 100 µs", costing(software, "coroutine_turn", 100)),
    ):
        cells = [
            [
                utilised(
                    "replicated",
                    side_by_side(12),
                    "utilisation",
                    0.9,
                    high,
                    software,
                    seed,
                    constants,
                )
                for seed in SEEDS_OF_LAWS
            ]
            for high in (0.9, 0.95)
        ]
        yield row(
            words,
            *(listed([end["threads_active"] for end in cell]) for cell in cells),
            *(ranged([end["utilisation"] for end in cell], "{:.2f}") for cell in cells),
        )


def utilised(
    graph: str,
    sizes: Mapping[str, int],
    law: str,
    low: float,
    high: float,
    software: str,
    seed: int,
    constants: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """Return the last of 60 samples of co-routines on C-Stream's machine under a law."""
    run = run_of(
        graph,
        sizes,
        "coroutine",
        elastic=True,
        law=law,
        law_settings=(("low", low), ("high", high)),
        policy="random",
        maximum=12,
        machine="cstream",
        software=software,
        queue_capacity=100,
        duration_s=3.0,
        period_s=0.05,
        warmup=0.0,
        seed=seed,
        constants=constants or {},
    )
    return run_once(run)["samples"][-1]


def gains(software: str) -> Iterator[str]:
    """C-Stream's law over one thread in chains, by what a turn takes and by its thresholds."""
    yield "| changed | busy operators | one thread | threads at the end | at the end | gain |"
    yield "|---|---|---:|---|---:|---|"
    for words, constants, low, high in (
        ("nothing", {}, 0.9, 0.95),
        ("a turn takes 100 µs", costing(software, "coroutine_turn", 100), 0.9, 0.95),
        ("lower thresholds", {}, 0.7, 0.75),
    ):
        for operators, busy in ((1, 100), (2, 140)):
            sizes = {"operators": operators, "busy": busy, "selectivity": 100}
            alone = coroutines(software, "chain", sizes, 1, "random", constants)
            ends = [
                utilised("chain", sizes, "cstream", low, high, software, seed, constants)
                for seed in SEEDS_OF_LAWS
            ]
            rates = [end["sink_tuples_per_s"] for end in ends]
            base = fmean(each["sink_tuples_per_s"] for each in alone)
            yield row(
                words,
                f"{operators} of {busy} µs",
                throughput(alone),
                listed([end["threads_active"] for end in ends]),
                ranged([rate / 1000 for rate in rates], "{:,.1f}"),
                ranged([rate / base for rate in rates], "{:.1f}"),
            )


def few(software: str) -> Iterator[str]:
    """Operators of cost 1 side by side, by threads and by what a tuple takes at the sink."""
    levels = (1, 2, 4, 8, 16)
    yield from table_of("machine", "at Snk", "manual", levels)
    for machine in ALL_THREADS:
        for words, constants, reading in (
            ("as estimated", {}, "elided"),
            ("a tuple takes 0.3 µs", {"cost.sink_tuple": 300}, "elided"),
            ("a tuple takes 1 µs", {"cost.sink_tuple": 1000}, "elided"),
            ("called under its lock", {}, "by calls"),
        ):
            runs = [sink_lock.run_for(machine, 1, threads, reading) for threads in levels]
            manual = run_of(
                "data-parallel",
                {"width": 1000, "cost": 1},
                "manual",
                machine=machine,
                software=software,
                events=MEDIUM,
            )
            cells = [
                throughput(
                    [run_once(replace(run, constants=constants, seed=seed)) for seed in SEEDS]
                )
                for run in (manual, *runs)
            ]
            yield row(machine, words, *cells)


def siblings(software: str) -> Iterator[str]:
    """P17's mix of 1,000 operators on the Xeon, by what two hardware threads of a core pass."""
    levels = (64, 80, 88, 128, 176)
    yield from table_of("two threads of a core pass", levels)
    sizes = MIX_100
    for factor in (None, 1.2, 1.0):
        constants = {} if factor is None else dict.fromkeys(free_smt("xeon"), factor)
        constants |= {path: 1.0 for path in constants if path.endswith(".1")}
        arms = [
            fixed("mix", sizes, "xeon", software, threads, events=LONG, constants=constants)
            for threads in levels
        ]
        words = "as estimated" if factor is None else f"{factor:g} times as much as one"
        yield row(words, *map(throughput, arms))


def siblings_law(software: str) -> Iterator[str]:
    """Levels of P17's law there, if two hardware threads of a core pass as much as one."""
    yield "| highest level | level at the end | throughput at the end |"
    yield "|---|---|---|"
    constants = dict.fromkeys(free_smt("xeon"), 1.0)
    cell = ("mix", MIX_100, "xeon", software, 64, 15, 40)
    ends = [adapted(*cell, seed, constants) for seed in SEEDS]
    yield row(*columns(ends))


def pipelines(software: str) -> Iterator[str]:
    """P17's law in its pipeline of 1,000 operators at cost 1, in periods of 50 ms."""
    yield "| machine | highest level | level at the end | changes | throughput at the end |"
    yield "|---|---|---|---|---|"
    for machine in ALL_THREADS:
        cell = ("pipeline", PIPELINE_1000, machine, software, 64, 50, 24)
        ends = [adapted(*cell, seed) for seed in SEEDS_OF_PIPELINES[machine]]
        yield row(
            machine,
            listed([end.highest for end in ends]),
            listed([end.level for end in ends]),
            listed([end.changes for end in ends]),
            ranged([end.rate / 1000 for end in ends], "{:,.0f}"),
        )


def vwap_laws(software: str) -> Iterator[str]:
    """VWAP by law, in periods of 2 ms, over the last third of 100."""
    yield "| CPUs | law | throughput at the end | threads | queues |"
    yield "|---:|---|---|---|---|"
    for cpus in (4, 16, 88):
        for words, model, law in (
            ("all queues, IBM's", "dynamic", "streams"),
            ("IBM's", "multilevel", "streams"),
            ("as printed", "multilevel", "middleware19"),
            ("Millrace's", "multilevel", "millrace"),
        ):
            cell = ("vwap", {}, model, law, 2, {}, software)
            ends = [placed(*cell, seed, cpus) for seed in SEEDS_OF_LAWS]
            yield row(
                str(cpus),
                words,
                listed([round(rate / 1000) for rate, _, _ in ends]),
                listed([threads for _, threads, _ in ends]),
                listed([queues for _, _, queues in ends]),
            )


def load(software: str) -> Iterator[str]:
    """Threads of dedicated that run or wait for a CPU, by operators and the length of queues."""
    yield "| machine | operators | queues hold | throughput | threads | switches in a ms |"
    yield "|---|---:|---:|---:|---:|---:|"
    for machine in ALL_THREADS:
        for number, capacity in ((200, 64), (200, 1000), (1000, 64), (1000, 1000)):
            sizes = {"operators": number, "cost": 1}
            arm = fixed("pipeline", sizes, machine, software, "dedicated", capacity, LONG)
            yield row(
                machine,
                f"{number:,}",
                f"{capacity:,}",
                throughput(arm),
                ranged([each["simulation"]["load"] for each in arm], "{:,.0f}"),
                ranged(
                    [each["context_switches"] / each["duration_s"] / 1000 for each in arm],
                    "{:,.0f}",
                ),
            )


def switches(software: str) -> Iterator[str]:
    """Context switches a virtual ms of P17's pipeline of 200 operators at cost 1 on the Xeon."""
    yield "| dedicated | 64 threads | 160 threads | 176 threads |"
    yield "|---:|---:|---:|---:|"
    arms = [
        fixed("pipeline", PIPELINE_200, "xeon", software, threads, events=MEDIUM)
        for threads in ("dedicated", 64, 160, 176)
    ]
    yield row(
        *(
            ranged(
                [each["context_switches"] / each["duration_s"] / 1000 for each in arm], "{:,.0f}"
            )
            for arm in arms
        )
    )


def width(software: str) -> Iterator[str]:
    """Throughput of operators side by side with 4 threads under max_queue_length, by number."""
    yield "| a merge, a turn take | 4 operators | 12 | 20 |"
    yield "|---|---:|---:|---:|"
    slow = costing(software, "merge_tuple", 15)
    for words, constants in (
        ("as estimated", {}),
        ("15 µs, as estimated", slow),
        ("as estimated, 100 µs", costing(software, "coroutine_turn", 100)),
    ):
        runs = [
            coroutines(software, "replicated", side_by_side(each), 4, "max_queue_length", constants)
            for each in (4, 12, 20)
        ]
        yield row(words, *map(throughput, runs))


def kernel(software: str) -> Iterator[str]:
    """Kernel's share of the CPU time of dedicated on Power8, side by side at 10,000 FLOP."""
    yield "| constants | throughput | share of the kernel |"
    yield "|---|---:|---|"
    for words, constants in (
        ("as estimated", {}),
        ("hash buckets at the dear end", {"os.bucket_hold_us": 1.2, "os.bucket_waiter_ns": 180}),
        ("a wake-up costs the waker 4 µs", {"os.wake_caller_us": 4.0}),
        ("6 µs", {"os.wake_caller_us": 6.0}),
    ):
        arm = fixed(
            "data-parallel",
            SIDE_BY_SIDE,
            "power8",
            software,
            "dedicated",
            events=MEDIUM,
            constants=constants,
        )
        shares = [each["kernel_seconds"] / each["cpu_seconds"] for each in arm]
        yield row(words, throughput(arm), ranged(shares, "{:.2f}"))


def latencies(software: str) -> Iterator[str]:
    """Mean latency by policy with 4 threads, by graph and the length of buffers."""
    yield from (
        f"| graph | buffers hold | {' | '.join(POLICIES)} |",
        f"|---|---:|{'---:|' * len(POLICIES)}",
    )
    chain = {"operators": 12, "busy": 100, "selectivity": 100}
    graphs = (
        ("chain", chain),
        ("replicated", side_by_side(12)),
        ("tree", TREE),
        ("reverse-tree", TREE),
    )
    for graph, sizes in graphs:
        for capacity in (10, 100, 1000):
            runs = [
                coroutines(software, graph, sizes, 4, policy, capacity=capacity)
                for policy in POLICIES
            ]
            yield row(graph, f"{capacity:,}", *map(latency, runs))


def coming_back(software: str) -> Iterator[str]:
    """P17's laws in cells of the kept quick study, from two threads on, and their levels at once.

    The costs are those of `software`, but one row has P17's scheduler as printed.
    """
    yield (
        "| machine | graph | cost | law | highest level | level at the end | throughput at the end "
        "| other levels at once |"
    )
    yield "|---|---|---:|---|---|---|---|---|"
    for machine, graph, sizes, costs, law, capacity, period_ms, levels in KEPT_LAWS:
        cell = (graph, sizes, machine, costs or software, capacity, period_ms, 24)
        ends = [adapted(*cell, seed, law=law, minimum=2) for seed in SEEDS]
        at_once = [
            fixed(graph, sizes, machine, costs or software, level, capacity, MEDIUM)
            for level in levels
        ]
        pairs = zip(levels, map(throughput, at_once), strict=True)
        yield row(
            machine,
            graph,
            f"{sizes['cost']:,}",
            " of ".join(filter(None, (LAW_WORDS[law], costs))),
            *columns(ends),
            "; ".join(f"{level}: {words}" for level, words in pairs),
        )


def printed_law(software: str) -> Iterator[str]:
    """P17's law as printed in its mix at 1,000 FLOP on the Xeon, by the number of periods."""
    yield "| costs | periods | highest level | level at the end | throughput at the end |"
    yield "|---|---:|---|---|---|"
    sizes = MIX_10 | {"cost": 1000}
    for costs in (software, "p17-printed"):
        for periods in (24, 100, 300):
            cell = ("mix", sizes, "xeon", costs, 64, 20, periods)
            ends = [adapted(*cell, seed, law="pldi17", minimum=2) for seed in SEEDS]
            yield row(costs, str(periods), *columns(ends))


def oscillating(software: str) -> Iterator[str]:
    """P17's law in Figure 11's panel of Power8, side by side, by period and queues.

    From two threads on; the end is the last third of 40 periods, with three seeds.
    """
    yield "| queues hold | period | levels at the end | changes |"
    yield "|---:|---:|---|---|"
    sizes = {"width": 1000, "cost": 100_000}
    for capacity, period_ms in ((8, 5), (8, 30), (64, 5), (64, 30), (64, 100)):
        ends = []
        for seed in SEEDS_OF_LAWS:
            cell = ("data-parallel", sizes, "power8", software, capacity, period_ms, 40, seed)
            levels = [each["threads_active"] for each in law_samples(*cell, minimum=2)]
            ends.append(levels[2 * len(levels) // 3 :])
        yield row(
            str(capacity),
            f"{period_ms} ms",
            ", ".join(ranged(end, "{:d}") for end in ends),
            listed([sum(one != other for one, other in pairwise(end)) for end in ends]),
        )


def most_threads(software: str) -> Iterator[str]:
    """P17's mix of 1,000 operators at 1,000 FLOP on Power8 by threads, with queues of 8."""
    levels = (64, 96, 128, 144, 160, 184)
    yield from table_of("queues hold", levels)
    arms = [fixed("mix", MIX_100, "power8", software, level, 8, LONG) for level in levels]
    yield row("8", *map(throughput, arms))


def shared_cores(software: str) -> Iterator[str]:
    """P17's mix of depth 10 on the Xeon by threads, and if threads of a core share nothing."""
    levels = (48, 64, 80, 96, 128, 176)
    yield from table_of("cost", "hardware threads", levels)
    for cost in (1, 100):
        for words, constants in (("as estimated", {}), ("as fast as cores", free_smt("xeon"))):
            sizes = MIX_10 | {"cost": cost}
            arms = [
                fixed("mix", sizes, "xeon", software, level, 64, MEDIUM, constants=constants)
                for level in levels
            ]
            yield row(f"{cost:,}", words, *map(throughput, arms))


def full_periods(software: str) -> Iterator[str]:
    """P17's law in its mix of 1,000 operators on Power8 in periods of 100 ms; queues of 8."""
    yield "| cost | highest level | level at the end | throughput at the end |"
    yield "|---:|---|---|---|"
    for cost in (1, 100):
        cell = ("mix", MIX_100 | {"cost": cost}, "power8", software, 8, 100, 20)
        ends = [adapted(*cell, seed, minimum=2) for seed in SEEDS]
        yield row(str(cost), *columns(ends))


def short_queues(software: str) -> Iterator[str]:
    """Dedicated in P17's mix of 1,000 operators by machine, cost and the length of queues."""
    yield "| machine | cost | queues of 8 | queues of 64 |"
    yield "|---|---:|---:|---:|"
    for machine in ALL_THREADS:
        for cost in (1, 100, 1000):
            sizes = MIX_100 | {"cost": cost}
            arms = [
                fixed("mix", sizes, machine, software, "dedicated", capacity, MEDIUM)
                for capacity in (8, 64)
            ]
            yield row(machine, f"{cost:,}", *map(throughput, arms))


def few_cpus(software: str) -> Iterator[str]:
    """P17's graphs with 100 operators by CPUs of the Xeon and software."""
    arms = "manual | dedicated | its share of the kernel | fastest level of dynamic | its threads"
    yield f"| graph | cost | CPUs, costs, queues | {arms} |"
    yield "|---|---:|---|---:|---:|---:|---:|---:|"
    for graph, sizes, costs in (
        ("pipeline", {"operators": 100}, (1, 100)),
        ("data-parallel", {"width": 100}, (1, 10_000)),
        ("mix", MIX_10, (1, 1000)),
    ):
        for cost, (cpus, costed, capacity) in product(
            costs,
            (
                (2, "millrace", 8),
                (2, "millrace", 256),
                (2, software, 256),
                (16, software, 64),
                (176, software, 64),
            ),
        ):
            manual, dedicated, *dynamic = [
                fixed(graph, sizes | {"cost": cost}, f"xeon:{cpus}", costed, arm, capacity, MEDIUM)
                for arm in ("manual", "dedicated", *sorted({1, 2, cpus // 4 or 1, cpus}))
            ]
            best = max(dynamic, key=lambda runs: fmean(map(rate, runs)))
            in_kernel = [each["kernel_seconds"] / each["cpu_seconds"] for each in dedicated]
            yield row(
                graph,
                f"{cost:,}",
                f"{cpus}, `{costed}`, {capacity}",
                throughput(manual),
                throughput(dedicated),
                ranged(in_kernel, "{:.2f}"),
                throughput(best),
                str(best[0]["threads"]),
            )


def trees(software: str) -> Iterator[str]:
    """Throughput of C-Stream's trees under random with more threads, by what turns take."""
    levels = (4, 8, 10, 12)
    yield from table_of("graph", "changed", levels)
    for graph in ("tree", "reverse-tree"):
        for words, constants in (
            ("nothing", {}),
            ("a turn takes 10 µs", costing(software, "coroutine_turn", 10)),
            ("a turn takes 100 µs", costing(software, "coroutine_turn", 100)),
            ("a merge takes 15 µs", costing(software, "merge_tuple", 15)),
        ):
            runs = [coroutines(software, graph, TREE, each, "random", constants) for each in levels]
            yield row(graph, words, *map(throughput, runs))


def shares(software: str) -> Iterator[str]:
    """M19's pipeline of 100 operators by CPUs and cost: queues by hand, and laws; queues of 8."""
    arms = (
        ("IBM's, 20 % queued", "dynamic", "streams", {"queued": "20%"}),
        ("IBM's, 50 % queued", "dynamic", "streams", {"queued": "50%"}),
        ("IBM's, all queued", "dynamic", "streams", {}),
        ("multilevel, IBM's", "multilevel", "streams", {}),
        ("multilevel, as printed", "multilevel", "middleware19", {}),
        (
            "multilevel, as printed, s = 0",
            "multilevel",
            "middleware19",
            {"law_settings": (("sensitivity", 0.0),)},
        ),
    )
    yield "| CPUs | cost | law | throughput at the end | threads | queues |"
    yield "|---:|---:|---|---|---|---|"
    for cpus, cost in ((16, 100), (88, 100), (88, 1)):
        for words, model, law, options in arms:
            lasts, rates = [], []
            for seed in SEEDS_OF_LAWS:
                run = run_of(
                    "pipeline",
                    {"operators": 100, "cost": cost, "payload": 1024},
                    model,
                    elastic=True,
                    law=law,
                    minimum=2,
                    maximum=cpus,
                    machine="xeon",
                    cpus=cpus,
                    software=software,
                    queue_capacity=8,
                    duration_s=0.6,
                    period_s=0.01,
                    warmup=0.0,
                    seed=seed,
                    **options,
                )
                samples = run_once(run)["samples"]
                end = samples[2 * len(samples) // 3 :]
                rates.append(fmean(each["sink_tuples_per_s"] for each in end) / 1000)
                lasts.append(samples[-1])
            yield row(
                str(cpus),
                f"{cost:,}",
                words,
                listed([round(rate) for rate in rates]),
                listed([last["threads_active"] for last in lasts]),
                listed([last["queued_ports"] for last in lasts]),
            )


def balanced(
    parameters: Mapping[str, Any],
    software: str,
    periods: int,
    period_ms: int,
    seed: int,
    cpus: int = 16,
) -> tuple[list[int], list[float]]:
    """Return ports and throughput of ElasticLoadBalance by period."""
    run = run_of(
        "load-balance",
        {"workers": 32, "buffer": 100, "period": period_ms} | dict(parameters),
        "manual",
        machine="xeon",
        cpus=cpus,
        software=software,
        duration_s=periods * period_ms / 1000,
        period_s=period_ms / 1000,
        warmup=0.0,
        seed=seed,
    )
    samples = [each for each in run_once(run)["samples"] if each["balancers"]]
    levels = [each["balancers"][0]["active"] for each in samples]
    return levels, [each["sink_tuples_per_s"] for each in samples]


def placed_until_stationary(
    graph: str,
    sizes: Mapping[str, Any],
    model: str,
    law: str,
    software: str,
    period_ms: int,
    constants: Mapping[str, float] | None = None,
    queued: str = "",
) -> tuple[str, str, str]:
    """Return throughputs [k tuples/s], threads and queues on 16 CPUs, one for each seed, as in the
    kept study: 10 periods once a run is stationary. A star: it did not become so.
    """
    rates, threads, queues = [], [], []
    for seed in SEEDS_OF_LAWS:
        run = run_of(
            graph,
            sizes,
            model,
            elastic=True,
            law=law,
            minimum=2,
            maximum=16,
            machine="xeon",
            cpus=16,
            software=software,
            queue_capacity=8,
            duration_s=10 * period_ms / 1000,
            period_s=period_ms / 1000,
            seed=seed,
            constants=constants or {},
            **({"queued": queued} if queued else {}),
        )
        record = run_once(run)
        last = record["samples"][-1]
        star = "" if record["settled"] else " *"
        rates.append(f"{record['sink_tuples_per_s'] / 1000:,.0f}{star}")
        threads.append(last["threads_active"])
        queues.append(last["queued_ports"])
    return ", ".join(rates), listed(threads), listed(queues)


def of_cells(
    graph: str, sizes: Mapping[str, Any], cells: Sequence[tuple[Any, ...]], software: str
) -> Iterator[str]:
    """Yield a table of M19's laws by payload, law, period and what is changed."""
    yield "| payload | law | period | changed | throughput | threads | queues |"
    yield "|---:|---|---:|---|---|---|---|"
    for payload, words, period_ms, changed in cells:
        model, law = LAWS_OF_QUEUES[words]
        found = placed_until_stationary(
            graph,
            {"cost": 100} | dict(sizes) | {"payload": payload} | changed.get("sizes", {}),
            model,
            law,
            software,
            period_ms,
            changed.get("constants"),
            changed.get("queued", ""),
        )
        yield row(f"{payload:,}", words, f"{period_ms} ms", changed["words"], *found)


def payloads(software: str) -> Iterator[str]:
    """M19's pipeline of 100 operators on 16 CPUs by payload, law, period and what the sink does."""
    yield from of_cells("pipeline", {"operators": 100}, PAYLOAD_CELLS, software)


def workers(software: str) -> Iterator[str]:
    """M19's 50 operators side by side on 16 CPUs by payload, law, costs, and queues by hand."""
    yield from of_cells("data-parallel", {"width": 50}, WORKER_CELLS, software)


def mix_laws(software: str) -> Iterator[str]:
    """M19's mix of 500 operators on 16 CPUs by payload, law and period."""
    yield from of_cells("mix", {"width": 10, "depth": 50}, MIX_CELLS, software)


def unassisted(software: str) -> Iterator[str]:
    """M19's law without what shortens it (Figure 6) by CPUs, operators, queues and period."""
    yield (
        "| CPUs | operators | queues hold | period | settles after | highest level "
        "| highest over before | peak on a switch |"
    )
    yield "|---:|---:|---:|---:|---|---|---|---|"
    for cpus, number, capacity, period_ms, seeds in UNASSISTED_CELLS:
        found = [adaptation_of(cpus, number, capacity, period_ms, software, seed) for seed in seeds]
        settles, highest, gains_there, peaks = zip(*found, strict=True)
        yield row(
            str(cpus),
            str(number),
            str(capacity),
            f"{period_ms} ms",
            listed(settles),
            listed(highest),
            ", ".join(f"{each:.2f}" for each in gains_there),
            ", ".join(f"{each:.2f}" for each in peaks),
        )


def adaptation_of(
    cpus: int, operators: int, capacity: int, period_ms: int, software: str, seed: int
) -> tuple[int, int, float, float]:
    """Return the periods until nothing changes, the highest level, the throughput at the end of the
    first stay there over that before it, and the highest throughput in a period for which queues
    came or went over that of all others; of 100 periods.
    """
    run = run_of(
        "pipeline",
        {"operators": operators, "cost": "skewed", "payload": 1024},
        "multilevel",
        elastic=True,
        law="middleware19",
        law_settings=(("history", False), ("satisfied", False)),
        minimum=2,
        maximum=cpus,
        machine="xeon",
        cpus=cpus,
        software=software,
        queue_capacity=capacity,
        duration_s=0.1 * period_ms,
        period_s=period_ms / 1000,
        warmup=0.0,
        seed=seed,
    )
    samples = run_once(run)["samples"]
    levels = [each["threads_active"] for each in samples]
    queues = [each["queued_ports"] for each in samples]
    rates = [each["sink_tuples_per_s"] for each in samples]
    pairs = list(pairwise(zip(levels, queues, strict=True)))
    settles = max((at for at, (one, other) in enumerate(pairs, 1) if one != other), default=0) + 1
    top = levels.index(max(levels))
    left = next((at for at in range(top, len(levels)) if levels[at] != levels[top]), len(levels))
    switched = [one[1] != other[1] for one, other in pairs]
    peak = max(rate for rate, switch in zip(rates[1:], switched, strict=True) if switch)
    others = max(rate for rate, switch in zip(rates[1:], switched, strict=True) if not switch)
    return settles, levels[top], rates[left - 1] / rates[top - 1], peak / others


def balance_on_4(software: str) -> Iterator[str]:
    """Ports of ElasticLoadBalance on 4 CPUs by cost, period and tolerance, in 120 periods."""
    yield (
        "| cost | period | tolerance | highest level | median of the end | highest less that "
        "| changes |"
    )
    yield "|---:|---:|---:|---|---|---|---|"
    for cost in (1000, 10_000):
        for period_ms, tolerance in ((2, 5), (2, 10), (2, 20), (20, 5)):
            sizes = {"cost": cost, "tolerance": tolerance}
            runs = [balanced(sizes, software, 120, period_ms, seed, 4)[0] for seed in (1, 2, 3)]
            ends = [levels[2 * len(levels) // 3 :] for levels in runs]
            highest, final = [max(levels) for levels in runs], [median(end) for end in ends]
            yield row(
                f"{cost:,}",
                f"{period_ms} ms",
                f"{tolerance} %",
                listed(highest),
                listed(final),
                listed([most - end for most, end in zip(highest, final, strict=True)]),
                ", ".join(
                    f"{fmean(one != other for one, other in pairwise(end)):.2f}" for end in ends
                ),
            )


def noise_on_4(software: str) -> Iterator[str]:
    """Noise of ElasticLoadBalance with cheap tuples, as in `noise`, on 4 CPUs."""
    yield from noise(software, cpus=4)


def harm(software: str) -> Iterator[str]:
    """Throughput of ElasticLoadBalance with cheap tuples by CPUs and a fixed number of ports."""
    yield "| CPUs | 1 port | 2 ports | 3 ports | 4 ports |"
    yield "|---:|---:|---:|---:|---:|"
    for cpus in (2, 4, 16):
        arms = [
            fixed(
                "load-balance",
                {"workers": 32, "buffer": 100, "cost": 1, "elastic": "no", "initial": ports},
                f"xeon:{cpus}",
                software,
                "manual",
                events=MEDIUM,
            )
            for ports in (1, 2, 3, 4)
        ]
        yield row(str(cpus), *map(throughput, arms))


def bursts_on_4(software: str) -> Iterator[str]:
    """Ports of ElasticLoadBalance after bursts of expensive tuples, as in `bursts`, on 4 CPUs."""
    yield from bursts(software, cpus=4)


def noise(software: str, cpus: int = 16) -> Iterator[str]:
    """Noise and throughput of ElasticLoadBalance with cheap tuples by period and tolerance.

    Noise is how far throughput differs from period to period at one level, as a share.
    """
    yield "| period | buffers hold | tolerance | noise | changes | throughput at the end |"
    yield "|---:|---:|---:|---|---|---|"
    for period_ms, buffer, tolerance in (
        (1, 100, 5),
        (2, 100, 5),
        (2, 100, 20),
        (2, 100, 50),
        (2, 2000, 5),
        (20, 100, 5),
    ):
        found: list[tuple[float, float, float]] = []
        for seed in SEEDS_OF_LAWS:
            sizes = {"cost": 1, "buffer": buffer, "tolerance": tolerance}
            levels, rates = balanced(sizes, software, 120, period_ms, seed, cpus)
            steps = [
                log(after / before)
                for before, after, one, other in zip(
                    rates, rates[1:], levels, levels[1:], strict=False
                )
                if one == other and before and after
            ]
            start = 2 * len(levels) // 3
            end = levels[start:]
            found.append(
                (
                    sqrt(fmean(step**2 for step in steps) / 2) if steps else nan,
                    fmean(one != other for one, other in pairwise(end)),
                    fmean(rates[start:]) / 1000,
                )
            )
        spread, changes, ends = zip(*found, strict=True)
        yield row(
            f"{period_ms} ms",
            f"{buffer:,}",
            f"{tolerance} %",
            ranged(spread, "{:.3f}"),
            ranged(changes, "{:.2f}"),
            ranged(ends, "{:,.0f}"),
        )


def bursts(software: str, cpus: int = 16) -> Iterator[str]:
    """Ports of ElasticLoadBalance after bursts of expensive tuples, by tolerance and buffers."""
    cycle = 1_000_000
    yield "| buffers hold | tolerance | highest level | last level before the next burst |"
    yield "|---:|---:|---|---|"
    for buffer, tolerance in ((100, 5), (100, 1), (100, 20), (2000, 5)):
        highest, last = [], []
        for seed in SEEDS_OF_LAWS:
            sizes = {
                "load": "bursty-cost",
                "cost": 10_000,
                "cycle": cycle,
                "buffer": buffer,
                "tolerance": tolerance,
            }
            levels, rates = balanced(sizes, software, 600, 2, seed, cpus)
            sent = list(accumulate(rate * 0.002 for rate in rates))
            within = [
                level
                for level, count in zip(levels, sent, strict=True)
                if 0.3 * cycle <= count < 1.3 * cycle
            ]
            highest.append(max(within))
            last.append(within[-1])
        yield row(f"{buffer:,}", f"{tolerance} %", listed(highest), listed(last))


EXPERIMENTS: Mapping[str, tuple[Callable[[str], Iterator[str]], str]] = {
    "merge": (merge, "cstream"),
    "turns": (turns, "cstream"),
    "buffers": (buffers, "cstream"),
    "balance": (balance, "streams-4.2"),
    "operators": (operators, "streams-4.2"),
    "more-levels": (more_levels, "streams-4.2"),
    "mix": (mix, "streams-4.2"),
    "periods": (periods, "streams-4.2"),
    "settling": (settling, "streams-4.2"),
    "history": (history, "streams-4.2"),
    "stalls": (stalls, "streams-4.2"),
    "sink": (sink, "streams-4.2"),
    "sink-law": (sink_law, "streams-4.2"),
    "second": (second, "streams-4.2"),
    "placing": (placing, "streams-4.2"),
    "vwap": (vwap, "millrace"),
    "adaptation": (adaptation, "millrace"),
    "thresholds": (thresholds, "millrace"),
    "few": (few, "streams-4.2"),
    "harm": (harm, "streams-4.2"),
    "full-history": (full_history, "millrace"),
    "full-periods": (full_periods, "millrace"),
    "short-queues": (short_queues, "millrace"),
    "few-cpus": (few_cpus, "streams-4.2"),
    "siblings": (siblings, "streams-4.2"),
    "siblings-law": (siblings_law, "streams-4.2"),
    "pipelines": (pipelines, "streams-4.2"),
    "vwap-laws": (vwap_laws, "millrace"),
    "load": (load, "streams-4.2"),
    "switches": (switches, "streams-4.2"),
    "width": (width, "millrace"),
    "kernel": (kernel, "streams-4.2"),
    "latencies": (latencies, "millrace"),
    "coming-back": (coming_back, "streams-4.2"),
    "shared-cores": (shared_cores, "streams-4.2"),
    "trees": (trees, "millrace"),
    "shares": (shares, "streams-4.2"),
    "printed-law": (printed_law, "streams-4.2"),
    "oscillating": (oscillating, "streams-4.2"),
    "most-threads": (most_threads, "streams-4.2"),
    "gains": (gains, "millrace"),
    "noise": (noise, "streams-4.2"),
    "bursts": (bursts, "streams-4.2"),
    "balance-on-4": (balance_on_4, "streams-4.2"),
    "noise-on-4": (noise_on_4, "streams-4.2"),
    "bursts-on-4": (bursts_on_4, "streams-4.2"),
    "payloads": (payloads, "streams-4.2"),
    "workers": (workers, "streams-4.2"),
    "mix-laws": (mix_laws, "streams-4.2"),
    "unassisted": (unassisted, "streams-4.2"),
}
"""Experiments with the software whose costs they have unless another is asked for."""


@dataclass(frozen=True)
class End:
    """Last third of a run with a law: its last level, how often that changed, the highest level of
    the run, and the mean throughput [tuples/s].
    """

    highest: int
    level: int
    changes: int
    rate: float


def law_samples(
    name: str,
    sizes: Mapping[str, int],
    machine: str,
    software: str,
    capacity: int,
    period_ms: int,
    periods: int,
    seed: int,
    constants: Mapping[str, float] | None = None,
    law: str = "streams",
    minimum: int = 1,
) -> list[dict[str, Any]]:
    """Return the samples of an elastic run, one a period, from its beginning."""
    run = run_of(
        name,
        sizes,
        "dynamic",
        elastic=True,
        law=law,
        minimum=minimum,
        machine=machine,
        software=software,
        queue_capacity=capacity,
        duration_s=periods * period_ms / 1000,
        period_s=period_ms / 1000,
        warmup=0.0,
        seed=seed,
        constants=constants or {},
    )
    return run_once(run)["samples"]


def adapted(*cell: Any, **options: Any) -> End:
    """Return the end of an elastic run; arguments as those of `law_samples`."""
    samples = law_samples(*cell, **options)
    levels = [sample["threads_active"] for sample in samples]
    start = 2 * len(levels) // 3
    return End(
        max(levels),
        levels[-1],
        sum(one != other for one, other in pairwise(levels[start:])),
        fmean(sample["sink_tuples_per_s"] for sample in samples[start:]),
    )


def silence(samples: Sequence[Mapping[str, Any]]) -> float:
    """Return the longest time without a tuple sent [s], by samples."""
    longest = current = 0.0
    for sample in samples:
        current = 0.0 if sample["source_tuples_per_s"] else current + sample["elapsed_s"]
        longest = max(longest, current)
    return longest


def fixed(
    graph: str,
    parameters: Mapping[str, Any],
    machine: str,
    software: str,
    threads: int | str,
    capacity: int = 64,
    events: int = LONG,
    seeds: Sequence[int] = SEEDS,
    constants: Mapping[str, float] | None = None,
) -> list[dict[str, Any]]:
    """Return records until runs are stationary, one for each seed; `threads`: of dynamic, or
    another model.
    """
    options: dict[str, Any] = {} if threads == "manual" else {"queue_capacity": capacity}
    model = threads if isinstance(threads, str) else "dynamic"
    if model == "dynamic":
        options["threads"] = threads
    return [
        run_once(
            run_of(
                graph,
                parameters,
                model,
                machine=machine,
                software=software,
                events=events,
                seed=seed,
                constants=constants or {},
                **options,
            )
        )
        for seed in seeds
    ]


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
                events=EVENTS,
                constants=constants or {},
                seed=seed,
            )
        )
        for seed in SEEDS
    ]


def rate(record: Mapping[str, Any]) -> float:
    """Return the throughput of a run [tuples/s]: by hops executed if it never settled."""
    if record["settled"]:
        return record["sink_tuples_per_s"]
    return record["simulation"]["passed_tuples_per_s"]


def throughput(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the throughput of the runs of a cell, in thousands of tuples/s."""
    rates = list(map(rate, records))
    star = "" if all(each["settled"] for each in records) else " *"
    return ranged([rate / 1000 for rate in rates], "{:,.1f}") + star


def latency(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the mean latencies of the runs of a cell, in ms."""
    return ranged([each["latency_ns"]["mean"] / 1e6 for each in records], "{:.0f}")


def listed(values: Sequence[int]) -> str:
    """Return numbers, one for each seed."""
    return ", ".join(f"{value:,}" for value in values)


def columns(ends: Sequence[End]) -> tuple[str, str, str]:
    """Return the highest levels, the levels at the end, and the throughputs [k tuples/s]."""
    return (
        listed([end.highest for end in ends]),
        listed([end.level for end in ends]),
        ranged([end.rate / 1000 for end in ends], "{:,.0f}"),
    )


def ranged(values: Sequence[float], form: str) -> str:
    """Return the least and the greatest of some numbers, or one if they look alike."""
    ends = dict.fromkeys(form.format(end) for end in (min(values), max(values)))
    return " to ".join(ends)


def table_of(*columns: str | Sequence[int]) -> Iterator[str]:
    """Yield the head of a table whose last columns are numbers of threads."""
    *words, levels = columns
    yield row(*words, *(f"{level} thread{'s' * (level > 1)}" for level in levels))
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
            print(f"{name:14}{(experiment.__doc__ or '').splitlines()[0]}")
        return
    experiment, software = EXPERIMENTS[given.experiment]
    for line in experiment(given.software or software):
        print(line, flush=True)


if __name__ == "__main__":
    main()
