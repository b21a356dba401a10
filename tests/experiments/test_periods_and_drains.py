"""Periods of simulated control laws are longer than the time in which their queues drain.

A law judges a level by the throughput of a period. What is still queued from the level before must
leave within a small part of it, or the law follows transients. Queues are taken as half full, and
throughput from the kept study where it has a settled run of the arm. Elsewhere it is at most what
the threads could do if no operator waited for another one, so the period must be longer still.
"""

from __future__ import annotations

import json
from functools import cache

import pytest

import topologies
from harness.experiments.config import load_config
from harness.files.places import CODE as ROOT
from harness.graph.flow import visits_of

STUDY = ROOT / "results/reference/study"

DRAINS_BY_STUDY, DRAINS_BY_BOUND = 2, 5
"""Drains that a period holds at least, by where the throughput comes from."""

HOP_NS = 400.0
"""Time of a hop through a queue with all threads busy: the least of the kept study, 48 M hops/s of
16 threads in the pipeline at cost 100 (mw19_fig9); 306 M/s of 184 threads are 600 ns.
"""

FLOP_NS, BYTE_NS = 0.5, 0.1
"""Least time of a FLOP, and of a byte that a queue copies: half of what manual's kept runs take at
1,000 FLOP (pldi17_fig9), and config/software/streams-4.2.yaml.
"""


SINCE_KEPT = {
    (
        "power8",
        "streams-4.2",
        "pipeline,operators=200,cost=1,payload=128",
        "dynamic-elastic-streams",
    ): (1_475_000.0)
}
"""Throughput of arms whose settings have changed since the study was kept: the law began with one
thread there, and stayed. With two it comes to 160.
"""


@cache
def kept(profile: str, experiment: str) -> dict[tuple[str, ...], float]:
    """Throughput [tuples/s] of the kept runs that settled, by machine, software, cell and arm."""
    pandas = pytest.importorskip("pandas")
    path = STUDY / profile / experiment / "throughput.parquet"
    if not path.exists():
        return {}
    rows = pandas.read_parquet(path)
    rows = rows[rows.simulated & (rows.settled_share >= 0.5)]
    keys = zip(rows.machine, rows.software, rows.cell, rows.arm, strict=True)
    return dict(zip(keys, rows["mean"], strict=True))


@cache
def graph_of(topology: str, parameters: str):
    return topologies.build(topology, json.loads(parameters), 1)[0]


def capacity_of(block, arm) -> int:
    """Tuples that a queue of the arm holds."""
    return arm.model.queue_capacity or 1000


def half_full_path(graph, capacity: int) -> float:
    """Tuples at the sinks in the time in which a tuple passes half-full queues on its longest
    way.
    """
    visits, longest = visits_of(graph), {}
    numbered = graph.numbered()
    names = list(graph.operators)
    for index in numbered.order:
        name = names[index]
        here = longest.get(index, 0.0)
        if not graph.operators[name].is_source and visits[name]:
            here += capacity / 2 / visits[name]
        longest[index] = here
        for stream in numbered.leaving(index):
            target = numbered.targets[stream]
            longest[target] = max(longest.get(target, 0.0), here)
    return max(longest.values())


def bound(block, arm, graph) -> float:
    """Most tuples/s at the sinks, if all threads are busy and none waits."""
    payload = block.cell.parameters.get("payload", 0)
    if isinstance(payload, str):
        payload = 0
    visits = visits_of(graph)
    work_ns = sum(
        each
        * (
            HOP_NS
            + FLOP_NS * graph.operators[name].cost
            + BYTE_NS * payload
            + 1000 * graph.operators[name].busy_us
        )
        for name, each in visits.items()
    )
    threads = arm.model.maximum or block.place.cpus
    slowest_ns = max(
        visits[name] * (FLOP_NS * each.cost + 1000 * each.busy_us)
        for name, each in graph.operators.items()
    )
    most = 1e9 * threads / work_ns
    if block.cell.topology in ("chain", "replicated") and slowest_ns:
        replicas = block.place.cpus if block.cell.topology == "chain" else 1
        most = min(most, 1e9 * replicas / slowest_ns)
    return most


def shares() -> list:
    """Every simulated elastic arm of every cell with a pool of threads whose law decides."""
    found = []
    for profile in ("quick", "paper"):
        config = load_config(ROOT / "config" / f"{profile}.yaml")
        for experiment in config.by_default:
            found += [
                pytest.param(profile, block, id=f"{profile}/{block.name}")
                for block in experiment.blocks()
                if block.place.simulated and any(arm.elastic for arm in block.arms)
            ]
    return found


@pytest.mark.parametrize(("profile", "block"), shares())
def test_a_period_is_longer_than_queues_take_to_drain(profile, block):
    graph = graph_of(block.cell.topology, json.dumps(dict(block.cell.parameters)))
    too_long = {}
    for arm in block.arms:
        if not arm.elastic:
            continue
        path = half_full_path(graph, capacity_of(block, arm))
        key = (block.place.machine, block.place.software, block.cell.name, arm.name)
        measured = SINCE_KEPT.get(key) or kept(profile, block.experiment).get(key)
        rate, least = (
            (measured, DRAINS_BY_STUDY) if measured else (bound(block, arm, graph), DRAINS_BY_BOUND)
        )
        if block.period_s < least * path / rate:
            too_long[arm.name] = f"{block.period_s:g} s < {least} x {path / rate:.3g} s"
    assert not too_long


BALANCED = ("elb_cost", "elb_bursty_cost", "elb_bursty_rate")


def balanced() -> list:
    """Every simulated cell of ElasticLoadBalance, whose operator has a law of its own."""
    return [
        pytest.param(block, id=f"{profile}/{block.name}")
        for profile in ("quick", "paper")
        for experiment in BALANCED
        for block in load_config(ROOT / "config" / f"{profile}.yaml")
        .experiment(experiment)
        .blocks()
        if block.place.simulated
    ]


@cache
def kept_periods(experiment: str):
    """Periods of the kept runs of the quick profile, whose simulated cells the paper's has too."""
    pandas = pytest.importorskip("pandas")
    rows = pandas.read_parquet(STUDY / "quick" / experiment / "timeline.parquet")
    return rows[rows.simulated & (rows.throughput_sink > 0)]


@pytest.mark.parametrize("block", balanced())
def test_a_period_of_a_balancer_is_longer_than_its_buffers_take_to_drain(block):
    rows = kept_periods(block.experiment)
    rows = rows[(rows.machine == block.place.machine) & (rows.cell == block.cell.name)]
    assert len(rows) > 0
    end = rows.tail(len(rows) // 3)
    queued = end.active_ports.median() * block.cell.parameters["buffer"] / 2
    period_s = block.cell.parameters["period"] / 1000
    assert period_s >= DRAINS_BY_STUDY * queued / end.throughput_sink.median()
