# operators.pyx - what each kind of operator does with a batch of tuples.
#
# A kernel works on the tuples where they lie and returns the output port to which all of them go
# on; one that sends tuples different ways, keeps or drops them delivers them itself and returns
# HANDLED. Its batch is never empty and holds data tuples only. It runs alone (ALONE), so its state
# needs no atomics. A mark kernel does the same for a window punctuation, which then goes out of
# every output port.

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed

from harness.runtime.balance cimport balance
from harness.runtime.barrier cimport barrier, mark_barrier
from harness.runtime.coroutine cimport merge_advanced
from harness.runtime.coroutine cimport wait_for_merge as wait_as_coroutine
from harness.runtime.dynamic cimport announce, drain, release, wait_a_little
from harness.runtime.native cimport (
    HANDLED,
    BurstState,
    Chosen,
    Kernel,
    MarkKernel,
    MergeState,
    Operator,
    Port,
    Route,
    SinkState,
    SourceState,
    SplitState,
    Target,
    Tuple,
    Worker,
    check_end,
    check_mark,
    fill_payload,
    fingerprint,
    key_of,
    multiply_batch,
    now_ns,
    slot,
    value_for,
    way_of,
)
from harness.runtime.protocol cimport MAX_BATCH, passes
from harness.runtime.submit cimport begin, deliver, deliver_every, end, end_run, pass_mark
from harness.runtime.typed cimport typed
from harness.runtime.users cimport native, python


cdef void make_tuple(SourceState* source, Tuple* tuple_, unsigned int payload) noexcept nogil:
    """Fill in the source's next tuple; `born_ns` is the caller's."""
    tuple_.sequence = source.sent
    tuple_.value = value_for(source.sent)
    tuple_.path = 0
    tuple_.kind = 0
    tuple_.order = 0
    fill_payload(tuple_, payload)
    source.fingerprints += fingerprint(source.sent)
    source.sent += 1


# -- work ------------------------------------------------------------------------------------------


