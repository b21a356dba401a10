"""The core of the engine on real threads: start the threads of a plan, read their counters, change
it while it runs, end the run.
"""

import resource
import threading
import time
from contextlib import suppress

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_INCREF
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.atomic cimport (
    atomic,
    memory_order_acquire,
    memory_order_relaxed,
    memory_order_release,
)
from libcpp.vector cimport vector
from posix.unistd cimport getpid

from harness.runtime.native cimport (
    BUCKETS,
    BalanceState,
    Operator,
    Run,
    SinkState,
    Tuple,
    choose_sizes,
    fill_payload,
    multiply,
    multiply_batch,
    now_ns,
    opaque_one,
    operator_of,
    slot,
    value_for,
)
from harness.runtime.path cimport coroutines_of, deadlocked, end_run, set_active, want
from harness.runtime.plan cimport Plan
from harness.runtime.protocol cimport MAX_BATCH, WANTED_CALLED

from harness.machines.host.cpu import CpuCounters, others_share, system_share
from harness.engine.counters import Counters
from harness.engine.sample import PROFILE_WINDOW_S
from harness.errors import RunFailed
from harness.graph.values import MAX_THREADS
from harness.runtime.time_use import TimeUseSampler

include "account.pxi"
include "pool.pxi"
include "profiler.pxi"

SHORTEST_GRACE_S = 2.0
"""Shortest time that a thread has to notice the end of the run before it counts as stuck [s]."""

GRACE_S = 10.0
"""Time for the same if the run is not stopped by a call: its start was broken off, or its engine
was dropped [s].
"""

DEADLOCKED_AFTER_S = 1.0
"""Time after which a run that seems deadlocked counts as such, if threads outside the co-routines'
scheduler execute ports [s].
"""


