"""The runtime's own steps, each by itself: the functions that threads run, called in a loop by one
thread on slots in its cache.

No graph is run. A plan is made as for a run, and single functions of it are called with the tuples
that a run would give them; what comes behind a step is silenced, an operator whose kernel does
nothing. All times are ns a repetition, the shortest of a few tries: what another process adds is
not the step's.
"""

from threading import Timer

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libcpp.atomic cimport memory_order_relaxed, memory_order_release

from harness.errors import RunFailed
from harness.runtime.native cimport (
    CACHE_LINE,
    HANDLED,
    NO_PORT,
    WINDOW,
    MergeState,
    Operator,
    Port,
    ReadyPorts,
    SinkState,
    SourceState,
    TryFlag,
    Tuple,
    Worker,
    delete_array,
    make_array,
    multiply_batch,
    mutex,
    now_ns,
    opaque_one,
    slot,
)
from harness.runtime.path cimport (
    acquire,
    deliver,
    drain,
    execute,
    make_tuple,
    pass_mark,
    reschedule,
    scheduler_body,
    source_body,
)
from harness.runtime.plan cimport Plan

from harness.models.layout import layout_of

cdef extern from "coroutine_steps.hpp" namespace "millrace" nogil:
    double c_switch_ns "millrace::switch_ns"(uint32_t times)
    double c_fence_ns "millrace::fence_ns"(uint32_t times)
    cppclass CoroutineSteps:
        CoroutineSteps(uint32_t count) except +
        double wait_ns(uint32_t times)
        double turn_ns(uint32_t policy, uint32_t times)
        double looks()

TRIES = 3

TURNS_S = 5.0
"""Longest time that a scheduler thread may take for its turns, which take microseconds [s]."""

COROUTINES = 64
"""Co-routines that take turns: their records and stacks fit in a second-level cache."""

POLICY_MIN_LATENCY = 2
"""Index in POLICIES (policies.hpp) of min_latency, which looks at each ready co-routine. The first
policy chooses by chance.
"""

LISTED_PORTS = 1024
"""Ports of the list of ready ports: its nodes fit in a first-level cache."""


cdef int32_t nothing(Operator* op, Worker* worker, Tuple* first, uint32_t count) noexcept nogil:
    return HANDLED


cdef int32_t nothing_until_the_end(
    Operator* op, Worker* worker, Tuple* first, uint32_t count
) noexcept nogil:
    """Stop the thread when all tuples have come."""
    if op.processed.read() >= op.copies:
        worker.stop.store(True, memory_order_relaxed)
    return HANDLED


