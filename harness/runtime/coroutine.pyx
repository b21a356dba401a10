# coroutine.pyx - operators that are co-routines: sources, and all that have a queue before their
# ports (C-Stream s3).
#
#   thread_body     picks a co-routine that can go on, as the policy says, and executes it until it
#                   lets go of the thread
#   operator_body   the loop of every operator: waits until one of its ports has tuples, and takes a
#                   batch of each that has
#   replica_body    the loop of an operator that may have replicas (native/replicas.hpp)
#   source_body     (manual.pyx) the loop of a source
#
# States, wake-ups and policies are in native/coroutines.hpp; native/coroutine_run.hpp connects
# co-routines with a run. Each has a Worker of its own, so that the way of a tuple (submit.pyx) is
# the same as on a thread. Where a thread would wait, the co-routine waits, and its thread goes on
# with another one. It never waits while it holds a lock: no co-routine's operator has one
# (layout.py).
#
# The reader of a queue is not woken for each batch. It is woken as the thread of a threaded port is
# (dedicated.pyx), when a quarter of the queue waits, or before the sender lets go of its thread. A
# switch is then worth many tuples.
#
# Users' code runs on the thread's own stack, which is as large as any thread's, and which the
# interpreter can use.
#
# A queue may also be fed by the thread of a threaded port, and a threaded port by a co-routine:
# each side waits in its own way, and each wakes both.

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool
from libcpp.atomic cimport memory_order_acquire, memory_order_relaxed, memory_order_release
from libcpp.string cimport string

from harness.runtime.barrier cimport room_of_input
from harness.runtime.dynamic cimport wait_a_little
from harness.runtime.loops cimport let_go, loop_body
from harness.runtime.manual cimport source_body
from harness.runtime.native cimport (
    DATA,
    CoroutineRun,
    MergeState,
    Operator,
    Port,
    Run,
    Target,
    Tuple,
    Worker,
    now_ns,
    slot,
)
from harness.runtime.policy cimport PolicyOf
from harness.runtime.protocol cimport AWAKE, BLOCKED, MAX_BATCH, Policy
from harness.runtime.submit cimport close_operator, end_run, execute, hand_on, hand_over, receive_mark, send_held, take
from harness.runtime.typed cimport typed_source_body

from harness.errors import RunFailed
from harness.models import Queue

cdef extern from "stamps.hpp" namespace "millrace" nogil:
    cdef struct Stamp "millrace::Stamps::Stamp":
        int64_t born_ns
    cdef cppclass StampsOf "millrace::Stamps":
        Stamp at(uint64_t head) noexcept
        void stamp(uint64_t tail, uint64_t head, size_t count, int64_t born_ns, int64_t (*now)() noexcept nogil) noexcept

cdef extern from "coroutines.hpp" namespace "millrace" nogil:
    enum: NO_CO "millrace::NO_CO"