cdef class RuntimeCore:
    """Runs the graph of `layout` once on real threads; see harness.engine.core.Core for what each
    method promises.

    Any call may come while another one waits. The pool has a lock of its own, and changes of the
    run take turns at `changing`. What is called without these only reads what the run's threads
    write for others, or touches the terms of the end and the look for a deadlock, in critical
    sections of this object: the interpreter's lock, or this object's where there is none. A process
    that was forked meanwhile has no threads, and locks may be held for ever: there nothing is
    touched, and nothing is freed.

    Parameters
    ----------
    layout : harness.models.layout.RunLayout
        Of a checked graph under a model.
    tuples : int or None
        How many tuples each source sends; None: until it is stopped.
    profile : bool
        Whether a sampling thread measures what operators cost (profiler.pxi).
    profile_window_s : float
        What it looks back at most [s], above 0.
    replicas_by_law : bool
        Whether a law will set numbers of replicas: memory for all of them is then taken before the
        run.
    explained : bool
        Whether a sampling thread looks what all threads do (time_use.pyx).
    """

    goes_on = True
    tick_s = 1e-9
    most_threads = MAX_THREADS
    machine_name = ""

    cdef Plan plan
    cdef readonly object layout
    cdef readonly Pool pool
    cdef atomic[int] process_number
    # held by a call that changes the run; again by a signal's handler that comes in its middle
    cdef object changing
    cdef object profiler, time_sampler
    cdef dict co_of  # by operator: its co-routine
    cdef bint starting, started, ended
    cdef int64_t started_ns
    # terms of the end [s]: when it gives up draining, the time that threads then have, and its end
    cdef double drain_until, grace_s, end_by
    cdef double halted  # since when nothing has moved [s]; below 0: something has
    cdef uint64_t moved  # batches that had been put into queues by then

    def __cinit__(
        self, layout, tuples=None, bint profile=False, double profile_window_s=PROFILE_WINDOW_S,
        bint replicas_by_law=False, bint explained=False,
    ):
        self._forget()
        self.changing = threading.RLock()
        self.halted = -1.0
        self.plan = Plan(layout.timed(ns_per_flop), tuples)
        self.layout = self.plan.layout
        self.pool = Pool(self.plan)
        self.profiler = Profiler(self.plan, window_s=profile_window_s) if profile else None
        self.time_sampler = TimeUseSampler(self.plan) if explained else None
        self.co_of = {index: co for co, index in enumerate(self.layout.coroutines)}
        if replicas_by_law:
            for index, co in self.co_of.items():
                if index in self.layout.replicas:
                    # now: a law could do nothing about a refusal
                    self.plan.make_room_for_replicas(index, co)

    # -- the run -----------------------------------------------------------------------------------

    @property
    def over(self):
        return bool(self.plan.run.over.load(memory_order_acquire))

    @property
    def process(self):
        # relaxed: nobody finds what it belongs to by it
        return self.process_number.load(memory_order_relaxed)

    def prepare(self):
        self.process_number.store(getpid(), memory_order_relaxed)
        self.started_ns = now_ns()

    def begin(self):
        self.started = True
        with cython.critical_section(self):
            self.starting = True
        try:
            for connector in self._connectors("open"):
                connector.open()
            self._start_threads()
        except BaseException as broken:
            end_run(self.plan.run)
            self._join(GRACE_S)
            self._close()
            if isinstance(broken, OSError):
                raise RunFailed(str(broken)) from None
            raise
        finally:
            self._has_started()

    cdef _start_threads(self):
        """Start the threads, sources last, so that no tuple is sent before every other thread runs.
        A stop breaks it off.
        """
        cdef uint32_t sources = 0, begin, end
        if self.plan.layout.pool_threads > 0:
            self.pool.set_level(self.plan.layout.pool_threads)
        if self.profiler is not None:
            self.profiler.start()
        if self.time_sampler is not None:
            self.time_sampler.start()
        while sources < self.plan.first_scheduler and self.plan.run.workers[sources].op != NULL:
            sources += 1
        for begin, end in ((sources, self.plan.first_scheduler), (0, sources)):
            while begin < end and not self.pool.is_closed():
                begin += start_threads(self.plan, begin, end - begin)
                PyErr_CheckSignals()
        if self._has_started():
            raise RunFailed("start was broken off: the engine was stopped meanwhile")

    cdef bint _has_started(self) noexcept:
        """Return True if a stop has broken off the start. From now on none does."""
        cdef bint broken_off
        with cython.critical_section(self):
            self.starting = False
            broken_off = self.pool.is_closed()
        return broken_off

    def let_pass(self, double period_s):
        cdef Run* run = self.plan.run
        cdef int64_t deadline = now_ns() + <int64_t> (period_s * 1e9)
        cdef int64_t left
        while not run.over.load(memory_order_acquire):
            left = deadline - now_ns()
            if left > 0:
                with nogil:
                    run.ended.sleep_for(min(left, 100_000_000), run.over)
                # no line of Python is executed here, before which the interpreter would look
                PyErr_CheckSignals()
            if not run.over.load(memory_order_acquire):
                self.pool.review()
                self._look_for_deadlock()
            if now_ns() >= deadline:
                return

    def is_called_by_operator(self):
        return is_thread_of(self.plan.run)

    def request_end(self, bint drain):
        self.plan.run.finishing.store(True, memory_order_release)
        if not drain:
            end_run(self.plan.run)

    def add_terms(self, bint drain, double timeout_s):
        now = time.monotonic()
        cdef double drain_until = now + timeout_s if drain else now
        cdef double grace_s = max(timeout_s, SHORTEST_GRACE_S)
        with cython.critical_section(self):
            self.drain_until = min(self.drain_until, drain_until)
            self.grace_s = min(self.grace_s, grace_s)
            self.end_by = min(self.end_by, drain_until + grace_s)
            if self.starting:
                self.pool.refuse()  # the start is broken off

    cdef void _forget(self) noexcept:
        with cython.critical_section(self):
            self.drain_until = self.grace_s = self.end_by = INFINITY

    cdef double _term(self, const double* term) noexcept:
        """Return a term of the end, which others may shorten."""
        cdef double now
        with cython.critical_section(self):
            now = term[0]
        return now

    def end(self):
        try:
            account = self._end()
        except BaseException:
            self._forget()
            raise
        self.ended = True
        return account

    cdef _end(self):
        cdef Run* run = self.plan.run
        if self.started:
            run.finishing.store(True, memory_order_release)
            while (
                not run.over.load(memory_order_acquire)
                and time.monotonic() < self._term(&self.drain_until)
            ):
                with nogil:
                    run.ended.sleep_for(50_000_000, run.over)
                PyErr_CheckSignals()
                if not run.over.load(memory_order_acquire):
                    # that the system refuses one more thread now must not keep this run from its
                    # end
                    with suppress(RunFailed):
                        self.pool.review()
            end_run(run)
        stuck = self._join(self._term(&self.grace_s))
        problem = self._close() if self.started else None
        account = account_of(self.plan, self.started, stuck)
        account.error = account.error or problem
        return account

    def _join(self, double grace_s):
        """Wait for the threads to end, until `end_by` at most. Returns the names of those that did
        not, with the operator that holds each.
        """
        cdef Run* run = self.plan.run
        cdef uint32_t i, at
        cdef double end_by
        stuck = []
        self.pool.close()
        end_by = time.monotonic() + grace_s
        with cython.critical_section(self):
            self.end_by = min(self.end_by, end_by)
        self._stop_samplers()
        for i in range(run.worker_count):
            while (
                not run.workers[i].thread.done() and time.monotonic() < self._term(&self.end_by)
            ):
                time.sleep(0.0005)  # gives the interpreter's lock to Python operators meanwhile
            if run.workers[i].thread.done():
                with nogil:
                    run.workers[i].thread.join()
            else:
                at = operator_of(run.workers[i])
                where = f" in operator {self.plan.operators[at - 1].name!r}" if at > 0 else ""
                if (
                    at == 0
                    and run.workers[i].pooled
                    and run.coroutines != NULL
                    and coroutines_of(run).judging(run.workers[i].co)
                ):
                    where = f" in policy {self.plan.policy.name!r}"
                stuck.append(f"{self.plan.layout.thread_name(i)}{where}")
                run.workers[i].thread.abandon()
                # for ever: the thread may come back, even while the interpreter is torn down
                Py_INCREF(self.plan)
        return stuck

    def _connectors(self, does):
        """Return the callables of typed operators that have the method `does`, "open" or "close"
        (harness/connectors).
        """
        functions = [
            operator.typed.function
            for operator in self.plan.layout.operators
            if operator.typed is not None
        ]
        return [function for function in functions if callable(getattr(function, does, None))]

    def _close(self):
        """Close all connectors; returns the text of the first error, or None."""
        problem = None
        for connector in self._connectors("close"):
            try:
                connector.close()
            except RunFailed as error:
                problem = problem or str(error)
        return problem

    def __del__(self):
        """End a run whose engine is dropped.

        The collector of cycles calls this before it takes apart what it collects, so the threads
        have all that they use until they have ended.
        """
        if not self.started or self.ended:
            return
        # threads that are not here may hold locks, or seem to wait: what they use is never freed
        if self.process != getpid():
            Py_INCREF(self.plan)
            Py_INCREF(self.profiler)
            Py_INCREF(self.time_sampler)
            return
        self.plan.run.failed.store(True, memory_order_release)
        end_run(self.plan.run)
        # an operator had the last reference: its thread cannot wait for its own end
        if is_thread_of(self.plan.run):
            self._let_go()
            return
        try:
            self._join(GRACE_S)
        except BaseException:  # as of a second Ctrl-C: what threads may still use must outlive them
            Py_INCREF(self.plan)
            raise

    def _stop_samplers(self):
        for sampler in (self.profiler, self.time_sampler):
            if sampler is not None:
                sampler.stop()

    def _let_go(self):
        """Leave all threads to end by themselves; what they use is never freed."""
        cdef uint32_t i
        Py_INCREF(self.plan)
        self.pool.close()
        self._stop_samplers()
        for i in range(self.plan.run.worker_count):
            self.plan.run.workers[i].thread.abandon()

    cdef void _look_for_deadlock(self) noexcept:
        """Find a deadlock of co-routines if other threads execute ports too; else their scheduler
        finds it (coroutines.hpp).
        """
        cdef Run* run = self.plan.run
        cdef uint64_t moved = 0
        cdef uint32_t i
        if run.coroutines == NULL or self.plan.first_scheduler == 0:
            return
        with cython.critical_section(self):
            for i in range(run.port_count):
                moved += run.ports[i].pushes.read()
            if moved != self.moved or not coroutines_of(run).seems_deadlocked():
                self.moved, self.halted = moved, -1.0
            elif self.halted < 0.0:
                self.halted = now_ns() / 1e9
            elif now_ns() / 1e9 - self.halted > DEADLOCKED_AFTER_S:
                deadlocked(run)

    # -- changes -----------------------------------------------------------------------------------

    def set_level(self, int level):
        self.pool.set_level(level)

    def switch(self, queues, bint on):
        with self.changing:
            for queue in queues:
                want(&self.plan.run.ports[<uint32_t> queue], not on)
            choose_sizes(self.plan.run)

    def activate(self, uint32_t operator, uint32_t ports):
        cdef Operator* op = &self.plan.run.operators[operator]
        with self.changing:
            set_active(<BalanceState*> op.own, ports)
            if self.plan.run.coroutines != NULL:
                coroutines_of(self.plan.run).buffers_changed(op.routes[0].targets.port.index)

    def set_replicas(self, uint32_t operator, uint32_t number):
        cdef uint32_t co = self.co_of[operator]
        with self.changing:
            if number > 1:
                self.plan.make_room_for_replicas(operator, co)
            with nogil:
                coroutines_of(self.plan.run).set_replicas(co, number)

    # -- reading -----------------------------------------------------------------------------------

    @property
    def requested(self):
        return self.pool.requested

    @property
    def active(self):
        return self.pool.active

    def unsuspendable(self):
        return self.pool.unsuspendable

    def fills(self):
        cdef uint32_t i
        return [
            self.plan.run.ports[i].ring.size_guess()
            / <double> self.plan.run.ports[i].ring.capacity()
            for i in range(self.plan.run.port_count)
        ]

    def called(self):
        cdef uint32_t i
        return [
            bool(self.plan.run.ports[i].mode.load(memory_order_relaxed) & WANTED_CALLED)
            for i in range(self.plan.run.port_count)
        ]

    def balance(self, uint32_t operator):
        cdef BalanceState* state = <BalanceState*> self.plan.run.operators[operator].own
        return (
            state.active.load(memory_order_relaxed), bool(state.waiting.load(memory_order_relaxed))
        )

    def replicas(self, operator):
        return coroutines_of(self.plan.run).replicas(self.co_of[operator])

    def living_replicas(self, operator):
        return coroutines_of(self.plan.run).living(self.co_of[operator])

    def looks(self):
        return self.profiler.counts() if self.profiler is not None else []

    def time_use(self):
        return self.time_sampler.read() if self.time_sampler is not None else None

    def cpu_shares(self, before, now):
        return system_share(before.host, now.host), others_share(before.host, now.host)

    def time_s(self):
        return (now_ns() - self.started_ns) / 1e9

    def processed(self):
        cdef Run* run = self.plan.run
        cdef uint32_t i
        counts = [run.operators[i].processed.read() for i in range(run.operator_count)]
        for i in range(run.replica_count):
            counts[run.replica_operators[i].index] += run.replica_operators[i].processed.read()
        return counts

    def emitted(self):
        cdef Run* run = self.plan.run
        cdef uint32_t i
        counts = [run.operators[i].emitted.read() for i in range(run.operator_count)]
        for i in range(run.replica_count):
            counts[run.replica_operators[i].index] += run.replica_operators[i].emitted.read()
        return counts

    def sent_by_output(self):
        """Return the tuples that each operator has sent since the start, by output port. Operators
        that send by all ports in turn are taken to have sent as many by each.
        """
        cdef uint32_t i, output
        cdef Operator* op
        sent = []
        for i, operator in enumerate(self.plan.layout.operators):
            op = &self.plan.run.operators[i]
            if operator.chooses_output:
                sent.append([op.routes[output].sent.read() for output in range(op.outputs)])
            else:
                all_sent = op.emitted.read() if operator.counts_output else op.processed.read()
                sent.append([all_sent // max(op.outputs, 1)] * op.outputs)
        return sent

    def read(self):
        cdef Run* run = self.plan.run
        cdef uint32_t i
        cdef size_t part
        cdef vector[vector[uint64_t]] latencies
        # first: counting takes milliseconds where operators are many
        time_s = self.time_s()
        emitted = self.emitted()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        latencies.assign(len(self.layout.parts), vector[uint64_t](BUCKETS))
        for i, part in self.layout.part_of_sink.items():
            (<SinkState*> run.operators[i].own).latency.add_to(latencies[part].data())
        useful_ns, full = [], []
        if run.coroutines != NULL:
            useful_ns = [0] * run.operator_count
            for i in range(run.co_worker_count):
                useful_ns[run.co_workers[i].op.index] += coroutines_of(run).useful_ns(i, now_ns())
            full = [coroutines_of(run).full_ns(i, now_ns()) for i in range(run.port_count)]
        return Counters(
            time_s=time_s,
            processed=self.processed(),
            emitted=emitted,
            part_latencies=latencies,
            pushes=[run.ports[i].pushes.read() for i in range(run.port_count)],
            blocked=[run.ports[i].blocked.read() for i in range(run.port_count)],
            cpu_s=usage.ru_utime + usage.ru_stime,
            kernel_s=usage.ru_stime,
            switches=usage.ru_nvcsw + usage.ru_nivcsw,
            pool=self.pool.use(),
            useful_ns=useful_ns,
            full=full,
            host=CpuCounters.now(),
        )

    # -- for tests ---------------------------------------------------------------------------------

    def guards(self):
        """Return, by name, the operators that need a lock, the ports with queues, and those whose
        queue several threads fill.
        """
        cdef Run* run = self.plan.run
        cdef uint32_t i
        layout = self.plan.layout
        queues = {
            index: str(layout.input_ports[queue.port]) for index, queue in enumerate(layout.queues)
        }
        return {
            "locked": [
                self.plan.operators[i].name
                for i in range(run.operator_count)
                if run.operators[i].lock != NULL
            ],
            "queued": list(queues.values()),
            "shared": [queues[i] for i in range(run.port_count) if run.ports[i].shared],
        }

    def forge(self, str port, sequences):
        """Put tuples that no source sent into the queue of `port`, before the start: a fault for
        tests of the oracle.
        """
        cdef Run* run = self.plan.run
        cdef Tuple* forged = <Tuple*> self.plan.states.block(run.stride)
        cdef uint32_t queue = self.plan.layout.queue_of_port[
            [str(name) for name in self.plan.layout.input_ports].index(port)
        ]
        if self.started:
            raise ValueError("forge was called after start")
        for sequence in sequences:
            forged.sequence = sequence
            forged.value = value_for(sequence)
            fill_payload(forged, run.payload)
            run.ports[queue].ring.push(forged, 1, run.stride, 0)
        if run.ports[queue].discipline.pooled and run.ports[queue].ready.set():
            run.ready.push(queue)


def kernel_ns(unsigned int cost, int rounds=9, unsigned int tuples=20_000):
    """Nanoseconds that an operator of `cost` FLOP takes for a tuple, in batches as large as they
    come: the median of `rounds`.
    """
    cdef char[MAX_BATCH * 64] memory
    cdef Tuple* first = <Tuple*> memory
    cdef unsigned int i
    cdef int64_t begin
    cdef double factor = opaque_one()
    for i in range(MAX_BATCH):
        slot(first, 64, i).value = 1.5
    times = []
    for _ in range(rounds):
        begin = now_ns()
        for _ in range(max(1, tuples // MAX_BATCH)):
            multiply_batch(first, 64, MAX_BATCH, factor, cost)
        times.append(<double> (now_ns() - begin) / (max(1, tuples // MAX_BATCH) * MAX_BATCH))
    return sorted(times)[rounds // 2]


def ns_per_flop(int rounds=9, unsigned int flop=200_000):
    """Nanoseconds of one dependent multiply, the unit of an operator's cost: the median of `rounds`
    measurements.
    """
    cdef double factor = opaque_one(), value = 1.5
    cdef int64_t begin, end
    times = []
    for _ in range(rounds):
        with nogil:
            begin = now_ns()
            value = multiply(value, factor, flop)
            end = now_ns()
        times.append(<double> (end - begin) / flop)
    if value != 1.5:  # uses the result, so that the work cannot be left out
        raise AssertionError("a multiply by 1.0 changed a value")
    return sorted(times)[rounds // 2]
