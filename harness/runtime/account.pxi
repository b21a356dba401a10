# account.pxi - the account of every tuple, made when no thread runs any more (ONCE); part of
# engine.pyx.

from libc.stdint cimport uint32_t, uint64_t
from libcpp.atomic cimport memory_order_acquire

from harness.graph.kinds import BARRIER, NATIVE, SOURCE
from harness.runtime.native cimport (
    DATA,
    NOT_ONE_FOR_ONE,
    BarrierState,
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
from harness.runtime.path cimport coroutines_of
from harness.runtime.plan cimport Plan

from harness.engine.account import Account
from harness.engine.left_out import left_out_by


def account_of(Plan plan, bint started, stuck):
    """Return where the tuples of a run are; `stuck`: threads that did not end, as text."""
    cdef Run* run = plan.run
    cdef Operator* op
    cdef SinkState* sink
    cdef MergeState* merge
    cdef BarrierState* joined
    cdef uint64_t expected = 0, seen = 0, damaged = 0, violations = 0
    cdef uint64_t slot_index
    cdef uint32_t i, port
    account = Account([0] * run.operator_count, [0] * run.operator_count)
    left_at, held_by = account.left_at, account.held_by
    error = next((call.error for call in plan.states.calls if call.error), None)
    if error is None and plan.policy is not None:
        error = (
            plan.policy.problem(_refused_by_policy(run))
            or coroutines_of(run).deadlock().decode()
            or None
        )
    # final punctuation may get through where tuples, or other punctuation, were given up
    account.drained = (
        started
        and run.open_operators.load(memory_order_acquire) == 0
        and not run.gave_up.load(memory_order_acquire)
    )
    for i in range(run.operator_count):
        error = _failure_of(plan, &run.operators[i]) or error
    for i in range(run.replica_count):
        error = _failure_of(plan, &run.replica_operators[i]) or error
    if not stuck:
        for port in range(run.port_count):
            left_at[run.ports[port].op.index] += _left_behind(run, port, &seen)
        for i in range(run.worker_count):
            seen += run.workers[i].given_up_fingerprints
        for i in range(run.co_worker_count):
            seen += run.co_workers[i].given_up_fingerprints
        for i in range(run.replica_count):
            seen += run.replica_operators[i].dropped
            left_at[run.replica_operators[i].index] += run.replica_operators[i].left
            if run.replica_operators[i].typed != NULL:
                damaged += run.replica_operators[i].typed.damaged
        for i, index in enumerate(plan.layout.coroutines):
            if index in plan.layout.replicas:
                _left_in_slots(run, i, &run.operators[<uint32_t> index], left_at, &seen)
        for i in range(run.operator_count):
            op = &run.operators[i]
            kind = plan.operators[i].kind.name
            seen += op.dropped
            if op.typed != NULL:
                violations += op.typed.violations
                damaged += op.typed.damaged
            left_at[i] += op.left
            if kind == "source":
                expected += (<SourceState*> op.own).fingerprints * op.copies
            elif kind in ("sink", "control", "loop"):
                if op.loop != NULL:
                    for port in range(op.outputs):
                        expected += (
                            op.loop.outputs[port].fingerprints * op.loop.outputs[port].copies
                        )
                sink = <SinkState*> op.own
                seen += sink.fingerprints
                damaged += sink.damaged
                violations += sink.violations
                account.order_checked &= sink.paths > 0 or op.typed != NULL
                if plan.operators[i].is_sink:
                    account.longest_ns = max(account.longest_ns, sink.latency.longest())
            elif kind == "barrier":
                joined = <BarrierState*> op.own
                expected += (
                    joined.sent_fingerprints * <uint64_t> (plan.layout.copies_behind[i] or 0)
                )
                seen += joined.fingerprints
                damaged += joined.damaged
                violations += joined.violations
                account.discarded[i] = joined.discarded
                for port in range(joined.count):
                    held_by[i] += joined.inputs[port].ring.size_guess()
                    account.order_checked &= joined.inputs[port].paths > 0 or op.typed != NULL
            elif kind == "merge":
                merge = <MergeState*> op.own
                held_by[i] = merge.held + merge.given_up
                for slot_index in range(merge.mask + 1):
                    if merge.held > 0 and merge.present[slot_index]:
                        seen += (
                            fingerprint((<Tuple*> (merge.slots + slot_index * run.stride)).sequence)
                            * op.copies
                        )
                if merge.overrun:
                    account.overrun.append(i)
        _sent(plan, account)
        account.left_out, account.examples = left_out_by(plan.operators)
    account.expected, account.seen = expected, seen
    account.damaged, account.violations = damaged, violations
    account.stuck, account.error = stuck, error
    account.scheduling = _scheduling(run)
    return account


cdef object _failure_of(Plan plan, Operator* op):
    """Return the error of an operator's compiled function, or of what its loop has asked for; None
    without one.
    """
    cdef NativeState* native
    operator = plan.operators[op.index]
    if operator.kind is NATIVE:  # reported even if another one never returned
        native = <NativeState*> op.own
        answer, when = native.error.load(memory_order_acquire), f"tuple {native.failed_at}"
    elif op.loop != NULL:
        if op.loop.problem[0] != 0:
            return f"operator {operator.name!r} {(<bytes> op.loop.problem).decode()}"
        answer, when = min(op.loop.answer, 0), f"after {op.processed.read()} tuples"
    elif op.typed != NULL:
        answer, when = op.typed.error.load(memory_order_acquire), f"tuple {op.typed.failed_at}"
    else:
        return None
    return None if answer == 0 else _failure(operator, answer, when)


def _failure(operator, answer, when):
    """Return the error of a compiled function that has returned a number below 0, with its meaning
    if the function has one.
    """
    function = operator.native if operator.typed is None else operator.typed.function
    meaning = getattr(function, "meanings", {}).get(answer)
    if answer == NOT_ONE_FOR_ONE:
        meaning = "it is to send one tuple for each that it gets"
    did = f"returned {answer}" if meaning is None else f"failed, since {meaning}"
    return f"operator {operator.name!r} {did} ({when})"


cdef int _refused_by_policy(Run* run) noexcept nogil:
    """Return the index of the operator whose score by the policy was not a number; -1: there is
    none.
    """
    cdef const Operator* op = coroutines_of(run).refused_by_policy()
    return -1 if op == NULL else <int> op.index


cdef uint64_t _left_behind(Run* run, uint32_t index, uint64_t* fingerprints):
    """Data tuples in a queue and given up before it; adds the fingerprints of those in the
    queue.
    """
    cdef Port* port = &run.ports[index]
    cdef uint64_t i, count = port.given_up.load(memory_order_acquire)
    cdef Tuple* tuple_
    for i in range(port.ring.size_guess()):
        tuple_ = port.ring.left_behind(i)
        if tuple_.kind == DATA:
            count += 1
            fingerprints[0] += fingerprint(tuple_.sequence) * port.op.copies
    return count


cdef struct InSlots:
    Operator* op
    uint64_t taken, made, fingerprints


cdef void _is_taken(Tuple* tuple_, void* argument) noexcept nogil:
    cdef InSlots* slots = <InSlots*> argument
    if tuple_.kind == DATA:
        slots.taken += 1
        if slots.op.loop == NULL:  # else it was checked when it was taken
            slots.fingerprints += fingerprint(tuple_.sequence) * slots.op.copies


cdef void _is_made(Tuple* tuple_, void* argument) noexcept nogil:
    cdef InSlots* slots = <InSlots*> argument
    cdef uint32_t i
    # of typed operators and loops, what waits to be sent has no number, and does not count
    if tuple_.kind == DATA and slots.op.typed == NULL and slots.op.loop == NULL:
        slots.made += 1
        for i in range(slots.op.routes[0].count):
            slots.fingerprints += (
                fingerprint(tuple_.sequence) * slots.op.routes[0].targets[i].op.copies
            )


cdef _left_in_slots(Run* run, uint32_t co, Operator* op, list left_at, uint64_t* fingerprints):
    """Tuples in slots of replicas: taken from their port and not worked on, or worked on and not
    yet sent (replicas.hpp).
    """
    cdef InSlots slots
    cdef uint32_t i
    slots.op, slots.taken, slots.made, slots.fingerprints = op, 0, 0, 0
    coroutines_of(run).left_in_slots(co, _is_taken, _is_made, &slots)
    left_at[op.index] += slots.taken
    for i in range(op.routes[0].count):
        left_at[op.routes[0].targets[i].op.index] += slots.made
    fingerprints[0] += slots.fingerprints


def _sent(Plan plan, account):
    """Note what went out of operators that choose the port, and the punctuations."""
    cdef uint32_t i, output
    cdef Operator* op
    for i, operator in enumerate(plan.operators):
        op = &plan.run.operators[i]
        if operator.chooses_output:
            for output in range(operator.outputs):
                account.sent[i, output] = op.routes[output].sent.read()
        if operator.kind is SOURCE:
            account.marks_sent[i] = (<SourceState*> op.own).windows
        elif operator.kind is BARRIER:
            account.marks_got[i] = (<BarrierState*> op.own).windows
        elif operator.kind.ends_windows:
            account.marks_got[i] = (<SinkState*> op.own).windows.read()


cdef dict _scheduling(Run* run):
    cdef uint32_t i
    sums = {"drains": 0, "searches": 0, "reschedules": 0, "waits": 0, "queue_switches": 0}
    for i in range(run.worker_count):
        sums["drains"] += run.workers[i].drains.read()
        sums["searches"] += run.workers[i].searches.read()
        sums["reschedules"] += run.workers[i].reschedules.read()
        sums["waits"] += run.workers[i].waits.read()
    for i in range(run.port_count):
        sums["queue_switches"] += run.ports[i].switches.read()
    return sums
