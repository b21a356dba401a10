"""Python's face of the simulator: the same protocol as the runtime's, in virtual time
(harness.engine.Engine).

Nothing happens between two calls: `sample` lets virtual time pass, and levels, queues and ports
change at once, between two events. One seed gives the same run on any machine, bit for bit: times
are whole numbers, ties are broken by order, and no clock is read.

Calls of several threads take turns, and a stop breaks off a sample that another thread waits for. A
process that was forked meanwhile leaves the engine alone, since the fork may have come in the
middle of a call.
"""

import math
import threading
import time
from contextlib import suppress
from dataclasses import replace

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector
from posix.unistd cimport getpid

from harness.graph.kinds import BARRIER, ELASTIC_LOAD_BALANCE, LOOP, MERGE, SINK
from harness.runtime.native cimport BUCKETS
from harness.runtime.protocol cimport (
    AWAKE,
    BLOCKED,
    IDLE,
    PATIENCE_NS,
    QUEUED,
    SUSPENDED,
    WANTED_CALLED,
)
from harness.simulator.account cimport account_of
from harness.simulator.build cimport build
from harness.runtime.native cimport SinkState
from harness.simulator.costs cimport fill_machine, fill_software
from harness.simulator.native cimport (
    ENDED,
    NEW,
    BalanceState,
    Machine,
    Operator,
    Port,
    Simulation,
    Software,
    Worker,
    want,
)

from harness.engine.engine import check_process
from harness.engine.sample import Balance, Sample
from harness.errors import RunFailed, UserError
from harness.graph import PortId
from harness.graph.values import MAX_THREADS
from harness.simulator.levels import levels_of

MAX_EVENTS = 20_000_000_000
"""Default limit of a run's events: turns of threads, and batches that operators execute. They take
most of an hour. The limit ends a graph in which nothing moves time forward."""

LONGEST_PERIOD_S = 1e6
"""The longest period of a sample [virtual s]."""

MOST_AT_THE_END = 64_000_000
"""Events that the threads of a run that was cut short may take to end; not counted among the
run's.
"""

END_OF_TIME_PS = 1 << 62
"""Longest run [virtual ps]: 53 days. Sources use signed numbers, which have room for twice as
much.
"""

# after so many the engine checks if the user, or another thread, wants to stop
EVENTS_BETWEEN_CHECKS = 1_000_000
PS = 1e-12  # seconds of a picosecond

FILLED = 0.5
"""Fill of the queues of a timed run at its beginning, unless its layout has another: half, so that
no operator lacks tuples and none lacks room.
"""

MAX_FILLING = 2e9
"""Most hops to fill the queues with [tuples through operators], about; above, a run begins with
empty queues. They take seconds.
"""

PROFILE_S = 1e-4
"""Virtual time between two looks of the profiler [s]. The runtime looks every millisecond, but
virtual periods are short.
"""

HALF_WINDOW = 2
"""Samples after which the older one of the profiler's two overlapping windows is reset. The windows
of runtime/profiler.pyx have a length in time, which may be more periods. With 5 samples here, laws
that place queues used the old costs long after the work had moved (M19 Figure 13)."""

cdef enum Hurry:
    CALM
    STOPPING  # somebody stops the run: samples end
    CUTTING  # and does not want it drained, or not any more


