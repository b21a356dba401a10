"""The part of a record that says what threads spent their time on (`millrace explain`)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from harness.engine import Engine
from harness.engine.time_use import TimeUse
from harness.errors import UserError
from harness.machines.host.cpu import usable_cpus
from harness.machines.host.perf_events import PerfCounters
from harness.measurement.record.declaration import OPERATOR_FACTS, THREAD_TIME, TIME_SPENT, TIME_USE
from harness.measurement.record.kinds import build
from harness.measurement.spec import Run
from harness.measurement.window import Observation
from harness.models import Coroutine, Queue
from harness.models.layout import RunLayout
from harness.models.replicas import replicable


class ExplainedWindow:
    """Reads what threads did in the measured window of a run. It must be made by the thread that
    starts the engine, before that: hardware counters count threads that are started later.
    """

    def __init__(self, engine: Engine, run: Run) -> None:
        self._engine = engine
        self._counters = None if run.simulated else PerfCounters()
        self._use: TimeUse | None = None
        self._counts: dict[str, int] = {}

    def begin(self) -> None:
        """The window begins."""
        self._use = self._engine.time_use()
        self._counts = self._counters.read() if self._counters is not None else {}

    def end(self, seen: Observation) -> None:
        """The window ends: add to an observation what was read. The window of a run that is over by
        itself is all of it.
        """
        if self._engine.finished():
            self._use, self._counts = None, {}
        seen.time_use = self._engine.time_use().since(self._use)
        seen.queued = self._engine.queued()
        if self._counters is not None:
            counts = self._counters.read()
            seen.counters = {name: counts[name] - self._counts.get(name, 0) for name in counts}
            seen.counters_problem = self._counters.problem
            self._counters.close()


def time_use_entry(run: Run, seen: Observation, layout: RunLayout) -> dict[str, Any]:
    """Return the entry of a run that was observed."""
    assert seen.time_use is not None
    described = run.described
    cpus = usable_cpus() if described is None else described.machine.cpus
    names = [operator.name for operator in layout.operators]
    threads = [
        build(
            THREAD_TIME,
            {
                "name": thread.name,
                "spent": [
                    build(
                        TIME_SPENT,
                        {
                            "activity": activity,
                            "operator": None if place is None else names[place],
                            "time_s": time_s,
                        },
                    )
                    for (activity, place), time_s in sorted(
                        thread.spent.items(), key=lambda item: -item[1]
                    )
                ],
            },
        )
        for thread in seen.time_use.threads
    ]
    entry = {
        "elapsed_s": seen.time_use.time_s,
        "cpus": cpus,
        "others_cpus": 0.0 if run.simulated else _others_cpus(seen, cpus),
        "looks": seen.time_use.looks,
        "operators": _operators(seen, layout),
        "threads": threads,
        "counters": seen.counters,
        "counters_problem": seen.counters_problem,
    }
    return build(TIME_USE, entry)


def _others_cpus(seen: Observation, cpus: float) -> float:
    """Return the CPUs that other programs and the hypervisor kept busy."""
    stolen = (seen.disturbance.steal_share or 0.0) * cpus
    return min(cpus, (seen.disturbance.load_of_others or 0.0) + stolen)


def _operators(seen: Observation, layout: RunLayout) -> list[dict[str, Any]]:
    able: dict[str, int] = {}
    with suppress(UserError):  # a graph may not go together with that model
        able = replicable(layout.graph, Coroutine())
    queued = set(seen.queued)
    capacities: dict[int, list[int | None]] = {}
    for port, queue in zip(layout.input_ports, layout.queue_of_port, strict=True):
        place = None if queue is None else layout.queues[queue]
        is_on = place is not None and (place.kind is not Queue.SCHEDULED or port in queued)
        operator = layout.index_of[port.operator]
        capacities.setdefault(operator, []).append(place.capacity if is_on else None)
    behind: dict[int, list[int]] = {}
    for source, _, target, _ in layout.streams:
        if source not in behind.setdefault(target, []):
            behind[target].append(source)
    replicas = seen.samples[-1].replicas if seen.samples else ()
    facts = []
    for place, operator in enumerate(layout.operators):
        own = capacities.get(place, [None])
        entry = {
            "name": operator.name,
            "kind": operator.kind.name,
            "tuples": sum(sample.processed[place] for sample in seen.samples),
            "most_threads": max(
                operator.inputs if operator.reentrant else 1, replicas[place] if replicas else 1
            ),
            "locked": layout.locked[place],
            "replicable": operator.name in able,
            "queue_capacity": None if None in own else min(own),
            "behind": [layout.operators[source].name for source in behind.get(place, ())],
        }
        facts.append(build(OPERATOR_FACTS, entry))
    return facts