cdef class Steps:
    """A plan of `graph` under `model`, whose steps the calling thread executes; a batch of 32 of
    its source's tuples is ready.
    """

    cdef Plan plan
    cdef Worker* worker
    cdef SourceState* source
    cdef Tuple* batch
    cdef dict index
    cdef bint late

    def __cinit__(self, graph, model):
        self.plan = Plan(layout_of(graph, model).timed(lambda: 1.0), None)
        self.worker = &self.plan.run.workers[0]
        self.source = <SourceState*> self.worker.op.own
        self.batch = self.source.buffer
        self.index = {name: place for place, name in enumerate(graph.operators)}
        self.fill()

    cdef Operator* op(self, str name) noexcept:
        return &self.plan.run.operators[<uint32_t> self.index[name]]

    cdef void fill(self) noexcept:
        """The first 32 tuples of the source; one of them is a sample of latency, as in a run."""
        cdef uint32_t i
        self.source.sent = 0
        for i in range(self.source.room):
            make_tuple(
                self.source, slot(self.batch, self.plan.run.stride, i), self.plan.run.payload
            )
            slot(self.batch, self.plan.run.stride, i).born_ns = 0
        self.batch.born_ns = now_ns()

    def silence(self, str name):
        self.op(name).kernel = nothing

    def processed(self, str name):
        """Tuples that an operator has had so far."""
        return self.op(name).processed.read()

    def execute(self, str name, uint32_t count, uint32_t times):
        """A batch through an operator and all that it calls; each time another one, so that a core
        can begin with it before it is done.
        """
        cdef Operator* op = self.op(name)
        cdef int64_t begin
        cdef uint32_t turn, places = self.source.room // count
        best = None
        for _try in range(TRIES):
            begin = now_ns()
            for turn in range(times):
                execute(
                    self.worker, op, slot(self.batch, self.plan.run.stride, turn % places * count),
                    count,
                )
            best = shortest(best, now_ns() - begin, times)
        return best

    def strangers(self, str name, uint32_t count, uint32_t times):
        """A batch through an operator and all that it calls; each time other tuples, so that no
        core can predict their way.
        """
        cdef Operator* op = self.op(name)
        cdef int64_t begin
        cdef uint64_t sequence = 0
        cdef uint32_t _, i
        best = None
        for _try in range(TRIES):
            begin = now_ns()
            for _ in range(times):
                for i in range(count):
                    slot(self.batch, self.plan.run.stride, i).sequence = sequence
                    sequence += 1
                execute(self.worker, op, self.batch, count)
            best = shortest(best, now_ns() - begin, times)
        self.fill()
        return best

    def make(self, uint32_t count, uint32_t times):
        """A batch of a source: made, counted and handed to an operator."""
        cdef Operator* op = self.worker.op
        cdef uint32_t outputs = op.outputs
        cdef int64_t begin
        best = None
        op.outputs = 0  # no final punctuation goes out when it ends
        for _try in range(TRIES):
            self.source.sent = 0
            self.source.limit = <uint64_t> count * times
            self.source.batch.store(count, memory_order_relaxed)
            self.plan.run.open_operators.store(1 << 30, memory_order_relaxed)
            begin = now_ns()
            source_body(self.worker)
            best = shortest(best, now_ns() - begin, times)
        op.outputs = outputs
        self.fill()
        return best

    def sink(self, str name, uint32_t count, uint32_t times):
        """A batch at a sink: counted, checked and stamped."""
        cdef Operator* op = self.op(name)
        cdef SinkState* state = <SinkState*> op.own
        cdef int64_t begin
        cdef uint32_t _
        best = None
        for _try in range(TRIES):
            begin = now_ns()
            for _ in range(times):
                state.next_of_path[0] = 0  # the same tuples again
                execute(self.worker, op, self.batch, count)
            best = shortest(best, now_ns() - begin, times)
        if state.violations or state.damaged:
            raise AssertionError("the sink found its tuples wrong")
        return best

    def mark(self, str name, uint32_t times):
        """A window punctuation out of an operator, through all behind it."""
        cdef Operator* op = self.op(name)
        cdef int64_t begin
        cdef uint32_t _
        best = None
        self.batch.kind = WINDOW
        for _try in range(TRIES):
            begin = now_ns()
            for _ in range(times):
                pass_mark(self.worker, op, self.batch)
            best = shortest(best, now_ns() - begin, times)
        self.fill()
        return best

    def merge(self, str name, uint32_t times):
        """32 tuples at a merge, of which every second one is early."""
        cdef Operator* op = self.op(name)
        cdef MergeState* state = <MergeState*> op.own
        cdef size_t stride = self.plan.run.stride
        cdef int64_t begin
        cdef uint32_t _, k, odd, next_
        best = None
        for _try in range(TRIES):
            begin = now_ns()
            for _ in range(times):
                next_ = state.next.load(memory_order_relaxed)
                for odd in range(2):
                    for k in range(16):
                        slot(self.batch, stride, k).order = next_ + 2 * k + 1 - odd
                    execute(self.worker, op, self.batch, 16)
            best = shortest(best, now_ns() - begin, times)
        if state.held != 0 or state.overrun:
            raise AssertionError("the merge kept tuples")
        return best

    def push(self, str name, uint32_t count, uint32_t times):
        """A batch delivered to a queue, and its slots given back."""
        cdef Operator* op = self.op(name)
        cdef Port* port = op.routes.targets.port
        cdef Tuple* first
        cdef int64_t begin
        cdef uint32_t _, left
        best = None
        port.ready.set()  # on the list: as it is where tuples keep coming
        self.worker.unannounced = port
        for _try in range(TRIES):
            begin = now_ns()
            for _ in range(times):
                deliver(self.worker, op.routes, self.batch, count)
                left = count
                while left > 0:
                    left -= <uint32_t> _take(port, left, &first)
            best = shortest(best, now_ns() - begin, times)
        self.worker.unannounced = NULL
        port.ready.clear(port.ring, port.consuming)
        return best

    def release(self, str name, uint32_t count):
        """`count` slots at the front of a queue looked at and given back."""
        cdef Port* port = self.op(name).routes.targets.port
        cdef Tuple* first
        cdef int64_t begin
        cdef uint32_t _, times = <uint32_t> (port.ring.capacity() // count)
        best = None
        for _try in range(TRIES):
            self._stuff(port)
            begin = now_ns()
            for _ in range(times):
                _take(port, count, &first)
            best = shortest(best, now_ns() - begin, times)
            while _take(port, count, &first) > 0:
                pass
        return best

    def drain(self, str name, uint32_t count):
        """A batch of a long drain, at an operator that is silenced."""
        cdef Port* port = self.op(name).routes.targets.port
        cdef Worker* worker = &self.plan.run.workers[self.plan.first_scheduler]
        cdef int64_t begin
        best = None
        port.batch.store(count, memory_order_relaxed)
        for _try in range(TRIES):
            self._stuff(port)
            begin = now_ns()
            drain(worker, port, port.ring.capacity(), True)
            best = shortest(best, now_ns() - begin, port.ring.capacity() // count)
        return best

    def wait(self, str name, uint32_t times):
        """A round of a producer that spins before a full queue which another thread drains: a push
        and a flag that fail, and a pause.
        """
        cdef Operator* op = self.op(name)
        cdef Port* port = op.routes.targets.port
        cdef Tuple* left
        cdef int64_t begin
        cdef uint32_t _, round_
        best = None
        self._stuff(port)
        port.consuming.try_lock()
        for _try in range(TRIES):
            begin = now_ns()
            for _ in range(times):
                round_ = 0
                if port.ring.push(self.batch, 1, self.plan.run.stride, 0) == 0:
                    reschedule(self.worker, port, &round_)
            best = shortest(best, now_ns() - begin, times)
        port.consuming.unlock()
        while _take(port, 1, &left) > 0:
            pass
        return best

    def schedule(self, str name, uint32_t count, double limit_s=TURNS_S):
        """A drain of a single batch by a scheduler thread that finds the port on the list and puts
        it there again.

        Raises RunFailed if the thread has not executed all tuples in `limit_s`: it would look for
        ports for ever.
        """
        cdef Port* port = self.op(name).routes.targets.port
        cdef Operator* op = port.op
        cdef Worker* worker = &self.plan.run.workers[self.plan.first_scheduler]
        cdef int64_t begin, end
        cdef Tuple* left
        best = None
        port.batch.store(count, memory_order_relaxed)
        port.most.store(count, memory_order_relaxed)
        op.kernel = nothing_until_the_end
        self.late = False
        limit = Timer(limit_s, self._stop_scheduler)
        limit.daemon = True
        limit.start()
        try:
            for _try in range(TRIES):
                self._stuff(port)
                worker.stop.store(False, memory_order_relaxed)  # set by the last batch before
                if self.late:  # stop was set before it was cleared
                    break
                op.copies = op.processed.read() + port.ring.capacity()
                port.ready.set()
                self.plan.run.ready.push(port.index)
                begin = now_ns()
                with nogil:
                    scheduler_body(worker)
                end = now_ns()
                if op.processed.read() < op.copies:
                    break
                best = shortest(best, end - begin, port.ring.capacity() // count)
                self._clear_list()
        finally:
            limit.cancel()
            self._clear_list()
            while _take(port, 1, &left) > 0:
                pass
            op.kernel = nothing
            worker.stop.store(False, memory_order_relaxed)
        if self.late:
            raise RunFailed(f"a scheduler thread has not emptied its queue in {limit_s:g} s")
        return best

    cdef void _clear_list(self) noexcept:
        """The port stays there, as its last drain had tuples."""
        while self.plan.run.ready.pop() != NO_PORT:
            pass

    def _stop_scheduler(self):
        self.late = True
        self.plan.run.workers[self.plan.first_scheduler].stop.store(True, memory_order_release)
        self.plan.run.ready.wake_all()

    cdef void _stuff(self, Port* port) noexcept:
        """Fill a queue with copies of one tuple."""
        port.ring.push(self.batch, port.ring.capacity(), 0, 0)


cdef inline size_t _take(Port* port, uint32_t count, Tuple** first) noexcept nogil:
    cdef size_t taken = port.ring.front(count, first)
    port.ring.release(taken)
    return taken


cdef object shortest(object best, int64_t ns, uint64_t times):
    """The least of `best`, which may be None, and ns a repetition."""
    cdef double each = <double> ns / times
    return each if best is None or each < best else best


# -- steps that need no plan ---------------------------------------------------------------------

def list_steps():
    """A port put on the list, one taken from it, and a look at the empty list: (push, pop,
    search).
    """
    cdef ReadyPorts* ready = new ReadyPorts(LISTED_PORTS)
    cdef int64_t begin, middle, end
    cdef uint32_t _, i
    push = pop = search = None
    clock = clock_ns()
    try:
        for _try in range(8 * TRIES):
            begin = now_ns()
            for i in range(LISTED_PORTS):
                ready.push(i)
            middle = now_ns()
            for _ in range(LISTED_PORTS):
                ready.pop()
            end = now_ns()
            push, pop = (
                shortest(push, middle - begin, LISTED_PORTS),
                shortest(pop, end - middle, LISTED_PORTS)
            )
            begin = now_ns()
            for _ in range(LISTED_PORTS):
                ready.pop()
            search = shortest(search, now_ns() - begin, LISTED_PORTS)
    finally:
        del ready
    return tuple(step - clock / LISTED_PORTS for step in (push, pop, search))


def clock_ns(uint32_t times=1000):
    """A look at the clock."""
    cdef int64_t begin
    cdef uint32_t _
    best = None
    for _try in range(TRIES):
        begin = now_ns()
        for _ in range(times):
            now_ns()
        best = shortest(best, now_ns() - begin, times)
    return best


def flag_ns(uint32_t times):
    """A flag taken and released."""
    cdef TryFlag flag
    cdef int64_t begin
    cdef uint32_t _
    best = None
    for _try in range(TRIES):
        begin = now_ns()
        for _ in range(times):
            if flag.try_lock():
                flag.unlock()
        best = shortest(best, now_ns() - begin, times)
    return best


def lock_ns(uint32_t times):
    """An operator's lock taken and released. The caller must give the process a second thread
    (lines.hpp).
    """
    cdef mutex lock
    cdef int64_t begin
    cdef uint32_t _
    cdef Worker* worker = make_array[Worker](1)
    best = None
    for _try in range(TRIES):
        begin = now_ns()
        for _ in range(times):
            acquire(worker, &lock, NULL)
            lock.unlock()
        best = shortest(best, now_ns() - begin, times)
    delete_array[Worker](worker)
    return best


def work_ns(uint32_t cost, uint32_t times, uint32_t at_once=32):
    """The FLOP of a tuple at an operator of `cost` FLOP, which gets `at_once` of 32 tuples at a
    time.
    """
    cdef char[33 * CACHE_LINE] memory
    cdef Tuple* first = <Tuple*> ((<size_t> memory + CACHE_LINE) // CACHE_LINE * CACHE_LINE)
    cdef int64_t begin
    cdef uint32_t i
    cdef double factor = opaque_one()
    for i in range(32):
        slot(first, CACHE_LINE, i).value = 1.5
    best = None
    for _try in range(TRIES):
        begin = now_ns()
        for _ in range(times):
            for i in range(0, 32, at_once):
                multiply_batch(slot(first, CACHE_LINE, i), CACHE_LINE, at_once, factor, cost)
        best = shortest(best, now_ns() - begin, times * 32)
    return best


def coroutine_steps(uint32_t times):
    """Steps of co-routines on one thread: (a switch one way, a full fence, a wait that is
    satisfied, a turn by chance, the extra time of a turn for each look of a policy at a ready
    co-routine)."""
    cdef CoroutineSteps* steps = new CoroutineSteps(COROUTINES)
    best = [None] * 5
    try:
        for _try in range(TRIES):
            turn = steps.turn_ns(0, times)
            look = (steps.turn_ns(POLICY_MIN_LATENCY, times) - turn) / steps.looks()
            found = (c_switch_ns(times), c_fence_ns(times), steps.wait_ns(times), turn, look)
            best = [ns if least is None else min(least, ns) for least, ns in zip(best, found)]
    finally:
        del steps
    return tuple(best)
