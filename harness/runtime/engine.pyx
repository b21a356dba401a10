"""Python's face of the runtime: start the threads of a plan, read their counters, end the run, draw up the account."""

import os
import resource
import time

from cpython.ref cimport Py_INCREF
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.atomic cimport memory_order_acquire, memory_order_release

from harness.runtime.dedicated cimport port_body
from harness.runtime.dynamic cimport scheduler_body
from harness.runtime.manual cimport source_body
from harness.runtime.native cimport (
    BUCKETS,
    DATA,
    Histogram,
    MergeState,
    Operator,
    Port,
    Run,
    SinkState,
    SourceState,
    Tuple,
    Worker,
    fill_payload,
    fingerprint,
    now_ns,
    value_for,
)
from harness.runtime.operators cimport multiply
from harness.runtime.plan cimport Plan
from harness.runtime.submit cimport end_run

from harness.engine import Sample, Totals
from harness.errors import RunFailed, UserError

cdef extern from *:
    """
    #if defined(__clang__)
    #define MILLRACE_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
    #define MILLRACE_COMPILER "gcc " __VERSION__
    #else
    #define MILLRACE_COMPILER "unknown"
    #endif
    #if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    #define MILLRACE_STACK_FACTOR 8
    #else
    #define MILLRACE_STACK_FACTOR 1
    #endif
    """
    const char* MILLRACE_COMPILER
    const char* MILLRACE_FLAGS
    const int MILLRACE_STACK_FACTOR


SHORTEST_GRACE_S = 2.0
"""What a thread is given at least to notice the end of the run before it counts as stuck [s]."""


