"""The test application of ElasticLoadBalance (the blog's): source -> balance -> `workers` work
operators -> one sink.

The threads of all workers meet at the sink, which counts under a lock, so that above some number of
threads a further one slows the others. Loads, as in the operator's own tests:

  constant      every tuple costs `cost`, the source is as fast as it is allowed to
  bursty-cost   of `cycle` tuples 30 % cost 1 FLOP, then 10 % `cost`, then 60 % 1 again, repeatedly
  bursty-rate   the source sends for `burst`, as fast as it is allowed to, and is silent for
                `silence`, repeatedly

The law of the operator decides the number of active ports, unless `elastic` is no.
"""

from __future__ import annotations

from dataclasses import replace

from harness.graph import Graph
from harness.graph.balance import MAX_PERIOD_S
from harness.graph.values import MAX_BURST_S, MAX_QUEUE_CAPACITY, MAX_THREADS, MAX_TUPLES
from topologies import PAYLOAD, Parameter, Topology, choice
from topologies.costs import COST, SKEWED, work_costs

CONSTANT, BURSTY_COST, BURSTY_RATE = LOADS = ("constant", "bursty-cost", "bursty-rate")
LIGHT = 1  # FLOP a tuple between bursts of cost
YES, NO = "yes", "no"
AUTO = "auto"


def build(
    workers: int,
    buffer: int,
    cost: int | str,
    payload: int,
    load: str,
    cycle: int,
    burst: int,
    silence: int,
    elastic: str,
    initial: int | str,
    congestion: int,
    tolerance: int,
    period: int,
    rapid: str,
    seed: int,
) -> Graph:
    """Return `workers` work operators behind as many output ports."""
    graph = Graph("load-balance", payload)
    rates = [(burst / 1e3, None), (silence / 1e3, 0)] if load == BURSTY_RATE else []
    before, within = 3 * cycle // 10, cycle // 10
    source = graph.source("source", rates=rates)
    balance = graph.elastic_load_balance(
        "balance",
        workers,
        buffer,
        congestion_tolerance=congestion / 100,
        throughput_tolerance=tolerance / 100,
        measure_period=period / 1e3,
        rapid_scaling=rapid == YES,
        elastic=elastic == YES,
        initial_active_ports=None if initial == AUTO else initial,
    )
    graph.connect(source, balance)
    works = []
    for number, flop in enumerate(work_costs(cost, workers, seed), start=1):
        bursts = (
            [(before, LIGHT), (within, flop), (cycle - before - within, LIGHT)]
            if load == BURSTY_COST
            else []
        )
        works.append(graph.work(f"work{number}", 0 if bursts else flop, costs=bursts))
    sink = graph.sink("sink")
    for port, work in enumerate(works):
        graph.connect(balance.output(port), work)
        graph.connect(work, sink)
    return graph


def wrong(workers: int, initial: int | str, **_: object) -> str | None:
    """Return the broken rule if more ports are active at first than there are; else None."""
    if isinstance(initial, int) and initial > workers:
        return f"parameter initial must be at most {workers}, which is workers, not {initial}"
    return None


TOPOLOGY = Topology(
    name="load-balance",
    summary="workers that share tuples, as many as a law finds best; all feed one sink that locks",
    source="ElasticLoadBalance's tests",
    takes=(
        Parameter(
            "workers",
            32,
            "work operators",
            1,
            MAX_THREADS,
            "operators side by side, each with a thread",
        ),
        Parameter(
            "buffer", 100, "tuples", 1, MAX_QUEUE_CAPACITY, "that wait for each worker at most"
        ),
        replace(
            COST,
            default=1000,
            meaning=f"of each work operator, at its highest; {SKEWED}: 1 to 10,000",
        ),
        PAYLOAD,
        choice("load", "what comes in bursts", *LOADS),
        Parameter(
            "cycle",
            100_000_000,
            "tuples",
            10,
            MAX_TUPLES,
            f"{BURSTY_COST}: bursts and what is between",
        ),
        Parameter(
            "burst", 60_000, "ms", 1, int(MAX_BURST_S * 1e3), f"{BURSTY_RATE}: length of a burst"
        ),
        Parameter(
            "silence",
            300_000,
            "ms",
            1,
            int(MAX_BURST_S * 1e3),
            f"{BURSTY_RATE}: between two bursts",
        ),
        choice("elastic", "whether the number of active ports changes", YES, NO),
        Parameter(
            "initial",
            AUTO,
            "ports",
            1,
            MAX_THREADS,
            "active at the start; auto: 1 if elastic, else all",
            (AUTO,),
        ),
        Parameter(
            "congestion", 50, "%", 0, 100, "fill of the buffers above which there is congestion"
        ),
        Parameter("tolerance", 5, "%", 0, 100, "throughputs that differ by less are the same"),
        Parameter("period", 5000, "ms", 1, int(MAX_PERIOD_S * 1e3), "between two decisions"),
        choice("rapid", "whether the number of ports grows by a factor", NO, YES),
    ),
    size=lambda workers, **_: 2 * workers + 3,
    build=build,
    wrong=wrong,
)
