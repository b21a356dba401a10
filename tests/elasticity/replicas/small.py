"""A chain of operators in the world of the bench, and what a law makes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.bench.replicas.graphs import ReplicaGraphShape, chain, layout
from harness.bench.replicas.world import ReplicaWorld
from harness.elasticity import Bounds, Decides, Decision, Law, Layout, Reading, make_law

PERIOD_S = 10.0
PLAIN = {"contention": 0.0, "ordering_s": 0.0, "scheduling": 0.01, "idling": 0.0}


def world(
    busy_us: tuple[float, ...], cores: int = 12, stateful: tuple[int, ...] = (), **options
) -> ReplicaWorld:
    """A source and a sink of 1 µs, and between them an operator for each cost; `stateful`: those
    that may have no replicas.
    """
    shape = chain(len(busy_us))
    kinds = tuple(
        "stateful" if index in stateful else kind for index, kind in enumerate(shape.kinds)
    )
    costs = (1e-6, *(cost * 1e-6 for cost in busy_us), 1e-6)
    serial = options.pop("serial", (0.0,) * len(costs))
    flow = layout(ReplicaGraphShape(shape.name, kinds, shape.streams), [1.0] * len(costs), cores)
    return ReplicaWorld(flow, costs, serial, cores, **(PLAIN | options))


def seen(
    of: ReplicaWorld, threads: int, replicas: tuple[int, ...], time_s: float, **changes
) -> Reading:
    """A period in the world, without noise."""
    state = of.state(threads, np.array(replicas, dtype=float))
    reading = Reading(
        time_s=time_s,
        elapsed_s=PERIOD_S,
        threads=threads,
        throughput=state.rate,
        utilisation=state.utilisation,
        system_cpu=0.5,
        others_cpu=0.0,
        useful_s=tuple(state.useful * PERIOD_S),
        tuples=tuple(state.rate * PERIOD_S * np.array(of.layout.tuples)),
        full=tuple(state.full),
        replicas=replicas,
        target=of.target,
        latency_s=state.latency_s,
    )
    return replace(reading, **changes)


class Drive:
    """A law in a world that may change; `decisions` has them all."""

    def __init__(
        self,
        name: str,
        of: ReplicaWorld,
        maximum: int = 12,
        settings: dict | None = None,
        law: Law | None = None,
    ) -> None:
        bounds = Bounds(1, maximum, 1)
        self.law = law or make_law(
            name, bounds, settings=settings, layout=of.layout, decides=Decides.REPLICAS
        )
        self.threads, self.replicas = 1, (1,) * of.layout.operators
        self.decisions: list[Decision] = []

    def run(self, of: ReplicaWorld, periods: int, **changes) -> Drive:
        """So many periods."""
        for _ in range(periods):
            reading = seen(
                of, self.threads, self.replicas, PERIOD_S * (len(self.decisions) + 1), **changes
            )
            self.decisions.append(self.law.step(reading))
            self.threads = self.decisions[-1].threads
            self.replicas = tuple(self.decisions[-1].replicas or self.replicas)
        return self

    @property
    def settled_after(self) -> int:
        """Periods until nothing has changed any more."""
        places = [
            (1, (1,) * len(self.replicas)),
            *((each.threads, tuple(each.replicas)) for each in self.decisions),
        ]
        return max((i for i in range(1, len(places)) if places[i] != places[i - 1]), default=0)


def bare(operators: int = 3) -> Layout:
    """A chain without costs."""
    return layout(chain(operators), [1.0] * (operators + 2), 8)
