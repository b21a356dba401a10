"""What became of every tuple: the end of the oracle, drawn up when no thread runs any more (ONCE)."""

from libc.stdint cimport uint32_t, uint64_t
from libcpp.atomic cimport memory_order_acquire

from harness.runtime.native cimport (
    DATA,
    MergeState,
    NativeState,
    Operator,
    Port,
    Run,
    SinkState,
    SourceState,
    Tuple,
    fingerprint,
)
from harness.runtime.plan cimport Plan

from harness.engine import Totals
from harness.graph import BALANCING, DROPPING


def account_of(Plan plan, bint started, stuck, state):
    """Compare what was sent with what arrived and what was left behind, tuple by tuple and operator by operator.

    `stuck`: threads that did not end, as text; `state`: the counters at the end. Returns harness.engine.Totals.
    """
    cdef Run* run = plan.run
    cdef Operator* op
    cdef SinkState* sink
    cdef MergeState* merge
    cdef NativeState* native
    cdef uint64_t expected = 0, seen = 0, damaged = 0, violations = 0
    cdef uint64_t slot_index
    cdef uint32_t i, port
    left_at = [0] * run.operator_count
    held_by = [0] * run.operator_count
    order_checked = True
    longest = 0
    error = next((call.error for call in plan.states.calls if call.error), None)
    drained = started and run.open_operators.load(memory_order_acquire) == 0
    if not stuck:
        for port in range(run.port_count):
            left_at[run.ports[port].op.index] += _left_behind(run, port, &seen)
        for i in range(run.worker_count):
            seen += run.workers[i].given_up_fingerprints
        for i in range(run.operator_count):
            op = &run.operators[i]
            kind = plan.operators[i].kind
            seen += op.dropped
            if kind == "source":
                expected += (<SourceState*> op.own).fingerprints * op.copies
            elif kind in ("sink", "control"):
                sink = <SinkState*> op.own
                seen += sink.fingerprints
                damaged += sink.damaged
                violations += sink.violations
                order_checked = order_checked and sink.paths > 0
                longest = max(longest, sink.latency.longest())
            elif kind == "native":
                native = <NativeState*> op.own
                if native.error != 0:
                    error = f"operator {plan.operators[i].name!r} returned {native.error} (tuple {native.failed_at})"
            elif kind == "merge":
                merge = <MergeState*> op.own
                held_by[i] = merge.held
                for slot_index in range(merge.mask + 1):
                    if merge.held > 0 and merge.present[slot_index]:
                        seen += fingerprint((<Tuple*> (merge.slots + slot_index * run.stride)).sequence) * op.copies
                if merge.overrun:
                    error = f"merge {plan.operators[i].name!r}: a tuple overtook more others than the queues can hold"
    problems = []
    if not stuck and not error:
        problems = _conservation(plan, state["processed"], left_at, held_by) + (_windows(plan) if drained else [])
    return Totals(
        sent=state["sent"],
        received=state["received"],
        in_flight=sum(left_at) + sum(held_by),
        processed=state["processed"],
        drained=drained,
        order_violations=violations,
        order_checked=order_checked,
        checksum_ok=damaged == 0 and (not plan.copies_known or seen == expected) and not stuck,
        conservation=problems,
        latency_counts=state["latency"],
        latency_max_ns=longest,
        stuck=stuck,
        error=error,
        scheduling=_scheduling(run),
    )


cdef uint64_t _left_behind(Run* run, uint32_t index, uint64_t* fingerprints):
    """Data tuples in a queue and given up before it; adds the fingerprints of those in the queue."""
    cdef Port* port = &run.ports[index]
    cdef uint64_t i, count = port.given_up.load(memory_order_acquire)
    cdef Tuple* tuple_
    for i in range(port.ring.size_guess()):
        tuple_ = port.ring.left_behind(i)
        if tuple_.kind == DATA:
            count += 1
            fingerprints[0] += fingerprint(tuple_.sequence) * port.op.copies
    return count


def _conservation(Plan plan, processed, left_at, held_by):
    """Operators that executed or have waiting more or fewer tuples than were submitted to them."""
    cdef Operator* op
    arriving = [0] * len(processed)
    for source, output, target, _ in plan.streams:
        operator = plan.operators[source]
        op = &plan.run.operators[<uint32_t> source]
        count = processed[source]
        if operator.kind in DROPPING:
            count = op.emitted.read()
        elif operator.keys or operator.kind in BALANCING:
            count = op.routes[<uint32_t> output].sent.read()
        elif operator.outputs > 1:
            count = count // operator.outputs + (output < count % operator.outputs)
        arriving[target] += count
    problems = []
    for index, operator in enumerate(plan.operators):
        if operator.kind == "source":
            continue
        accounted = processed[index] + left_at[index]
        if arriving[index] != accounted:
            problems.append(f"operator {operator.name!r} was sent {arriving[index]} tuples and got {accounted}")
        if operator.kind == "merge" and processed[index] != held_by[index] + plan.run.operators[<uint32_t> index].emitted.read():
            problems.append(f"merge {operator.name!r} did not pass on what it got")
    return problems


def _windows(Plan plan):
    """Sinks that saw more or fewer window punctuations than were sent to them: each goes out of every output port."""
    cdef uint32_t i, index
    if not any([operator.window for operator in plan.operators]):
        return []
    marks = [0] * plan.run.operator_count  # that leave each operator, on each stream
    arriving = [0] * plan.run.operator_count
    leaving = [[] for _ in plan.operators]
    for source, _, target, _ in plan.streams:
        leaving[source].append(target)
    splits = {}  # behind a split, up to its merge: the punctuations that the split saw
    problems = []
    for i in range(plan.run.operator_count):
        index = plan.order[i]
        operator = plan.operators[index]
        if operator.kind == "source":
            marks[index] = (<SourceState*> plan.run.operators[index].own).windows
        elif operator.kind == "merge":
            marks[index] = splits[index]  # from every branch, passed on once
        else:
            marks[index] = arriving[index]
        inside = marks[index] if operator.kind == "split" else splits.get(index) if operator.kind != "merge" else None
        for target in leaving[index]:
            arriving[target] += marks[index]
            if inside is not None:
                splits[target] = inside
        if operator.kind in ("sink", "control"):
            got = (<SinkState*> plan.run.operators[index].own).windows.read()
            if got != marks[index]:
                problems.append(f"operator {operator.name!r} was sent {marks[index]} window punctuations and got {got}")
    return problems


cdef dict _scheduling(Run* run):
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
