"""One seed is one result, bit for bit: in one process twice, and in processes that hash
differently.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from harness.engine import Sample, Totals
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import GRAPHS, scheduled_ports
from tests.simulator.runs import simulated

ROOT = Path(__file__).parents[2]
GOLDEN = "89ae383b70c28647"
SHAPES = (
    "mix",
    "merge, skewed",
    "diamond",
    "windows, merge",
    "load balance",
    "several sources",
    "control cycle",
)
MODELS = {
    "manual": Manual(),
    "dedicated": Dedicated(),
    "dynamic": Dynamic(9),
    "dynamic, queues of 5": Dynamic(3, queue_capacity=5),
    "coroutine": Coroutine(3, "highest_rate", quantum_ms=0.01),
    "coroutine, by chance": Coroutine(4, "random", queue_capacity=5),
}


def whole_run(
    shape: str, model: Model, machine: str, software: str, seed: int
) -> tuple[list[Sample], Totals, int, float]:
    """Samples, totals, events and virtual time of a run in which levels and queues change."""
    graph = GRAPHS[shape]()
    ports = scheduled_ports(graph, model)
    engine = simulated(graph, model, machine, software=software, seed=seed, profile=True)
    engine.start()
    samples = []
    for step in range(6):
        samples.append(engine.sample(1e-4))
        if ports:
            engine.set_threads(1 + step)
            engine.set_queued(ports[step::3], queued=step % 2 == 1)
    totals = engine.stop(drain=True, timeout_s=1.0)
    return samples, totals, engine.simulation["events"], engine.simulation["virtual_s"]


@pytest.mark.parametrize("machine", ["xeon", "power8"])
@pytest.mark.parametrize("software", ["millrace", "streams-4.2"])
@pytest.mark.parametrize("model", MODELS)
def test_a_seed_gives_the_same_samples_totals_and_events_twice(
    model: str, software: str, machine: str
) -> None:
    for shape in SHAPES:
        first, second = (
            whole_run(shape, MODELS[model], machine, software, seed=11) for _ in range(2)
        )
        assert first == second


@pytest.mark.parametrize("model", MODELS)
def test_another_seed_gives_another_run(model: str) -> None:
    """Wake-ups take other times; what the graph computes stays."""
    (*_, first), (*_, second) = (
        whole_run("mix", MODELS[model], "xeon", "millrace", seed) for seed in (1, 2)
    )
    assert first != second


@cache
def digest() -> str:
    """Return what a process prints of some runs, to the last bit."""
    runs = [
        whole_run(shape, model, "xeon", "millrace", seed=3)
        for shape in SHAPES[:4]
        for model in MODELS.values()
    ]
    return repr(runs)


def test_a_run_does_not_depend_on_how_a_process_hashes_or_on_how_many_cpus_it_has() -> None:
    program = "from tests.simulator.test_repeatable import digest; print(digest())"
    one_cpu = f"import os; os.sched_setaffinity(0, {{min(os.sched_getaffinity(0))}}); {program}"
    told = [
        subprocess.run(
            [sys.executable, "-c", each],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed, each in (("1", program), ("2", one_cpu))
    ]
    assert told[0] == told[1] == f"{digest()}\n"


def test_a_run_is_what_it_is_on_any_machine() -> None:
    """Note the new number after a change of what is simulated, or of the constants of `xeon` or
    `millrace`; in any other case they must agree.
    """
    assert sha256(digest().encode()).hexdigest()[:16] == GOLDEN
