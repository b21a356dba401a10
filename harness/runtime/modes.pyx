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
# Operators that are called shall be as fast as under the manual model, without a look at any mode, and without a lock where none is needed.
# So whoever sends keeps a shortcut while the queue is off: Operator::next if this is its only way, else Target::direct. It leads round the
# call lock, and so is there only while all who send are in one context (Port::sole, contexts.hpp). want() removes it, and the producer,
# who then takes the long way, sees the wish. Edge SHORTCUT: the producer sets it, then looks at the wish; want() writes the wish, then
# removes it; all seq_cst, so one of them sees the other.
#
# Contexts divide where a queue comes and join where one goes, and the thread that makes it so sees to it (Contexts::changing is held).
#
#   comes   Before the queue is on, ports that will be fed from two contexts lose their shortcuts. They are behind it by calls and were
#           fed from this thread's context alone, and it is not inside them now, being upstream; the other context begins with the
#           first tuple in the queue (edge PUBLISH).
#   goes    After the queue is empty, ports that are now fed from one context, this thread's, may have shortcuts again. Whoever else was
#           inside them executed this queue's port, and has left (edge HANDOVER).
#
# Checked by: model/switching.pml in all interleavings (make model-check, tests/runtime/test_switching_model.py), on real threads by
# tests/runtime/test_switching.py and test_switching_stress.py, under ThreadSanitizer by tests/native/stress_switching.cpp.

from libc.stdint cimport uint32_t
from libcpp.atomic cimport memory_order_acq_rel, memory_order_acquire, memory_order_relaxed, memory_order_seq_cst

from harness.runtime.dynamic cimport drain, release, wait_a_little
from harness.runtime.native cimport (
    DATA,
    FINAL,
    Port,
    Run,
    Target,
    Tuple,
    Worker,
    change_contexts,
    remove_shortcut,
    set_shortcut,
)
from harness.runtime.protocol cimport CLOSING, NOW_CALLED, OPENING, QUEUED, WANTED_CALLED
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
        mode = switch_on(worker.run, port)
    if mode & NOW_CALLED:
        shorten(port, target)
        if first.kind == DATA:
            call(worker, target, first, spacing, count, scratch)
        else:  # punctuation comes alone
            if first.kind != FINAL:
                first.path += target.path_step
            take_mark(worker, port, first)
    if port.call_lock != NULL:
        port.call_lock.unlock()
    return mode & NOW_CALLED != 0


cdef uint32_t switch_on(Run* run, Port* port) noexcept nogil:
    """Queue from now on. Returns the mode."""
    cdef uint32_t mode
    lengthen(port)  # want() does so too, but perhaps not yet
    if run.contexts != NULL:
        run.contexts.changing.lock()
        change_contexts(run, port.index, True)
    mode = port.mode.fetch_and(~<uint32_t> NOW_CALLED, memory_order_acq_rel) & ~<uint32_t> NOW_CALLED
    port.switches.add(1)
    if run.contexts != NULL:
        run.contexts.changing.unlock()
    return mode


cdef uint32_t switch_off(Worker* worker, Port* port) noexcept nogil:
    """Execute what is queued, then call. Returns the mode."""
    cdef uint32_t mode = QUEUED, round_ = 0
    cdef Run* run = worker.run
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
            if run.contexts != NULL:
                run.contexts.changing.lock()
            mode = port.mode.fetch_or(NOW_CALLED, memory_order_acq_rel) | NOW_CALLED
            port.switches.add(1)
            if run.contexts != NULL:
                change_contexts(run, port.index, False)
                run.contexts.changing.unlock()
        release(worker, port)
    if port.shared:
        port.producing.unlock()
    return mode


cdef void shorten(Port* port, Target* target) noexcept nogil:
    """From now on who sends this way need not come here. Producer side only."""
    if port.sole.load(memory_order_relaxed):
        set_shortcut(target)  # SHORTCUT
        if not port.mode.load(memory_order_seq_cst) & WANTED_CALLED:
            remove_shortcut(target)


cdef void lengthen(Port* port) noexcept nogil:
    """No shortcuts to this port any more."""
    cdef uint32_t i
    for i in range(port.feeder_count):
        remove_shortcut(port.feeders[i])


cdef void want(Port* port, bint called) noexcept nogil:
    """Ask for a mode. One thread at a time."""
    if called:
        port.mode.fetch_or(WANTED_CALLED, memory_order_seq_cst)
    else:
        port.mode.fetch_and(~<uint32_t> WANTED_CALLED, memory_order_seq_cst)
        lengthen(port)  # SHORTCUT