cdef int32_t work(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    multiply_batch(first, worker.run.stride, count, op.factor, op.cost)
    return 0


cdef int32_t work_round_robin(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    work(op, worker, first, count)
    return round_robin(op, worker, first, count)


cdef int32_t work_in_bursts(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    multiply_in_bursts(op, worker, first, count)
    return 0 if op.outputs == 1 else round_robin(op, worker, first, count)


cdef void multiply_in_bursts(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Multiply at a cost that depends on a tuple's sequence number: `bursty cost` of the
    ElasticLoadBalance tests.
    """
    cdef BurstState* bursts = <BurstState*> op.own
    cdef uint64_t place
    cdef uint32_t i, stretch
    cdef Tuple* tuple_
    for i in range(count):
        tuple_ = slot(first, worker.run.stride, i)
        place = tuple_.sequence % bursts.ends[bursts.count - 1]
        stretch = 0
        while place >= bursts.ends[stretch]:
            stretch += 1
        multiply_batch(tuple_, worker.run.stride, 1, op.factor, bursts.costs[stretch])


cdef int32_t selective_work(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """A tuple that goes no further has cost as much as the others (C-Stream s5.1)."""
    work(op, worker, first, count)
    return filter_(op, worker, first, count)


cdef int32_t selective_work_in_bursts(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    multiply_in_bursts(op, worker, first, count)
    return filter_(op, worker, first, count)


cdef int32_t filter_(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Passes on a share of the tuples, the same ones in every run. Those that pass stay in runs:
    neighbours go on together.
    """
    cdef Chosen* chosen = op.chosen
    cdef size_t stride = worker.run.stride
    cdef uint32_t i, start = 0
    cdef uint64_t sequence
    for i in range(count):
        sequence = slot(first, stride, i).sequence
        if chosen == NULL or passes(fingerprint(sequence ^ chosen.seed), chosen.threshold):
            continue
        op.dropped += fingerprint(sequence) * op.copies
        if i > start:
            pass_on(op, worker, slot(first, stride, start), i - start)
        start = i + 1
    if count > start:
        pass_on(op, worker, slot(first, stride, start), count - start)
    return HANDLED


cdef void pass_on(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    op.emitted.add(count)
    if op.outputs == 1:
        deliver(worker, op.routes, first, count)
    else:
        round_robin(op, worker, first, count)
    worker.at.store(op.index + 1, memory_order_relaxed)


# -- one of several ways ---------------------------------------------------------------------------


cdef int32_t round_robin(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Each tuple goes to the next output port; those of a batch that go the same way are sent there
    together.
    """
    cdef uint32_t i, turn = op.turn, outputs = op.outputs
    cdef uint32_t ways = min(count, outputs)
    cdef Target* before = worker.begun
    cdef Route* route
    op.turn = (turn + count) % outputs
    for i in range(ways):
        route = &op.routes[turn + i if turn + i < outputs else turn + i - outputs]
        if worker.run.coroutines != NULL:
            begin(worker, route, slot(first, worker.run.stride, i), worker.run.stride * outputs, (count - i + outputs - 1) // outputs)
        else:
            deliver_every(worker, route, slot(first, worker.run.stride, i), (count - i + outputs - 1) // outputs, outputs)
    end(worker, before)
    return HANDLED


cdef int32_t split(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Round-robin, after numbering the tuples for the merge downstream (C-Stream s4.2)."""
    cdef SplitState* state = <SplitState*> op.own
    cdef uint32_t i
    if state.merge != NULL and op.order + count - state.merge.next.load(memory_order_relaxed) > state.ahead:
        wait_for_merge(op, worker, count)
    for i in range(count):
        slot(first, worker.run.stride, i).order = op.order
        op.order += 1
    return round_robin(op, worker, first, count)


cdef int32_t split_by_key(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Send all tuples of a key the same way, so that a replica sees all tuples of its keys
    (C-Stream s4.2).
    """
    cdef SplitState* state = <SplitState*> op.own
    cdef uint32_t i, way
    cdef Tuple* tuple_
    if state.merge != NULL and op.order + count - state.merge.next.load(memory_order_relaxed) > state.ahead:
        wait_for_merge(op, worker, count)
    for i in range(count):
        tuple_ = slot(first, worker.run.stride, i)
        tuple_.order = op.order
        op.order += 1
        way = way_of(key_of(tuple_.sequence, state.keys), op.outputs)
        op.routes[way].sent.add(1)
        deliver(worker, &op.routes[way], tuple_, 1)
    return HANDLED


cdef void wait_for_merge(Operator* op, Worker* worker, uint32_t count) noexcept nogil:
    """Wait for a slow branch, or a rare key, that holds up the merge: others run ahead only as far
    as it has slots (BOUND).

    Meanwhile this thread executes scheduled ports between the two, as one does before a full queue;
    they are downstream of here.
    """
    cdef SplitState* state = <SplitState*> op.own
    cdef Port* port
    cdef uint32_t i, round_ = 0, at = worker.at.load(memory_order_relaxed)
    cdef bint helped
    while op.order + count - state.merge.next.load(memory_order_relaxed) > state.ahead and not worker.stop.load(memory_order_acquire):
        if worker.resumed:
            wait_as_coroutine(worker, state.merge, op.order + count - state.ahead)
            continue
        helped = False
        announce(worker)
        for i in range(state.port_count):
            port = state.ports[i]
            if port.discipline.pooled and port.ring.size_guess() > 0 and port.consuming.try_lock():
                drain(worker, port, port.most.load(memory_order_relaxed), False)
                release(worker, port)
                helped = True
        if not helped:
            wait_a_little(worker, &round_)
    worker.at.store(at, memory_order_relaxed)


cdef bool mark_split(Operator* op, Worker* worker, Tuple* mark) noexcept nogil:
    """Send a window punctuation every way, with its place among the tuples and a number by which
    the merge recognises its copies.
    """
    cdef SplitState* state = <SplitState*> op.own
    state.marks += 1
    mark.order = op.order
    mark.value = <double> state.marks
    return True


cdef int32_t pass_through(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """A buffer: all there is to it is its queue and its thread."""
    return 0


# -- merge -----------------------------------------------------------------------------------------


cdef int32_t merge(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Passes tuples on in the order of their numbers; those that come early wait in slots of their
    own.

    BOUND: a tuple is at most as early as there are slots: the split waits before it gets further
    ahead (wait_for_merge), while the run goes on.
    """
    cdef MergeState* state = <MergeState*> op.own
    cdef size_t stride = worker.run.stride
    cdef uint32_t i, start = 0, place, next_ = state.next.load(memory_order_relaxed)
    cdef Tuple* tuple_
    for i in range(count):
        tuple_ = slot(first, stride, i)
        if tuple_.order == next_:
            next_ += 1
            state.next.store(next_, memory_order_relaxed)
            if state.waiting.size_guess() == 0 and (state.held == 0 or not state.present[next_ & state.mask]):
                continue
            pass_on(op, worker, slot(first, stride, start), i + 1 - start)
            start = i + 1
            pass_on_waiting(op, worker, state)
            next_ = state.next.load(memory_order_relaxed)
        else:
            if i > start:
                pass_on(op, worker, slot(first, stride, start), i - start)
            start = i + 1
            if tuple_.order - next_ > state.mask:
                # in a run cut short the split does not wait: there is no slot for this one
                if worker.run.over.load(memory_order_acquire):
                    state.given_up += 1
                    worker.given_up_fingerprints += fingerprint(tuple_.sequence) * op.copies
                    worker.run.gave_up.store(True, memory_order_relaxed)
                    continue
                overrun(worker, state)
                return HANDLED
            place = tuple_.order & <uint32_t> state.mask
            memcpy(state.slots + place * stride, tuple_, stride)
            state.present[place] = 1
            state.held += 1
    if count > start:
        pass_on(op, worker, slot(first, stride, start), count - start)
    if worker.run.coroutines != NULL:
        merge_advanced(worker.run, state)
    return HANDLED


cdef void overrun(Worker* worker, MergeState* state) noexcept nogil:
    """More came early than the queues between the split and this can hold: the run has failed."""
    state.overrun = True
    worker.run.failed.store(True, memory_order_relaxed)
    end_run(worker.run)


cdef void pass_on_waiting(Operator* op, Worker* worker, MergeState* state) noexcept nogil:
    """Everything in the slots that is next, and the window punctuations between."""
    cdef size_t stride = worker.run.stride
    cdef uint32_t place, ready, most, next_
    cdef Tuple* waiting
    while True:
        next_ = state.next.load(memory_order_relaxed)
        while state.waiting.front(1, &waiting) > 0 and waiting.order == next_:
            state.mark[0] = waiting[0]
            state.waiting.release(1)
            pass_mark(worker, op, state.mark)
        most = <uint32_t> MAX_BATCH if state.waiting.size_guess() == 0 else min(<uint32_t> MAX_BATCH, waiting.order - next_)
        place = next_ & <uint32_t> state.mask
        # tuples that lie side by side and are next, up to the end of the slots or a punctuation
        ready = 0
        while ready < most and place + ready <= state.mask and state.present[place + ready]:
            state.present[place + ready] = 0
            ready += 1
        if ready == 0:
            return
        state.next.store(next_ + ready, memory_order_relaxed)
        state.held -= ready
        pass_on(op, worker, <Tuple*> (state.slots + place * stride), ready)


cdef bool mark_merge(Operator* op, Worker* worker, Tuple* mark) noexcept nogil:
    """A window punctuation comes once from every branch. The first one waits until the tuples
    before it have passed.

    That puts it at its place: whichever branch brings the tuple behind it has brought the
    punctuation before. First ones come in the order in which the split sent them, since every
    branch gets all.

    BOUND: the tuple that is next is on a branch behind which the same punctuations queue, so no
    more wait here than fit into its queues.
    """
    cdef MergeState* state = <MergeState*> op.own
    if mark.value <= state.last_mark:
        return False
    state.last_mark = mark.value
    if state.waiting.push(mark, 1, 0, 0) > 0:
        pass_on_waiting(op, worker, state)
        if worker.run.coroutines != NULL:
            merge_advanced(worker.run, state)
    # cut short, a branch may have given up the one that is next
    elif worker.run.over.load(memory_order_acquire):
        worker.run.gave_up.store(True, memory_order_relaxed)
    else:
        overrun(worker, state)
    return False


# -- ends ------------------------------------------------------------------------------------------


cdef int32_t sink(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """Count (by the caller), check and stamp: the oracle's end."""
    cdef SinkState* state = <SinkState*> op.own
    cdef uint32_t i
    cdef uint64_t fingerprints = 0
    cdef Tuple* tuple_
    for i in range(count):
        tuple_ = slot(first, worker.run.stride, i)
        fingerprints += check_end(state[0], state[0], tuple_, worker.run.payload)
        if tuple_.born_ns != 0:
            state.latency.record(now_ns() - tuple_.born_ns)
    state.fingerprints += fingerprints
    return HANDLED


cdef int32_t absorb(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    """A control port: checked as at a sink, and the last value is there for the operator to
    read.
    """
    cdef SinkState* state = <SinkState*> op.own
    sink(op, worker, first, count)
    state.latest.store(slot(first, worker.run.stride, count - 1).value, memory_order_relaxed)
    return HANDLED


cdef bool mark_sink(Operator* op, Worker* worker, Tuple* mark) noexcept nogil:
    cdef SinkState* state = <SinkState*> op.own
    state.windows.add(1)
    check_mark(state[0], state[0], mark)
    return False


# -- by kind ---------------------------------------------------------------------------------------


cdef Kernel kernel_for(object operator) except? NULL:
    """The kernel of a harness.graph.Operator; sources and loops have none."""
    kind = operator.kind.name
    if operator.typed is not None and kind not in ("source", "loop"):
        return typed
    if kind == "work":
        if operator.selectivity < 1.0:
            return selective_work_in_bursts if operator.costs else selective_work
        if operator.costs:
            return work_in_bursts
        return work if operator.outputs == 1 else work_round_robin
    if kind == "filter":
        return filter_
    if kind == "split":
        return split_by_key if operator.keys else split
    if kind == "merge":
        return merge
    if kind == "barrier":
        return barrier
    if operator.kind.balances:
        return balance
    if kind == "buffer":
        return pass_through
    if kind == "python":
        return python
    if kind == "native":
        return native
    if kind == "sink":
        return sink
    if kind == "control":
        return absorb
    return NULL


cdef MarkKernel mark_kernel_for(str kind) noexcept:
    """Return the function by which a kind of operator handles a window punctuation; NULL: it only
    sends it on.
    """
    if kind == "split":
        return mark_split
    if kind == "merge":
        return mark_merge
    if kind == "barrier":
        return mark_barrier
    if kind in ("sink", "control"):
        return mark_sink
    return NULL
