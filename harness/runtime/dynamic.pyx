# dynamic.pyx - scheduler threads that execute any scheduled input port (P17 s4.1).
#
# Next port   front of the list of ready ports -> its consumer flag -> drain it -> at the back of
#             the list if tuples are left, or new ones may come before its turn (lingers). No port
#             is ready: a few yields, then sleep until one is (ready_ports.hpp).
# Full queue  the producer does not wait for a scheduler thread: it drains a quarter of that queue
#             itself, and tries again (reschedule).
# Suspended   a scheduler thread whose level was taken away sleeps as soon as it is done with a
#             batch (P17 s4.1.2, s4.2.3).
#
# READY: a port with tuples is on the list, or held by a thread that will look at it again.
# Port::ready is 1 from the push that made it so until the thread that took it from the list has
# found it empty and does not put it back. A port that is taken from the list while another thread
# drains it is left to that thread, which looks again when it lets go (release). ready_flag.hpp
# explains why no tuple is forgotten.
#
# A push has to set Port::ready, but need not at once: while the port seems to be on the list anyway
# it is put off until the thread sends elsewhere, has drained what it is draining, waits, enters
# users' code, or has done a batch that is not cheap (Worker::unannounced). A look that was wrong,
# because the port was just being found empty, costs the time of a drain of cheap tuples at worst.
#
# Where two threads meet, the loser goes elsewhere and does not try again: the thread that has the
# flag or the list entry does the work. Per drain a thread touches the shared list twice (LOCAL);
# all else that it writes is its own or the port's.
#
# Lingering. Where a source splits its tuples over many cheap ports, each gets a few at a time, and
# one thread keeps up with it: every port would be found empty, leave the list, and come back for
# the next few tuples, at the price of lines that go from core to core for each of them. So a port
# that had tuples stays for one turn more, without tuples, and is served by then, or leaves. A port
# that stayed in vain does not stay the next WARY times: in a graph that is nearly idle a thread
# would look in vain, and wake another to look in vain. No port that stays is forgotten by sleeping
# threads: it is on the list, and the thread that put it there looks for the next one at once.
#
# Rests. A thread that keeps up with such ports so well that it finds a few tuples at a time is at
# work on the very lines that producers fill next, and each waits for the other with every tuple.
# Cheap tuples then take several times as long as in batches. So a thread that has found less than a
# batch of them at a port that stays leaves the queues alone for REST_NS, and finds more. Where
# tuples come seldom ports do not stay, and no thread rests.
#
# Beyond the paper: P17 keeps all free ports on its list and walks it, so that finding work takes as
# long as there are empty ports, and an idle thread polls. A drain hands an operator up to 32 tuples
# at once (submit.pyx), and is bounded, so that an ever-full port does not hold its thread for ever
# (IBM's implementation does that too), and a port of expensive tuples no longer than about a
# millisecond.
#
# Waking sleepers. A source's thread wakes one for each port that it makes ready. A scheduler thread
# that is about to look for a port itself does not: then one thread carries one tuple at a time
# through the graph. It wakes one if it has more to do first, which may be the rest of a slow tuple,
# or if it has found that more than one port is ready. One sleeper is woken at a time, and wakes the
# next when it has a port: a thread for each of many ports that seldom have tuples would do little
# else than fall asleep and be woken (ready_ports.hpp).
#
# Dropped in the paper, and here: looking for other work inside reschedule (load imbalance), and
# work stealing (P17 s3, s4.1.4).

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed, memory_order_release

from harness.runtime.native cimport NO_PORT, Port, Run, Target, Tuple, Worker, now_ns, pause_core, spin, yield_thread
from harness.runtime.protocol cimport (
    AWAKE,
    BLOCKED,
    CHEAP_BATCH,
    IDLE,
    LIST_YIELDS,
    REST_NS,
    SLOW_BATCH,
    SPINS,
    SUSPENDED,
    lingers,
    rescheduled,
)
from harness.runtime.submit cimport hand_over, take


cdef void* scheduler_body(void* argument) noexcept nogil:
    """P17 Figure 4, schedule()."""
    cdef Worker* worker = <Worker*> argument
    cdef Run* run = worker.run
    cdef Port* port = next_port(worker)
    cdef uint64_t done
    cdef bint stays, cheap
    while port != NULL:
        worker.drains.add(1)
        done = drain(worker, port, port.most.load(memory_order_relaxed), True)
        stays = lingers(port.wary, done > 0)
        cheap = port.batch.load(memory_order_relaxed) >= CHEAP_BATCH
        announce(worker)
        worker.at.store(0, memory_order_relaxed)
        port.consuming.unlock()
        # this thread still owns the port: Port::ready is 1. If this check misses a push, clear()
        # sees it
        if stays or port.ring.size_guess() > 0:
            run.ready.push(port.index)
        elif port.ready.clear(port.ring, port.consuming):  # READY
            put_back(worker, port)
        if stays and cheap and done < CHEAP_BATCH:
            rest()
        port = next_port(worker)
    worker.thread.finish()
    return NULL


cdef void rest() noexcept nogil:
    cdef int64_t until = now_ns() + REST_NS
    while now_ns() < until:
        pause_core()


