"""The one door to anything that can run a graph.

A run is: `open_engine`, `start`, `sample` once a period, `stop`. Engines differ in what runs the graph (real threads here),
never in what they report, so measurement and control laws are written once.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from harness.errors import UserError
from harness.graph import Graph, PortId
from harness.graph.values import MAX_TUPLES
from harness.machines.machine import LOCAL
from harness.machines.software import DEFAULT_SOFTWARE
from harness.models import MODELS, Model

if TYPE_CHECKING:
    from harness.profiled import Profiled

PROFILE_WINDOW_S = 5.0
"""What the profiler of real threads looks back at most, as in IBM's implementation (whose laws have periods of 10 s)."""


@dataclass(frozen=True)
class Balance:
    """One period of an `elastic_load_balance` operator."""

    active: int  # output ports that get tuples
    ports: int  # output ports
    submitted: int  # tuples submitted on its output ports, by the threads of its buffers
    congestion: float  # fill of the active ports' buffers at the period's end, 0 .. 1: the mean; 1 if the sender waits for room


@dataclass(frozen=True)
class Sample:
    """One period's reading. Counts are of this period alone; per-operator and per-port entries follow the graph's order."""

    time_s: float  # since start, at the period's end
    elapsed_s: float  # the period's true length
    source_tuples: int  # sent by the sources
    sink_tuples: int  # arrived at the sinks
    submitted_tuples: int  # submitted on all output ports of all operators: what P17's and M19's laws feed on
    processed: Sequence[int]  # tuples through each operator (a source's own count for sources)
    queue_fill: Sequence[float]  # tuples queued at each input port over its capacity, at the period's end; 0 without a queue
    write_blocked: Sequence[float]  # share of pushes to each input port that found its queue full or its producer side taken
    threads_active: int  # scheduler threads that are not suspended
    threads_requested: int  # scheduler threads asked for
    threads_unsuspendable: int  # told to suspend a period ago and still not asleep (P17 §4.2.3)
    queued_ports: int  # input ports that are to have a queue: where one comes or goes, the next tuple sent there switches it
    cpu_s: float  # CPU time of this process [s]
    system_cpu: (
        float  # busy share, 0 .. 1, by all processes: of the CPUs that this one may use, or of its cgroup's quota, if more
    )
    context_switches: int  # of this process, voluntary and not
    latency_counts: Sequence[int] = field(repr=False)  # sink latency histogram; bucket bounds by `latency_bounds_ns()`
    operator_cost: Sequence[float] = ()  # each operator's share of the work, 0 .. 1, as the profiler saw it; empty without one
    others_cpu: float = 0.0  # as `system_cpu`, of other processes alone
    utilisation: float | None = None  # share of their time that active scheduler threads executed operators; None without any
    balancers: Mapping[str, Balance] = field(default_factory=dict)  # elastic_load_balance operators by name
    useful_s: Sequence[
        float
    ] = ()  # time that threads spent executing each operator, all its replicas together [s]; empty: not measured
    queue_full: Sequence[
        float
    ] = ()  # share of the period for which each input port's queue was full, 0 .. 1; empty: not measured
    replicas: Sequence[int] = ()  # of each operator, at the period's end; empty: under this model operators have none


@dataclass(frozen=True)
class Totals:
    """What a whole run did, and whether it was right."""

    sent: int  # tuples by the sources
    received: int  # tuples at the sinks
    in_flight: int  # left in queues or given up by blocked producers when the run was cut short; 0 after a drain, or if stuck
    processed: Sequence[int]  # tuples through each operator, in the graph's order
    drained: bool  # every port saw its final punctuation
    order_violations: int  # tuples that a sink saw after a later one of the same path (ORDER)
    order_checked: bool  # False if somewhere there are too many paths, or no order on them
    checksum_ok: bool  # every tuple unharmed, and exactly those sent (ONCE)
    conservation: Sequence[str] = field(default_factory=tuple)  # operators that got too many or too few tuples, or lost some
    latency_counts: Sequence[int] = field(default_factory=tuple, repr=False)  # sink latency histogram
    latency_max_ns: int = 0  # the longest at a sink
    stuck: Sequence[str] = field(default_factory=tuple)  # threads that did not stop in time, with the operator that holds them
    error: str | None = None  # the exception of an operator that raised
    scheduling: dict[str, int] = field(default_factory=dict)  # drains, waits, pushes, queue switches and so on: sums

    @property
    def correct(self) -> bool:
        """No tuple lost, doubled, reordered or harmed, and no thread or operator failed."""
        return (
            self.order_violations == 0 and self.checksum_ok and not self.conservation and not self.stuck and self.error is None
        )


