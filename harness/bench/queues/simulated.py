"""Scenarios on the simulator in place of surfaces, to check the results of the bench without its
formulas.

There is no oracle: the contestant with the highest throughput counts as the best. `hand-placed` is
the placement that is best by the surface.

Throughput varies from period to period without any added noise: a source fills queues for a while
and then waits for a while. So each scenario first runs with fixed queues. Its period is the
shortest one in which throughput varies by at most `MAX_QUIET_NOISE`. If none of those tried is long
enough, the row says how noisy the scenario is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, stdev

from harness.bench.accuracy import MAX_QUIET_NOISE
from harness.bench.bench import Row, as_row, check_name
from harness.bench.closed_loop import RunCourse
from harness.bench.queues.contestants import least_threads
from harness.bench.queues.graphs import graph_of
from harness.bench.queues.scenario import QueueScenario
from harness.bench.queues.world import QueueWorld
from harness.bench.scenario import SETTLED_PERIODS, Configuration
from harness.bench.score import Score, climbed, settled_at
from harness.elasticity import Decides
from harness.engine import Engine, Sample
from harness.engine.open import Described, engine_of, lay_out
from harness.graph import Graph
from harness.machines.machine import Machine, load_machine
from harness.machines.software import load_software
from harness.measurement.control import Controller
from harness.measurement.laws import pool_law
from harness.models import Dedicated, Dynamic, Manual, Model, Multilevel

PERIODS = 80
MIN_PERIOD_S = 0.002  # in virtual time, as in the elastic runs of the simulator
# tuples of a source in a period, by the surface: queues should hold a small part of them
MIN_SOURCE_TUPLES = 8000
PERIOD_MULTIPLES = (1, 2, 4, 8, 16)  # lengths that are tried, in shortest periods
FILLING_PERIODS = 32  # shortest periods that pass before noise is measured
MEASURED_PERIODS = 16  # periods of each length over which noise is measured
# tuples that a queue of IBM Streams holds: a thread takes as many in a turn, and a period should
# have many turns
STREAMS_QUEUE_CAPACITY = 100
MAX_OPERATORS, MAX_CPUS = 150, 16  # of graphs and worlds that are simulated in seconds
SIMULABLE_WORDS = (
    f"without noise and phases, with at most {MAX_OPERATORS} operators and {MAX_CPUS} CPUs"
)


@dataclass(frozen=True)
class SamplingPeriod:
    """Length of a scenario's periods and their noise."""

    length_s: float  # in virtual time
    noise: float  # highest relative standard deviation of throughput from period to period


