"""The part of a record that says what threads spent their time on (`millrace explain`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from harness.engine import Engine
from harness.engine.open import Described
from harness.engine.time_use import TimeUse, without_interpreter_waits
from harness.errors import UserError
from harness.graph import PortId
from harness.graph.kinds import SPLIT
from harness.graph.schedule import due_tuples
from harness.machines.host.cpu import usable_cpus
from harness.machines.host.perf_events import PerfCounters
from harness.measurement.cpu_use import Disturbance
from harness.models import Coroutine, Queue
from harness.models.layout import RunLayout
from harness.models.replicas import replicable


@dataclass(frozen=True)
class WindowUse:
    """Readings of what threads did in a window. `cpus`: of the machine that they ran on; `queued`:
    scheduled ports with a queue at its end; `counts` of the hardware, or the `problem` why there
    are none; `interpreter_lock`: operators in Python take turns.
    """

    cpus: int
    use: TimeUse
    queued: Sequence[PortId]
    counts: Mapping[str, int]
    problem: str | None
    interpreter_lock: bool


class ExplainedWindow:
    """Reads what threads did in the measured window of a run. It must be made by the thread that
    starts the engine, before that: hardware counters count threads that are started later.
    """

    def __init__(self, engine: Engine, described: Described | None) -> None:
        """`described`: what it is simulated on; None: real threads."""
        self._engine = engine
        self._cpus = usable_cpus() if described is None else described.machine.cpus
        self._counters = PerfCounters() if described is None else None
        self._use: TimeUse | None = None
        self._looks: list[TimeUse] = []
        self._counts: dict[str, int] = {}

    def begin(self) -> None:
        """Begin the window."""
        self._use = self._engine.time_use()
        self._counts = self._counters.read() if self._counters is not None else {}

    def keep(self) -> None:
        """Keep what threads have done until now: the window may begin here."""
        self._looks.append(self._engine.time_use())

    def begin_after(self, count: int) -> None:
        """Set the begin of the window: after so many calls of `keep`; 0: with the run."""
        self._use = self._looks[count - 1] if count else None
        self._looks.clear()

    def end(self) -> WindowUse:
        """End the window, and return what was read. The window of a run that has ended by itself is
        all of it.
        """
        if self._engine.finished():
            self._use, self._counts = None, {}
        use, queued = self._engine.time_use().since(self._use), self._engine.queued()
        if self._counters is None:
            return WindowUse(self._cpus, use, queued, {}, None, self._engine.interpreter_lock)
        now = self._counters.read()
        self._counters.close()
        counts = {name: now[name] - self._counts.get(name, 0) for name in now}
        problem = self._counters.problem
        return WindowUse(self._cpus, use, queued, counts, problem, self._engine.interpreter_lock)


def time_use_entry(
    layout: RunLayout,
    window: WindowUse,
    begin_s: float,
    processed: Sequence[int],
    replicas: Sequence[int],
    disturbance: Disturbance,
) -> dict[str, Any]:
    """Return the entry of a record for a window that began at `begin_s`, since the start. By
    operator: the tuples that it `processed`, and its `replicas` at the end, empty if it can have
    none. `disturbance`: of the window.
    """
    names = [operator.name for operator in layout.operators]
    in_python = {
        place
        for place, operator in enumerate(layout.operators)
        if window.interpreter_lock and operator.in_python
    }
    times, with_lock_s = without_interpreter_waits(window.use.threads, in_python)
    threads = [
        {
            "name": thread.name,
            "spent": [
                {
                    "activity": activity,
                    "operator": None if place is None else names[place],
                    "time_s": time_s,
                }
                for (activity, place), time_s in sorted(
                    thread.spent.items(), key=lambda item: -item[1]
                )
            ],
        }
        for thread in times
    ]
    return {
        "elapsed_s": window.use.time_s,
        "cpus": window.cpus,
        "others_cpus": _others_cpus(disturbance, window.cpus),
        "looks": window.use.looks,
        "look_s": window.use.look_s,
        "operators": _operators(layout, window, begin_s, processed, replicas, with_lock_s),
        "threads": threads,
        "counters": window.counts,
        "counters_problem": window.problem,
    }


def _others_cpus(disturbance: Disturbance, cpus: float) -> float:
    """Return the CPUs that other programs and the hypervisor kept busy."""
    stolen = (disturbance.steal_share or 0.0) * cpus
    return min(cpus, (disturbance.load_of_others or 0.0) + stolen)


def _operators(
    layout: RunLayout,
    window: WindowUse,
    begin_s: float,
    processed: Sequence[int],
    replicas: Sequence[int],
    with_lock_s: Mapping[int, float],
) -> list[dict[str, Any]]:
    able: dict[str, int] = {}
    with suppress(UserError):  # a graph may not go together with that model
        able = replicable(layout.graph, Coroutine())
    queued = set(window.queued)
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
    facts = []
    for place, operator in enumerate(layout.operators):
        own = capacities.get(place, [None])
        count = replicas[place] if replicas else 1
        if operator.keys and operator.kind is not SPLIT:
            count = min(count, operator.keys)  # tuples of one key wait for each other
        entry = {
            "name": operator.name,
            "kind": operator.kind.name,
            "tuples": processed[place] if processed else 0,
            "most_threads": max(operator.inputs if operator.reentrant else 1, count),
            "locked": layout.locked[place],
            "replicable": operator.name in able,
            "queue_capacity": None if None in own else min(own),
            "behind": [layout.operators[source].name for source in behind.get(place, ())],
            "interpreter_s": with_lock_s.get(place),
            "due_tuples": due_tuples(operator, begin_s, begin_s + window.use.time_s)
            if operator.is_source
            else None,
        }
        facts.append(entry)
    return facts
