# dedicated.pyx - threaded ports: an input port with a queue and a thread that executes only that
# port (P17 s2.2). Every port is one under the dedicated model; under the others those that the user
# has asked for.
#
# A thread that has nothing to do sleeps (ASLEEP): with many more threads than cores a spinning one
# would take the core from the one it waits for. Such a system spends its time on switches between
# threads, so the rules below make each switch worth many tuples:
#
#   both       look a while before they sleep where every thread has a CPU to itself: there a switch
#              gains nothing (Run::patience).
#   consumer   sleeps when its queue is empty, on Port::arrivals. Its producer wakes it when
#              `wake_at` tuples wait, or else before it goes to sleep or ends itself (wake_owed), so
#              no tuple stays in the queue. Where several threads send the same way, under an
#              operator's lock, each wakes at once.
#   producer   sleeps when the queue is full, on Port::room. The consumer wakes one when half the
#              queue is free, at the latest when it is empty and the consumer goes to sleep; a
#              producer that was woken and leaves room behind wakes the next.
#
# No lost wake-up: every decision to sleep is made by Parking::sleep_while, which looks again after
# announcing itself (edge ANNOUNCE), and before a consumer sleeps it calls wake_one itself, not by
# guess. A guess orders nothing: a thread that has just stored an index may look for sleepers before
# its store is seen, and miss one that sleeps on the old index. It guesses again at its next batch,
# and the last one is followed by that wake_one. No thread sleeps for ever: along a stream, a
# sleeping producer has a full queue before it, so its consumer is awake or sleeps on a full queue
# further down; the last one is a sink, which never waits for room.

from libc.stdint cimport uint32_t, uint64_t
from libcpp.atomic cimport atomic, memory_order_acq_rel, memory_order_acquire, memory_order_relaxed

from harness.runtime cimport coroutine
from harness.runtime.dynamic cimport announce, wait_a_little
from harness.runtime.native cimport Port, Run, Target, Tuple, Worker, pause_core
from harness.runtime.protocol cimport AWAKE, BATCHES_IN_SILENCE, BLOCKED, CHEAP_BATCH
from harness.runtime.submit cimport hand_over, take


cdef void* port_body(void* argument) noexcept nogil:
    cdef Worker* worker = <Worker*> argument
    cdef Port* port = worker.port
    cdef Tuple* first
    cdef uint64_t tail
    cdef uint32_t count, batches = 0
    while port.open_streams > 0 and not worker.stop.load(memory_order_acquire):
        count = <uint32_t> port.ring.front(port.batch.load(memory_order_relaxed), &first)
        if count == 0:
            worker.at.store(0, memory_order_relaxed)
            hand_over(worker)
            wake_producer(port)
            tail = port.ring.head().load(memory_order_acquire)
            if unchanged(worker.run, port.ring.tail(), tail):
                worker.waits.add(1)
                port.arrivals.sleep_while(port.ring.tail(), tail, worker.stop)
            continue
        worker.drains.add(1)
        take(worker, port, first, count)
        batches += 1
        if batches % BATCHES_IN_SILENCE == 0:
            hand_over(worker)
        elif count < CHEAP_BATCH:
            announce(worker)
        port.ring.release(count)
        if worker.run.coroutines != NULL:
            coroutine.tuples_taken(worker.run, port)
        if port.room.somebody_guess() and port.ring.size_guess() * 2 <= port.ring.capacity():
            wake_producer(port)
    hand_over(worker)
    worker.at.store(0, memory_order_relaxed)
    worker.thread.finish()
    return NULL


cdef void wake_producer(Port* port) noexcept nogil:
    """Wake a producer that waits for room. One that fills several buffers watches a word common to
    them (balance.pyx).
    """
    if port.freed != NULL:
        port.freed.fetch_add(1, memory_order_acq_rel)  # FREED
    port.room.wake_one()


cdef bint unchanged(Run* run, const atomic[uint64_t]& word, uint64_t seen) noexcept nogil:
    """Return True if the other side has not moved. A thread with a CPU to itself looks for a while
    first: sleeping and waking takes longer.
    """
    cdef uint32_t _
    for _ in range(run.patience):
        if word.load(memory_order_acquire) != seen:
            return False
        pause_core()
    return word.load(memory_order_acquire) == seen


cdef void wait_for_room(Worker* worker, Port* port, uint32_t* round_) noexcept nogil:
    cdef uint64_t head = port.ring.head().load(memory_order_acquire)
    cdef uint32_t at = worker.at.load(memory_order_relaxed)
    if port.ring.tail().load(memory_order_acquire) - head < port.ring.capacity():
        # not full: another producer is copying its tuples in, which is soon done
        wait_a_little(worker, round_)
        return
    hand_over(worker)
    port.arrivals.wake_one()
    if worker.resumed:
        coroutine.wait_for_room(worker, port, round_)
        return
    if not unchanged(worker.run, port.ring.head(), head):
        return
    worker.waits.add(1)
    worker.at.store(0, memory_order_relaxed)
    worker.rest.store(BLOCKED, memory_order_relaxed)
    worker.idle.start()
    port.room.sleep_while(port.ring.head(), head, worker.stop)
    worker.idle.stop()
    worker.rest.store(AWAKE, memory_order_relaxed)
    worker.at.store(at, memory_order_relaxed)


cdef void tuples_published(Worker* worker, Target* target) noexcept nogil:
    cdef Port* port = target.port
    cdef size_t waiting = port.ring.size_guess()
    if port.shared and waiting < port.ring.capacity() and port.room.somebody_guess():
        port.room.wake_one()
    if port.shared and worker.run.coroutines != NULL:
        coroutine.another_sender(worker, port)
    if waiting >= port.wake_at.load(memory_order_relaxed) or not target.lazy_wake:
        port.arrivals.wake_one()
    elif not target.wake_owed:
        target.wake_owed = True
        worker.owed[worker.owed_count] = target
        worker.owed_count += 1


cdef void wake_owed(Worker* worker) noexcept nogil:
    cdef uint32_t i
    for i in range(worker.owed_count):
        if worker.owed[i].wake_owed:
            worker.owed[i].wake_owed = False
            if worker.owed[i].port.arrivals != NULL:
                worker.owed[i].port.arrivals.wake_one()
            else:
                coroutine.announce(worker.run, worker.owed[i].port)
    worker.owed_count = 0
