# modes.pyx - queues that come and go while tuples flow (M19 s3.1): with its queue an operator is
# under the dynamic model, without it under the manual model. want() changes the wanted mode of a
# port (Mode of state.hpp); the *producer side* makes it so at its next tuple, in call_instead().
# The producer side is one thread, or the holder of Port::call_lock if several may produce.
#
#                       want(called)
#              QUEUED  -------------->  CLOSING
#   a producer,  ^     <--------------     |      a producer has emptied the queue
#   at once      |     want(queued)        v      under the consumer flag
#              OPENING  <-------------  CALLED
#                       ------------->
#
# HEED: a tuple that is sent after want() has returned goes the way that was wanted. Tests:
# model/switching.pml in all interleavings (make model-check), tests/runtime/test_switching*.py,
# tests/native/stress_switching.cpp under ThreadSanitizer.

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
    """Return True if the tuples were handed to the operator by a call; if not, the port has its
    queue, and they belong there.

    No livelock: a thread that waits in here waits for the thread that executes the port. That one
    is downstream of it, as with a full queue. A cycle closes at a control port, a leaf: no call
    comes back to a port that is being called or emptied.
    """
    cdef Port* port = target.port
    cdef uint32_t mode
    if port.call_lock != NULL:
        # CALL_LOCK: the mutex. The mode is read once the lock is held. In the same way a pusher
        # that waited for the producer flag reads the mode again once it has the flag (submit.pyx).
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
    """Switch the queue on, and push from now on. Returns the mode: QUEUED, or CLOSING if the wish
    has changed meanwhile.
    """
    cdef uint32_t mode
    lengthen(port)  # want() does so too, but perhaps not yet
    if run.contexts != NULL:
        run.contexts.changing.lock()
        # Contexts divide. Before the queue is on, ports that will be fed from two contexts lose
        # their shortcuts. They are behind it by calls and were fed from this thread's context
        # alone, and this thread is not inside them now, being upstream. The other context begins
        # with the first tuple in the queue (edge PUBLISH).
        change_contexts(run, port.index, True)
    # Edge PUBLISH of the next push: the thread that takes its tuple sees all that the last call did
    # to the operator.
    mode = port.mode.fetch_and(~<uint32_t> NOW_CALLED, memory_order_acq_rel) & ~<uint32_t> NOW_CALLED
    port.switches.add(1)
    if run.contexts != NULL:
        run.contexts.changing.unlock()
    return mode


cdef uint32_t switch_off(Worker* worker, Port* port) noexcept nogil:
    """Execute all queued tuples, then call from now on. Returns the mode: CALLED, or OPENING if the
    wish has changed meanwhile.

    No tuple can overtake: every thread that could queue one waits here. The thread ignores
    suspension, and gives up only at the end of the run, with the queue still on.
    """
    cdef uint32_t mode = QUEUED, round_ = 0
    cdef Run* run = worker.run
    if port.shared:
        # This thread holds the call lock, too (CALL_LOCK). Only here is the producer flag held
        # while an operator runs.
        while not port.producing.try_lock():
            wait_a_little(worker, &round_)
    round_ = 0
    # Edge HANDOVER of the consumer flag: the first call sees all that the last consumer did to the
    # operator.
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
                # Contexts join. The queue is empty, so ports that are now fed from one context,
                # this thread's, may have shortcuts again. Another thread inside them executed this
                # queue's port, and has left (edge HANDOVER).
                change_contexts(run, port.index, False)
                run.contexts.changing.unlock()
        release(worker, port)
    if port.shared:
        port.producing.unlock()
    return mode


cdef void shorten(Port* port, Target* target) noexcept nogil:
    """Set a shortcut to a port without a queue: Operator::next if this is the sender's only way,
    else Target::direct.

    With it a call is as fast as under the manual model: the sender reads no mode and takes no lock.
    It leads round the call lock, so it is set only while all senders are in one context
    (Port::sole, contexts.hpp). Producer side only.
    """
    if port.sole.load(memory_order_relaxed):
        # SHORTCUT: this side sets the shortcut, then reads the wish; want() writes the wish, then
        # removes the shortcut. All are seq_cst, so one of them sees the other.
        set_shortcut(target)  # SHORTCUT
        if not port.mode.load(memory_order_seq_cst) & WANTED_CALLED:
            remove_shortcut(target)


cdef void lengthen(Port* port) noexcept nogil:
    """Remove all shortcuts to this port."""
    cdef uint32_t i
    for i in range(port.feeder_count):
        remove_shortcut(port.feeders[i])


cdef void want(Port* port, bint called) noexcept nogil:
    """Ask for a mode; the producer side makes it so. One thread at a time may call this."""
    if called:
        port.mode.fetch_or(WANTED_CALLED, memory_order_seq_cst)
    else:
        port.mode.fetch_and(~<uint32_t> WANTED_CALLED, memory_order_seq_cst)
        lengthen(port)  # SHORTCUT: without it the producer takes the long way, and sees the wish
