# account.pxi - the account of every tuple of a simulated run (ONCE); part of engine.pyx.

from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from harness.runtime.native cimport DATA, MergeState, SinkState, SourceState, Tuple, fingerprint
from harness.simulator.native cimport (
    BARRIER,
    CONTROL,
    MERGE,
    SINK,
    SOURCE,
    SPLIT,
    TYPED,
    BarrierState,
    Operator,
    Port,
    Simulation,
    Worker,
)

from harness.engine.account import Account


cdef object account_of(
    object layout, Simulation& simulation, bint drained, list stuck, object error
):
    """Return where the tuples of a run are; `stuck`: threads that did not end."""
    cdef Operator* op
    cdef Operator* behind
    cdef SinkState* sink
    cdef MergeState* merge
    cdef BarrierState* barrier
    cdef Port* port
    cdef uint64_t expected = 0, seen = 0, violations = 0, place
    cdef uint32_t i, output
    cdef vector[Tuple] queued, taken, made
    account = Account([0] * len(layout.operators), [0] * len(layout.operators))
    left_at, held_by = account.left_at, account.held_by
    for i in range(len(layout.queues)):
        port = &simulation.ports[i]
        left_at[port.op.index] += port.given_up
        queued.resize(port.ring.size())
        port.ring.copy(queued.size(), queued.data())
        for place in range(queued.size()):
            if queued[place].kind == DATA:
                left_at[port.op.index] += 1
                seen += fingerprint(queued[place].sequence) * port.op.copies
    for i in range(<uint32_t> simulation.workers.size()):
        seen += simulation.workers[i].given_up_fingerprints
    for i in range(len(layout.operators)):
        op = &simulation.operators[i]
        seen += op.dropped
        if i in layout.replicas:
            taken.clear()
            made.clear()
            simulation.left_in_slots(i, taken, made)
            for place in range(taken.size()):
                if taken[place].kind == DATA:
                    left_at[i] += 1
                    seen += fingerprint(taken[place].sequence) * op.copies
            for output in range(op.routes[0].targets.size() if made.size() > 0 else 0):
                behind = op.routes[0].targets[output].op
                for place in range(made.size()):
                    if made[place].kind == DATA:
                        left_at[behind.index] += 1
                        seen += fingerprint(made[place].sequence) * behind.copies
        if op.kind == SOURCE:
            expected += (<SourceState*> op.own).fingerprints * op.copies
        elif op.kind in (SINK, CONTROL):
            sink = <SinkState*> op.own
            seen += sink.fingerprints
            violations += sink.violations
            account.order_checked &= sink.paths > 0
            if op.kind == SINK:
                account.longest_ns = max(account.longest_ns, sink.latency.longest())
        elif op.kind in (TYPED, SPLIT) and op.profile != NULL:
            violations += op.profile.violations
        elif op.kind == BARRIER:
            barrier = <BarrierState*> op.own
            expected += barrier.sent_fingerprints * <uint64_t> (layout.copies_behind[i] or 0)
            seen += barrier.fingerprints
            violations += barrier.violations
            account.discarded[i] = barrier.discarded
            left_at[i] += op.left
            for place in range(barrier.count):
                held_by[i] += barrier.inputs[place].ring.size_guess()
                account.order_checked &= barrier.inputs[place].paths > 0
        elif op.kind == MERGE:
            merge = <MergeState*> op.own
            held_by[i] = merge.held + merge.given_up
            for place in range(merge.mask + 1 if merge.held > 0 else 0):
                if merge.present[place]:
                    seen += fingerprint((<Tuple*> merge.slots)[place].sequence) * op.copies
            if merge.overrun:
                account.overrun.append(i)
        if layout.operators[i].chooses_output:
            for output in range(layout.operators[i].outputs):
                account.sent[i, output] = op.routes[output].sent
        if op.kind == SOURCE:
            account.marks_sent[i] = (<SourceState*> op.own).windows
        elif op.kind == BARRIER:
            account.marks_got[i] = (<BarrierState*> op.own).windows
        elif op.kind in (SINK, CONTROL):
            account.marks_got[i] = (<SinkState*> op.own).windows.read()
    account.expected, account.seen, account.violations = expected, seen, violations
    account.drained, account.stuck, account.error = drained, stuck, error
    account.scheduling = _scheduling(layout, simulation)
    return account


cdef dict _scheduling(object layout, Simulation& simulation):
    cdef uint32_t i
    cdef Worker* worker
    sums = {"drains": 0, "searches": 0, "reschedules": 0, "waits": 0, "queue_switches": 0}
    for i in range(<uint32_t> simulation.workers.size()):  # threads, and records of co-routines
        worker = &simulation.workers[i]
        sums["drains"] += worker.drains
        sums["searches"] += worker.searches
        sums["reschedules"] += worker.reschedules
        sums["waits"] += worker.waits
    for i in range(len(layout.queues)):
        sums["queue_switches"] += simulation.ports[i].switches
    return sums
