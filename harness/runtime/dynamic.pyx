# dynamic.pyx - scheduler threads that execute any input port (P17 s4.1).
#
# Next port   front of the free list -> its consumer flag -> tuples in its queue? drain it, put it at the back. Else put it back, take the
#             next, until the first one comes round again (find_work). Nothing found: back off, from a yield to 10 ms of sleep.
# Full queue  the producer does not wait for a scheduler thread: it drains a quarter of that queue itself, and tries again (reschedule).
#
# Where two threads meet, the loser goes elsewhere instead of trying harder: a flag or a list entry that somebody else has is work that
# somebody else does. Per drain a thread touches the shared free list twice (LOCAL); all else that it writes is its own or the port's.
#
# Beyond the paper: a drain hands an operator up to 32 tuples at once (submit.pyx), is bounded by the queue's capacity, so that an
# ever-full port does not hold its thread for ever (IBM's implementation does that too), and a port whose streams have ended does not
# go back on the list. Sleepers that have found nothing for a millisecond are woken when tuples are published: a quiet graph answers
# fast.
#
# Dropped in the paper, and here: looking for other work inside reschedule (load imbalance), and work stealing (P17 s3, s4.1.4).

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.atomic cimport memory_order_acquire

from harness.runtime.native cimport NO_PORT, Port, Run, Target, Tuple, Worker, spin, yield_thread
from harness.runtime.submit cimport take

cdef enum:
    YIELDS = 4                 # misses that only yield: a sleep below the timer slack of 50 us would take 50 us anyway
    SHORTEST_NS = 100_000
    DEEP_NS = 1_000_000        # from here on a sleeper is woken when tuples arrive
    LONGEST_NS = 10_000_000    # P17 s4.1.3


cdef void* scheduler_body(void* argument) noexcept nogil:
    """P17 Figure 4, schedule()."""
    cdef Worker* worker = <Worker*> argument
    cdef Run* run = worker.run
    cdef Port* port = find_work_blocking(worker)
    cdef bint ended
    while port != NULL:
        worker.drains.add(1)
        drain(worker, port, run.capacity + 1)
        ended = port.open_streams == 0
        port.consuming.unlock()
        if not ended:
            run.free_ports.push(port.index)
        port = find_work_blocking(worker)
    worker.thread.finish()
    return NULL


cdef void drain(Worker* worker, Port* port, uint64_t most) noexcept nogil:
    """Execute the port on about `most` tuples of its queue, fewer if it runs empty. The caller holds the consumer flag."""
    cdef Tuple* first
    cdef uint32_t count
    cdef uint64_t done = 0
    while done < most:
        count = <uint32_t> port.ring.front(port.batch, &first)
        if count == 0:
            return
        take(worker, port, first, count)
        port.ring.release(count)  # only now: a tuple in execution still takes its slot (BOUND)
        done += count
        if worker.stop.load(memory_order_acquire):
            return


cdef Port* find_work_blocking(Worker* worker) noexcept nogil:
    """P17 Figure 5: a port with tuples, its consumer flag held; NULL when the run is over."""
    cdef Run* run = worker.run
    cdef Port* port
    cdef int64_t delay_ns = SHORTEST_NS
    cdef uint32_t misses = 0
    while not worker.stop.load(memory_order_acquire):
        port = find_work(worker)
        if port != NULL:
            return port
        misses += 1
        if misses <= YIELDS:
            yield_thread()
            continue
        worker.waits.add(1)
        if delay_ns < DEEP_NS:
            run.nap.sleep_for(delay_ns, worker.stop)
        else:
            run.idle.sleep_for(delay_ns, worker.stop)
        delay_ns = min(delay_ns * 10, LONGEST_NS)
    return NULL


cdef Port* find_work(Worker* worker) noexcept nogil:
    """P17 Figure 5, findWorkNonBlocking(): one walk over the free list, given up where other threads interfere."""
    cdef Run* run = worker.run
    cdef uint32_t first = run.free_ports.pop()
    cdef uint32_t index = first
    cdef Port* port
    worker.searches.add(1)
    while index != NO_PORT:
        port = &run.ports[index]
        # Looking at the size first spares an empty port's flag; a tuple that arrives just now is found on the next walk.
        if port.ring.size_guess() > 0 and port.consuming.try_lock():
            if port.ring.size_guess() > 0:
                return port
            port.consuming.unlock()
        run.free_ports.push(index)
        index = run.free_ports.pop()
        if index == first:
            run.free_ports.push(index)
            return NULL
    return NULL


cdef void reschedule(Worker* worker, Port* port) noexcept nogil:
    """P17 Figure 6, reSchedule(), one round of its loop: drain the queue that is in the way, if nobody else does."""
    if port.consuming.try_lock():
        if port.ring.size_guess() > 0:
            worker.reschedules.add(1)
            drain(worker, port, worker.run.capacity // 4 + 1)
            port.consuming.unlock()
            return
        port.consuming.unlock()
    spin(&worker.spins)


cdef void tuples_published(Worker* worker, Target* target) noexcept nogil:
    cdef Run* run = worker.run
    if run.idle.somebody_guess():  # may be missed: the sleeper comes by itself within 10 ms
        run.idle.wake_one()
