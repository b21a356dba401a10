"""Python's face of the runtime: start the threads of a plan, read their counters, change it while
it runs, end the run.
"""

import atexit
import math
import resource
import threading
import time
import weakref
from contextlib import suppress
from dataclasses import replace

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed, memory_order_release
from libcpp.vector cimport vector
from posix.unistd cimport getpid

from harness.graph.kinds import ELASTIC_LOAD_BALANCE
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
from harness.runtime.pool cimport is_thread_of, start_threads
from harness.runtime.protocol cimport MAX_BATCH, WANTED_CALLED

from harness.machines.host.cpu import CpuCounters, others_share, system_share
from harness.engine.engine import check_process
from harness.engine.sample import PROFILE_WINDOW_S, Balance, Sample
from harness.errors import RunFailed, UserError
from harness.graph import PortId
from harness.runtime.account import account_of
from harness.runtime.pool import Pool
from harness.runtime.profiler import Profiler

LONGEST_WAIT_S = 1e6
"""The longest period of a sample, and the longest time that stop() waits [s]: eleven days."""

SHORTEST_GRACE_S = 2.0
"""Shortest time that a thread has to notice the end of the run before it counts as stuck [s]."""

GRACE_S = 10.0
"""Time for the same if the run is not stopped by a call: its start was broken off, or its engine
was dropped [s].
"""

RUNNING = weakref.WeakSet()
"""Engines that were started and have not been stopped."""


DEADLOCKED_AFTER_S = 1.0
"""Time after which a run that seems deadlocked counts as such, if threads outside the co-routines'
scheduler execute ports [s].
"""