cdef class RuntimeEngine:
    """Runs `graph` once under `model`; see harness.engine.Engine for what each method promises.

    Parameters
    ----------
    graph : harness.graph.Graph
        Checked already.
    model : harness.models.Model
    tuples : int or None
        How many tuples each source sends; None: until it is stopped.
    """

    cdef Plan plan
    cdef readonly int threads
    cdef readonly int queue_capacity
    cdef object graph
    cdef object model
    cdef object totals
    cdef bint started
    cdef int64_t started_ns
    cdef dict before  # the counters at the end of the last sample

    def __cinit__(self, graph, model, tuples=None):
        self.plan = Plan(graph, model, tuples)
        self.graph = graph
        self.model = model
        self.threads = self.plan.run.worker_count
        self.queue_capacity = <int> self.plan.run.capacity

    def start(self):
        cdef Run* run = self.plan.run
        cdef Worker* worker
        cdef uint32_t i
        cdef int error
        if self.started:
            raise UserError("an engine runs once: start was called a second time")
        self.started = True
        self.started_ns = now_ns()
        self.before = self._read()
        for i in range(run.worker_count):
            worker = &run.workers[i]
            name = self.plan.worker_names[i].encode()
            stack = self.plan.worker_stacks[i] * MILLRACE_STACK_FACTOR
            if worker.op != NULL:
                error = worker.thread.start(source_body, worker, stack, name)
            elif worker.port != NULL:
                error = worker.thread.start(port_body, worker, stack, name)
            else:
                error = worker.thread.start(scheduler_body, worker, stack, name)
            if error != 0:
                end_run(run)
                self._join(10.0)
                raise RunFailed(f"the system refuses thread {i + 1} of {run.worker_count}: {os.strerror(error)}")

    def finished(self):
        return bool(self.plan.run.over.load(memory_order_acquire))

    def sample(self, double period_s):
        cdef Run* run = self.plan.run
        cdef int64_t deadline = now_ns() + <int64_t> (period_s * 1e9)
        cdef int64_t left = deadline - now_ns()
        if not self.started:
            raise UserError("sample was called before start")
        while left > 0 and not run.over.load(memory_order_acquire):
            with nogil:
                run.ended.sleep_for(min(left, 100_000_000), run.over)
            left = deadline - now_ns()
        before, now = self.before, self._read()
        self.before = now
        plan = self.plan
        capacity = run.capacity
        queue_of_port = plan.queue_of_port
        busy, total = (after - earlier for after, earlier in zip(now["system"], before["system"], strict=True))
        return Sample(
            time_s=now["time_s"],
            elapsed_s=now["time_s"] - before["time_s"],
            source_tuples=now["sent"] - before["sent"],
            sink_tuples=now["received"] - before["received"],
            submitted_tuples=now["submitted"] - before["submitted"],
            processed=[after - earlier for after, earlier in zip(now["processed"], before["processed"], strict=True)],
            queue_fill=[0.0 if queue is None else self._fill(queue) / capacity for queue in queue_of_port],
            write_blocked=[
                0.0 if queue is None else _share(now["blocked"][queue], before["blocked"][queue]) for queue in queue_of_port
            ],
            threads_active=self._pool(),
            threads_requested=self._pool(),
            threads_unsuspendable=0,
            queued_ports=run.port_count,
            cpu_s=now["cpu_s"] - before["cpu_s"],
            system_cpu=busy / total if total > 0 else 0.0,
            context_switches=now["switches"] - before["switches"],
            latency_counts=[after - earlier for after, earlier in zip(now["latency"], before["latency"], strict=True)],
        )

    def layout(self):
        """What the plan decided, by name: operators that need a lock, and queues (of which input port) that several threads fill."""
        cdef Run* run = self.plan.run
        cdef uint32_t i
        queues = {queue: str(port) for port, queue in zip(self.plan.input_ports, self.plan.queue_of_port, strict=True) if queue is not None}
        return {
            "locked": [self.plan.operators[i].name for i in range(run.operator_count) if run.operators[i].lock != NULL],
            "queued": list(queues.values()),
            "shared": [queues[i] for i in range(run.port_count) if run.ports[i].shared],
        }

    def forge(self, str port, sequences):
        """Put tuples that no source sent into the queue of `port`, before the start: a fault, so that tests can see the oracle find it."""
        cdef Run* run = self.plan.run
        cdef Tuple* forged = <Tuple*> self.plan.block(run.stride)
        cdef uint32_t queue = self.plan.queue_of_port[[str(name) for name in self.plan.input_ports].index(port)]
        if self.started:
            raise UserError("forge was called after start")
        for sequence in sequences:
            forged.sequence = sequence
            forged.value = value_for(sequence)
            fill_payload(forged, run.payload)
            run.ports[queue].ring.push(forged, 1, 0)

    def stop(self, bint drain, double timeout_s):
        cdef Run* run = self.plan.run
        if self.totals is not None:
            return self.totals
        if self.started:
            run.finishing.store(True, memory_order_release)
            deadline = time.monotonic() + timeout_s
            while drain and not self.finished() and time.monotonic() < deadline:
                with nogil:
                    run.ended.sleep_for(50_000_000, run.over)
            end_run(run)
        stuck = self._join(max(timeout_s, SHORTEST_GRACE_S))
        self.totals = self._account(stuck)
        return self.totals

    def __dealloc__(self):
        if self.started and self.totals is None:
            end_run(self.plan.run)
            self._join(10.0)

    # -- reading ------------------------------------------------------------------------------------------------------------------

    cdef int _pool(self):
        return self.model.threads if self.model.name == "dynamic" else 0

    cdef uint64_t _fill(self, uint32_t queue):
        return self.plan.run.ports[queue].ring.size_guess()

    cdef dict _read(self):
        """All counters since the start."""
        cdef Run* run = self.plan.run
        cdef uint32_t i
        cdef int bucket
        cdef uint64_t sent = 0, received = 0, submitted = 0, count
        cdef SinkState* sink
        time_s = (now_ns() - self.started_ns) / 1e9  # first: counting takes milliseconds where operators are many
        usage = resource.getrusage(resource.RUSAGE_SELF)
        processed = []
        latency = [0] * BUCKETS
        for i in range(run.operator_count):
            kind = self.plan.operators[i].kind
            count = run.operators[i].processed.read()
            processed.append(count)
            if kind == "source":
                sent += count
            if kind == "sink":
                received += count
                sink = <SinkState*> run.operators[i].own
                for bucket in range(BUCKETS):
                    latency[bucket] += sink.latency.count(bucket)
            elif kind in ("merge", "python"):
                submitted += run.operators[i].emitted.read()
            else:
                submitted += count
        return {
            "time_s": time_s,
            "sent": sent,
            "received": received,
            "submitted": submitted,
            "processed": processed,
            "latency": latency,
            "blocked": [(run.ports[i].blocked.read(), run.ports[i].pushes.read()) for i in range(run.port_count)],
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "switches": usage.ru_nvcsw + usage.ru_nivcsw,
            "system": _system_cpu(),
        }

    def _join(self, double timeout_s):
        """Wait for the threads to end; the names of those that did not, with the operator that holds them."""
        cdef Run* run = self.plan.run
        cdef uint32_t i, inside
        cdef int64_t deadline = now_ns() + <int64_t> (timeout_s * 1e9)
        stuck = []
        for i in range(run.worker_count):
            while not run.workers[i].thread.done() and now_ns() < deadline:
                time.sleep(0.0005)  # gives the interpreter's lock to Python operators meanwhile
            if run.workers[i].thread.done():
                with nogil:
                    run.workers[i].thread.join()
            else:
                inside = run.workers[i].inside.load(memory_order_acquire)
                where = f" in operator {self.plan.operators[inside - 1].name!r}" if inside > 0 else ""
                stuck.append(f"{self.plan.worker_names[i]}{where}")
                run.workers[i].thread.abandon()
                Py_INCREF(self.plan)  # for ever: the thread may come back, even while the interpreter is torn down
        return stuck

    # -- the account --------------------------------------------------------------------------------------------------------------

    def _account(self, stuck):
        """Compare what was sent with what arrived and what was left behind, tuple by tuple (ONCE) and operator by operator."""
        cdef Run* run = self.plan.run
        cdef Operator* op
        cdef SinkState* sink
        cdef MergeState* merge
        cdef uint64_t expected = 0, seen = 0, damaged = 0, violations = 0
        cdef uint64_t slot_index
        cdef uint32_t i, port
        state = self._read()
        left_at = [0] * run.operator_count
        held_by = [0] * run.operator_count
        order_checked = True
        longest = 0
        error = next((owner.error for owner in self.plan.owners if owner.error), None)
        if not stuck:
            for port in range(run.port_count):
                left_at[run.ports[port].op.index] += self._left_behind(port, &seen)
            for i in range(run.worker_count):
                seen += run.workers[i].given_up_fingerprints
            for i in range(run.operator_count):
                op = &run.operators[i]
                kind = self.plan.operators[i].kind
                if kind == "source":
                    expected += (<SourceState*> op.own).fingerprints * op.copies
                elif kind == "sink":
                    sink = <SinkState*> op.own
                    seen += sink.fingerprints
                    damaged += sink.damaged
                    violations += sink.violations
                    order_checked = order_checked and sink.paths > 0
                    longest = max(longest, sink.latency.longest())
                elif kind == "merge":
                    merge = <MergeState*> op.own
                    held_by[i] = merge.held
                    for slot_index in range(merge.mask + 1):
                        if merge.held > 0 and merge.present[slot_index]:
                            seen += fingerprint((<Tuple*> (merge.slots + slot_index * run.stride)).sequence) * op.copies
                    if merge.overrun:
                        error = f"merge {self.plan.operators[i].name!r}: a tuple overtook more others than the queues can hold"
        return Totals(
            sent=state["sent"],
            received=state["received"],
            in_flight=sum(left_at) + sum(held_by),
            processed=state["processed"],
            drained=self.started and run.open_operators.load(memory_order_acquire) == 0,
            order_violations=violations,
            order_checked=order_checked,
            checksum_ok=damaged == 0 and (not self.plan.copies_known or seen == expected) and not stuck,
            conservation=[] if stuck or error else self._conservation(state["processed"], left_at, held_by),
            latency_counts=state["latency"],
            latency_max_ns=longest,
            stuck=stuck,
            error=error,
            scheduling=self._scheduling(),
        )

    cdef uint64_t _left_behind(self, uint32_t index, uint64_t* fingerprints):
        """Data tuples in a queue and given up before it; adds the fingerprints of those in the queue."""
        cdef Port* port = &self.plan.run.ports[index]
        cdef uint64_t i, count = port.given_up.load(memory_order_acquire)
        cdef Tuple* tuple_
        for i in range(port.ring.size_guess()):
            tuple_ = port.ring.left_behind(i)
            if tuple_.kind == DATA:
                count += 1
                fingerprints[0] += fingerprint(tuple_.sequence) * port.op.copies
        return count

    def _conservation(self, processed, left_at, held_by):
        """Operators that executed or have waiting more or fewer tuples than were submitted to them."""
        arriving = [0] * len(processed)
        for source, output, target, _ in self.plan.streams:
            operator = self.plan.operators[source]
            count = processed[source]
            if operator.kind in ("merge", "python"):
                count = self.plan.run.operators[<uint32_t> source].emitted.read()
            elif operator.outputs > 1:
                count = count // operator.outputs + (output < count % operator.outputs)
            arriving[target] += count
        problems = []
        for index, operator in enumerate(self.plan.operators):
            if operator.kind == "source":
                continue
            accounted = processed[index] + left_at[index]
            if arriving[index] != accounted:
                problems.append(f"operator {operator.name!r} was sent {arriving[index]} tuples and got {accounted}")
            if operator.kind == "merge" and processed[index] != held_by[index] + self.plan.run.operators[<uint32_t> index].emitted.read():
                problems.append(f"merge {operator.name!r} did not pass on what it got")
        return problems

    def _scheduling(self):
        cdef Run* run = self.plan.run
        cdef uint32_t i
        sums = {"drains": 0, "searches": 0, "reschedules": 0, "waits": 0, "pushes": 0, "blocked_pushes": 0}
        for i in range(run.worker_count):
            sums["drains"] += run.workers[i].drains.read()
            sums["searches"] += run.workers[i].searches.read()
            sums["reschedules"] += run.workers[i].reschedules.read()
            sums["waits"] += run.workers[i].waits.read()
        for i in range(run.port_count):
            sums["pushes"] += run.ports[i].pushes.read()
            sums["blocked_pushes"] += run.ports[i].blocked.read()
        return sums


