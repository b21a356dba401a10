"""The one interface to anything that runs a graph.

A run is: `open_engine`, `start`, `sample` once a period, `stop`. Engines differ in what runs the
graph, real threads or virtual ones (`harness.engine.core`), never in what they report, so
measurement and control laws are written once.
"""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext

from harness.engine.account import totals_of
from harness.engine.core import Core
from harness.engine.counters import Counters
from harness.engine.sample import Balance, Sample, Totals
from harness.engine.time_use import TimeUse
from harness.errors import UserError
from harness.graph import PortId
from harness.graph.kinds import ELASTIC_LOAD_BALANCE
from harness.models.queue import Queue

LONGEST_WAIT_S = 1e6
"""The longest period of a sample, and the longest time that stop() waits [s]: eleven days."""

RUNNING: weakref.WeakSet[Engine] = weakref.WeakSet()
"""Engines whose run goes on between calls, that were started and have not been stopped."""


class Engine:
    """Runs one graph once.

    Any thread of the process that started it may call any method, at any time. Once the run is
    over, by itself or because another thread stops it, `sample` returns at once what has passed,
    and `set_threads`, `set_queued`, `set_active_ports` and `set_replicas` change nothing. A process
    that was forked while it ran has its memory and none of its threads: there every method raises
    UserError, and to drop the engine does nothing.
    """

    def __init__(self, core: Core, interpreter_lock: bool = True) -> None:
        self.core = core
        # True if one thread at a time executes functions in Python
        self.interpreter_lock = interpreter_lock
        self.layout = core.layout
        self._started = False
        self._before: Counters | None = None  # at the end of the last sample
        self._totals: Totals | None = None
        # Held by the thread that starts or stops the run. A signal's handler may stop it within
        # either.
        self._turn = threading.RLock()
        # held by a call that lets time pass or changes something, if only calls do
        self._alone = nullcontext() if core.goes_on else self._turn
        self._queue_of = dict(zip(self.layout.input_ports, self.layout.queue_of_port, strict=True))
        operators = self.layout.operators
        self._sources = [i for i, operator in enumerate(operators) if operator.is_source]
        self._sinks = [i for i, operator in enumerate(operators) if operator.is_sink]
        self._counting = [i for i, operator in enumerate(operators) if operator.counts_output]
        self._submitting = [
            i
            for i, operator in enumerate(operators)
            if operator.kind.submits and not operator.counts_output
        ]
        self._elastic = {
            operators[i].name: i
            for i in self.layout.balancing
            if operators[i].kind is ELASTIC_LOAD_BALANCE
        }

    @property
    def queue_capacity(self) -> int:
        """Tuples of a queue, as chosen; 0 if nothing is queued."""
        return self.layout.capacity

    @property
    def threads(self) -> int:
        """Threads that execute operators: of sources, of threaded ports, and the pool's level."""
        level = self.core.requested if self._started else self.layout.pool_threads
        return self.layout.first_scheduler + level

    @property
    def minimum_threads(self) -> int:
        """The lowest level of the pool (`models.least_threads`)."""
        return self.layout.minimum_threads

    # -- a run -------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the threads, sources last. Raises RunFailed if the system refuses one, or another
        thread stops it meanwhile.

        A start that is broken off, also by Ctrl-C, ends the threads that it has made before it
        raises.
        """
        self._check("start")
        with self._turn:
            if self._started:
                raise UserError("an engine runs once: start was called a second time")
            if self._totals is not None:
                raise UserError("an engine runs once: start was called after stop")
            self._started = True
            self.core.prepare()
            self._before = self.core.read()
            if self.core.goes_on:
                RUNNING.add(self)
            self.core.begin()

    def sample(self, period_s: float) -> Sample:
        """Let one period pass, real or virtual, and read the counters. Returns early if the run
        ends by itself.

        Threads that an operator of a user's own holds are seen here, at most ten times a second,
        and others run in their stead: a run with such operators has to be sampled.
        """
        seconds = _seconds("period_s", period_s)
        return self._sample("sample", lambda: self.core.let_pass(seconds))

    def time_use(self) -> TimeUse:
        """Return what the threads have spent their time on since the start; of an engine that was
        asked for it (`engine_of`), which has begun.
        """
        self._begun("time_use")
        with self._alone:
            use = self.core.time_use()
        if use is None:
            raise UserError("time_use: the engine was opened without the option explained")
        return use

    def since_sample(self) -> tuple[float, int]:
        """Return the seconds and the submitted tuples since the last sample, counted as a sample
        counts them.

        The next sample has both, too. So the caller can separate what happened while a law was
        computing, on CPUs that the run needs.
        """
        before = self._begun("since_sample")
        with self._alone:
            return (
                self.core.time_s() - before.time_s,
                self._submitted(self.core.processed(), self.core.emitted())
                - self._submitted(before.processed, before.emitted),
            )

    def finished(self) -> bool:
        """Return True if every port has seen its final punctuation, or an operator has failed."""
        self._check("finished")
        with self._alone:
            return self.core.over

    def stop(self, drain: bool, timeout_s: float) -> Totals | None:
        """End the run. With `drain` the sources stop and what is queued is processed first, for at
        most `timeout_s` seconds.

        Never hangs: threads that have not stopped after `timeout_s` more seconds (2 at least) are
        named in `Totals.stuck`. However many threads stop it, there is one stop and one answer for
        all, on the strictest of their terms. Of a simulated run these count from when the first
        stop begins.

        Called by an operator of the run it is a request, and returns None at once: the run ends
        when its operators have returned, and a call of stop() from outside returns the totals. A
        run that has not been stopped when the interpreter ends is ended then, without draining.
        """
        timeout_s = _seconds("timeout_s", timeout_s)
        if self._totals is not None:
            return self._totals
        self._check("stop")
        if self.core.is_called_by_operator():
            self.core.request_end(drain)
            return None
        self.core.add_terms(drain, timeout_s)
        with self._turn:
            if self._totals is None:
                # again: the stop before may have been interrupted, and the terms forgotten
                self.core.add_terms(drain, timeout_s)
                account = self.core.end()
                totals = totals_of(self.layout, self.core.read(), account)
                if self._totals is None:  # else a signal's handler has stopped it meanwhile
                    self._totals = totals
        RUNNING.discard(self)
        return self._totals

    # -- changes of a run --------------------------------------------------------------------------

    def set_threads(self, level: int) -> None:
        """Let `level` scheduler threads run (from 1 to 1,024), at once; the others sleep as soon as
        their operator lets them.

        A level below `minimum_threads` is raised to it. Raises UserError if the graph has no
        scheduled port, or for a level out of range.
        """
        self._check("set_threads")
        if self.layout.pool_threads == 0:
            raise UserError(
                "set_threads: no port is scheduled, so there is no pool of scheduler threads"
            )
        if not self._started:
            raise UserError("set_threads was called before start")
        if not _is_count(level, self.core.most_threads):
            where = f" on machine {self.core.machine_name!r}" if self.core.machine_name else ""
            raise UserError(
                f"threads must be from 1 to {self.core.most_threads}{where}, not {level!r}"
            )
        self._change(lambda: self.core.set_level(level))

    def set_queued(self, ports: Sequence[PortId], queued: bool) -> None:
        """Switch the queues of scheduled input ports on or off; each takes effect with the next
        tuple sent there.

        Without its queue a port is executed by a function call of the thread that sends (M19 §3.1).
        ORDER and ONCE hold throughout. Raises UserError for a port that does not exist or is not
        scheduled; then nothing is changed.
        """
        self._check("set_queued")
        chosen = []
        for port in ports if isinstance(ports, (list, tuple, set, frozenset)) else [ports]:
            if not isinstance(port, PortId) or port not in self._queue_of:
                raise UserError(f"set_queued: no input port is named {port}")
            queue = self._queue_of[port]
            if queue is None or self.layout.queues[queue].kind is not Queue.SCHEDULED:
                raise UserError(
                    f"set_queued: port {port} is not scheduled, so its queue is not to be switched"
                )
            chosen.append(queue)
        self._change(lambda: self.core.switch(chosen, bool(queued)))

    def queued(self) -> list[PortId]:
        """Return the scheduled ports whose queue is switched on, in the graph's order."""
        self._check("queued")
        with self._alone:
            called = self.core.called()
        return [
            port
            for port, queue in self._queue_of.items()
            if queue is not None
            and self.layout.queues[queue].kind is Queue.SCHEDULED
            and not called[queue]
        ]

    def set_active_ports(self, operator: str, active: int) -> None:
        """Let an `elastic_load_balance` operator send to its first `active` output ports, from the
        next tuple on.

        The threads of the others sleep once their buffers are empty; punctuation reaches them all
        the same. Any thread may call this. Raises UserError for a name that is no such operator's,
        or a number that is not from 1 to that of its ports.
        """
        self._check("set_active_ports")
        index = self._elastic.get(operator) if isinstance(operator, str) else None
        if index is None:
            raise UserError(
                f"set_active_ports: no elastic_load_balance operator is named {operator!r}"
            )
        ports = self.layout.operators[index].outputs
        if not _is_count(active, ports):
            raise UserError(
                f"set_active_ports: active ports of {operator!r} must be from 1 to {ports}, not "
                f"{active!r}"
            )
        self._change(lambda: self.core.activate(index, active))

    def set_replicas(self, operator: str, number: int) -> None:
        """Let an operator have `number` replicas, 1 at least, while tuples flow; they share its
        input port (C-Stream §4.2).

        New ones begin at once; those that are too many leave when they next ask for tuples. ORDER
        and ONCE hold throughout. Raises UserError for an operator that does not exist or can have
        none (it keeps a state, has other than one input and one output port, or is no co-routine),
        or a number out of range; then nothing is changed.
        """
        self._check("set_replicas")
        index = self.layout.replicated(operator, number)
        if index in self.layout.replicas:
            self._change(lambda: self.core.set_replicas(index, number))

    def living_replicas(self) -> dict[str, int]:
        """Return the co-routines that each operator which may have replicas has now, by name,
        including those about to leave.
        """
        self._check("living_replicas")
        with self._alone:
            return {
                self.layout.operators[index].name: self.core.living_replicas(index)
                for index in self.layout.replicas
            }

    # -- inside ------------------------------------------------------------------------------------

    def _check(self, call: str) -> None:
        """Raise UserError for a call in a process other than the one that started the run."""
        if self.core.process not in (0, os.getpid()):
            raise UserError(
                f"{call}: this engine runs in process {self.core.process}, which started it; "
                f"process {os.getpid()} has a copy without threads"
            )

    def _begun(self, call: str) -> Counters:
        """Return the counters of the last sample. Raises UserError before the start."""
        self._check(call)
        if self._before is None:
            raise UserError(f"{call} was called before start")
        return self._before

    def _change(self, change: Callable[[], None]) -> None:
        """Make a change of the run, unless it is over."""
        with self._alone:
            if not self.core.over:
                change()

    def _sample(self, call: str, let_pass: Callable[[], None]) -> Sample:
        self._begun(call)
        with self._alone:
            let_pass()
            before, now = self._before, self.core.read()
            self._before = now
            return self._difference(before, now)

    def _difference(self, before: Counters, now: Counters) -> Sample:
        """Return the sample of the period between two readings, the second of which is of now."""
        core, queue_of_port = self.core, self.layout.queue_of_port
        elapsed_s = now.time_s - before.time_s
        processed = _differences(before.processed, now.processed)
        full = [
            min(1.0, ticks * core.tick_s / elapsed_s) if elapsed_s > 0 else 0.0
            for ticks in _differences(before.full, now.full)
        ]
        blocked = [
            failed / pushes if pushes > 0 else 0.0
            for failed, pushes in zip(
                _differences(before.blocked, now.blocked),
                _differences(before.pushes, now.pushes),
                strict=True,
            )
        ]
        fills = core.fills()
        system_cpu, others_cpu = core.cpu_shares(before, now)
        return Sample(
            time_s=now.time_s,
            elapsed_s=elapsed_s,
            source_tuples=sum(processed[i] for i in self._sources),
            sink_tuples=sum(processed[i] for i in self._sinks),
            submitted_tuples=self._submitted(now.processed, now.emitted)
            - self._submitted(before.processed, before.emitted),
            processed=processed,
            queue_fill=_of_queues(fills, queue_of_port),
            write_blocked=_of_queues(blocked, queue_of_port),
            threads_active=core.active,
            threads_requested=core.requested,
            threads_unsuspendable=core.unsuspendable(),
            queued_ports=core.called().count(False),
            cpu_s=now.cpu_s - before.cpu_s,
            kernel_s=now.kernel_s - before.kernel_s,
            system_cpu=system_cpu,
            context_switches=now.switches - before.switches,
            latency_counts=_differences(before.latency, now.latency),
            part_latencies=[
                _differences(*counts)
                for counts in zip(before.part_latencies, now.part_latencies, strict=True)
            ]
            if len(self.layout.parts) > 1
            else (),
            operator_cost=_shares(core.looks()),
            others_cpu=others_cpu,
            utilisation=_utilisation(before.pool, now.pool),
            useful_s=[ns / 1e9 for ns in _differences(before.useful_ns, now.useful_ns)],
            queue_full=_of_queues(full, queue_of_port) if self.layout.policy else [],
            replicas=[
                core.replicas(i) if i in self.layout.replicas else 1
                for i in range(len(self.layout.operators))
            ]
            if self.layout.policy
            else (),
            balancers={
                name: self._balance(i, processed, fills) for name, i in self._elastic.items()
            },
        )

    def _submitted(self, processed: Sequence[int], emitted: Sequence[int]) -> int:
        """Return the tuples submitted on all output ports."""
        return sum(emitted[i] for i in self._counting) + sum(processed[i] for i in self._submitting)

    def _balance(self, index: int, processed: Sequence[int], fills: Sequence[float]) -> Balance:
        """Return a period of an `elastic_load_balance` operator."""
        active, waiting = self.core.balance(index)
        # each output port leads to one buffer
        buffers = [self.layout.ways[way] for (way,) in self.layout.outgoing[index]]
        fill = sum(fills[buffer.queue] for buffer in buffers[:active])
        return Balance(
            active=active,
            ports=len(buffers),
            submitted=sum(processed[buffer.target] for buffer in buffers),
            congestion=1.0 if waiting else fill / active,
        )

    def _end_with_interpreter(self) -> None:
        """End a run that was not stopped before the interpreter ends; its operators have 2 s to
        return.
        """
        if self._totals is None and self.core.process == os.getpid():
            self.core.request_end(False)
            self.stop(False, 0.0)


