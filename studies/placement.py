"""Laws that place queues on simulated graphs, against fixed numbers of threads.

A graph of each kind of `KINDS` is drawn with costs, a size and a payload by its seed: unbalanced
trees, several sources that meet (fan-in), chains of diamonds, pipelines with one hot operator, and
pipelines of skewed costs. The first graphs are for development. The others are kept back: no rule
of a law may be chosen by them.

Each graph runs under the model manual, and with a queue at every port and fixed numbers of threads.
These are the fixed arms. Throughput counts once tuples arrive at the sinks as they are sent, and
the first content of the queues is gone. Then each law runs on its own for `PERIODS`. Its score is
the throughput of the configuration that it ends with, measured in the same way, over that of the
best fixed arm. `in the run` is what its last periods brought.

    python -m studies.placement --half kept --law millrace --law streams
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from harness.bench.queues.contestants import least_threads
from harness.bench.queues.graphs import HELD_OUT, TopologyShape, graph_of
from harness.bench.report import markdown
from harness.cli import call
from harness.cli.arguments import check_writable, whole
from harness.elasticity import LAWS, Decides, Layout, layout_of
from harness.engine import Engine
from harness.engine.open import open_engine
from harness.errors import UserError
from harness.files.whole import write_whole
from harness.graph import Graph
from harness.measurement.control import Controller
from harness.measurement.laws import pool_law
from harness.models import Dynamic, Manual, Model, Multilevel
from harness.terminal.output import say

KINDS = {name: HELD_OUT[name] for name in ("unbalanced", "fan-in", "diamonds", "hot")} | {
    "pipeline": (20, 50, 100)
}
OF_OTHERS = ("balanced-1000", "skewed", "log-normal", "balanced-100", "increasing")
PAYLOADS = (1, 128, 1024, 16384)
FIRST = {"development": 9001, "kept": 9501}  # seeds
MACHINES = {"xeon:16": 16, "xeon": 176, "power8": 184}  # and the highest level on each
LEVELS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 176)  # of the fixed arms
PERIOD_S = 0.002  # the default of simulated runs
PERIODS, LAST = 150, 60  # of a law, and those after them whose throughput is that in the run
WINDOW_S = 0.05  # virtual time in which throughput must be steady
LONGEST_S = 10.0  # virtual time to wait for that
STEADY, ARRIVES = 0.03, 0.05  # share by which throughput, and arrivals at the sinks, may differ
SEED = 1


@dataclass(frozen=True)
class PlacementCase:
    """Graph on a machine."""

    kind: str
    number: int
    costs: str
    payload: int
    seed: int
    machine: str

    def graph(self) -> Graph:
        """Return the graph."""
        name = "operators" if self.kind == "pipeline" else "number"
        shape = TopologyShape(self.kind, ((name, self.number),))
        return graph_of(shape, self.costs, self.payload, self.seed)


@dataclass(frozen=True)
class PlacementResult:
    """Throughput of a law over that of the best fixed arm, and where it ended."""

    case: PlacementCase
    law: str
    arm: str  # the best fixed one
    score: float
    in_the_run: float
    threads: int
    queues: int


def cases(half: str, each: int, machine: str) -> Iterator[PlacementCase]:
    """Yield `each` graphs of every kind."""
    for seed in range(FIRST[half], FIRST[half] + each * len(KINDS)):
        kind, draw = list(KINDS)[(seed - FIRST[half]) % len(KINDS)], random.Random(seed)
        number = draw.choice(KINDS[kind])
        own = {"hot": "hot", "pipeline": "skewed"}
        costs = own.get(kind) or draw.choice(OF_OTHERS)
        yield PlacementCase(kind, number, costs, draw.choice(PAYLOADS), seed, machine)


def results_of(laws: Sequence[str], case: PlacementCase) -> list[PlacementResult]:
    """Return the results of laws on a graph."""
    highest = MACHINES[case.machine]
    arms = {"manual": _steady(case, Manual())}
    for level in LEVELS:
        if level <= highest:
            arms[f"{level} threads"] = _steady(case, Dynamic(threads=level))
    arm = max(arms, key=lambda name: arms[name])
    results = []
    for law in laws:
        rate, threads, queued = _run(case, law)
        model = Dynamic(threads=threads, queued="none") if queued else Manual()
        score = _steady(case, model, queued) / arms[arm]
        results.append(
            PlacementResult(case, law, arm, score, rate / arms[arm], threads, len(queued))
        )
    return results


def _open(case: PlacementCase, model: Model) -> tuple[Engine, Layout]:
    graph = case.graph()
    engine = open_engine(graph, model, case.machine, profile=True, seed=SEED)
    return engine, layout_of(graph, Dynamic(threads=1), MACHINES[case.machine])


def _run(case: PlacementCase, law: str) -> tuple[float, int, frozenset[int]]:
    """Return the throughput of a law's last periods, and the configuration that it ends with."""
    highest = MACHINES[case.machine]
    least = least_threads(law, highest)
    engine, layout = _open(case, Multilevel(law=law, minimum=least, maximum=highest))
    controller = Controller(
        engine, engine.layout.graph, pool_law(engine.layout), PERIOD_S, PERIOD_S
    )
    engine.start()
    try:
        tuples = 0
        for period in range(PERIODS + LAST):
            sample = engine.sample(PERIOD_S)
            controller.see(sample)
            tuples += sample.submitted_tuples if period >= PERIODS else 0
        place_of = {port: place for place, port in enumerate(layout.ports)}
        queued = frozenset(place_of[port] for port in engine.queued())
        return tuples / (LAST * PERIOD_S), sample.threads_requested, queued
    finally:
        engine.stop(drain=False, timeout_s=1.0)


