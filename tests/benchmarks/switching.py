"""Costs of switching queues: two pipelines that share the pool and nothing else; ports
of the left one are switched.

`python -m tests.benchmarks.switching` runs arms in turn, in random order, each in a fresh process,
and prints the tuples/s of either pipeline: the median over rounds, and that of the ratios to the
arm without switches of the same round. *calling* asks for the same ports as often, but always for
no queue: what the controlling thread itself takes shows there.
"""

from __future__ import annotations

import argparse
import importlib
import random
import statistics
import time
from collections.abc import Sequence

from harness.engine import open_engine
from harness.errors import RunFailed
from harness.graph import Graph
from harness.graph.kinds import SINK
from harness.models import Dynamic
from tests.benchmarks.fresh import call

ARMS = ("none", "calling", "switching")


def two_pipelines(operators: int, cost: int) -> Graph:
    graph = Graph("two pipelines", 96)
    for name in ("left", "right"):
        last = graph.source(f"{name}_source")
        for index in range(operators):
            operator = graph.work(f"{name}{index}", cost)
            graph.connect(last, operator)
            last = operator
        graph.connect(last, graph.sink(f"{name}_sink"))
    return graph


def rates(
    arm: str, operators: int, cost: int, threads: int, switches_per_s: float, seconds: float
) -> list[float]:
    """Tuples/s of the left and of the right pipeline, and switches/s of the left one's ports, over
    `seconds`.

    Raises RunFailed if the oracle finds a fault.
    """
    graph = two_pipelines(operators, cost)
    sinks = [
        index for index, operator in enumerate(graph.operators.values()) if operator.kind is SINK
    ]
    engine = open_engine(graph, Dynamic(threads))
    left = [port for port in engine.queued() if port.operator.startswith("left")]
    engine.start()
    engine.sample(min(1.0, seconds))
    before, begin, done = [0.0, 0.0], time.monotonic(), 0
    while (now := time.monotonic()) < begin + seconds:
        due = int((now - begin) * switches_per_s) if arm != "none" else 0
        for _ in range(due - done):
            engine.set_queued(
                [left[done % len(left)]], arm == "switching" and done // len(left) % 2 == 1
            )
            done += 1
        sample = engine.sample(min(0.01, seconds))
        before = [count + sample.processed[sink] for count, sink in zip(before, sinks, strict=True)]
    elapsed = time.monotonic() - begin
    totals = engine.stop(drain=False, timeout_s=5.0)
    if not totals.correct:
        raise RunFailed(f"the run was wrong: {totals}")
    return [*(count / elapsed for count in before), done / elapsed]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.switching", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--operators", type=int, default=20, help="of each pipeline")
    parser.add_argument("--cost", type=int, default=100, help="FLOP a tuple")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--switches", type=float, default=10_000, help="a second")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a run")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    dice = random.Random(args.seed)
    found: dict[str, list[list[float]]] = {arm: [] for arm in ARMS}
    for _ in range(args.rounds):
        for arm in dice.sample(ARMS, len(ARMS)):
            found[arm].append(
                call(
                    rates, arm, args.operators, args.cost, args.threads, args.switches, args.seconds
                )
            )
    print(
        f"{'arm':12} {'switches/s':>12} {'left':>12} {'right':>12} {'left / none':>12} "
        f"{'right / none':>12}"
    )
    for arm in ARMS:
        left, right, switches = (
            statistics.median(run[place] for run in found[arm]) for place in range(3)
        )
        ratios = [
            statistics.median(
                run[place] / beside[place]
                for run, beside in zip(found[arm], found["none"], strict=True)
            )
            for place in range(2)
        ]
        print(
            f"{arm:12} {switches:12,.0f} {left:12,.0f} {right:12,.0f} {ratios[0]:12.3f} "
            f"{ratios[1]:12.3f}"
        )


if __name__ == "__main__":
    importlib.import_module(
        "tests.benchmarks.switching"
    ).main()  # under the name by which a fresh process finds what to call