cdef extern from "coroutine_run.hpp" namespace "millrace" nogil:
    cdef cppclass Coroutines "millrace::CoroutineRun":
        Coroutines(
            Run* run, uint32_t count, uint32_t replicas, uint32_t most_threads, uint32_t first_thread, const Policy& policy,
            int64_t quantum_ns, void (*hand_over)(Worker*) noexcept nogil, void (*deliver)(Worker*, Tuple*, uint32_t) noexcept nogil,
            void (*end_run)(Run*) noexcept nogil, void (*deadlocked)(Run*) noexcept nogil,
        ) except +
        void replicate(uint32_t co, uint32_t most, uint64_t keys) except +
        size_t replica_bytes(uint32_t co) noexcept
        void prepare_replicas(uint32_t co) except +
        void set_replicas(uint32_t co, uint32_t number) noexcept
        uint32_t replicas(uint32_t co) noexcept
        uint32_t living(uint32_t co) noexcept
        void left_in_slots(uint32_t co, OnTuple taken, OnTuple made, void* argument) noexcept
        Tuple* take(Worker* worker, uint32_t* count) noexcept
        bool marked(Worker* worker) noexcept
        bool first(Worker* worker) noexcept
        uint32_t send(Worker* worker, Tuple* first, uint32_t count) noexcept
        bool ends(Worker* worker) noexcept
        uint64_t useful_ns(uint32_t co, int64_t now_ns) noexcept
        uint64_t full_ns(uint32_t port, int64_t now_ns) noexcept
        void set_name(uint32_t co, const char* name) except +
        void add_operator(const char* name) except +
        void add_input(uint32_t co, uint32_t port) except +
        void add_output(uint32_t co, uint32_t port) except +
        void add_to_order(uint32_t co) except +
        bool begin(size_t stack_bytes, bool users_code) except +
        void prepare_thread(uint32_t thread) except +
        void work(uint32_t thread) noexcept
        void suspend(uint32_t thread, bool suspended) noexcept
        bool somebody_ready() noexcept
        bool judging(uint32_t thread) noexcept
        const Operator* refused_by_policy() noexcept
        void end() noexcept
        void written(uint32_t port) noexcept
        void written_by_one_of(uint32_t port) noexcept
        void taken(uint32_t port) noexcept
        void gave(uint32_t co) noexcept
        void buffers_changed(uint32_t port) noexcept
        bool wait(Worker* worker) noexcept
        void need(Worker* worker, uint32_t i, uint32_t count) noexcept
        void wait_for(Worker* worker, bool any) noexcept
        uint32_t inputs(Worker* worker) noexcept
        Port* input(Worker* worker, uint32_t i) noexcept
        void close_input(Worker* worker, uint32_t i) noexcept
        void lack(Worker* worker, uint32_t port) noexcept
        void wait_for_any_room(Worker* worker) noexcept
        bool find_deadlock() noexcept
        bool seems_deadlocked() noexcept
        string deadlock() except +
        void wait_for_merge(Worker* worker, const MergeState* merge, uint32_t order) noexcept
        void wait_for_buffers(Worker* worker, const Operator* balance) noexcept
        void sleep_until(Worker* worker, int64_t time_ns) noexcept
        void check_for_preemption(Worker* worker) noexcept
        void on_thread(Worker* worker, void (*call)(void*) noexcept nogil, void* argument) noexcept


cdef inline Coroutines* of(Run* run) noexcept nogil:
    return <Coroutines*> run.coroutines


cdef void* thread_body(void* argument) noexcept nogil:
    cdef Worker* worker = <Worker*> argument
    cdef Run* run = worker.run
    of(run).work(worker.co)
    worker.thread.finish()
    return NULL


cdef void* operator_body(void* argument) noexcept nogil:
    cdef Worker* worker = <Worker*> argument
    cdef Coroutines* all_ = of(worker.run)
    cdef Port* port
    cdef Tuple* first
    cdef uint32_t i, count, most, inputs = all_.inputs(worker), open_ = inputs
    cdef bint joins = worker.op.stream_ended != NULL
    while open_ > 0:
        if joins:
            choose_inputs(worker, inputs)
        if not all_.wait(worker):
            return NULL
        for i in range(inputs):
            port = all_.input(worker, i)
            most = port.batch.load(memory_order_relaxed)
            if joins:
                most = min(most, room_of_input(worker.op, port.input))
            count = <uint32_t> port.ring.front(most, &first)
            if count == 0:
                continue
            if port.stamps != NULL:
                worker.born_ns = (<StampsOf*> port.stamps).at(port.ring.head().load(memory_order_relaxed)).born_ns
            worker.taken += count
            if port.ring.capacity() < MAX_BATCH:
                # tuples taken out of a queue take no room in it (Algorithm 3); in a short queue
                # they would leave none
                memcpy(worker.taken_out, first, count * port.ring.stride())
                release(worker.run, port, count)
                take(worker, port, <Tuple*> worker.taken_out, count)
            else:
                take(worker, port, first, count)
                release(worker.run, port, count)
            if port.open_streams == 0:
                all_.close_input(worker, i)
                open_ -= 1
            if worker.stop.load(memory_order_acquire):
                return NULL
    return NULL


cdef void release(Run* run, Port* port, uint32_t count) noexcept nogil:
    port.ring.release(count)
    tuples_taken(run, port)
    if port.room != NULL:
        port.room.wake_one()


cdef void choose_inputs(Worker* worker, uint32_t inputs) noexcept nogil:
    """Let a barrier wait at those ports for whose tuples it has room: it alone can make room, so it
    must never wait for room.
    """
    cdef uint32_t i
    cdef Port* port
    for i in range(inputs):
        port = of(worker.run).input(worker, i)
        of(worker.run).need(worker, i, port.open_streams > 0 and room_of_input(worker.op, port.input) > 0)


