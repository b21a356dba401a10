"""The core of the engine on virtual threads of a described machine (harness.engine.core.Core).

Nothing happens between two calls: `let_pass` lets virtual time pass, and levels, queues and ports
change at once, between two events. One seed gives the same run on any machine, bit for bit: times
are whole numbers, ties are broken by order, and no clock is read.

Calls of several threads take turns, and a stop breaks off a sample that another thread waits for. A
process that was forked meanwhile leaves the engine alone, since the fork may have come in the
middle of a call.
"""

import math
import time
from contextlib import suppress

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uint32_t, uint64_t
from libcpp.atomic cimport atomic, memory_order_relaxed
from libcpp.vector cimport vector
from posix.unistd cimport getpid

from harness.graph import kinds
from harness.runtime.native cimport BUCKETS, SinkState
from harness.runtime.protocol cimport (
    AWAKE,
    BLOCKED,
    IDLE,
    PATIENCE_NS,
    QUEUED,
    SUSPENDED,
    WANTED_CALLED,
)
from harness.simulator.costs cimport fill_machine, fill_software
from harness.simulator.native cimport (
    ENDED,
    NEW,
    BalanceState,
    Machine,
    Simulation,
    Software,
    TimeSpent,
    Worker,
    want,
)

from harness.engine.counters import Counters
from harness.engine.time_use import ThreadTime, TimeUse
from harness.errors import RunFailed, UserError
from harness.graph.values import MAX_THREADS
from harness.runtime.time_use import meaning
from harness.simulator.levels import levels_of

include "build.pxi"
include "account.pxi"