def _share(now, before):
    blocked, pushes = now[0] - before[0], now[1] - before[1]
    return blocked / pushes if pushes > 0 else 0.0


def _system_cpu():
    """Busy and total CPU time [s] of the CPUs that this process may use, by all processes."""
    import psutil

    every = psutil.cpu_times(percpu=True)
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(len(every))
    idle = total = 0.0
    for index in allowed:
        if index < len(every):
            times = every[index]
            idle += times.idle + getattr(times, "iowait", 0.0)
            total += sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return total - idle, total


def latency_bounds_ns():
    """The largest duration [ns] that each bucket of `Sample.latency_counts` holds."""
    return [Histogram.upper_bound(bucket) for bucket in range(BUCKETS)]


def build_info():
    """How the runtime was compiled: {"compiler": …, "flags": …}."""
    return {"compiler": MILLRACE_COMPILER.decode(), "flags": MILLRACE_FLAGS.decode()}


def ns_per_flop(int rounds=9, unsigned int flop=200_000):
    """Nanoseconds of one dependent multiply, the unit of an operator's cost: the median of `rounds` measurements."""
    cdef double factor = 1.0, value = 1.5
    cdef int64_t begin, end
    times = []
    for _ in range(rounds):
        with nogil:
            begin = now_ns()
            value = multiply(value, factor, flop)
            end = now_ns()
        times.append(<double> (end - begin) / flop)
        factor = value / 1.5  # 1.0, but the compiler cannot know: the result is used
    return sorted(times)[rounds // 2]
