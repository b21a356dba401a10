# barrier.pyx - takes a tuple of each input and sends one (C-Stream s2.3). This is the event-driven
# version of the paper's appendix: the thread that brings a tuple by any input calls the barrier,
# under every threading model.
#
#   held       each input has a ring of its own. That of input 0 holds whole tuples, which go on;
#              those of the others hold only headers, for the value. One ring is always empty: a
#              complete set of tuples goes on at once.
#   room       a thread that finds the ring of its input full waits in this file, and takes no more
#              from the queue before it (BOUND). The lock is free meanwhile, so that others can
#              bring the missing tuples. A co-routine, which reads all its inputs itself, takes no
#              more than there is room for (coroutine.pyx).
#   over       an input has ended and its ring is empty. All tuples held, and all that still come,
#              are dropped (ENDS).
#
# No deadlock. Inputs that share a source get the same number of its tuples (graph_barriers.py), so
# they differ by what is on its way: in queues, and in operators that send both ways, a batch in
# each. There is room for those in a ring (layout.py). So where one is full while another is empty,
# tuples for the other are in queues that lead there; inputs without a common source wait for that
# source. Some thread executes those queues: each thread that waits here, or for room on its way
# here, executes one port upstream of a barrier, and the pool has a thread for each of these ports
# and one more (FREE; least_threads in models/pool.py).
#
# ORDER: one thread at a time brings tuples by a stream, and holds on to the rest of its batch while
# it waits.
#
# The oracle ends here and starts again: tuples that come are checked as at a sink, with the paths
# of their input; those that go on count as sent.

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed

from harness.runtime.dynamic cimport wait_a_little
from harness.runtime.native cimport (
    HANDLED,
    BarrierInput,
    BarrierState,
    Operator,
    Tuple,
    Worker,
    check_end,
    check_mark,
    fingerprint,
    slot,
)
from harness.runtime.operators cimport pass_on
from harness.runtime.protocol cimport MAX_BATCH
from harness.runtime.submit cimport acquire, send_final
from harness.runtime.users cimport leave


cdef int32_t barrier(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    cdef BarrierState* state = <BarrierState*> op.own
    cdef BarrierInput* input_ = &state.inputs[worker.input]
    cdef size_t stride = worker.run.stride
    cdef uint32_t taken, round_ = 0
    while count > 0:
        if state.over:
            check(worker, state, input_, first, count)
            state.discarded += count
            return HANDLED
        taken = <uint32_t> input_.ring.push(first, count, stride, 0)
        if taken > 0:
            check(worker, state, input_, first, taken)
            first = slot(first, stride, taken)
            count -= taken
            round_ = 0
            send_complete(op, worker, state)
        elif worker.stop.load(memory_order_acquire):
            leave(op, worker, first, count)
            return HANDLED
        else:
            wait_for_others(op, worker, &round_)
    return HANDLED


cdef uint32_t room_of_input(Operator* op, uint32_t input_) noexcept nogil:
    """Return the tuples of an input that it would take without a wait. The caller is alone with the
    operator (ALONE).
    """
    cdef BarrierState* state = <BarrierState*> op.own
    cdef BarrierInput* of = &state.inputs[input_]
    return <uint32_t> MAX_BATCH if state.over else <uint32_t> (of.ring.capacity() - of.ring.size_guess())


cdef void check(Worker* worker, BarrierState* state, BarrierInput* input_, Tuple* first, uint32_t count) noexcept nogil:
    """Check tuples as at a sink, without latency."""
    cdef uint32_t i
    for i in range(count):
        state.fingerprints += check_end(input_[0], state[0], slot(first, worker.run.stride, i), worker.run.payload)


cdef void send_complete(Operator* op, Worker* worker, BarrierState* state) noexcept nogil:
    """Send on the tuples that all inputs have."""
    cdef BarrierInput* lead = state.inputs
    cdef size_t stride = worker.run.stride
    cdef uint32_t i, count
    cdef uint64_t ready = <uint64_t> -1
    cdef Tuple* first
    for i in range(state.count):
        ready = min(ready, <uint64_t> state.inputs[i].ring.size_guess())
        if ready == 0:
            return
    while ready > 0:
        count = <uint32_t> lead.ring.front(min(ready, <uint64_t> MAX_BATCH), &first)
        for i in range(1, state.count):
            join(&state.inputs[i], first, stride, count)
        for i in range(count):
            state.sent_fingerprints += fingerprint(slot(first, stride, i).sequence)
        pass_on(op, worker, first, count)
        lead.ring.release(count)
        ready -= count
    for i in range(state.count):
        if state.inputs[i].open_streams == 0 and state.inputs[i].ring.size_guess() == 0:
            end(op, worker, state)
            return


cdef void join(BarrierInput* input_, Tuple* first, size_t stride, uint32_t count) noexcept nogil:
    """Add the next tuples of an input to those of input 0. A whole is as old as its oldest part."""
    cdef uint32_t i, part, done = 0
    cdef Tuple* added
    cdef Tuple* to
    while done < count:
        part = <uint32_t> input_.ring.front(count - done, &added)
        for i in range(part):
            to = slot(first, stride, done + i)
            to.value += added.value
            if added.born_ns != 0 and (to.born_ns == 0 or added.born_ns < to.born_ns):
                to.born_ns = added.born_ns
            added += 1
        input_.ring.release(part)
        done += part


cdef void end(Operator* op, Worker* worker, BarrierState* state) noexcept nogil:
    """An input has no tuple left, and gets none any more: nothing goes on from here."""
    cdef uint32_t i
    cdef Tuple* first
    cdef size_t count
    state.over = True
    for i in range(state.count):
        while state.inputs[i].ring.size_guess() > 0:
            count = state.inputs[i].ring.front(MAX_BATCH, &first)
            state.inputs[i].ring.release(count)
            state.discarded += count
    op.ended = True
    send_final(worker, op)


cdef void input_ended(Operator* op, Worker* worker) noexcept nogil:
    """A stream into an input has ended, perhaps the last one."""
    cdef BarrierState* state = <BarrierState*> op.own
    cdef BarrierInput* input_ = &state.inputs[worker.input]
    input_.open_streams -= 1
    if not state.over and input_.open_streams == 0 and input_.ring.size_guess() == 0:
        end(op, worker, state)


cdef bool mark_barrier(Operator* op, Worker* worker, Tuple* mark) noexcept nogil:
    """End a window punctuation: a tuple made of several inputs is in no single window. Its order is
    checked as at a sink.
    """
    cdef BarrierState* state = <BarrierState*> op.own
    cdef BarrierInput* input_ = &state.inputs[worker.input]
    state.windows += 1
    check_mark(input_[0], state[0], mark)
    return False


cdef void wait_for_others(Operator* op, Worker* worker, uint32_t* round_) noexcept nogil:
    """Wait a while for tuples of other inputs. The operator's lock is free meanwhile, and held
    again on return.
    """
    cdef uint32_t at = worker.at.load(memory_order_relaxed)
    worker.at.store(0, memory_order_relaxed)
    if op.lock != NULL:
        op.lock.unlock()
    wait_a_little(worker, round_)
    if op.lock != NULL:
        acquire(worker, op.lock)
    worker.at.store(at, memory_order_relaxed)