MAX_EVENTS = 20_000_000_000
"""Default limit of a run's events: turns of threads, and batches that operators execute. They take
most of an hour. The limit ends a graph in which nothing moves time forward."""

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
of runtime/profiler.pxi have a length in time, which may be more periods. With 5 samples here, laws
that place queues used the old costs long after the work had moved (M19 Figure 13)."""

cdef enum Hurry:
    CALM
    STOPPING  # somebody stops the run: samples end
    CUTTING  # and does not want it drained, or not any more


@cython.final
cdef class SimulatorCore:
    """Runs the graph of `layout` once on a described machine.

    Parameters
    ----------
    layout : harness.models.layout.RunLayout
        Of a checked graph under a model, for this machine. Functions of users cannot be executed:
        operators on typed streams, loops among them, need `profiled`, others must be replaced by
        work (harness/measurement/simulable.py).
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
        Costs and output rates of typed operators. Of other graphs it is for the record alone.
    explained : bool
        Whether to add up what threads spend their time on.
    """

    goes_on = False
    tick_s = PS

    cdef Simulation* core
    cdef readonly object layout
    cdef readonly int most_threads
    cdef atomic[int] process_number, level  # any thread may ask for them
    cdef object graph, machine, software, profiled, seed
    cdef dict replaced
    cdef dict wanted  # by operator: replicas that were asked for before the start
    # looks when the profiler's older window began, and its younger one; samples and looks at all
    # threads since then
    cdef tuple windows
    cdef bint started, profiles, bounded
    cdef Hurry hurry
    # shortest time to drain that a call of stop() has given the run [virtual s]
    cdef double drain_s
    cdef uint64_t handled, most_events, stretch, origin
    cdef int created
    # threads of the pool asked to suspend, now and at the last sample
    cdef set suspended, suspended_before
    # why nothing more happens: it had to end there; or its threads can go on no more
    cdef object bound, broken
    cdef double wall_s

    def __cinit__(
        self, layout, machine, software, tuples=None, bint profile=False, seed=0, events=MAX_EVENTS,
        replaced=None, profiled=None, bint explained=False
    ):
        cdef Machine hardware
        cdef Software costs
        graph = layout.graph
        for operator in graph.operators.values():
            if operator.typed is not None and profiled is not None:
                continue
            if operator.typed is not None or not operator.kind.simulated:
                kind = (
                    f"typed {operator.kind}".removesuffix(" typed")
                    if operator.typed
                    else operator.kind
                )
                raise UserError(
                    f"operator {operator.name!r} is of kind {kind}: a user's own operator cannot "
                    "be simulated without a profile"
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
        self.core = new Simulation(
            hardware, costs, <uint64_t> (seed & 0xFFFFFFFFFFFFFFFF),
            <uint32_t> len(self.layout.operators), <uint32_t> len(self.layout.queues),
            <uint32_t> self.layout.most_threads,
            <uint32_t> machine["os.futex_buckets"],
        )
        self.profiled = profiled
        self.core.time_use.on = explained
        typed = profiled if graph.typed_graph else None
        build(
            self.core,
            self.layout,
            tuples,
            None if typed is None else typed.on(machine),
            profiled is not None and profiled.interpreter_lock,
        )
        if self.layout.first_scheduler + self.layout.pool_threads <= machine.cpus:
            self.core.patience = <uint64_t> PATIENCE_NS * 1000
        self.suspended, self.suspended_before = set(), set()
        self.wanted = {}
        self.drain_s = math.inf

    def __dealloc__(self):
        if self.process not in (0, getpid()):
            return
        del self.core

    @property
    def process(self):
        return self.process_number.load(memory_order_relaxed)

    @property
    def requested(self):
        return self.level.load(memory_order_relaxed)

    # -- the run -----------------------------------------------------------------------------------

    @property
    def machine_name(self):
        return self.machine.name

    @property
    def over(self):
        return bool(self.core.over)

    def prepare(self):
        self.process_number.store(getpid(), memory_order_relaxed)
        self.started = True
        try:
            if not self.bounded:
                self._fill()
        except MemoryError:
            self._break("at the start of the run")
        if self.profiles:
            self.core.profile(<uint64_t> (PROFILE_S / PS))
        looks = list(self.core.looks)
        self.windows = looks, looks, 0, 0

    def begin(self):
        cdef uint32_t i
        try:
            for i in range(self.layout.first_scheduler):
                self.core.start(i)
            if self.layout.pool_threads > 0:
                self.set_level(self.layout.pool_threads)
        except MemoryError:
            self._break("at the start of the run")
        for index, number in self.wanted.items():
            self.set_replicas(index, number)

    cdef _fill(self):
        """Begin with tuples in the queues, unless sources wait for their time, tuples choose
        buffers, or a merge or barrier needs them in order.
        """
        operators = self.layout.operators
        timed = any([operator.rate is not None or operator.rates for operator in operators])
        ordered = any([operator.kind in (kinds.MERGE, kinds.BARRIER) for operator in operators])
        if (
            len(self.layout.queues) == 0
            or self.layout.balancing
            or timed
            or ordered
            or self.layout.graph.typed_graph
        ):
            return
        levels = [
            # a port that is called has nothing waiting (ORDER)
            [queue for queue in level if self.core.ports[<uint32_t> queue].mode == QUEUED]
            for level in levels_of(self.layout.streams, self.layout.queue_of_port, len(operators))
        ]
        levels = [level for level in levels if level]
        filled = self.layout.capacity * FILLED
        hops = sum([len(level) for level in levels]) * filled * len(levels) / 2
        if hops <= MAX_FILLING:
            self.core.fill_queues(levels, self.layout.filled, FILLED)

    def let_pass(self, double period_s):
        self._pass(period_s, CALM)

    def let_events_pass(self, uint64_t events):
        self.stretch = events
        try:
            self._pass(math.inf, CALM)
        finally:
            self.stretch = 0

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
        while wanted > 0 and self._hurry() <= patience:
            if patience == STOPPING:  # somebody may have less time since
                until = self._after(began_ps, self._drain_s())
            events = min(
                min(<uint64_t> EVENTS_BETWEEN_CHECKS, wanted),
                self.most_events - min(self.handled, self.most_events),
            )
            try:
                with nogil:
                    handled = self.core.run(until, events)
            except MemoryError:
                self._break(f"after {self.core.system.now * PS:.3g} virtual s")
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

    cdef _run_out(self):
        """Let every thread run until it sees that the run is over, and gives up the tuples that it
        holds.
        """
        cdef uint64_t left = MOST_AT_THE_END
        try:
            self.core.cut()
            with nogil:
                self.core.run_out(left)
        except MemoryError:
            with suppress(RunFailed):
                self._break("at the end of the run")

    cdef list _stuck(self):
        """Threads that have begun and not ended, though the run is over: there should be none."""
        cdef uint32_t i
        return [
            self.layout.thread_name(i)
            for i in range(self.layout.most_threads)
            if self.core.state(i) not in (NEW, ENDED)
        ]

    cdef _break(self, when):
        """Note that the threads can go on no more, and raise RunFailed."""
        self.broken = f"the system refuses memory to the simulation {when}"
        raise RunFailed(self.broken) from None

    def is_called_by_operator(self):
        return False

    # Terms come from any thread, in critical sections of this object: the interpreter's lock, or
    # this object's where there is none.

    def add_terms(self, bint drain, double timeout_s):
        with cython.critical_section(self):
            self.drain_s = min(self.drain_s, timeout_s)
            self.hurry = max(self.hurry, STOPPING if drain else CUTTING)

    cdef Hurry _hurry(self) noexcept:
        cdef Hurry now
        with cython.critical_section(self):
            now = self.hurry
        return now

    cdef double _drain_s(self) noexcept:
        cdef double now
        with cython.critical_section(self):
            now = self.drain_s
        return now

    def end(self):
        if self.started and self._hurry() == STOPPING:
            self.core.finishing = True
            with suppress(RunFailed):  # what is left is cut, and `bound` says why
                self._pass(self._drain_s(), STOPPING)
        drained = self.started and self.core.open_operators == 0
        if self.started and self.broken is None:
            # also of a run that is over: the last operator may close before the threads behind it
            # have let go of their batch
            self._run_out()
        stuck = self._stuck() if self.started and not drained else []
        return account_of(self.layout, self.core[0], drained, stuck, self.broken)

    def entry(self):
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

    # -- changes -----------------------------------------------------------------------------------

    def switch(self, queues, bint on):
        for queue in queues:
            want(&self.core.ports[<uint32_t> queue], not on)
        self.core.size_batches()

    def activate(self, uint32_t operator, uint32_t ports):
        self.core.activate(self.core.operators[operator], ports)

    def set_replicas(self, uint32_t operator, uint32_t number):
        if not self.started:
            self.wanted[operator] = number
            return
        try:
            self.core.set_replicas(operator, number)
        except MemoryError:
            self._break(f"for {number} replicas of {self.layout.operators[operator].name!r}")

    def set_level(self, int level):
        cdef int requested = <int> self.layout.minimum_threads
        requested = max(requested, level)
        self.level.store(requested, memory_order_relaxed)
        running = [thread for thread in range(self.created) if thread not in self.suspended]
        for thread in sorted(running, key=self._reluctance)[
            : max(0, len(running) - requested)
        ]:
            self.suspended.add(thread)
            self.core.set_suspended(self.layout.first_scheduler + <uint32_t> thread, True)
        missing = requested - len(running)
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

    # -- reading -----------------------------------------------------------------------------------
    #
    # Ports are read by index: a loop over the vector itself would copy each of them, tuples and
    # all.

    @property
    def active(self):
        cdef uint32_t thread
        active = 0
        for thread in range(self.created):
            active += self.core.workers[self.layout.first_scheduler + thread].rest != SUSPENDED
        return active

    def unsuspendable(self):
        # those that still execute, or wait for another one (P17 §4.2.3)
        stubborn = 0
        for thread in self.suspended_before & self.suspended:
            stubborn += self.core.workers[self.layout.first_scheduler + <uint32_t> thread].rest in (
                AWAKE, BLOCKED
            )
        self.suspended_before = set(self.suspended)
        return stubborn

    def looks(self):
        # Of the older window: of the last two to four samples, so that fewer operators are never
        # seen.
        if not self.profiles:
            return []
        older, younger, samples, looked = self.windows
        looks = list(self.core.looks)
        # samples may be shorter than the time between two looks
        if samples + 1 >= HALF_WINDOW and self.core.looked > looked:
            self.windows = younger, looks, 0, self.core.looked
        else:
            self.windows = older, younger, samples + 1, looked
        return [now - then for now, then in zip(looks, older, strict=True)]

    def time_use(self):
        cdef uint32_t i
        cdef vector[TimeSpent] entries
        if not self.core.time_use.on:
            return None
        entries = self.core.time_spent()
        spent = {}
        for i in range(entries.size()):
            spent.setdefault(entries[i].thread, {})[meaning(entries[i].word)] = entries[i].time * PS
        threads = [
            ThreadTime(thread, self.layout.thread_name(thread), spent[thread])
            for thread in sorted(spent)
        ]
        return TimeUse(self.core.system.now * PS, tuple(threads))

    def fills(self):
        cdef size_t i
        return [
            self.core.ports[i].ring.size() / <double> self.core.ports[i].ring.capacity()
            for i in range(self.core.ports.size())
        ]

    def called(self):
        cdef size_t i
        return [
            bool(self.core.ports[i].mode & WANTED_CALLED) for i in range(self.core.ports.size())
        ]

    def balance(self, uint32_t operator):
        cdef BalanceState* state = <BalanceState*> self.core.operators[operator].own
        return state.active, bool(state.waiting)

    def replicas(self, uint32_t operator):
        return self.core.replicas(operator)

    def living_replicas(self, uint32_t operator):
        return self.core.living_replicas(operator) if self.started else 1

    def cpu_shares(self, before, now):
        elapsed = now.time_s - before.time_s
        if not elapsed > 0:
            return 0.0, 0.0
        return min(1.0, (now.cpu_s - before.cpu_s) / (elapsed * self.machine.cpus)), 0.0

    def time_s(self):
        return (self.core.system.now - self.origin) * PS

    def begin_here(self):
        self.origin = self.core.system.now

    def processed(self):
        cdef size_t i
        return [self.core.operators[i].processed for i in range(self.core.operators.size())]

    def emitted(self):
        cdef size_t i
        return [self.core.operators[i].emitted for i in range(self.core.operators.size())]

    def read(self):
        cdef size_t i
        cdef uint32_t sink
        cdef size_t part
        cdef vector[vector[uint64_t]] latencies
        latencies.assign(len(self.layout.parts), vector[uint64_t](BUCKETS))
        for sink, part in self.layout.part_of_sink.items():
            (<SinkState*> self.core.operators[sink].own).latency.add_to(latencies[part].data())
        resumed = self.layout.policy is not None
        return Counters(
            time_s=self.time_s(),
            processed=self.processed(),
            emitted=self.emitted(),
            part_latencies=latencies,
            pushes=[self.core.ports[i].pushes for i in range(self.core.ports.size())],
            blocked=[self.core.ports[i].blocked for i in range(self.core.ports.size())],
            cpu_s=self.core.system.cpu_time() * PS,
            kernel_s=self.core.system.kernel_time() * PS,
            switches=self.core.system.switches(),
            pool=self._pool(),
            useful_ns=self.core.useful_ns() if resumed else [],
            full=[
                self.core.full_time(self.core.ports[i])
                for i in range(self.core.ports.size() if resumed else 0)
            ],
            host=None,
        )

    cdef list _pool(self):
        cdef uint32_t thread
        cdef uint64_t now = self.core.system.now
        cdef Worker* worker
        times = []
        for thread in range(self.created):
            worker = &self.core.workers[self.layout.first_scheduler + thread]
            times.append((now - worker.born - worker.asleep.read(), worker.idle.read()))
        return times

    # -- for tests ---------------------------------------------------------------------------------

    def seize(self, str port):
        """Hold the consumer flag of `port` for ever, before the start: a fault for tests of a run
        that cannot go on.
        """
        queue = self.layout.queue_of_port[
            [str(name) for name in self.layout.input_ports].index(port)
        ]
        if self.started:
            raise ValueError("seize was called after start")
        self.core.ports[<uint32_t> queue].consuming.seize()


def hardware_flop_ns(machine):
    """Nanoseconds of a dependent multiply at the highest clock."""
    return machine["core.fmul_latency_cycles"] / max(machine.table("core.clock_ghz").values())
