# modes.pyx - queues that come and go while tuples flow (M19 s3.1: an operator is under the dynamic model with its queue, under the manual
# model without).
#
#   want           the controlling thread asks for a mode; nothing else happens there
#   call_instead   a producer, at its next tuple, makes it so, and calls the operator if that is the mode
#
# States of a port (Mode of state.hpp), and who changes them: want() the wish, the producer side what is.
#
#                       want(called)
#              QUEUED  -------------->  CLOSING
#   a producer,  ^     <--------------     |      a producer has emptied the queue
#   at once      |     want(queued)        v      under the consumer flag
#              OPENING  <-------------  CALLED
#                       ------------->
#
# The *producer side* is one thread, or whoever holds Port::call_lock where several may produce. So tuples that are on their way never find
# what is changed under them:
#
#   CLOSING to CALLED    The producer takes the consumer flag, executes all that is queued, and calls from then on. Nothing can overtake:
#         who could queue a tuple is waiting right here. It pays no heed to suspension, and gives up only at the end of the run, with the
#         queue still there. If the wish has changed meanwhile, the port is OPENING now. Edge HANDOVER of the consumer flag: what the last
#         consumer did to the operator is seen by the first call.
#   OPENING to QUEUED    The producer pushes from now on; CLOSING if the wish has changed meanwhile. Edge PUBLISH: what the last call did to
#         the operator is seen by whoever takes that tuple.
#   several producers    A pusher that waited for the producer flag looks at the mode again once it has it (submit.pyx), a caller once it
#         has the call lock. Edge CALL_LOCK: the mutex. Who empties the queue holds both: the only time that the producer flag is
#         held while an operator runs.
#
# HEED: a tuple that is sent after want() has returned goes the way that was wanted.
#
# No livelock: a thread that waits here waits for the thread that executes the port, which is downstream of it, as with a full queue. A
# cycle closes at a control port, a leaf: no call comes back to a port that is being called or emptied.
#
# A chain of called operators shall be as fast as under the manual model, without a look at any mode. So the operator upstream keeps a
# shortcut (Operator::next) while the queue is off. want() removes it, and the producer, who then takes the long way, sees the wish. Edge
# SHORTCUT: the producer sets it, then looks at the wish; want() writes the wish, then removes it; all seq_cst, so one of them sees the
# other.
#
# Checked by: model/switching.pml in all interleavings (make model-check, tests/runtime/test_switching_model.py), on real threads by
# tests/runtime/test_switching.py and test_switching_stress.py, under ThreadSanitizer by tests/native/stress_switching.cpp.

from libc.stdint cimport uint32_t
from libcpp.atomic cimport memory_order_acq_rel, memory_order_acquire, memory_order_seq_cst

from harness.runtime.dynamic cimport drain, release, wait_a_little
from harness.runtime.native cimport CLOSING, DATA, FINAL, NOW_CALLED, OPENING, QUEUED, WANTED_CALLED, Port, Target, Tuple, Worker
from harness.runtime.submit cimport acquire, call, take_mark


cdef bint call_instead(Worker* worker, Target* target, Tuple* first, size_t spacing, uint32_t count, char* scratch) noexcept nogil:
    """Whether the tuples were handed to the operator by a call; if not, the port has its queue, and they belong there."""
    cdef Port* port = target.port
    cdef uint32_t mode
    if port.call_lock != NULL:
        acquire(worker, port.call_lock)
    mode = port.mode.load(memory_order_acquire)
    if mode == CLOSING:
        mode = switch_off(worker, port)
    elif mode == OPENING:
        if port.caller != NULL:
            port.caller.next.store(NULL, memory_order_seq_cst)  # want() does so too, but perhaps not yet
        mode = port.mode.fetch_and(~<uint32_t> NOW_CALLED, memory_order_acq_rel) & ~<uint32_t> NOW_CALLED
    if mode & NOW_CALLED:
        shorten(port)
        if first.kind == DATA:
            call(worker, target, first, spacing, count, scratch)
        else:  # punctuation comes alone
            if first.kind != FINAL:
                first.path += target.path_step
            take_mark(worker, port, first)
    if port.call_lock != NULL:
        port.call_lock.unlock()
    return mode & NOW_CALLED != 0


cdef uint32_t switch_off(Worker* worker, Port* port) noexcept nogil:
    """Execute what is queued, then call. Returns the mode."""
    cdef uint32_t mode = QUEUED, round_ = 0
    if port.shared:
        while not port.producing.try_lock():
            wait_a_little(worker, &round_)
    round_ = 0
    while not port.consuming.try_lock():
        if worker.stop.load(memory_order_acquire):
            break
        wait_a_little(worker, &round_)
    else:
        drain(worker, port, <size_t> -1, False)
        if port.ring.size_guess() == 0:
            mode = port.mode.fetch_or(NOW_CALLED, memory_order_acq_rel) | NOW_CALLED
        release(worker, port)
    if port.shared:
        port.producing.unlock()
    return mode


cdef void shorten(Port* port) noexcept nogil:
    """From now on the operator upstream need not come here. Producer side only."""
    if port.caller != NULL:
        port.caller.next.store(port.op, memory_order_seq_cst)  # SHORTCUT
        if not port.mode.load(memory_order_seq_cst) & WANTED_CALLED:
            port.caller.next.store(NULL, memory_order_seq_cst)


cdef void want(Port* port, bint called) noexcept nogil:
    """Ask for a mode. One thread at a time."""
    if called:
        port.mode.fetch_or(WANTED_CALLED, memory_order_seq_cst)
    else:
        port.mode.fetch_and(~<uint32_t> WANTED_CALLED, memory_order_seq_cst)
        if port.caller != NULL:
            port.caller.next.store(NULL, memory_order_seq_cst)  # SHORTCUT