@cython.final
cdef class SimulatorEngine:
    """Runs the graph of `layout` once on a described machine; see harness.engine.Engine for what
    each method promises.

    Parameters
    ----------
    layout : harness.models.layout.RunLayout
        Of a checked graph under a model, for this machine. Users' own operators cannot be
        simulated: their costs are unknown. Typed ones can with `profiled`.
    machine : harness.machines.machine.Machine
    software : harness.machines.software.Software
    tuples : int or None
        How many tuples each source sends; None: until it is stopped, and the queues are half full
        at the start.
    profile : bool
        Whether to look what operators cost.
    seed : int
        Of how long wake-ups take, and in which order ports are on the list when a run begins.
    events : int
        Limit, after which the run fails: turns of threads, and batches that operators execute.
    profiled : harness.engine.profiled.Profiled or None
        Costs and output rates of typed operators.
    """

    cdef readonly object layout
    cdef Simulation* core
    cdef object graph, machine, software, totals, profiled
    cdef readonly int queue_capacity, batch
    cdef object seed
    cdef dict elastic, queue_named, before, replaced
    cdef dict wanted  # by operator: replicas that were asked for before the start
    # looks when the profiler's older window began, and its younger one; samples and looks at all
    # threads since then
    cdef tuple windows
    cdef bint started, profiles, bounded
    cdef int process  # that started it; 0: none has
    # held by a call that lets time pass or changes something; a signal's handler may call meanwhile
    cdef object turn
    cdef Hurry hurry
    # shortest time to drain that a call of stop() has given the run [virtual s]
    cdef double drain_s
    cdef uint64_t handled, most_events, stretch, origin
    cdef readonly int requested
    cdef int most_threads  # levels of the pool: as many as CPUs, or as the graph needs
    cdef int created
    # threads of the pool asked to suspend, now and at the last sample
    cdef set suspended, suspended_before
    # why nothing more happens: it had to end there; or its threads can go on no more
    cdef object bound, broken
    cdef double wall_s

    def __cinit__(
        self, layout, machine, software, tuples=None, bint profile=False, seed=0, events=MAX_EVENTS,
        replaced=None, profiled=None
    ):
        cdef Machine hardware
        cdef Software costs
        graph = layout.graph
        for operator in graph.operators.values():
            if operator.typed is not None and operator.kind is not LOOP and profiled is not None:
                continue
            if operator.typed is not None or not operator.kind.simulated:
                kind = (
                    f"typed {operator.kind}".removesuffix(" typed")
                    if operator.typed
                    else operator.kind
                )
                raise UserError(
                    f"operator {operator.name!r} is of kind {kind}: a user's own operator cannot "
                    "be simulated"
                )
        policy = layout.policy
        if policy is not None and policy.function is not None:
            raise UserError(
                f"policy {policy.name!r} is a user's own, and cannot be simulated: nobody knows "
                "what it costs"
            )
        fill_machine(&hardware, machine)
        fill_software(&costs, software, machine)
        self.graph, self.machine, self.software = graph, machine, software
        self.seed, self.replaced = seed, dict(replaced or {})
        self.profiles, self.most_events, self.bounded = profile, events, tuples is not None
        self.layout = layout.timed(lambda: hardware_flop_ns(machine))
        self.most_threads = min(MAX_THREADS, max(machine.cpus, self.layout.minimum_threads))
        if self.layout.pool_threads > self.most_threads:
            rule = f"at most {self.most_threads}, the CPUs of machine {machine.name!r}"
            raise UserError(
                f"threads must be {rule}, not {self.layout.pool_threads} as graph {graph.name!r} "
                "asks for"
            )
        self.queue_capacity, self.batch = self.layout.capacity, int(software["how.batch"])
        self.core = new Simulation(
            hardware, costs, <uint64_t> (seed & 0xFFFFFFFFFFFFFFFF),
            <uint32_t> len(self.layout.operators), <uint32_t> len(self.layout.queues),
            <uint32_t> self.layout.most_threads,
            <uint32_t> machine["os.futex_buckets"],
        )
        self.profiled = profiled
        build(self.core, self.layout, tuples, None if profiled is None else profiled.on(machine))
        if self.layout.first_scheduler + self.layout.pool_threads <= machine.cpus:
            self.core.patience = <uint64_t> PATIENCE_NS * 1000
        balancing = {self.layout.operators[index].name: index for index in self.layout.balancing}
        self.elastic = {
            name: index
            for name, index in balancing.items()
            if self.layout.operators[index].kind is ELASTIC_LOAD_BALANCE
        }
        self.suspended, self.suspended_before = set(), set()
        self.wanted = {}
        self.turn = threading.RLock()
        self.drain_s = math.inf

    def __dealloc__(self):
        if self.process not in (0, getpid()):
            return
        del self.core

    @property
    def threads(self):
        """Threads that execute operators: of sources, of threaded ports, and the pool's level."""
        return (
            self.layout.first_scheduler
            + (self.requested if self.started else self.layout.pool_threads)
        )

    @property
    def minimum_threads(self):
        """The lowest level of the pool (FREE)."""
        return self.layout.minimum_threads

    @property
    def simulation(self):
        """Entry of a simulated run's record."""
        return {
            "software": self.software.name,
            "machine_digest": self.machine.digest,
            "software_digest": self.software.digest,
            "seed": self.seed,
            "constants": self.replaced,
            "events": self.handled,
            "virtual_s": self.core.system.now * PS,
            "wall_s": self.wall_s,
            "contenders": self.core.most_contenders,
            "load": self.core.system.load_time() / max(self.core.system.now, 1),
            "bound": self.bound,
            "profiled": None if self.profiled is None else self.profiled.summary(),
        }

    def start(self):
        cdef uint32_t i
        check_process("start", self.process)
        with self.turn:
            if self.started:
                raise UserError("an engine runs once: start was called a second time")
            if self.totals is not None:
                raise UserError("an engine runs once: start was called after stop")
            self.process = getpid()
            self.started = True
            try:
                if not self.bounded:
                    self._fill()
                for i in range(self.layout.first_scheduler):
                    self.core.start(i)
                if self.layout.pool_threads > 0:
                    self.set_threads(self.layout.pool_threads)
            except MemoryError:
                self.broken = "the system refuses memory to the simulation at the start of the run"
                raise RunFailed(self.broken) from None
            for index, number in self.wanted.items():
                self._replicate(index, number)
            if self.profiles:
                self.core.profile(<uint64_t> (PROFILE_S / PS))
            self.before = self._read()
            self.windows = self.before["looks"], self.before["looks"], 0, 0

    cdef _fill(self):
        """Begin with tuples in the queues, unless sources wait for their time, tuples choose
        buffers, or a merge or barrier needs them in order.
        """
        operators = self.layout.operators
        timed = any([operator.rate is not None or operator.rates for operator in operators])
        ordered = any([operator.kind in (MERGE, BARRIER) for operator in operators])
        if (
            len(self.layout.queues) == 0
            or self.layout.balancing
            or timed
            or ordered
            or self.profiled is not None
        ):
            return
        levels = [
            # a port that is called has nothing waiting (ORDER)
            [queue for queue in level if self.core.ports[<uint32_t> queue].mode == QUEUED]
            for level in levels_of(self.layout.streams, self.layout.queue_of_port, len(operators))
        ]
        levels = [level for level in levels if level]
        filled = self.queue_capacity * FILLED
        hops = sum([len(level) for level in levels]) * filled * len(levels) / 2
        if hops <= MAX_FILLING:
            self.core.fill_queues(levels, self.layout.filled, FILLED)

    def set_threads(self, level):
        check_process("set_threads", self.process)
        if self.layout.pool_threads == 0:
            raise UserError(
                "set_threads: no port is scheduled, so there is no pool of scheduler threads"
            )
        if not self.started:
            raise UserError("set_threads was called before start")
        if (
            not isinstance(level, int)
            or isinstance(level, bool)
            or not 1 <= level <= self.most_threads
        ):
            raise UserError(
                f"threads must be from 1 to {self.most_threads} on machine {self.machine.name!r}, "
                f"not {level!r}"
            )
        with self.turn:
            if not self.core.over:
                self._set_level(level)

    cdef _set_level(self, level):
        self.requested = max(level, self.layout.minimum_threads)
        running = [thread for thread in range(self.created) if thread not in self.suspended]
        for thread in sorted(running, key=self._reluctance)[
            : max(0, len(running) - self.requested)
        ]:
            self.suspended.add(thread)
            self.core.set_suspended(self.layout.first_scheduler + <uint32_t> thread, True)
        missing = self.requested - len(running)
        for thread in sorted(self.suspended)[: max(0, missing)]:
            self.suspended.remove(thread)
            self.core.set_suspended(self.layout.first_scheduler + <uint32_t> thread, False)
            missing -= 1
        for _ in range(missing):
            self.core.start(self.layout.first_scheduler + <uint32_t> self.created)
            self.created += 1

    def _reluctance(self, uint32_t thread):
        """Idle threads are suspended first, then the oldest."""
        return self.core.workers[self.layout.first_scheduler + thread].rest != IDLE

    def set_active_ports(self, operator, active):
        check_process("set_active_ports", self.process)
        index = self.elastic.get(operator) if isinstance(operator, str) else None
        if index is None:
            raise UserError(
                f"set_active_ports: no elastic_load_balance operator is named {operator!r}"
            )
        ports = self.core.operators[<uint32_t> index].routes.size()
        if not isinstance(active, int) or isinstance(active, bool) or not 1 <= active <= ports:
            raise UserError(
                f"set_active_ports: active ports of {operator!r} must be from 1 to {ports}, not "
                f"{active!r}"
            )
        with self.turn:
            if not self.core.over:
                self.core.activate(self.core.operators[<uint32_t> index], active)

    def set_replicas(self, operator, number):
        check_process("set_replicas", self.process)
        index = self.layout.replicated(operator, number)
        with self.turn:
            if not self.started:
                self.wanted[index] = number
            elif index in self.layout.replicas and not self.core.over:
                self._replicate(index, number)

    cdef _replicate(self, uint32_t index, uint32_t number):
        try:
            self.core.set_replicas(index, number)
        except MemoryError:
            self.broken = (
                f"the system refuses memory to {number} replicas of operator "
                f"{self.layout.operators[index].name!r}"
            )
            raise RunFailed(self.broken) from None

    def living_replicas(self):
        """Return the co-routines that each operator which may have replicas has now, by name,
        including those about to leave.
        """
        check_process("living_replicas", self.process)
        with self.turn:
            return {
                self.layout.operators[index].name: self.core.living_replicas(<uint32_t> index)
                if self.started
                else 1
                for index in self.layout.replicas
            }

    def set_queued(self, ports, bint queued):
        check_process("set_queued", self.process)
        if self.queue_named is None:
            self.queue_named = dict(
                zip(self.layout.input_ports, self.layout.queue_of_port, strict=True)
            )
        chosen = []
        for port in ports if isinstance(ports, (list, tuple, set, frozenset)) else [ports]:
            if not isinstance(port, PortId) or port not in self.queue_named:
                raise UserError(f"set_queued: no input port is named {port}")
            queue = self.queue_named[port]
            if queue is None or not self.core.ports[<uint32_t> queue].discipline.pooled:
                raise UserError(
                    f"set_queued: port {port} is not scheduled, so its queue is not to be switched"
                )
            chosen.append(queue)
        with self.turn:
            if not self.core.over:
                self._want(chosen, queued)

    cdef _want(self, list chosen, bint queued):
        for queue in chosen:
            want(&self.core.ports[<uint32_t> queue], not queued)
        self.core.size_batches()

    def queued(self):
        """The scheduled ports whose queue is switched on, in the graph's order."""
        check_process("queued", self.process)
        with self.turn:
            return [
                port
                for port, queue in zip(
                    self.layout.input_ports, self.layout.queue_of_port, strict=True
                )
                if queue is not None
                and self.core.ports[<uint32_t> queue].discipline.pooled
                and not self.core.ports[<uint32_t> queue].mode & WANTED_CALLED
            ]

    def finished(self):
        check_process("finished", self.process)
        with self.turn:
            return bool(self.core.over)

    def sample(self, period_s):
        check_process("sample", self.process)
        if not self.started:
            raise UserError("sample was called before start")
        if (
            isinstance(period_s, bool)
            or not isinstance(period_s, (int, float))
            or not 0 <= period_s <= LONGEST_PERIOD_S
        ):
            raise UserError(
                f"period_s must be from 0 to {LONGEST_PERIOD_S:,.0f} seconds, not {period_s!r}"
            )
        with self.turn:
            self._pass(period_s, CALM)
            return self._sample()

    cdef _sample(self):
        before, now = self.before, self._read()
        self.before = now
        elapsed = now["time_s"] - before["time_s"]
        queues = self.layout.queue_of_port
        return Sample(
            time_s=now["time_s"],
            elapsed_s=elapsed,
            source_tuples=now["sent"] - before["sent"],
            sink_tuples=now["received"] - before["received"],
            submitted_tuples=now["submitted"] - before["submitted"],
            processed=[
                after - earlier
                for after, earlier in zip(now["processed"], before["processed"], strict=True)
            ],
            queue_fill=[0.0 if queue is None else self._queue_fill(queue) for queue in queues],
            write_blocked=[
                0.0 if queue is None else _share(now["blocked"][queue], before["blocked"][queue])
                for queue in queues
            ],
            threads_active=self._active(),
            threads_requested=self.requested,
            threads_unsuspendable=self._unsuspendable(),
            queued_ports=self._queued_ports(),
            cpu_s=now["cpu_s"] - before["cpu_s"],
            system_cpu=(
                min(1.0, (now["cpu_s"] - before["cpu_s"]) / (elapsed * self.machine.cpus))
                if elapsed > 0
                else 0.0
            ),
            context_switches=now["switches"] - before["switches"],
            latency_counts=[
                after - earlier
                for after, earlier in zip(now["latency"], before["latency"], strict=True)
            ],
            operator_cost=self._operator_cost(now["looks"]) if self.profiles else [],
            others_cpu=0.0,
            utilisation=_utilisation(before["use"], now["use"]),
            useful_s=[
                (after - earlier) / 1e9
                for after, earlier in zip(now["useful"], before["useful"], strict=True)
            ],
            queue_full=[
                0.0
                if queue is None or not elapsed > 0
                else min(1.0, (now["full"][queue] - before["full"][queue]) * PS / elapsed)
                for queue in (queues if self.layout.policy else ())
            ],
            replicas=self._replicas(),
            balancers={
                name: self._balance(index, now["processed"], before["processed"])
                for name, index in self.elastic.items()
            },
        )

    def since_sample(self):
        """No virtual time passes between samples."""
        check_process("since_sample", self.process)
        return 0.0, 0

    def sample_events(self, events):
        """Sample a period that lasts for a number of events: for runs whose time scale is not known
        beforehand.

        Raises UserError for a number of events that is not above 0.
        """
        if not isinstance(events, int) or isinstance(events, bool) or events < 1:
            raise UserError(f"events must be a whole number above 0, not {events!r}")
        check_process("sample_events", self.process)
        with self.turn:
            self.stretch = events
            try:
                return self.sample(LONGEST_PERIOD_S)
            finally:
                self.stretch = 0

    def seize(self, str port):
        """Hold the consumer flag of `port` for ever, before the start: a fault for tests of a run
        that cannot go on.
        """
        queue = self.layout.queue_of_port[
            [str(name) for name in self.layout.input_ports].index(port)
        ]
        if self.started:
            raise UserError("seize was called after start")
        self.core.ports[<uint32_t> queue].consuming.seize()

    @property
    def phased(self):
        """True if the behaviour depends on the time so far: rates change with time, or costs with
        the number of tuples.
        """
        return any([operator.rates or operator.costs for operator in self.layout.operators])

    def begin_here(self):
        """End the warm-up: samples count time from now on."""
        check_process("begin_here", self.process)
        with self.turn:
            self.origin = self.core.system.now
            self.before = self._read()

    def stop(self, bint drain, timeout_s):
        if (
            isinstance(timeout_s, bool)
            or not isinstance(timeout_s, (int, float))
            or not 0 <= timeout_s <= LONGEST_PERIOD_S
        ):
            raise UserError(
                f"timeout_s must be from 0 to {LONGEST_PERIOD_S:,.0f} seconds, not {timeout_s!r}"
            )
        if self.totals is not None:
            return self.totals
        check_process("stop", self.process)
        self.drain_s = min(self.drain_s, <double> timeout_s)
        self.hurry = max(self.hurry, STOPPING if drain else CUTTING)
        with self.turn:
            if self.totals is None:
                self._stop()
        return self.totals

    cdef _stop(self):
        if self.started and self.hurry == STOPPING:
            self.core.finishing = True
            with suppress(RunFailed):  # what is left is cut, and `bound` says why
                self._pass(self.drain_s, STOPPING)
        drained = self.started and self.core.open_operators == 0
        if self.started and self.broken is None:
            # also of a run that is over: the last operator may close before the threads behind it
            # have let go of their batch
            self._end()
        stuck = self._stuck() if self.started and not drained else []
        totals = account_of(self.layout, self.core[0], drained, stuck, self._read())
        if self.broken is not None:
            totals = replace(totals, error=self.broken)
        if self.totals is None:  # else a signal's handler has stopped it meanwhile
            self.totals = totals

    # -- inside ------------------------------------------------------------------------------------

    cdef _pass(self, double period_s, Hurry patience):
        """Let virtual time pass, until somebody is in more of a hurry than `patience` allows for.

        Raises RunFailed if the run takes more events than it may, can go on no more, or is at the
        end of virtual time.
        """
        cdef uint64_t began_ps = self.core.system.now, until = self._after(began_ps, period_s)
        cdef uint64_t handled, events, wanted = self.stretch or self.most_events
        if self.broken is not None:
            raise RunFailed(self.broken)
        if began_ps == END_OF_TIME_PS:
            raise RunFailed(
                f"virtual time ends {END_OF_TIME_PS * PS / 86400:.0f} days after the start of a run"
            )
        began = time.monotonic()
        while wanted > 0 and self.hurry <= patience:
            if patience == STOPPING:  # somebody may have less time since
                until = self._after(began_ps, self.drain_s)
            events = min(
                min(<uint64_t> EVENTS_BETWEEN_CHECKS, wanted),
                self.most_events - min(self.handled, self.most_events),
            )
            try:
                with nogil:
                    handled = self.core.run(until, events)
            except MemoryError:
                self.broken = (
                    "the system refuses memory to the simulation after "
                    f"{self.core.system.now * PS:.3g} virtual s"
                )
                raise RunFailed(self.broken) from None
            self.handled += handled
            # no line of Python is executed here, before which the interpreter would look
            PyErr_CheckSignals()
            wanted -= min(handled, wanted)  # the last turn may have taken several
            if handled < events:
                break
            if self.handled >= self.most_events:
                passed = f"{self.core.system.now * PS:.3g} virtual s"
                self.bound = (
                    f"the simulation reached its bound of {self.most_events} events after {passed}"
                )
                raise RunFailed(self.bound)
        self.wall_s += time.monotonic() - began
        if not self.core.over and self.core.system.calendar.empty():
            passed = f"{self.core.system.now * PS:.3g} virtual s"
            self.bound = (
                f"after {passed} nothing can happen any more: every thread sleeps, and none will "
                f"be woken{self._deadlock()}"
            )
            raise RunFailed(self.bound)

    cdef str _deadlock(self):
        """Return which operator waits for what, for co-routines; "" under other models."""
        if not self.layout.policy:
            return ""
        names = [operator.name.encode() for operator in self.layout.operators]
        return f" ({self.core.deadlock(names).decode()})"

    cdef uint64_t _after(self, uint64_t now, double period_s):
        """Return the end of a period that begins `now` [ps], END_OF_TIME_PS at most."""
        return (
            END_OF_TIME_PS
            if self.stretch
            else min(<uint64_t> END_OF_TIME_PS, now + <uint64_t> round(period_s / PS))
        )

    cdef _end(self):
        """Let every thread run until it sees that the run is over, and gives up the tuples that it
        holds.
        """
        cdef uint64_t left = MOST_AT_THE_END
        try:
            self.core.cut()
            with nogil:
                self.core.run_out(left)
        except MemoryError:
            self.broken = "the system refuses memory to the simulation at the end of the run"

    cdef list _stuck(self):
        """Threads that have begun and not ended, though the run is over: there should be none."""
        cdef uint32_t i
        return [
            self.layout.thread_name(i)
            for i in range(self.layout.most_threads)
            if self.core.state(i) not in (NEW, ENDED)
        ]

    cdef int _unsuspendable(self):
        """Return the threads asked to suspend before the last sample that still execute, or wait
        for another one (P17 §4.2.3).
        """
        stubborn = 0
        for thread in self.suspended_before & self.suspended:
            stubborn += self.core.workers[self.layout.first_scheduler + <uint32_t> thread].rest in (
                AWAKE, BLOCKED
            )
        self.suspended_before = set(self.suspended)
        return stubborn

    cdef int _active(self):
        cdef uint32_t thread
        active = 0
        for thread in range(self.created):
            active += self.core.workers[self.layout.first_scheduler + thread].rest != SUSPENDED
        return active

    cdef list _operator_cost(self, list looks):
        """Shares of the looks in the older window: of the last two to four samples, so that fewer
        operators are never seen.
        """
        older, younger, samples, looked = self.windows
        seen = [now - then for now, then in zip(looks, older, strict=True)]
        # samples may be shorter than the time between two looks
        if samples + 1 >= HALF_WINDOW and self.core.looked > looked:
            self.windows = younger, looks, 0, self.core.looked
        else:
            self.windows = older, younger, samples + 1, looked
        total = sum(seen)
        return [count / total for count in seen] if total > 0 else []

    # Ports are read by index: a loop over the vector itself would copy each of them, tuples and
    # all.

    cdef int _queued_ports(self):
        cdef size_t port
        count = 0
        for port in range(self.core.ports.size()):
            count += not self.core.ports[port].mode & WANTED_CALLED
        return count

    cdef list _pushes(self):
        cdef size_t port
        return [
            (self.core.ports[port].blocked, self.core.ports[port].pushes)
            for port in range(self.core.ports.size())
        ]

    cdef double _queue_fill(self, uint32_t queue):
        return self.core.ports[queue].ring.size() / <double> self.core.ports[queue].ring.capacity()

    cdef _balance(self, uint32_t index, list now, list before):
        cdef Operator* op = &self.core.operators[index]
        cdef BalanceState* state = <BalanceState*> op.own
        cdef uint32_t i
        cdef Port* port
        submitted, fill = 0, 0.0
        for i in range(op.routes.size()):
            port = op.routes[i].targets[0].port
            buffer = port.op.index
            submitted += now[buffer] - before[buffer]
            if i < state.active:
                fill += port.ring.size() / <double> port.ring.capacity()
        congestion = 1.0 if state.waiting else fill / state.active
        return Balance(
            active=state.active,
            ports=op.routes.size(),
            submitted=submitted,
            congestion=congestion,
        )

    cdef _replicas(self):
        """Return the replicas of each operator; empty without co-routines."""
        cdef uint32_t index
        if not self.layout.policy:
            return ()
        return [
            self.core.replicas(index) if index in self.layout.replicas else 1
            for index in range(len(self.layout.operators))
        ]

    cdef list _full(self):
        cdef size_t port
        return [
            self.core.full_time(self.core.ports[port])
            for port in range(self.core.ports.size() if self.layout.policy else 0)
        ]

    cdef dict _read(self):
        cdef uint32_t i
        cdef vector[uint64_t] latency
        cdef Operator* op
        cdef uint64_t now = self.core.system.now
        sent = received = submitted = 0
        processed = []
        latency.resize(BUCKETS)
        for i in range(len(self.layout.operators)):
            op = &self.core.operators[i]
            kind = self.layout.operators[i].kind
            processed.append(op.processed)
            if self.layout.operators[i].is_source:
                sent += op.processed
            if kind is SINK:
                received += op.processed
                (<SinkState*> op.own).latency.add_to(latency.data())
            elif self.layout.operators[i].counts_output:
                submitted += op.emitted
            elif kind.submits:
                submitted += op.processed
        return {
            "time_s": (now - self.origin) * PS,
            "sent": sent,
            "received": received,
            "submitted": submitted,
            "processed": processed,
            "latency": latency,
            "blocked": self._pushes(),
            "cpu_s": self.core.system.cpu_time() * PS,
            "switches": self.core.system.switches(),
            "use": self._use(),
            "useful": self.core.useful_ns() if self.layout.policy else (),
            "full": self._full(),
            "looks": list(self.core.looks),
        }

    cdef _use(self):
        """Time [ps] of all scheduler threads together: for which they were allowed to run, and for
        which they executed operators.
        """
        cdef uint32_t thread
        cdef uint64_t now = self.core.system.now, awake
        cdef Worker* worker
        allowed = executing = 0
        for thread in range(self.created):
            worker = &self.core.workers[self.layout.first_scheduler + thread]
            awake = now - worker.born - worker.asleep.read()
            allowed += awake
            executing += awake - worker.idle.read()
        return allowed, executing


def hardware_flop_ns(machine):
    """Nanoseconds of a dependent multiply at the highest clock."""
    return machine["core.fmul_latency_cycles"] / max(machine.table("core.clock_ghz").values())


def _share(now, before):
    blocked, pushes = now[0] - before[0], now[1] - before[1]
    return blocked / pushes if pushes > 0 else 0.0


def _utilisation(before, now):
    allowed, executing = (after - earlier for earlier, after in zip(before, now, strict=True))
    return min(1.0, max(0.0, executing / allowed)) if allowed > 0 else None