def _steady(case: PlacementCase, model: Model, queued: frozenset[int] = frozenset()) -> float:
    """Return the tuples/s submitted once throughput is steady and tuples arrive as they are
    sent."""
    engine, layout = _open(case, model)
    senders = {link.source for link in layout.links}
    sent = sum(layout.tuples[each] for each in senders)
    share = sum(layout.tuples) / sent - 1.0  # of submitted tuples that arrive at sinks
    engine.start()
    try:
        if queued:
            engine.set_queued([layout.ports[place] for place in sorted(queued)], True)
        # A run begins with queues that are half full. Until these tuples have left, operators on
        # both sides of a slow one are faster than it is.
        held = 0.5 * layout.queue_capacity * len(layout.ports)
        before, passed_s, arrived = 0.0, 0.0, 0
        while passed_s < LONGEST_S:
            sample = engine.sample(WINDOW_S)
            passed_s += WINDOW_S
            arrived += sample.sink_tuples
            rate = sample.submitted_tuples / WINDOW_S
            arrives = sample.sink_tuples / max(1.0, sample.submitted_tuples * share)
            steady = abs(rate - before) < STEADY * before and abs(arrives - 1.0) < ARRIVES
            if steady and arrived > held:
                break
            before = rate
        return engine.sample(4 * WINDOW_S).submitted_tuples / (4 * WINDOW_S)
    finally:
        engine.stop(drain=False, timeout_s=1.0)


def summary(results: Sequence[PlacementResult]) -> str:
    """Return a table of all graphs, and one of the laws."""
    heads = ("graph", "best fixed arm", "law", "score", "in the run", "threads", "queues")
    rows = [
        (
            f"{each.case.kind}-{each.case.number} #{each.case.seed}, {each.case.costs}, "
            f"{each.case.payload} B, {each.case.machine}",
            each.arm,
            each.law,
            f"{each.score:.3f}",
            f"{each.in_the_run:.3f}",
            str(each.threads),
            str(each.queues),
        )
        for each in results
    ]
    totals = [("law", "geometric mean", "of at most 1", "worst", "below 0.9", "worst in the run")]
    for law in dict.fromkeys(each.law for each in results):
        scores = [each.score for each in results if each.law == law]
        logs = [math.log(max(score, 1e-9)) for score in scores]
        totals.append(
            (
                law,
                f"{math.exp(fmean(logs)):.3f}",
                f"{math.exp(fmean(min(0.0, each) for each in logs)):.3f}",
                f"{min(scores):.3f}",
                f"{sum(score < 0.9 for score in scores)} of {len(scores)}",
                f"{min(each.in_the_run for each in results if each.law == law):.3f}",
            )
        )
    return f"{markdown([heads, *rows])}\n\n{markdown(totals)}\n"


SUMMARY = "score laws that place queues on simulated graphs"
DESCRIPTION = """\
Runs graphs on the simulator with fixed numbers of threads and under laws that place queues, and
prints what each law ends with over the best of the others.

examples:
  python -m studies.placement
      four graphs of each kind, for development, on 16 CPUs

  python -m studies.placement --half kept --each 2 --law millrace --law streams
      ten graphs that are kept back"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("--half", choices=tuple(FIRST), default="development", help="which graphs")
    parser.add_argument("--machine", choices=tuple(MACHINES), default="xeon:16", help="where")
    parser.add_argument(
        "--each", type=whole(1, 100), default=4, metavar="N", help="graphs of each kind"
    )
    parser.add_argument(
        "--law", action="append", metavar="NAME", help="may be repeated (default: millrace)"
    )
    parser.add_argument("--jobs", type=whole(1, 1024), metavar="N", help="processes")
    parser.add_argument("--report", metavar="PATH", help="write the tables to PATH (Markdown)")


def run(args: argparse.Namespace) -> int:
    """Print and write the tables."""
    laws = args.law or ["millrace"]
    for law in laws:
        if law not in LAWS[Decides.QUEUES]:
            raise UserError(f"law must be one of {', '.join(LAWS[Decides.QUEUES])}, not {law!r}")
    if args.report is not None:
        check_writable("--report", args.report)
    results: list[PlacementResult] = []
    with ProcessPoolExecutor(args.jobs) as pool:
        graphs = cases(args.half, args.each, args.machine)
        for found in pool.map(partial(results_of, laws), graphs):
            results += found
    if args.report is not None:
        write_whole(args.report, summary(results).encode())
    say(summary(results).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(call("python -m studies.placement", sys.modules[__name__], sys.argv[1:]))
