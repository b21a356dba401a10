"""Account of every tuple of a simulated run: the end of the oracle, like
harness/runtime/account.pyx (ONCE).
"""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from harness.runtime.native cimport DATA, MergeState, SinkState, SourceState, Tuple, fingerprint
from harness.simulator.native cimport BarrierState, Operator, Port, Simulation, Worker

from harness.engine.conservation import of_tuples, of_windows
from harness.engine.sample import Totals
from harness.graph.kinds import BARRIER


cdef object account_of(object layout, Simulation& simulation, bint drained, list stuck, dict state):
    """Compare the tuples sent with those that arrived and those left behind. `stuck`: threads that
    did not end; `state`: the last counters.
    """
    cdef Operator* op
    cdef Operator* behind
    cdef SinkState* sink
    cdef MergeState* merge
    cdef BarrierState* barrier
    cdef Port* port
    cdef uint64_t expected = 0, seen = 0, violations = 0, place
    cdef uint32_t i, output
    cdef vector[Tuple] queued, taken, made
    left_at = [0] * len(layout.operators)
    held_by = [0] * len(layout.operators)
    discarded = {}
    order_checked, longest, error = True, 0, None
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
        kind = layout.operators[i].kind.name
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
        if kind == "source":
            expected += (<SourceState*> op.own).fingerprints * op.copies
        elif kind in ("sink", "control"):
            sink = <SinkState*> op.own
            seen += sink.fingerprints
            violations += sink.violations
            order_checked = order_checked and sink.paths > 0
            if kind == "sink":
                longest = max(longest, sink.latency.longest())
        elif kind == "typed":
            violations += op.profile.violations
        elif kind == "barrier":
            barrier = <BarrierState*> op.own
            expected += barrier.sent_fingerprints * <uint64_t> (layout.copies_behind[i] or 0)
            seen += barrier.fingerprints
            violations += barrier.violations
            discarded[i] = barrier.discarded
            left_at[i] += op.left
            for place in range(barrier.count):
                held_by[i] += barrier.inputs[place].ring.size_guess()
                order_checked = order_checked and barrier.inputs[place].paths > 0
        elif kind == "merge":
            merge = <MergeState*> op.own
            held_by[i] = merge.held + merge.given_up
            for place in range(merge.mask + 1 if merge.held > 0 else 0):
                if merge.present[place]:
                    seen += fingerprint((<Tuple*> merge.slots)[place].sequence) * op.copies
            if merge.overrun:
                error = (
                    f"merge {layout.operators[i].name!r}: more came early than the queues between "
                    "it and its split can hold"
                )
    problems = []
    if not error and not stuck:
        problems = _conservation(
            layout, simulation, state["processed"], left_at, held_by, discarded
        )
        if drained:
            problems += _windows(layout, simulation)
    return Totals(
        sent=state["sent"],
        received=state["received"],
        in_flight=sum(left_at) + sum(held_by),
        processed=state["processed"],
        drained=drained,
        order_violations=violations,
        order_checked=order_checked,
        checksum_ok=not layout.copies_known or seen == expected,
        conservation=problems,
        latency_counts=state["latency"],
        latency_max_ns=longest,
        stuck=stuck,
        error=error,
        scheduling=_scheduling(layout, simulation),
    )


cdef list _conservation(
    object layout, Simulation& simulation, list processed, list left_at, list held_by,
    dict discarded
):
    cdef uint32_t i, output
    emitted, sent = {}, {}
    for i, operator in enumerate(layout.operators):
        if operator.counts_output:
            emitted[i] = simulation.operators[i].emitted
        if operator.chooses_output:
            for output in range(operator.outputs):
                sent[i, output] = simulation.operators[i].routes[output].sent
    return of_tuples(
        layout.operators, layout.streams, processed, emitted, sent, left_at, held_by, discarded
    )


cdef list _windows(object layout, Simulation& simulation):
    cdef uint32_t i
    sent, got = {}, {}
    for i, operator in enumerate(layout.operators):
        if operator.is_source:
            sent[i] = (<SourceState*> simulation.operators[i].own).windows
        elif operator.kind.ends_windows:
            got[i] = (
                (<BarrierState*> simulation.operators[i].own).windows
                if operator.kind is BARRIER
                else (<SinkState*> simulation.operators[i].own).windows.read()
            )
    return of_windows(layout.operators, layout.streams, layout.order, sent, got)


cdef dict _scheduling(object layout, Simulation& simulation):
    cdef uint32_t i
    cdef Worker* worker
    sums = {
        "drains": 0, "searches": 0, "reschedules": 0, "waits": 0, "pushes": 0, "blocked_pushes": 0,
        "queue_switches": 0,
    }
    for i in range(<uint32_t> simulation.workers.size()):  # threads, and records of co-routines
        worker = &simulation.workers[i]
        sums["drains"] += worker.drains
        sums["searches"] += worker.searches
        sums["reschedules"] += worker.reschedules
        sums["waits"] += worker.waits
    for i in range(len(layout.queues)):
        sums["pushes"] += simulation.ports[i].pushes
        sums["blocked_pushes"] += simulation.ports[i].blocked
        sums["queue_switches"] += simulation.ports[i].switches
    return sums