@atexit.register
def _end_all() -> None:
    """End the runs that were not stopped, while the interpreter can still execute the code that
    their operators call.
    """
    for engine in list(RUNNING):
        engine._end_with_interpreter()


def _seconds(name: str, value: object) -> float:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not 0 <= value <= LONGEST_WAIT_S
    ):
        raise UserError(f"{name} must be from 0 to {LONGEST_WAIT_S:,.0f} seconds, not {value!r}")
    return float(value)


def _is_count(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _differences(before: Sequence[int], now: Sequence[int]) -> list[int]:
    return [after - earlier for earlier, after in zip(before, now, strict=True)]


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts)
    return [count / total for count in counts] if total > 0 else []


def _of_queues(values: Sequence[float], queue_of_port: Sequence[int | None]) -> list[float]:
    """Return by input port what is given by queue; 0 without a queue."""
    return [0.0 if queue is None else values[queue] for queue in queue_of_port]


def _utilisation(before: Sequence[tuple[int, int]], now: Sequence[tuple[int, int]]) -> float | None:
    """Return the share of their time that threads of the pool were not idle."""
    allowed, idle = (
        sum(each[part] for each in now) - sum(each[part] for each in before) for part in (0, 1)
    )
    return min(1.0, max(0.0, (allowed - idle) / allowed)) if allowed > 0 else None
