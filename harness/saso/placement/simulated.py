"""Some scenarios on the simulator in place of surfaces: whether what the bench says of laws holds where nothing is a formula.

There is no oracle: the best is the contestant that brings the most, and `hand-placed` what is best by the surface. Throughputs
are those of periods, which vary a little without any noise put on them.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from harness.engine import Engine
from harness.graph import PortId
from harness.machine import Machine, load_machine
from harness.measurement.control import Controller
from harness.models import Dedicated, Dynamic, Manual, Model, Multilevel, allowed_cpus
from harness.saso.placement.bench import Row, facts
from harness.saso.placement.contestants import check_name, least_threads
from harness.saso.placement.graphs import graph_of
from harness.saso.placement.scenario import Scenario
from harness.saso.placement.world import World
from harness.saso.score import STILL, settled_at
from harness.simulator.engine import SimulatorEngine
from harness.software import load_software

PERIODS = 80
PERIOD_S = 0.002  # virtual, at least; as the elastic runs of the simulator have it
TUPLES = 8000  # of a source in a period at least, by the surface: what queues hold is to be a small part of it
MAX_OPERATORS, MAX_CPUS = 150, 16  # of graphs and worlds that are simulated in seconds


@dataclass(frozen=True)
class Run:
    """What happened: one entry a period."""

    levels: list[int]
    queues: list[int]
    placements: list[frozenset[PortId]]
    throughputs: list[float]  # tuples/s submitted


def simulable(scenarios: Iterable[Scenario], count: int) -> list[Scenario]:
    """`count` of them, evenly spread, that the simulator can do soon, without noise and phases."""
    fit = [
        each
        for each in scenarios
        if each.own is None and not each.event and each.noise == 0.0 and each.world.cpus <= MAX_CPUS
        if each.layout.operators <= MAX_OPERATORS
    ]  # fmt: skip
    count = min(count, len(fit))
    return [fit[len(fit) * number // count] for number in range(count)]


def run_simulated(
    laws: Sequence[str], scenarios: Sequence[Scenario], progress: Callable[[int, int], None], jobs: int | None = None
) -> list[Row]:
    """The rows, scenario by scenario and law by law. `progress` and `jobs` as in `run_bench`."""
    for law in laws:
        check_name(law)
    rows: list[Row] = []
    with ProcessPoolExecutor(jobs or allowed_cpus(), multiprocessing.get_context("spawn")) as pool:
        for some in pool.map(rows_of, [laws] * len(scenarios), scenarios):
            rows += some
            progress(len(rows), len(laws) * len(scenarios))
    return rows


def rows_of(laws: Sequence[str], scenario: Scenario, periods: int = PERIODS) -> list[Row]:
    """All on one scenario, and what the best of them brings."""
    runs = {law: run(law, scenario, periods) for law in laws}
    last = {law: fmean(each.throughputs[-STILL:]) for law, each in runs.items()}
    best = max(last, key=lambda law: last[law])
    return [_row(law, scenario, each, runs[best], last[best]) for law, each in runs.items()]


def run(name: str, scenario: Scenario, periods: int = PERIODS) -> Run:
    """One of them on the simulator. Raises UserError for an unknown name."""
    check_name(name)
    world, cpus = scenario.world, scenario.world.cpus
    graph = graph_of(scenario.shape, scenario.costs, scenario.payload, scenario.graph_seed)
    best = scenario.best(0) if name == "hand-placed" else None
    models: dict[str, Model] = {
        "manual": Manual(),
        "dedicated": Dedicated(),
        "dynamic": Dynamic(elastic=True, minimum=1, maximum=cpus),
    }
    model = models.get(name) or Multilevel(law=name, minimum=least_threads(name, cpus), maximum=cpus)
    if best is not None:
        model = Dynamic(threads=best.threads, queued="none")
    engine = SimulatorEngine(
        graph, model, machine_of(world), load_software(world.software), profile=True, seed=scenario.graph_seed
    )
    surface = scenario.surface(0)
    period_s = max(PERIOD_S, TUPLES * surface.submitted / scenario.best(0).throughput)
    controller = Controller(engine, graph, model, period_s, period_s, cpus)
    engine.start()
    try:
        if best is not None:
            engine.set_queued([scenario.layout.ports[place] for place in sorted(best.queued)], True)
        return _passed(engine, controller, period_s, periods, name == "dedicated")
    finally:
        engine.stop(drain=False, timeout_s=1.0)


def machine_of(world: World) -> Machine:
    """The world's machine with as many cores as the world has, in one socket."""
    machine = load_machine(world.machine)
    cores = max(world.cores, machine.cores_per_chip)
    size = {"sockets": 1, "chips_per_socket": 1, "cores_per_chip": cores, "disabled_cores": cores - world.cores}
    return replace(machine, **size, smt=world.smt)


def _passed(engine: Engine, controller: Controller, period_s: float, periods: int, dedicated: bool) -> Run:
    done = Run([], [], [], [])
    for _ in range(periods):
        sample = engine.sample(period_s)
        done.levels.append(sample.queued_ports if dedicated else max(1, sample.threads_requested))
        done.queues.append(sample.queued_ports)
        done.placements.append(frozenset(engine.queued()))
        done.throughputs.append(sample.submitted_tuples / sample.elapsed_s)
        if controller.controls:
            controller.see(sample)
    return done


def _row(law: str, scenario: Scenario, done: Run, best: Run, top: float) -> Row:
    where = list(zip(done.levels, done.placements, strict=True))
    settled = settled_at(where)
    after = slice(settled if settled < len(where) else -STILL, None)
    climbed, more = (max((new for old, new in pairwise(each) if new > old), default=0) for each in (done.levels, done.queues))
    moves = sum(one != other for one, other in pairwise(where[after]))
    accuracy, threads = fmean(done.throughputs[-STILL:]) / top, fmean(done.levels[after])
    return Row(
        law=law,
        **facts(scenario),
        event="",
        noise=0.0,
        periods=len(where),
        best_throughput=top,
        best_threads=best.levels[-1],
        best_queues=best.queues[-1],
        settled_threads=threads,
        settled_queues=fmean(done.queues[after]),
        accuracy=accuracy,
        settling=float(settled),
        overshoot=climbed / best.levels[-1],
        queue_overshoot=more / max(1, best.queues[-1]),
        changes=50.0 * moves / len(where[after]),
        regret=1.0 - fmean(done.throughputs) / top,
        phases=((accuracy, threads),),
        levels=tuple(done.levels),
        queues=tuple(done.queues),
        simulated=True,
    )