class Engine(Protocol):
    """Runs one graph once.

    Any thread of the process that started it may call any method, at any time. Once the run is over, by itself or because
    another thread stops it, `sample` returns at once what has passed, and `set_threads`, `set_queued`, `set_active_ports` and
    `set_replicas` change nothing. A process that was forked while it ran has its memory and none of its threads: there every
    method raises UserError, and to drop the engine does nothing.
    """

    queue_capacity: int  # tuples a queue, as chosen; 0 if nothing is queued
    batch: int  # tuples that move at once, at most
    threads: int  # threads that execute operators, sources' own included
    minimum_threads: int  # the lowest level of the pool (`models.least_threads`)

    def start(self) -> None:
        """Start the threads, sources last. Raises RunFailed if the system refuses one, or another thread stops it meanwhile.

        A start that is broken off, also by Ctrl-C, ends the threads that it has made before it raises.
        """

    def sample(self, period_s: float) -> Sample:
        """Let one period pass, real or virtual, and read the counters. Returns early if the run ends by itself.

        Threads that an operator of a user's own holds are seen here, at most ten times a second, and others run in their stead:
        a run with such operators has to be sampled.
        """

    def since_sample(self) -> tuple[float, int]:
        """What has passed since the last sample: seconds, and tuples submitted as a sample counts them.

        The next sample has both, too. What happened while a law was thinking is told apart by it: a law computes on CPUs that
        the run needs.
        """

    def set_threads(self, level: int) -> None:
        """Let `level` scheduler threads run (from 1 to 1,024), at once; the others sleep as soon as their operator lets them.

        A level below `minimum_threads` is raised to it. Raises UserError if the graph has no scheduled port, or for a level out
        of range.
        """

    def set_queued(self, ports: Sequence[PortId], queued: bool) -> None:
        """Switch the queues of scheduled input ports on or off; each takes effect with the next tuple sent there.

        Without its queue a port is executed by a function call of whoever sends (M19 §3.1). ORDER and ONCE hold throughout.
        Raises UserError for a port that does not exist or is not scheduled; then nothing is changed.
        """

    def set_active_ports(self, operator: str, active: int) -> None:
        """Let an `elastic_load_balance` operator send to its first `active` output ports, from the next tuple on.

        The threads of the others sleep once their buffers are empty; punctuation reaches them all the same. Any thread may call
        this. Raises UserError for a name that is no such operator's, or a number that is not from 1 to that of its ports.
        """

    def set_replicas(self, operator: str, number: int) -> None:
        """Let an operator have `number` replicas, 1 at least, while tuples flow; they share its input port (C-Stream §4.2).

        New ones begin at once; those that are too many leave when they next ask for tuples. ORDER and ONCE hold throughout.
        Raises UserError for an operator that does not exist or can have none (it keeps a state, has other than one input and
        one output port, or is no co-routine), or a number out of range; then nothing is changed.
        """

    def finished(self) -> bool:
        """Whether every port has seen its final punctuation, or an operator has failed."""

    def stop(self, drain: bool, timeout_s: float) -> Totals:
        """End the run. With `drain` the sources stop and what is queued is processed first, for at most `timeout_s` seconds.

        Never hangs: threads that have not stopped after `timeout_s` more seconds (2 at least) are named in `Totals.stuck`.
        However many threads stop it, there is one stop and one answer for all, on the strictest of their terms. Of a simulated
        run these count from when the first stop begins.
        """


