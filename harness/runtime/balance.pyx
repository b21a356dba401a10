# balance.pyx - `threaded_split` and `elastic_load_balance`: each tuple goes into the next buffer
# that has room.
#
#   buffer   before each output port: a threaded port like any other (dedicated.pyx), whose thread
#            passes its tuples on and so executes the operators behind it. This file has only the
#            side that fills the buffers.
#   active   the first output ports, which alone get tuples. The thread of another one empties its
#            buffer and sleeps, as any thread does whose queue is empty; punctuation is pushed to
#            every port and wakes it.
#   full     full buffers are skipped. If all active ones are full the thread waits until one is
#            half empty, or more become active. Meanwhile they count as full (engine.pyx). The
#            thread does not fill each slot as it gets free, because a switch of threads should be
#            worth many tuples.
#
# One thread at a time fills the buffers, so the room that it has seen in a buffer can only grow: a
# push of as many tuples as there is room for never waits, and tuples are dealt in rounds. ORDER
# holds for each port, since a round ends before the next one begins.
#
# No lost wake-up: BalanceState::freed changes after there is room, before its waiter is woken. The
# waiter reads it first, then looks at the buffers, then sleeps while it is the same. All buffers
# full means that each is going to be emptied, and the thread that has emptied one changes the word
# before it sleeps. Edge FREED: that change (release) -> the waiter's read (acquire).

from libc.stdint cimport int32_t, uint32_t, uint64_t
from libcpp.atomic cimport memory_order_acq_rel, memory_order_acquire, memory_order_relaxed, memory_order_release

from harness.runtime.coroutine cimport wait_for_buffers
from harness.runtime.native cimport HANDLED, BalanceState, Operator, Route, Tuple, Worker, pause_core, slot
from harness.runtime.protocol cimport AWAKE, BLOCKED
from harness.runtime.submit cimport hand_over, push


cdef int32_t balance(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    cdef BalanceState* state = <BalanceState*> op.own
    cdef size_t stride = worker.run.stride
    cdef uint32_t i, ways, most, dealt, place = 0
    cdef bint waited = False
    while place < count:
        ways = look_for_room(op, state, count - place, &most)
        if ways == 0:
            if worker.stop.load(memory_order_acquire):
                # which gives them up
                send(worker, &op.routes[0], slot(first, stride, place), stride, count - place)
                return HANDLED
            wait_for_room(op, worker, state)
            waited = True
            continue
        if waited:
            op.routes[state.ways[0]].targets.port.blocked.add(1)
            waited = False
        dealt = <uint32_t> min(<uint64_t> count - place, <uint64_t> ways * most)
        for i in range(ways):
            send(worker, &op.routes[state.ways[i]], slot(first, stride, place + i), stride * ways, (dealt - i + ways - 1) // ways)
        op.turn = state.ways[(dealt - 1) % ways] + 1
        place += dealt
    return HANDLED


cdef void send(Worker* worker, Route* route, Tuple* first, size_t spacing, uint32_t count) noexcept nogil:
    route.sent.add(count)
    push(worker, route.targets, first, spacing, count, NULL)


cdef uint32_t look_for_room(Operator* op, BalanceState* state, uint32_t wanted, uint32_t* most) noexcept nogil:
    """Put into `state.ways` the active ports whose buffers have room, from the one whose turn it
    is, and return their number: `wanted` at most. `most` becomes the tuples that each of them has
    room for.
    """
    cdef uint32_t active = state.active.load(memory_order_relaxed)
    cdef uint32_t turn = op.turn if op.turn < active else 0
    cdef uint32_t i, way, ways = 0, share = (wanted + active - 1) // active
    cdef size_t room
    most[0] = wanted
    for i in range(active):
        way = turn + i if turn + i < active else turn + i - active
        room = op.routes[way].targets.port.ring.room(share)
        if room > 0:
            most[0] = <uint32_t> min(<size_t> most[0], room)
            state.ways[ways] = way
            ways += 1
            if ways == wanted:
                break
    return ways


cdef bint has_room(Operator* op, BalanceState* state) noexcept nogil:
    cdef uint32_t way
    for way in range(state.active.load(memory_order_relaxed)):
        if op.routes[way].targets.port.ring.room(1) > 0:
            return True
    return False


cdef void wait_for_room(Operator* op, Worker* worker, BalanceState* state) noexcept nogil:
    """Return when a buffer has room, perhaps, or the run is over."""
    cdef uint64_t freed = state.freed.load(memory_order_acquire)  # FREED
    cdef uint32_t _
    hand_over(worker)
    if worker.resumed:
        state.waiting.store(True, memory_order_relaxed)
        wait_for_buffers(worker, op)
        state.waiting.store(False, memory_order_relaxed)
        worker.at.store(op.index + 1, memory_order_relaxed)
        return
    for _ in range(worker.run.patience):
        if has_room(op, state):
            return
        pause_core()
    if has_room(op, state):
        return
    worker.waits.add(1)
    worker.at.store(0, memory_order_relaxed)
    worker.rest.store(BLOCKED, memory_order_relaxed)
    state.waiting.store(True, memory_order_relaxed)
    worker.idle.start()
    state.room.sleep_while(state.freed, freed, worker.stop)
    worker.idle.stop()
    state.waiting.store(False, memory_order_relaxed)
    worker.rest.store(AWAKE, memory_order_relaxed)
    worker.at.store(op.index + 1, memory_order_relaxed)


cdef void set_active(BalanceState* state, uint32_t active) noexcept nogil:
    """Set the number of active ports, from the next tuple on; a thread that waits for room sees the
    new ports. Any thread may call it.
    """
    state.active.store(active, memory_order_release)
    state.freed.fetch_add(1, memory_order_acq_rel)  # FREED
    state.room.wake_all()