def simulable(scenarios: Iterable[QueueScenario], count: int) -> list[QueueScenario]:
    """Return `count` scenarios that are `SIMULABLE_WORDS`, evenly spread; all of them if they are
    fewer."""
    fit = [
        each
        for each in scenarios
        if not each.event and each.noise == 0.0 and each.world.cpus <= MAX_CPUS
        if each.layout.operators <= MAX_OPERATORS
    ]  # fmt: skip
    count = min(count, len(fit))
    return [fit[len(fit) * number // count] for number in range(count)]


def rows_of(laws: Sequence[str], scenario: QueueScenario, periods: int = PERIODS) -> list[Row]:
    """Return the rows of all laws on one scenario, scored against the best of them."""
    period = period_of(scenario)
    runs = {law: run(law, scenario, periods, period) for law in laws}
    last = {law: fmean(each.throughputs[-SETTLED_PERIODS:]) for law, each in runs.items()}
    best = max(last, key=lambda law: last[law])
    return [
        _row(law, scenario, each, runs[best], last[best], period.noise)
        for law, each in runs.items()
    ]


def period_of(scenario: QueueScenario) -> SamplingPeriod:
    """Return the shortest period of `PERIOD_MULTIPLES` with steady throughput.

    It must be steady with the best queues, and with all queues at few and at many threads.
    """
    best, every = scenario.best(0), frozenset(range(len(scenario.layout.ports)))
    cpus = scenario.world.cpus
    shortest_s = max(
        MIN_PERIOD_S, MIN_SOURCE_TUPLES * scenario.surface(0).submitted / best.throughput
    )
    multiple, noise = PERIOD_MULTIPLES[0], 0.0
    for queued, level in (
        (best.queued, best.threads),
        (every, max(1, round(math.sqrt(cpus)))),
        (every, cpus),
    ):
        engine = _engine(scenario, Dynamic(threads=level, queued="none"))
        engine.start()
        try:
            _place(engine, scenario, queued)
            engine.sample(FILLING_PERIODS * shortest_s)
            multiple, variation = _steady_multiple(engine, shortest_s, multiple)
            noise = max(noise, variation)
        finally:
            engine.stop(drain=False, timeout_s=1.0)
    return SamplingPeriod(multiple * shortest_s, noise)


def _steady_multiple(engine: Engine, shortest_s: float, least: int) -> tuple[int, float]:
    """Return the first of `PERIOD_MULTIPLES`, from `least` on, in which throughput varies little,
    or the last one; and the variation."""
    rates: list[float] = []
    variation = math.inf
    for multiple in PERIOD_MULTIPLES[PERIOD_MULTIPLES.index(least) :]:
        while len(rates) < MEASURED_PERIODS * multiple:
            rates.append(_rate(engine.sample(shortest_s)))
        variation = _variation(rates, multiple)
        if variation <= MAX_QUIET_NOISE:
            return multiple, variation
    return PERIOD_MULTIPLES[-1], variation


def _variation(rates: Sequence[float], times: int) -> float:
    """Return the relative standard deviation of means of `times` rates each; its highest possible
    value if no tuple passed."""
    means = [
        fmean(rates[first : first + times]) for first in range(0, len(rates) - times + 1, times)
    ]
    return stdev(means) / fmean(means) if any(means) else math.sqrt(len(means))


def run(
    name: str, scenario: QueueScenario, periods: int = PERIODS, period: SamplingPeriod | None = None
) -> RunCourse:
    """Return the course of a contestant's run on the simulator.

    `period`: by default that of `period_of`. Raise UserError for an unknown name.
    """
    check_name(name, Decides.QUEUES)
    cpus = scenario.world.cpus
    best = scenario.best(0) if name == "hand-placed" else None
    models: dict[str, Model] = {
        "manual": Manual(),
        "dedicated": Dedicated(),
        "dynamic": Dynamic(elastic=True, minimum=1, maximum=cpus),
    }
    model = models.get(name) or Multilevel(
        law=name, minimum=least_threads(name, cpus), maximum=cpus
    )
    if best is not None:
        model = Dynamic(threads=best.threads, queued="none")
    engine = _engine(scenario, model)
    period_s = (period or period_of(scenario)).length_s
    controller = Controller(
        engine, engine.layout.graph, pool_law(engine.layout), period_s, period_s
    )
    engine.start()
    try:
        if best is not None:
            _place(engine, scenario, best.queued)
        return _course(engine, controller, scenario, period_s, periods, name == "dedicated")
    finally:
        engine.stop(drain=False, timeout_s=1.0)


def _graph(scenario: QueueScenario) -> Graph:
    return graph_of(scenario.shape, scenario.costs, scenario.payload, scenario.graph_seed)


def _engine(scenario: QueueScenario, model: Model) -> Engine:
    machine, software = machine_of(scenario.world), load_software(scenario.world.software)
    if software["how.queue_capacity"] and not isinstance(model, Manual):
        model = replace(model, queue_capacity=STREAMS_QUEUE_CAPACITY)
    on = Described(machine, software)
    layout = lay_out(_graph(scenario), model, on)
    return engine_of(layout, on, profile=True, seed=scenario.graph_seed)


def _place(engine: Engine, scenario: QueueScenario, queued: frozenset[int]) -> None:
    """Add the queues at these places."""
    engine.set_queued([scenario.layout.ports[place] for place in sorted(queued)], True)


def machine_of(world: QueueWorld) -> Machine:
    """Return the world's machine with as many cores as the world has, in one socket."""
    machine = load_machine(world.machine)
    cores = max(world.cores, machine.cores_per_chip)
    size = {
        "sockets": 1,
        "chips_per_socket": 1,
        "cores_per_chip": cores,
        "disabled_cores": cores - world.cores,
    }
    return replace(machine, **size, smt=world.smt)


def _course(
    engine: Engine,
    controller: Controller,
    scenario: QueueScenario,
    period_s: float,
    periods: int,
    dedicated: bool,
) -> RunCourse:
    """Run so many periods, and return their course."""
    place_of = {port: place for place, port in enumerate(scenario.layout.ports)}
    course = RunCourse()
    for _ in range(periods):
        sample = engine.sample(period_s)
        queued = frozenset(
            place_of.values() if dedicated else (place_of[port] for port in engine.queued())
        )
        course.configurations.append(
            Configuration(max(1, sample.threads_requested), queued, dedicated=dedicated)
        )
        course.throughputs.append(_rate(sample))
        if controller.controls:
            controller.see(sample)
    return course


def _rate(sample: Sample) -> float:
    """Return the tuples/s submitted."""
    return sample.submitted_tuples / sample.elapsed_s


def _row(
    law: str, scenario: QueueScenario, course: RunCourse, best: RunCourse, top: float, noise: float
) -> Row:
    """Return the row of a run; `top`: throughput of the best run once it has settled [tuples/s]."""
    passed = course.configurations
    settled, last = settled_at(passed), best.configurations[-1]
    after = passed[settled if settled < len(passed) else -SETTLED_PERIODS :]
    accuracy = fmean(course.throughputs[-SETTLED_PERIODS:]) / top
    threads = fmean(each.used for each in after)
    numbers = Score(
        best_throughput=top,
        best_threads=last.used,
        best_parts=last.parts,
        settled_threads=threads,
        settled_parts=fmean(each.parts for each in after),
        accuracy=accuracy,
        settling=float(settled),
        overshoot=climbed([each.used for each in passed]) / last.used,
        parts_overshoot=climbed([each.parts for each in passed]) / max(1, last.parts),
        changes=50.0 * sum(one != other for one, other in pairwise(after)) / len(after),
        regret=1.0 - fmean(course.throughputs) / top,
        phases=((accuracy, threads),),
        rates=(accuracy * top,),
    )
    return as_row(
        law, scenario, course, numbers, event="", noise=noise, periods=len(passed), simulated=True
    )
