"""What is compared: a pipeline under each model, and plain C++ chains of virtual calls; each gives its ns per hop."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

from harness.runtime.engine import build_info

from harness.engine import open_engine
from harness.models import Dedicated, Dynamic, Manual, Model
from topologies import build

HERE = Path(__file__).parent
BINARIES = HERE.parents[1] / "build" / "yardsticks"
PAYLOAD = 96  # with the header of 32 bytes a tuple has 128
HOPS = 20_000_000  # of a run at cost 1: about a tenth of a second

Arm = Callable[[int, int], float]


@cache
def yardstick(name: str) -> Path:
    """The compiled yardstick `name`, built with the runtime's optimisation."""
    BINARIES.mkdir(parents=True, exist_ok=True)
    flags = [flag for flag in build_info()["flags"].split() if flag.startswith(("-O", "-m", "-std", "-f"))]
    source, binary = HERE / "yardsticks" / f"{name}.cpp", BINARIES / name
    subprocess.run(["g++", *flags, "-pthread", "-o", str(binary), str(source)], check=True, timeout=120)
    return binary


def tuples_for(operators: int, cost: int) -> int:
    return max(200, HOPS // (operators * max(1, cost // 4)))


def chain(operators: int, cost: int, *mode: str) -> float:
    done = subprocess.run(
        [str(yardstick("chain")), str(operators), str(cost), str(tuples_for(operators, cost)), *mode],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return float(done.stdout)


def pipeline(model: Model, operators: int, cost: int) -> float:
    """ns per hop of a whole run, from the first tuple to the end of the drain, with the oracle on."""
    graph, _ = build("pipeline", {"operators": operators, "cost": cost, "payload": PAYLOAD}, seed=0)
    tuples = tuples_for(operators, cost)
    engine = open_engine(graph, model, tuples=tuples)
    engine.start()
    elapsed = 0.0
    while not engine.finished() and elapsed < 60:
        elapsed += engine.sample(60.0).elapsed_s
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct and totals.received == tuples, totals
    return elapsed * 1e9 / (tuples * operators)


ARMS: dict[str, Arm] = {
    "C++ chain, in place": chain,
    "C++ chain, copy a hop": lambda operators, cost: chain(operators, cost, "copy"),
    "manual": lambda operators, cost: pipeline(Manual(), operators, cost),
    "dynamic, 1 thread": lambda operators, cost: pipeline(Dynamic(1), operators, cost),
    "dynamic, 2 threads": lambda operators, cost: pipeline(Dynamic(2), operators, cost),
    "dedicated": lambda operators, cost: pipeline(Dedicated(), operators, cost),
}