def check_process(call: str, process: int) -> None:
    """Raise UserError for a call of an engine that another process than this one has started; 0: none has."""
    if process not in (0, os.getpid()):
        raise UserError(
            f"{call}: this engine runs in process {process}, which started it; process {os.getpid()} has a copy without threads"
        )


def machines() -> list[str]:
    """Machines to run on: this one, and those described in config/machines."""
    from harness.machines.machine import machine_names

    return [LOCAL, *(name for name in machine_names() if name != LOCAL)]


def open_engine(
    graph: Graph,
    model: Model,
    machine: str = LOCAL,
    *,
    tuples: int | None = None,
    profile: bool = False,
    profile_window_s: float = PROFILE_WINDOW_S,
    simulated: bool = False,
    software: str = DEFAULT_SOFTWARE,
    constants: Mapping[str, float] | None = None,
    seed: int = 0,
    allow_threads: int | None = None,
    profiled: Profiled | None = None,
) -> Engine:
    """An engine for `graph` under `model` on `machine`; `tuples` bounds what each source sends (None: until stopped).

    On "local" threads are real, unless `simulated`; any other machine is described by a profile, a name in config/machines or
    a file, and always simulated. `software`, `constants` (numbers in place of the machine's and the software's, by path) and
    `seed` are for simulated runs only. With `profile` it measures what each operator costs (`Sample.operator_cost`), over the
    last half of `profile_window_s` [s] at least, and the whole at most; a simulated run over its last two to four samples.
    `allow_threads`: how many real threads there may be (None: `thread_room.MOST_THREADS`). `profiled`: what typed operators
    cost and send, which a simulated run of them needs.

    Raises UserError for an unknown machine or constant, more scheduler threads than a described machine has CPUs, or more real
    ones than are allowed or than this host has room for; GraphError for a graph that cannot run.
    """
    if not isinstance(graph, Graph):
        raise UserError(f"graph must be a harness.graph.Graph, not {type(graph).__name__}")
    if not isinstance(model, Model):
        raise UserError(f"model must be one of {', '.join(MODELS)} of harness.models, not {model!r}")
    if tuples is not None and (not isinstance(tuples, int) or isinstance(tuples, bool) or not 0 <= tuples <= MAX_TUPLES):
        raise UserError(f"tuples must be from 0 to {MAX_TUPLES}, not {tuples!r}")
    if not 0.0 < profile_window_s < math.inf:
        raise UserError(f"profile_window_s must be above 0 and finite, not {profile_window_s!r}")
    graph.check()
    if machine == LOCAL and not simulated:
        from harness.host.thread_room import check_threads
        from harness.runtime.engine import RuntimeEngine  # compiled; imported late so that graphs can be read without it

        check_threads(graph, model, allow_threads)
        return _with_replicas(RuntimeEngine(graph, model, tuples, profile, profile_window_s), graph, model)
    from harness.machines.machine import load_machine
    from harness.machines.software import load_software
    from harness.simulator.engine import SimulatorEngine

    costs = load_software(software)
    of_machine, of_software = costs.split(constants or {})
    described, costs = load_machine(machine).with_constants(of_machine), costs.with_constants(of_software)
    for option, levels in (("threads", getattr(model, "threads", None)), ("maximum", getattr(model, "maximum", None))):
        if levels is not None and levels > described.cpus:
            raise UserError(f"{option} must be at most {described.cpus}, the CPUs of machine {machine!r}, not {levels}")
    engine = SimulatorEngine(graph, model, described, costs, tuples, profile, seed, replaced=constants, profiled=profiled)
    return _with_replicas(engine, graph, model)


def _with_replicas(engine: Engine, graph: Graph, model: Model) -> Engine:
    """The engine, with the replicas that a run of the model begins with."""
    from harness.replicas import begins_with

    for name, count in begins_with(graph, model).items():
        engine.set_replicas(name, count)
    return engine