# the collector of cycles must leave it whole while threads run: __dealloc__ ends them
@cython.no_gc_clear
cdef class RuntimeEngine:
    """Runs the graph of `layout` once; see harness.engine.Engine for what each method promises.

    Any thread of the process that started it may call any method. One at a time starts or stops the
    run (`turn`), and the pool has a lock of its own; all else only reads, or stores single words. A
    stop ends by the strictest terms of all calls that ask for one (`_ask`). A process that was
    forked meanwhile has no threads, and locks may be held for ever: there nothing is touched, and
    nothing is freed.

    Parameters
    ----------
    layout : harness.models.layout.Layout
        Of a checked graph under a model.
    tuples : int or None
        How many tuples each source sends; None: until it is stopped.
    profile : bool
        Whether a sampling thread measures what operators cost (profiler.pyx).
    profile_window_s : float
        What it looks back at most [s], above 0.
    replicas_by_law : bool
        Whether a law will set numbers of replicas: memory for all of them is then taken before the
        run.
    """

    cdef object __weakref__
    cdef Plan plan
    cdef readonly object pool
    cdef readonly int queue_capacity, batch
    cdef object profiler
    cdef object totals
    cdef dict queue_named  # by PortId: its queue
    cdef dict elastic  # by name: the indices of elastic_load_balance operators
    cdef dict co_of  # by operator: its co-routine
    cdef bint starting, started
    cdef int process  # that started it; 0: none has
    cdef int64_t started_ns
    # held by the thread that starts or stops the run; a signal's handler may stop it within either
    cdef object turn
    # terms of the stop [s]: when it gives up draining, the time that threads then have, and its end
    cdef double drain_until, grace_s, end_by
    cdef double halted  # since when nothing has moved [s]; below 0: something has
    cdef uint64_t moved  # batches that had been put into queues by then
    cdef dict before  # the counters at the end of the last sample

    def __cinit__(self, layout, tuples=None, bint profile=False, double profile_window_s=PROFILE_WINDOW_S,
                  bint replicas_by_law=False):
        self.turn = threading.RLock()
        self._forget()
        self.halted = -1.0
        self.plan = Plan(layout.timed(ns_per_flop), tuples)
        self.pool = Pool(self.plan)
        self.profiler = Profiler(self.plan, window_s=profile_window_s) if profile else None
        self.queue_capacity, self.batch = self.plan.layout.capacity, MAX_BATCH
        balancing = {self.plan.operators[index].name: index for index in self.plan.layout.balancing}
        self.co_of = {index: co for co, index in enumerate(self.plan.layout.coroutines)}
        if replicas_by_law:
            for index, co in self.co_of.items():
                if index in self.plan.layout.replicas:
                    # now: a law could do nothing about a refusal
                    self.plan.make_room_for_replicas(index, co)
        self.elastic = {name: index for name, index in balancing.items() if self.plan.operators[index].kind is ELASTIC_LOAD_BALANCE}

    @property
    def threads(self):
        """Threads that execute operators: of sources, of threaded ports, and the pool's level."""
        level = self.pool.requested if self.started else self.plan.layout.pool_threads
        return self.plan.first_scheduler + level

    @property
    def minimum_threads(self):
        """The lowest level of the pool (FREE)."""
        return self.plan.layout.minimum_threads

    def start(self):
        check_process("start", self.process)
        with self.turn:
            if self.started:
                raise UserError("an engine runs once: start was called a second time")
            if self.totals is not None:
                raise UserError("an engine runs once: start was called after stop")
            self.process = getpid()
            self.started_ns = now_ns()
            self.before = self._read()
            self.started = self.starting = True
            RUNNING.add(self)
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
                self.starting = False

    cdef _start_threads(self):
        """Start the threads, sources last, so that no tuple is sent before every other thread runs.
        A stop breaks it off.
        """
        cdef uint32_t sources = 0, begin, end
        if self.plan.layout.pool_threads > 0:
            self.pool.set_level(self.plan.layout.pool_threads)
        if self.profiler is not None:
            self.profiler.start()
        while sources < self.plan.first_scheduler and self.plan.run.workers[sources].op != NULL:
            sources += 1
        for begin, end in ((sources, self.plan.first_scheduler), (0, sources)):
            while begin < end and not self.pool.closed:
                begin += start_threads(self.plan, begin, end - begin)
                PyErr_CheckSignals()
        if self.pool.closed:
            raise RunFailed("start was broken off: the engine was stopped meanwhile")

    def set_active_ports(self, operator, active):
        check_process("set_active_ports", self.process)
        index = self.elastic.get(operator) if isinstance(operator, str) else None
        if index is None:
            raise UserError(f"set_active_ports: no elastic_load_balance operator is named {operator!r}")
        ports = self.plan.run.operators[<uint32_t> index].outputs
        if not isinstance(active, int) or isinstance(active, bool) or not 1 <= active <= ports:
            raise UserError(f"set_active_ports: active ports of {operator!r} must be from 1 to {ports}, not {active!r}")
        set_active(<BalanceState*> self.plan.run.operators[<uint32_t> index].own, active)
        if self.plan.run.coroutines != NULL:
            coroutines_of(self.plan.run).buffers_changed(self.plan.run.operators[<uint32_t> index].routes[0].targets.port.index)

    def set_replicas(self, operator, number):
        cdef Run* run = self.plan.run
        cdef uint32_t co, wanted
        check_process("set_replicas", self.process)
        index = self.plan.layout.replicated(operator, number)
        if index in self.plan.layout.replicas and not run.over.load(memory_order_acquire):
            co, wanted = self.co_of[index], number
            if wanted > 1:
                self.plan.make_room_for_replicas(index, co)
            with nogil:
                coroutines_of(run).set_replicas(co, wanted)

    def living_replicas(self):
        """Return the co-routines that each operator which may have replicas has now, by name,
        including those about to leave.
        """
        cdef Run* run = self.plan.run
        check_process("living_replicas", self.process)
        return {self.plan.operators[index].name: coroutines_of(run).living(self.co_of[index]) for index in self.plan.layout.replicas}

    def finished(self):
        check_process("finished", self.process)
        return bool(self.plan.run.over.load(memory_order_acquire))

    def set_threads(self, level):
        check_process("set_threads", self.process)
        if self.plan.layout.pool_threads == 0:
            raise UserError("set_threads: no port is scheduled, so there is no pool of scheduler threads")
        if not self.started:
            raise UserError("set_threads was called before start")
        if not self.plan.run.over.load(memory_order_acquire):
            self.pool.set_level(level)

    def set_queued(self, ports, bint queued):
        cdef Run* run = self.plan.run
        check_process("set_queued", self.process)
        if self.queue_named is None:
            self.queue_named = dict(zip(self.plan.layout.input_ports, self.plan.layout.queue_of_port, strict=True))
        chosen = []
        for port in ports if isinstance(ports, (list, tuple, set, frozenset)) else [ports]:
            if not isinstance(port, PortId) or port not in self.queue_named:
                raise UserError(f"set_queued: no input port is named {port}")
            queue = self.queue_named[port]
            if queue is None or not run.ports[<uint32_t> queue].discipline.pooled:
                raise UserError(f"set_queued: port {port} is not scheduled, so its queue is not to be switched")
            chosen.append(queue)
        for queue in chosen:
            want(&run.ports[<uint32_t> queue], not queued)
        choose_sizes(run)

    def queued(self):
        """The scheduled ports whose queue is switched on, in the graph's order."""
        cdef Run* run = self.plan.run
        check_process("queued", self.process)
        return [
            port
            for port, queue in zip(self.plan.layout.input_ports, self.plan.layout.queue_of_port, strict=True)
            if queue is not None
            and run.ports[<uint32_t> queue].discipline.pooled
            and not run.ports[<uint32_t> queue].mode.load(memory_order_relaxed) & WANTED_CALLED
        ]

    def sample(self, period_s):
        cdef Run* run = self.plan.run
        cdef int64_t deadline = now_ns() + <int64_t> (_seconds("period_s", period_s) * 1e9)
        cdef int64_t left = deadline - now_ns()
        cdef uint32_t i
        check_process("sample", self.process)
        if not self.started:
            raise UserError("sample was called before start")
        while left > 0 and not run.over.load(memory_order_acquire):
            with nogil:
                run.ended.sleep_for(min(left, 100_000_000), run.over)
            # no line of Python is executed here, before which the interpreter would look
            PyErr_CheckSignals()
            left = deadline - now_ns()
            if not run.over.load(memory_order_acquire):
                self.pool.review()
                self._look_for_deadlock()
        before, now = self.before, self._read()
        self.before = now
        elapsed = now["time_s"] - before["time_s"]
        if not run.over.load(memory_order_acquire):
            self.pool.review()
        queue_of_port = self.plan.layout.queue_of_port
        seen = self.profiler.counts() if self.profiler is not None else []
        looks = sum(seen)
        return Sample(
            time_s=now["time_s"],
            elapsed_s=elapsed,
            source_tuples=now["sent"] - before["sent"],
            sink_tuples=now["received"] - before["received"],
            submitted_tuples=now["submitted"] - before["submitted"],
            processed=[after - earlier for after, earlier in zip(now["processed"], before["processed"], strict=True)],
            queue_fill=[0.0 if queue is None else self._fill(queue) for queue in queue_of_port],
            write_blocked=[
                0.0 if queue is None else _share(now["blocked"][queue], before["blocked"][queue]) for queue in queue_of_port
            ],
            threads_active=self.pool.active,
            threads_requested=self.pool.requested,
            threads_unsuspendable=self.pool.unsuspendable,
            queued_ports=sum([not run.ports[i].mode.load(memory_order_relaxed) & WANTED_CALLED for i in range(run.port_count)]),
            cpu_s=now["cpu_s"] - before["cpu_s"],
            system_cpu=system_share(before["cpu"], now["cpu"]),
            context_switches=now["switches"] - before["switches"],
            latency_counts=[after - earlier for after, earlier in zip(now["latency"], before["latency"], strict=True)],
            operator_cost=[count / looks for count in seen] if looks > 0 else [],
            others_cpu=others_share(before["cpu"], now["cpu"]),
            utilisation=_utilisation(before["use"], now["use"]),
            useful_s=[(after - earlier) / 1e9 for after, earlier in zip(now["useful"], before["useful"], strict=True)],
            queue_full=[
                0.0 if queue is None else min(1.0, (now["full"][queue] - before["full"][queue]) / 1e9 / elapsed) if elapsed > 0 else 0.0
                for queue in (queue_of_port if run.coroutines != NULL else ())
            ],
            replicas=self._replicas(),
            balancers={
                name: self._balance(index, now["processed"], before["processed"]) for name, index in self.elastic.items()
            },
        )

    def sent_by_output(self):
        """Tuples that each operator of a typed graph has sent since the start, by output port."""
        cdef uint32_t i, output
        return [
            [self.plan.run.operators[i].routes[output].sent.read() for output in range(self.plan.run.operators[i].outputs)]
            for i in range(self.plan.run.operator_count)
        ]

    def since_sample(self):
        check_process("since_sample", self.process)
        if not self.started:
            raise UserError("since_sample was called before start")
        seconds = (now_ns() - self.started_ns) / 1e9 - self.before["time_s"]
        return seconds, self._submitted() - self.before["submitted"]

    def layout(self):
        """Return, by name, the operators that need a lock, the ports with queues, and those whose
        queue several threads fill.
        """
        cdef Run* run = self.plan.run
        cdef uint32_t i
        layout = self.plan.layout
        queues = {index: str(layout.input_ports[queue.port]) for index, queue in enumerate(layout.queues)}
        return {
            "locked": [self.plan.operators[i].name for i in range(run.operator_count) if run.operators[i].lock != NULL],
            "queued": list(queues.values()),
            "shared": [queues[i] for i in range(run.port_count) if run.ports[i].shared],
        }

    def forge(self, str port, sequences):
        """Put tuples that no source sent into the queue of `port`, before the start: a fault for
        tests of the oracle.
        """
        cdef Run* run = self.plan.run
        cdef Tuple* forged = <Tuple*> self.plan.states.block(run.stride)
        cdef uint32_t queue = self.plan.layout.queue_of_port[[str(name) for name in self.plan.layout.input_ports].index(port)]
        if self.started:
            raise UserError("forge was called after start")
        for sequence in sequences:
            forged.sequence = sequence
            forged.value = value_for(sequence)
            fill_payload(forged, run.payload)
            run.ports[queue].ring.push(forged, 1, run.stride, 0)
        if run.ports[queue].discipline.pooled and run.ports[queue].ready.set():
            run.ready.push(queue)

    def stop(self, bint drain, timeout_s):
        timeout_s = _seconds("timeout_s", timeout_s)
        if self.totals is not None:
            return self.totals
        check_process("stop", self.process)
        if is_thread_of(self.plan.run):
            self._request_end(drain)
            return None
        self._ask(drain, timeout_s)
        with self.turn:
            if self.totals is None:
                # again: the call before may have been interrupted, and the terms forgotten
                self._ask(drain, timeout_s)
                try:
                    totals = self._stop()
                except BaseException:
                    self._forget()
                    raise
                if self.totals is None:  # else a signal's handler has stopped it meanwhile
                    self.totals = totals
        RUNNING.discard(self)
        return self.totals

    cdef void _request_end(self, bint drain) noexcept:
        """Ask for the end of the run, from an operator, which must return first. A call of stop()
        from outside returns the account.
        """
        self.plan.run.finishing.store(True, memory_order_release)
        if not drain:
            end_run(self.plan.run)

    def _end(self):
        """End a run that was not stopped before the interpreter ends: its operators have
        SHORTEST_GRACE_S to return.
        """
        if self.totals is None and self.process == getpid():
            self._request_end(False)
            self.stop(False, 0.0)

    cdef void _look_for_deadlock(self) noexcept:
        """Find a deadlock of co-routines if other threads execute ports too; else their scheduler
        finds it (coroutines.hpp).
        """
        cdef Run* run = self.plan.run
        cdef uint64_t moved = 0
        cdef uint32_t i
        if run.coroutines == NULL or self.plan.first_scheduler == 0:
            return
        for i in range(run.port_count):
            moved += run.ports[i].pushes.read()
        if moved != self.moved or not coroutines_of(run).seems_deadlocked():
            self.moved, self.halted = moved, -1.0
        elif self.halted < 0.0:
            self.halted = now_ns() / 1e9
        elif now_ns() / 1e9 - self.halted > DEADLOCKED_AFTER_S:
            deadlocked(run)

    cdef void _forget(self) noexcept:
        self.drain_until = self.grace_s = self.end_by = math.inf

    cdef _ask(self, bint drain, double timeout_s):
        """Add the terms of a call of stop(): the stop keeps to the strictest ones, so that each
        caller is answered in its own time.
        """
        now = time.monotonic()
        cdef double drain_until = now + timeout_s if drain else now, grace_s = max(timeout_s, SHORTEST_GRACE_S)
        self.drain_until = min(self.drain_until, drain_until)
        self.grace_s = min(self.grace_s, grace_s)
        self.end_by = min(self.end_by, drain_until + grace_s)
        if self.starting:
            self.pool.closed = True  # the start is broken off

    cdef _stop(self):
        cdef Run* run = self.plan.run
        if self.started:
            run.finishing.store(True, memory_order_release)
            while not run.over.load(memory_order_acquire) and time.monotonic() < self.drain_until:
                with nogil:
                    run.ended.sleep_for(50_000_000, run.over)
                PyErr_CheckSignals()
                if not run.over.load(memory_order_acquire):
                    # that the system refuses one more thread now must not keep this run from its
                    # end
                    with suppress(RunFailed):
                        self.pool.review()
            end_run(run)
        stuck = self._join(self.grace_s)
        problem = self._close() if self.started else None
        totals = account_of(self.plan, self.started, stuck, self._read())
        return totals if totals.error or problem is None else replace(totals, error=problem)

    def _connectors(self, does):
        """Return the callables of typed operators that have the method `does`, "open" or "close"
        (harness/connectors).
        """
        functions = [operator.typed.function for operator in self.plan.layout.operators if operator.typed is not None]
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

    def __dealloc__(self):
        if not self.started or self.totals is not None:
            return
        # threads that are not here may hold locks, or seem to wait: what they use is never freed
        if self.process != getpid():
            Py_INCREF(self.plan)
            Py_INCREF(self.profiler)
            return
        # the collector of cycles may have freed Python operators before it came here: none may be
        # called once others get the GIL
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

    def _let_go(self):
        """Leave all threads to end by themselves; what they use is never freed."""
        cdef uint32_t i
        Py_INCREF(self.plan)
        self.pool.close()
        if self.profiler is not None:
            self.profiler.stop()
        for i in range(self.plan.run.worker_count):
            self.plan.run.workers[i].thread.abandon()

    # -- reading -----------------------------------------------------------------------------------

    cdef double _fill(self, uint32_t queue):
        return self.plan.run.ports[queue].ring.size_guess() / <double> self.plan.run.ports[queue].ring.capacity()

    cdef _balance(self, uint32_t index, list now, list before):
        """A period of an elastic_load_balance operator; `now` and `before`: tuples through each
        operator.
        """
        cdef Operator* op = &self.plan.run.operators[index]
        cdef BalanceState* state = <BalanceState*> op.own
        cdef uint32_t active = state.active.load(memory_order_relaxed)
        cdef uint32_t i, buffer
        cdef double fill = 0.0
        submitted = 0
        for i in range(op.outputs):
            buffer = op.routes[i].targets.op.index
            submitted += now[buffer] - before[buffer]
            if i < active:
                fill += self._fill(op.routes[i].targets.port.index)
        congestion = 1.0 if state.waiting.load(memory_order_relaxed) else fill / active
        return Balance(active=active, ports=op.outputs, submitted=submitted, congestion=congestion)

    cdef _replicas(self):
        """Return the replicas of each operator; empty without co-routines."""
        layout = self.plan.layout
        if not layout.policy:
            return ()
        return [
            coroutines_of(self.plan.run).replicas(self.co_of[index]) if index in layout.replicas else 1
            for index in range(len(layout.operators))
        ]

    cdef uint64_t _submitted(self):
        """Tuples submitted on all output ports since the start."""
        cdef Run* run = self.plan.run
        cdef uint32_t i
        cdef uint64_t submitted = 0
        for i in range(run.operator_count):
            if self.plan.operators[i].counts_output:
                submitted += run.operators[i].emitted.read()
            elif self.plan.operators[i].kind.submits:
                submitted += run.operators[i].processed.read()
        for i in range(run.replica_count):
            if self.plan.operators[run.replica_operators[i].index].counts_output:
                submitted += run.replica_operators[i].emitted.read()
            else:
                submitted += run.replica_operators[i].processed.read()
        return submitted

    cdef dict _read(self):
        """All counters since the start."""
        cdef Run* run = self.plan.run
        cdef uint32_t i
        cdef uint64_t sent = 0, received = 0, count
        cdef vector[uint64_t] latency
        # first: counting takes milliseconds where operators are many
        time_s = (now_ns() - self.started_ns) / 1e9
        submitted = self._submitted()
        usage = resource.getrusage(resource.RUSAGE_SELF)
        processed = []
        latency.resize(BUCKETS)
        for i in range(run.operator_count):
            count = run.operators[i].processed.read()
            processed.append(count)
            if self.plan.operators[i].is_source:
                sent += count
            if self.plan.operators[i].is_sink:
                received += count
                (<SinkState*> run.operators[i].own).latency.add_to(latency.data())
        for i in range(run.replica_count):
            processed[run.replica_operators[i].index] += run.replica_operators[i].processed.read()
        useful = [0] * run.operator_count if run.coroutines != NULL else []
        for i in range(run.co_worker_count):
            useful[run.co_workers[i].op.index] += coroutines_of(run).useful_ns(i, now_ns())
        return {
            "useful": useful,
            "full": [coroutines_of(run).full_ns(i, now_ns()) for i in range(run.port_count)] if run.coroutines != NULL else [],
            "time_s": time_s,
            "sent": sent,
            "received": received,
            "submitted": submitted,
            "processed": processed,
            "latency": latency,
            "blocked": [(run.ports[i].blocked.read(), run.ports[i].pushes.read()) for i in range(run.port_count)],
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "switches": usage.ru_nvcsw + usage.ru_nivcsw,
            "cpu": CpuCounters.now(),
            "use": self.pool.use(),
        }

    def _join(self, double grace_s):
        """Wait for the threads to end, until `end_by` at most. Returns the names of those that did
        not, with the operator that holds each.
        """
        cdef Run* run = self.plan.run
        cdef uint32_t i, at
        stuck = []
        self.pool.close()
        self.end_by = min(self.end_by, <double> time.monotonic() + grace_s)
        if self.profiler is not None:
            self.profiler.stop()
        for i in range(run.worker_count):
            while not run.workers[i].thread.done() and time.monotonic() < self.end_by:
                time.sleep(0.0005)  # gives the interpreter's lock to Python operators meanwhile
            if run.workers[i].thread.done():
                with nogil:
                    run.workers[i].thread.join()
            else:
                at = operator_of(run.workers[i])
                where = f" in operator {self.plan.operators[at - 1].name!r}" if at > 0 else ""
                if at == 0 and run.workers[i].pooled and run.coroutines != NULL and coroutines_of(run).judging(run.workers[i].co):
                    where = f" in policy {self.plan.policy.name!r}"
                stuck.append(f"{self.plan.layout.thread_name(i)}{where}")
                run.workers[i].thread.abandon()
                # for ever: the thread may come back, even while the interpreter is torn down
                Py_INCREF(self.plan)
        return stuck


@atexit.register
def _end_all():
    """End the runs that were not stopped, while the interpreter can still execute the code that
    their operators call.
    """
    for engine in list(RUNNING):
        engine._end()


def _seconds(what, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST_WAIT_S:
        raise UserError(f"{what} must be from 0 to {LONGEST_WAIT_S:,.0f} seconds, not {value!r}")
    return float(value)


def _share(now, before):
    blocked, pushes = now[0] - before[0], now[1] - before[1]
    return blocked / pushes if pushes > 0 else 0.0


def _utilisation(before, now):
    allowed, executing = (after - earlier for earlier, after in zip(before, now, strict=True))
    return min(1.0, max(0.0, executing / allowed)) if allowed > 0 else None


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