cdef uint64_t drain(Worker* worker, Port* port, uint64_t most, bint yielding) noexcept nogil:
    """Execute the port on about `most` tuples of its queue, fewer if it runs empty or, `yielding`,
    if the thread is suspended.

    Returns their number. The caller holds the consumer flag.
    """
    cdef Tuple* first
    cdef uint32_t count
    cdef uint64_t done = 0
    cdef bint slow = worker.slow  # in a drain within a drain: the outer one is as slow as before
    while done < most:
        count = <uint32_t> port.ring.front(port.batch.load(memory_order_relaxed), &first)
        if count == 0:
            break
        if done > 0:
            worker.run.ready.wake_one()
        worker.slow = port.batch.load(memory_order_relaxed) <= SLOW_BATCH
        take(worker, port, first, count)
        if count < CHEAP_BATCH:
            announce(worker)
        port.ring.release(count)  # only now: a tuple in execution still takes its slot (BOUND)
        done += count
        if worker.stop.load(memory_order_acquire) or yielding and worker.suspended.load(memory_order_relaxed):
            break
    worker.slow = slow
    return done


cdef void release(Worker* worker, Port* port) noexcept nogil:
    """Let go of a port that did not come from the list."""
    if port.ready.release(port.ring, port.consuming):  # READY
        put_back(worker, port)


cdef void put_back(Worker* worker, Port* port) noexcept nogil:
    worker.run.ready.push(port.index)
    worker.run.ready.wake_one()


cdef Port* next_port(Worker* worker) noexcept nogil:
    """Return a port from the list, its consumer flag held; NULL when the run is over (P17 Figure 5,
    findWork).
    """
    cdef Run* run = worker.run
    cdef Port* port
    cdef uint32_t index, misses = 0
    cdef bint idle = False
    while not worker.stop.load(memory_order_acquire):
        worker.searches.add(1)
        if worker.suspended.load(memory_order_acquire):
            if idle:
                worker.idle.stop()
                idle = False
            suspend(worker)
            continue
        index = run.ready.pop()
        if index != NO_PORT:
            port = &run.ports[index]
            if port.consuming.try_lock():
                if idle:
                    worker.idle.stop()
                run.ready.wake_one()
                return port
            if port.ready.clear(port.ring, port.consuming):  # READY
                put_back(worker, port)
            continue
        misses += 1
        if not idle:
            worker.idle.start()
            idle = True
        if misses <= LIST_YIELDS:
            yield_thread()
            continue
        worker.waits.add(1)
        worker.rest.store(IDLE, memory_order_release)
        run.ready.sleep(worker.stop, worker.suspended)
        worker.rest.store(AWAKE, memory_order_relaxed)
    return NULL


cdef void suspend(Worker* worker) noexcept nogil:
    worker.run.ready.wake_one()  # it may have been woken for a port that it now leaves to others
    worker.waits.add(1)
    worker.asleep.start()
    worker.rest.store(SUSPENDED, memory_order_release)
    worker.pause.sleep_while(worker.suspended, 1, worker.stop)
    worker.asleep.stop()
    # woken for the end of the run it executes nothing more
    if not worker.stop.load(memory_order_acquire):
        worker.rest.store(AWAKE, memory_order_relaxed)


cdef void reschedule(Worker* worker, Port* port, uint32_t* round_) noexcept nogil:
    """Drain the queue that is in the way, unless another thread does: one round of the loop of P17
    Figure 6, reSchedule().
    """
    cdef uint32_t at = worker.at.load(memory_order_relaxed)
    worker.at.store(0, memory_order_relaxed)
    announce(worker)
    # The flag of an empty queue is left alone: else a thread that waits for it, to switch the queue
    # off, could miss it for ever.
    if port.ring.size_guess() > 0 and port.consuming.try_lock():
        worker.reschedules.add(1)
        drain(worker, port, rescheduled(port.ring.capacity(), port.most.load(memory_order_relaxed)), False)
        announce(worker)
        round_[0] = 0
        release(worker, port)
        worker.run.ready.wake_one()
    else:
        wait_a_little(worker, round_)
    worker.at.store(at, memory_order_relaxed)


cdef void wait_a_little(Worker* worker, uint32_t* round_) noexcept nogil:
    """Wait for something that another thread holds, perhaps for ever: the pool counts this thread
    as blocked meanwhile (pool.pyx).
    """
    hand_over(worker)
    worker.rest.store(BLOCKED, memory_order_relaxed)
    # a wait of less than a microsecond is not worth two readings of the clock
    if round_[0] < SPINS:
        spin(round_)
    else:
        worker.idle.start()
        spin(round_)
        worker.idle.stop()
    worker.rest.store(AWAKE, memory_order_relaxed)


cdef void tuples_published(Worker* worker, Target* target) noexcept nogil:
    """Put a port that got tuples on the list. If it seems to be there already, that is made sure of
    later (announce).
    """
    cdef Port* port = target.port
    if not port.ready.seems_set():
        put_on_list(worker, port)
    elif worker.unannounced != port:
        announce(worker)
        worker.unannounced = port


cdef void announce(Worker* worker) noexcept nogil:
    """Put on the list the port that was put off, before the thread waits, sleeps, or enters code
    that may take long.
    """
    cdef Port* port = worker.unannounced
    if port != NULL:
        worker.unannounced = NULL
        put_on_list(worker, port)


cdef void put_on_list(Worker* worker, Port* port) noexcept nogil:
    if port.ready.set():  # READY
        worker.run.ready.push(port.index)
        if not worker.pooled or worker.slow:
            worker.run.ready.wake_one()