cdef void* replica_body(void* argument) noexcept nogil:
    cdef Worker* worker = <Worker*> argument
    cdef Coroutines* all_ = of(worker.run)
    cdef size_t stride = worker.run.stride
    cdef Tuple* first
    cdef uint32_t i, start, count = 0
    while True:
        first = all_.take(worker, &count)
        if first == NULL:
            break
        worker.taken += count
        start = 0
        worker.input = 0
        for i in range(count if all_.marked(worker) else 0):
            if slot(first, stride, i).kind != DATA:
                if i > start:
                    execute(worker, worker.op, slot(first, stride, start), i - start)
                start = i + 1
                receive_mark(worker, worker.op, slot(first, stride, i))
        if count > start:
            execute(worker, worker.op, slot(first, stride, start), count - start)
    if all_.ends(worker):
        close_operator(worker, worker.op)
    return NULL


cdef bint is_first(Worker* worker) noexcept nogil:
    """Return True if all tuples that the operator's replicas send before this one's have gone
    downstream.
    """
    return of(worker.run).first(worker)


cdef uint32_t send_in_turn(Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    return of(worker.run).send(worker, first, count)


# -- queues ----------------------------------------------------------------------------------------


cdef void tuples_published(Worker* worker, Target* target) noexcept nogil:
    cdef Port* port = target.port
    if not target.lazy_wake or port.ring.size_guess() >= port.wake_at.load(memory_order_relaxed):
        of(worker.run).written(port.index)
    elif not target.wake_owed:
        target.wake_owed = True
        worker.owed[worker.owed_count] = target
        worker.owed_count += 1
    if port.shared:
        another_sender(worker, port)


cdef void announce(Run* run, Port* port) noexcept nogil:
    """Wake the port's co-routine, if it waits, for tuples that were published without a wake-up."""
    of(run).written(port.index)


cdef void stamp(Worker* worker, Port* port, uint32_t count) noexcept nogil:
    """Stamp `count` tuples before they are pushed. Tuples from a thread, not a co-routine, count as
    born now.
    """
    cdef int64_t born_ns = worker.born_ns if worker.resumed else now_ns()
    (<StampsOf*> port.stamps).stamp(
        port.ring.tail().load(memory_order_relaxed), port.ring.head().load(memory_order_acquire), count, born_ns, now_ns
    )


cdef void wait_for_room(Worker* worker, Port* port, uint32_t* round_) noexcept nogil:
    """A thread, before the full queue of a co-routine; `round_` as of all disciplines."""
    cdef uint64_t head = port.ring.head().load(memory_order_acquire)
    cdef uint32_t at = worker.at.load(memory_order_relaxed)
    if port.ring.tail().load(memory_order_acquire) - head < port.ring.capacity():
        # not full: another sender is copying its tuples in, and does not stop while it does
        wait_a_little(worker, round_)
        return
    hand_over(worker)
    of(worker.run).written(port.index)
    worker.waits.add(1)
    worker.at.store(0, memory_order_release)
    worker.rest.store(BLOCKED, memory_order_relaxed)
    worker.idle.start()
    port.room.sleep_while(port.ring.head(), head, worker.stop)
    worker.idle.stop()
    worker.rest.store(AWAKE, memory_order_relaxed)
    worker.at.store(at, memory_order_relaxed)


cdef void wait_for_room_of_any(Worker* worker, uint32_t* round_) noexcept nogil:
    """A round of waiting until one of the queues has room to which a worker still has to send."""
    cdef Target* target = worker.begun
    cdef Port* port
    cdef Port* only = NULL
    cdef uint32_t number = 0, at = worker.at.load(memory_order_relaxed)
    while target != NULL:
        if target.left > 0:
            port = target.port
            if port.ring.size_guess() < port.ring.capacity():
                wait_a_little(worker, round_)  # another sender has the queue
                return
            if port.arrivals != NULL:
                port.arrivals.wake_one()
            only = port
            number += 1
        target = target.below
    if worker.resumed:
        lack_rooms(worker)
        of(worker.run).wait_for_any_room(worker)
    elif number == 1:
        only.discipline.wait_for_room(worker, only, round_)
    else:
        worker.at.store(0, memory_order_release)
        wait_a_little(worker, round_)  # a thread sleeps for one queue only
        worker.at.store(at, memory_order_relaxed)


cdef void lack_rooms(Worker* worker) noexcept nogil:
    """Room for what it still has to send is among what the co-routine waits for next."""
    cdef Target* target = worker.begun
    while target != NULL:
        if target.left > 0:
            of(worker.run).lack(worker, target.port.index)
        target = target.below


cdef void before_leaving(Worker* worker) noexcept nogil:
    """On a co-routine's stack, before it stops for anything."""
    if worker.op.loop != NULL:
        let_go(worker.op.loop)
    hand_over(worker)


cdef void tuples_taken(Run* run, Port* port) noexcept nogil:
    """There is room for a co-routine that waits for it, before a queue of any kind."""
    of(run).taken(port.index)


cdef void another_sender(Worker* worker, Port* port) noexcept nogil:
    """Wake another sender that waits for room, because the one that was woken for it has sent and
    left room.
    """
    of(worker.run).written_by_one_of(port.index)
    if port.room != NULL and port.room.somebody_guess() and port.ring.size_guess() < port.ring.capacity():
        port.room.wake_one()


# -- what else co-routines wait for ----------------------------------------------------------------


cdef void wait_for_merge(Worker* worker, MergeState* merge, uint32_t order) noexcept nogil:
    """Wait until the merge passes on tuple `order` or a later one next, or there is room for a
    tuple still to be sent.
    """
    hand_on(worker)
    lack_rooms(worker)
    of(worker.run).wait_for_merge(worker, merge, order)


cdef void merge_advanced(Run* run, MergeState* merge) noexcept nogil:
    if merge.splits_on != NO_CO:
        of(run).gave(merge.splits_on)


cdef void wait_for_buffers(Worker* worker, Operator* op) noexcept nogil:
    """Wait until an active buffer of a balancing operator has room, or there is room for a tuple
    still to be sent.
    """
    hand_on(worker)
    lack_rooms(worker)
    of(worker.run).wait_for_buffers(worker, op)


cdef void buffers_changed(Run* run, Operator* op) noexcept nogil:
    """Other buffers are active."""
    of(run).buffers_changed(op.routes[0].targets.port.index)


cdef void sleep_until(Worker* worker, int64_t time_ns) noexcept nogil:
    of(worker.run).sleep_until(worker, time_ns)


cdef void need(Worker* worker, uint32_t i, uint32_t count) noexcept nogil:
    """Set the tuples that the next wait_for needs at input port i; 0: none."""
    of(worker.run).need(worker, i, count)


cdef void wait_for(Worker* worker, bint any_) noexcept nogil:
    """Wait until all ports, or `any_` one, have the tuples needed, or never will."""
    of(worker.run).wait_for(worker, any_)


cdef int64_t born_ns_of(Port* port, uint64_t place) noexcept nogil:
    """Return the birth time of the tuple at a place of a queue with stamps [ns]."""
    return (<StampsOf*> port.stamps).at(place).born_ns


cdef void check_for_preemption(Worker* worker) noexcept nogil:
    of(worker.run).check_for_preemption(worker)


cdef void on_thread(Worker* worker, OnThread call, void* argument) noexcept nogil:
    """Call a function on the stack of the thread that executes the co-routine."""
    of(worker.run).on_thread(worker, call, argument)


# -- the engine's side -----------------------------------------------------------------------------


cdef void end_coroutines(Run* run) noexcept nogil:
    of(run).end()


cdef void suspend(Run* run, uint32_t thread, bint suspended) noexcept nogil:
    of(run).suspend(thread, suspended)


cdef bint somebody_ready(Run* run) noexcept nogil:
    return of(run).somebody_ready()


cdef int prepare_thread(Worker* worker) except -1:
    """Prepare a thread of the pool before it begins: from then on it takes no memory. Raises
    MemoryError if the system refuses it.
    """
    of(worker.run).prepare_thread(worker.co)
    return 0


cdef size_t replica_bytes(Run* run, uint32_t co) noexcept nogil:
    """Return the bytes that prepare_replicas takes."""
    return of(run).replica_bytes(co)


cdef int prepare_replicas(Run* run, uint32_t co) except -1:
    """Take the memory for replicas' tuples, once, before an operator has two. Raises MemoryError if
    the system refuses it.
    """
    of(run).prepare_replicas(co)
    return 0


cdef bint judging(Run* run, uint32_t thread) noexcept nogil:
    """Return True if the thread is inside a user's policy."""
    return of(run).judging(thread)


cdef void set_replicas(Run* run, uint32_t co, uint32_t number) noexcept nogil:
    of(run).set_replicas(co, number)


cdef uint32_t replicas(Run* run, uint32_t co) noexcept nogil:
    return of(run).replicas(co)


cdef uint32_t living_replicas(Run* run, uint32_t co) noexcept nogil:
    return of(run).living(co)


cdef uint64_t useful_ns(Run* run, uint32_t co) noexcept nogil:
    """Time for which a co-routine was executed until now."""
    return of(run).useful_ns(co, now_ns())


cdef uint64_t full_ns(Run* run, uint32_t port) noexcept nogil:
    """Time for which co-routines found a queue full until now (C-Stream s4.2.1)."""
    return of(run).full_ns(port, now_ns())


cdef void left_in_slots(Run* run, uint32_t co, OnTuple taken, OnTuple made, void* argument) noexcept nogil:
    of(run).left_in_slots(co, taken, made, argument)


cdef void deadlocked(Run* run) noexcept nogil:
    """Fails a run whose co-routines all wait for each other."""
    if of(run).find_deadlock():
        run.failed.store(True, memory_order_release)
        end_run(run)


cdef bint seems_deadlocked(Run* run) noexcept nogil:
    return of(run).seems_deadlocked()


cdef str deadlock_of(Run* run):
    """Return which operator waits for what, if the run was found to be deadlocked; else ""."""
    return of(run).deadlock().decode()


cdef int refused_by_policy(Run* run) noexcept nogil:
    """Return the index of the operator whose score by the policy was not a number; -1: there is
    none.
    """
    cdef const Operator* op = of(run).refused_by_policy()
    return -1 if op == NULL else <int> op.index


cdef int make_coroutines(Run* run, object layout, PolicyOf policy, size_t stack_bytes, bint users_code) except -1:
    """Make the co-routines of a layout, before any thread. The run's operators, ports and workers
    exist already.

    `users_code`: functions of users run on their stacks.

    Raises RunFailed if the system refuses their stacks.
    """
    cdef uint32_t co, port, own = <uint32_t> len(layout.coroutines), extra = sum(layout.replicas.values()) - len(layout.replicas)
    cdef Coroutines* all_
    cdef Worker* worker
    names = [layout.operators[index].name for index in layout.coroutines]
    number = {index: co for co, index in enumerate(layout.coroutines)}
    all_ = new Coroutines(
        run, own + extra, extra, run.worker_count - <uint32_t> layout.first_scheduler, layout.first_scheduler,
        policy.policy, layout.quantum_ns, before_leaving, send_held, end_run, deadlocked,
    )
    run.coroutines = <CoroutineRun*> all_
    for co, index in enumerate(layout.coroutines):
        worker = &run.co_workers[co]
        worker.run = run
        worker.op = &run.operators[<uint32_t> index]
        if worker.op.loop != NULL:
            worker.body = loop_body
        elif not layout.operators[index].is_source:
            worker.body = operator_body
        else:
            worker.body = source_body if worker.op.typed == NULL else typed_source_body
        if index in layout.replicas:
            worker.body = replica_body
        all_.set_name(co, names[co].encode())
    for operator in layout.operators:
        all_.add_operator(operator.name.encode())
    for port, queue in enumerate(layout.queues):
        if queue.kind is Queue.RESUMED:
            all_.add_input(number[queue.operator], port)
    for way in layout.ways:
        kind, sender = layout.contexts[way.source]
        if way.queue is not None and kind in ("source", "co-routine"):
            all_.add_output(number[sender], way.queue)
    for index in reversed(layout.order):
        if index in number:
            all_.add_to_order(number[index])
    for index, most in layout.replicas.items():
        all_.replicate(number[index], most, layout.operators[index].keys)
    for region in layout.regions:
        kind, sender = layout.contexts[region.split]
        if kind in ("source", "co-routine"):
            (<MergeState*> run.operators[<uint32_t> region.merge].own).splits_on = number[sender]
    if not all_.begin(stack_bytes, users_code):
        raise RunFailed(f"the system refuses {own + extra:,} stacks of {stack_bytes // 1024:,} KiB for co-routines")
    return 0


cdef void free_coroutines(Run* run) noexcept:
    cdef Coroutines* all_ = of(run)
    del all_
