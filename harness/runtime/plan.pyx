"""Graph + model -> the flat arrays that threads run on: which ports have queues, which locks and flags can be left out, who executes what.

What it proves about the graph, so that tuples need not pay for it, is in `analysis.py`; what each kind of operator keeps, in `states.pyx`.
"""

cimport cython
from libc.stdint cimport uint32_t
from libcpp.atomic cimport memory_order_relaxed

from harness.runtime.disciplines cimport discipline_of
from harness.runtime.manual cimport source_body
from harness.runtime.native cimport (
    FINAL,
    NO_QUEUE,
    BalanceState,
    Contexts,
    MergeState,
    Operator,
    Parking,
    Port,
    ReadyPorts,
    Route,
    Run,
    SourceState,
    SplitState,
    Target,
    Tuple,
    Worker,
    delete_array,
    give_back_memory,
    make_array,
    mutex,
    reserve_memory,
    set_shortcut,
    slot_stride,
)
from harness.runtime.operators cimport kernel_for, mark_kernel_for
from harness.runtime.protocol cimport (
    CALLED,
    MAX_BATCH,
    NOW_CALLED,
    PATIENCE_LOOKS,
    WAKE_FLOP,
    WANTED_CALLED,
    batch_for,
    drain_for,
    most_at_once,
)
from harness.runtime.states cimport States

from harness.errors import RunFailed, UserError
from harness.graph import BALANCING, MAX_THREADS, USERS
from harness.models import (
    COPY_FLOP,
    QUEUE_MEMORY,
    Queue,
    allowed_cpus,
    begins_queued,
    least_threads,
    pool_of,
    port_queues,
    scheduled_capacity,
    threaded_capacity,
)
from harness.runtime.analysis import contexts_of, depths_of, paths_of, region_of

ctypedef Target* TargetPointer

USER_FLOP = {"python": 1000, "native": 100}
"""What users' functions are taken to cost, for the size of batches: unknown (a guess)."""

MERGE_AHEAD = 4096 - 8 * MAX_BATCH
"""Tuples between a split and its merge, about: as many as the queues between hold, but not more than this, or four batches for each."""

FRAME_BYTES = 1536
"""Stack for one level of nesting; tests/runtime/test_limits.py fails if it is too little."""

STACK_BYTES = 256 * 1024
PYTHON_STACK_BYTES = 2 * 2**20


@cython.no_gc_clear
cdef class Plan:
    """Owns all memory of a run.

    `graph` is checked; `limit` bounds the tuples of each source (None: no bound); `ns_per_flop` turns busy times into work; `cpus` are
    those of the machine that it runs on (None: this process's). Raises UserError if the queues would not fit in memory, or if no pool is
    large enough for the graph, RunFailed if the system refuses the memory.
    """

    def __cinit__(self, graph, model, limit, ns_per_flop, cpus=None):
        self.run = make_array[Run](1)
        self.operators = list(graph.operators.values())
        self.input_ports = list(graph.input_ports())
        self.worker_stacks = []
        self.balancing = []
        self.run.stride = slot_stride(graph.payload)
        self.run.payload = graph.payload
        self.states = States(self.run.stride)
        number = {name: index for index, name in enumerate(graph.operators)}
        port_number = {port: index for index, port in enumerate(self.input_ports)}
        order = graph.numbered().order
        queues = port_queues(graph, model)
        queued = [queue.kind is not Queue.CALLED for queue in queues]
        scheduled = [queue.kind is Queue.SCHEDULED for queue in queues]
        self.streams = [
            (number[source[0]], source[1], number[target[0]], port_number[target]) for source, target in graph.streams
        ]
        incoming = [[] for _ in self.operators]  # by operator: its streams
        outgoing = [[[] for _ in range(operator.outputs)] for operator in self.operators]
        for stream in self.streams:
            incoming[stream[2]].append(stream)
            outgoing[stream[0]][stream[1]].append(stream)
        copies = list(map(graph.flow().copies_from.__getitem__, graph.operators))
        self.copies_known = None not in copies

        context, locked = contexts_of(order, incoming, queued)
        paths, steps = paths_of(self.operators, order, incoming)
        # one thread alone executes what is in the context of a source or of a threaded port, and so may put wake-ups off
        lazy = [kind == "source" or kind == "port" and not scheduled[which] for kind, which in context]
        self._size_queues(queues, graph.threaded)
        self._make_operators(order, outgoing, incoming, steps, locked, lazy, copies, ns_per_flop)
        self._make_ports(queues, incoming, locked, context, begins_queued(graph, model))
        self._make_states(order, incoming, queued, queues, number, paths, limit)
        self._make_workers(graph, pool_of(graph, model, cpus).threads, order, outgoing, queued, scheduled, lazy)
        self.set_batches()

    def _size_queues(self, queues, by_hand):
        """Number the queues, choose the capacity of those that have none, and reserve the memory of all. `by_hand`: ports threaded so."""
        cdef size_t stride = self.run.stride
        self.queue_of_port = []
        threaded = scheduled = given = 0
        for port, queue in zip(self.input_ports, queues, strict=True):
            if queue.kind is Queue.CALLED:
                self.queue_of_port.append(None)
                continue
            self.queue_of_port.append(self.run.port_count)
            self.run.port_count += 1
            if queue.capacity is not None:
                given += queue.capacity
                if queue.kind is Queue.SCHEDULED:
                    self.capacity = queue.capacity
                elif port not in by_hand or self.threaded_capacity == 0:
                    self.threaded_capacity = queue.capacity
            elif queue.kind is Queue.SCHEDULED:
                scheduled += 1
            else:
                threaded += 1
        if self.run.port_count == 0:
            return
        most = max(2, QUEUE_MEMORY // (max(threaded + scheduled, 1) * stride))
        if threaded:
            self.threaded_capacity = min(threaded_capacity(stride), most)
        if scheduled:
            self.capacity = min(scheduled_capacity(scheduled, stride, all(map(_is_cheap, self.operators))), most)
        if self.capacity == 0:
            self.capacity = self.threaded_capacity
        chosen = threaded * self.threaded_capacity + scheduled * self.capacity
        self.memory_bytes = (given + chosen) * stride
        slots = f" for {self.run.port_count} queues of {stride}-byte slots"
        cause = f"payload {self.run.payload}" if chosen > given else f"queue_capacity {self.capacity}"
        self._check_memory(cause, self.memory_bytes, slots)
        self.memory = reserve_memory(self.memory_bytes)
        if self.memory == NULL:
            raise RunFailed(f"the system refuses {self.memory_bytes} bytes for {self.run.port_count} queues")

    def _check_memory(self, what, size, why=""):
        available = _available_bytes()
        if size > available:
            raise UserError(f"{what} needs {size / 2**20:,.0f} MiB{why}; at most {available / 2**20:,.0f} MiB of memory are available")

    def _capacity(self, queue):
        return queue.capacity or (self.capacity if queue.kind is Queue.SCHEDULED else self.threaded_capacity)

    def _make_operators(self, order, outgoing, incoming, steps, locked, lazy, copies, ns_per_flop):
        """Operators, their routes and targets."""
        cdef uint32_t i, port, route = 0, target = 0
        cdef Operator* op
        cdef Target* way
        cdef bint fans_out
        self.run.operator_count = <uint32_t> len(self.operators)
        self.run.operators = make_array[Operator](self.run.operator_count)
        self.run.open_operators.store(self.run.operator_count, memory_order_relaxed)
        self.run.ports = make_array[Port](self.run.port_count)
        self.routes = make_array[Route](sum([operator.outputs for operator in self.operators]))
        self.targets = make_array[Target](len(self.streams))
        self.order = <uint32_t*> self.states.block(self.run.operator_count * sizeof(uint32_t))
        self.region_cost = <double*> self.states.block(self.run.operator_count * sizeof(double))
        self.region_room = <uint32_t*> self.states.block(self.run.operator_count * sizeof(uint32_t))
        flop_ns = None
        for i, index in enumerate(order):
            self.order[i] = index
        for i, operator in enumerate(self.operators):
            op = &self.run.operators[i]
            op.kernel = kernel_for(operator)
            op.mark = mark_kernel_for(operator.kind)
            op.factor = 1.0
            op.lock = new mutex() if locked[i] else NULL
            if operator.busy_us > 0:
                flop_ns = flop_ns or ns_per_flop()  # measured once, so that equal times are equal work
                op.cost = _flop_of(operator, flop_ns)
            elif operator.kind in USERS:
                op.cost = USER_FLOP[operator.kind]
            else:  # of bursts, the highest, for a guess of what a batch takes
                op.cost = max([cost for _, cost in operator.costs]) if operator.costs else operator.cost
            op.drops = not operator.preserves
            op.outputs = operator.outputs
            op.index = i
            op.open_streams = <uint32_t> len(incoming[i])
            op.copies = copies[i] or 0
            op.routes = &self.routes[route]
            for port in range(op.outputs):
                op.routes[port].targets = &self.targets[target]
                streams = outgoing[i][port]
                op.routes[port].count = <uint32_t> len(streams)
                fans_out = len(streams) > 1
                for stream in streams:
                    way = &self.targets[target]
                    way.op = &self.run.operators[<uint32_t> stream[2]]
                    way.path_step = steps.get(stream, 0) if steps else 0
                    way.lazy_wake = lazy[i]
                    queue = self.queue_of_port[stream[3]]
                    if queue is not None:
                        way.port = &self.run.ports[<uint32_t> queue]
                    target += 1
                if fans_out:
                    op.routes[port].scratch = self.states.block(MAX_BATCH * self.run.stride)
            route += op.outputs
            if op.outputs == 1 and op.routes[0].count == 1:
                op.next_path_step = op.routes[0].targets[0].path_step
                op.routes[0].targets[0].from_ = op
                if op.routes[0].targets[0].port == NULL:
                    op.next.store(op.routes[0].targets[0].op, memory_order_relaxed)

    def _make_ports(self, queues, incoming, locked, context, on):
        """The ports with queues; those that are scheduled and not among `on` begin with it switched off."""
        cdef Port* port
        cdef char* memory = self.memory
        cdef size_t capacity
        cdef uint32_t queue
        for index, (name, _) in enumerate(self.input_ports):
            if self.queue_of_port[index] is None:
                continue
            queue = self.queue_of_port[index]
            port = &self.run.ports[queue]
            port.index = queue
            port.discipline = discipline_of(queues[index].kind)
            capacity = self._capacity(queues[index])
            port.ring.init(memory, capacity, self.run.stride)
            memory += capacity * self.run.stride
        for index, streams in enumerate(incoming):
            feeding = {}
            for stream in streams:
                if self.queue_of_port[stream[3]] is not None:
                    feeding.setdefault(stream[3], []).append(stream[0])
            for place, feeders in feeding.items():
                queue = self.queue_of_port[place]
                port = &self.run.ports[queue]
                port.op = &self.run.operators[<uint32_t> index]
                port.open_streams = <uint32_t> len(feeders)
                if len(feeders) > 1:
                    first = context[feeders[0]]
                    port.shared = any([context[feeder] != first for feeder in feeders])
                if not port.discipline.pooled:
                    port.arrivals = new Parking()
                    port.room = new Parking()
                    continue
                if port.shared:
                    port.call_lock = new mutex()
                if self.input_ports[place] not in on:
                    port.mode.store(CALLED, memory_order_relaxed)
        self._list_feeders()
        self._find_contexts(incoming)

    cdef _list_feeders(self):
        """Who sends to each scheduled port: those of one port side by side."""
        cdef Port* port
        cdef uint32_t i, target, place = 0
        feeding = [[] for _ in range(self.run.port_count)]
        for i in range(len(self.streams)):
            port = self.targets[i].port
            if port != NULL and port.discipline.pooled:
                feeding[port.index].append(i)
        self.feeders = make_array[TargetPointer](len(self.streams))
        for i, targets in enumerate(feeding):
            port = &self.run.ports[i]
            port.feeders = &self.feeders[place]
            port.feeder_count = len(targets)
            for target in targets:
                self.feeders[place] = &self.targets[target]
                place += 1

    cdef _find_contexts(self, incoming):
        """Which ports may be called without a lock, and the shortcuts to those that begin so (modes.pyx)."""
        cdef Port* port
        cdef uint32_t i, j
        if any([self.run.ports[i].call_lock != NULL for i in range(self.run.port_count)]):
            self.run.contexts = new Contexts(self.run.operator_count, self.run.port_count)
            for i in range(self.run.operator_count):
                self.run.contexts.add_operator(self.order[i])
            for streams in incoming:
                for source, _, index, place in streams:
                    queue = self.queue_of_port[place]
                    self.run.contexts.add_stream(source, index, NO_QUEUE if queue is None else <uint32_t> queue)
            for i in range(self.run.port_count):
                port = &self.run.ports[i]
                if not port.discipline.pooled or not port.mode.load(memory_order_relaxed) & NOW_CALLED:
                    self.run.contexts.begin_on(i)
            self.run.contexts.settle()
        for i in range(self.run.port_count):
            port = &self.run.ports[i]
            port.sole.store(self.run.contexts == NULL or port.discipline.pooled and self.run.contexts.sole(i), memory_order_relaxed)
            if port.sole.load(memory_order_relaxed) and port.mode.load(memory_order_relaxed) == CALLED:
                for j in range(port.feeder_count):
                    set_shortcut(port.feeders[j])

    def _make_states(self, order, incoming, queued, queues, number, paths, limit):
        """What the operators keep."""
        cdef uint32_t i
        cdef SplitState* state
        self.run.final_punctuation = <Tuple*> self.states.block(self.run.stride)
        self.run.final_punctuation.kind = FINAL
        changed = None  # by operator: behind some, values may differ from what the source gave
        if not all([operator.preserves for operator in self.operators]):
            changed = [False] * len(self.operators)
            for i in order:
                operator = self.operators[i]
                changes = not operator.preserves and operator.kind != "filter"
                changed[i] = changes or any([changed[stream[0]] for stream in incoming[i]])
        for i, operator in enumerate(self.operators):
            if operator.controls:
                self.run.operators[<uint32_t> number[operator.controls]].control = &self.run.operators[i]
        regions = []
        for i, operator in enumerate(self.operators):
            kind = operator.kind
            if kind == "work" and not operator.costs:
                continue
            if operator.reentrant and self.run.operators[i].lock != NULL:
                # where several threads call a port that never has a queue, the lock is all that keeps its tuples apart
                self.run.operators[i].reentrant = all([queued[stream[3]] for stream in incoming[i]])
            ahead = marks = 0
            if kind == "merge":
                split, between = region_of(i, self.operators, incoming, queued)
                marks = sum([self._capacity(queues[port]) for port in between]) + MAX_BATCH * (len(between) + 2)
                ahead = min(marks, max(MERGE_AHEAD, 4 * MAX_BATCH * len(between)))
                self._check_memory(f"merge {operator.name!r}", (ahead + 8 * MAX_BATCH) * self.run.stride + marks * sizeof(Tuple))
            # beyond that: what threads that were waiting still send when the run is cut short
            changes = changed is not None and changed[i]
            self.states.give(&self.run.operators[i], operator, limit, paths[i], changes, ahead + 8 * MAX_BATCH, marks)
            if kind == "merge":
                regions.append((split, i, between, ahead))
            elif kind in BALANCING:
                self._join_buffers(&self.run.operators[i])
        for split, i, between, ahead in regions:
            state = <SplitState*> self.run.operators[<uint32_t> split].own
            state.merge = <MergeState*> self.run.operators[i].own
            state.ahead = ahead
            state.port_count = <uint32_t> len(between)
            state.ports = <Port**> self.states.block(len(between) * sizeof(void*))
            for place, port in enumerate(between):
                state.ports[place] = &self.run.ports[<uint32_t> self.queue_of_port[port]]

    cdef void _join_buffers(self, Operator* op) noexcept:
        """Whoever fills the buffers of `op` waits for room in any of them."""
        cdef BalanceState* state = <BalanceState*> op.own
        cdef Port* port
        cdef uint32_t route
        self.balancing.append(op.index)
        for route in range(op.outputs):
            port = op.routes[route].targets.port
            del port.room
            port.room = &state.room
            port.freed = &state.freed

    def _make_workers(self, graph, pool_threads, order, outgoing, queued, scheduled, lazy):
        """One thread for each source and each threaded port, and room for the largest pool."""
        cdef Worker* worker
        cdef uint32_t next_worker = 0, i, owed = 0
        cdef Run* run = self.run
        self.pool_threads = pool_threads
        self.minimum_threads = 1
        if self.pool_threads > 0:
            run.ready = new ReadyPorts(run.port_count)
            self.minimum_threads = least_threads(graph)
            if self.minimum_threads > MAX_THREADS:
                inputs, name = max([(operator.inputs, operator.name) for operator in self.operators if operator.kind in USERS])
                rule = f"at most {MAX_THREADS - 1} of a user's operator where ports are scheduled (it may block a thread at each)"
                raise UserError(f"operator {name!r}: inputs must be {rule}, not {inputs}")
            self.pool_threads = max(self.pool_threads, self.minimum_threads)
        sources = [index for index, operator in enumerate(self.operators) if operator.kind == "source"]
        threaded = [i for i in range(run.port_count) if not run.ports[i].discipline.pooled]
        self.first_scheduler = <uint32_t> (len(sources) + len(threaded))
        if self.first_scheduler + self.pool_threads <= allowed_cpus():
            run.patience = PATIENCE_LOOKS
        run.worker_count = self.first_scheduler + (MAX_THREADS if self.pool_threads > 0 else 0)
        run.workers = make_array[Worker](run.worker_count)
        self.owed = make_array[TargetPointer](len(self.streams) + 1 if threaded else 0)
        calls, longest = depths_of(order, outgoing, queued)
        # a native function may be a callback into Python too (ctypes)
        run.python = any([operator.kind in USERS for operator in self.operators])
        base = PYTHON_STACK_BYTES if run.python else STACK_BYTES
        nested = max(longest) if self.pool_threads > 0 else 0  # any thread may drain any scheduled port downstream of it
        for index in sources:
            worker = &run.workers[next_worker]
            worker.op = &run.operators[<uint32_t> index]
            worker.body = source_body
            self.worker_stacks.append(base + FRAME_BYTES * max(calls[index], nested))
            if threaded:
                owed = self._lend_owed(worker, index, outgoing, queued, lazy, owed)
            next_worker += 1
        for i in threaded:
            worker = &run.workers[next_worker]
            worker.port = &run.ports[i]
            worker.body = worker.port.discipline.body
            operator_index = worker.port.op.index
            self.worker_stacks.append(base + FRAME_BYTES * max(calls[operator_index], nested))
            owed = self._lend_owed(worker, operator_index, outgoing, queued, lazy, owed)
            next_worker += 1
        self.scheduler_stack = base + FRAME_BYTES * nested
        for i in range(run.worker_count):
            run.workers[i].run = run
            run.workers[i].pooled = i >= self.first_scheduler
            if run.workers[i].pooled:
                run.workers[i].body = discipline_of(Queue.SCHEDULED).body

    cdef uint32_t _lend_owed(self, Worker* worker, index, outgoing, queued, lazy, uint32_t begin) except? 0:
        """Room for the targets that a thread may have to wake: those of the operators that it alone executes."""
        worker.owed = &self.owed[begin]
        frontier, seen = [index], {index}
        while frontier:
            for streams in outgoing[frontier.pop()]:
                for stream in streams:
                    if queued[stream[3]]:
                        begin += lazy[stream[0]]
                    elif stream[2] not in seen:
                        seen.add(stream[2])
                        frontier.append(stream[2])
        return begin

    cdef void set_batches(self) noexcept:
        """Choose how many tuples are handed over at once, from the work that follows by calls. Again whenever a queue comes or goes."""
        cdef Run* run = self.run
        cdef Operator* op
        cdef Target* target
        cdef Port* port
        cdef double behind, region
        cdef uint32_t place, i, route, room, waiting, most = most_at_once(run.stride)
        for place in range(run.operator_count, 0, -1):
            op = &run.operators[self.order[place - 1]]
            behind = 0.0
            room = most
            for route in range(op.outputs):
                for i in range(op.routes[route].count):
                    target = &op.routes[route].targets[i]
                    if is_called(target):
                        behind += self.region_cost[target.op.index]
                        room = min(room, self.region_room[target.op.index])
                    elif op.routes[route].count > 1 or op.outputs > 1:
                        # else one that waits for what goes another way may wait for what a full queue keeps in a sender's hands
                        room = <uint32_t> min(<double> room, <double> target.port.ring.capacity() * op.outputs)
            self.region_cost[op.index] = op.cost + (behind / op.outputs if op.outputs > 0 else 0.0)
            self.region_room[op.index] = room
            if op.kernel == NULL:  # a source
                (<SourceState*> op.own).batch.store(batch_for(self.region_cost[op.index], room), memory_order_relaxed)
        for i in range(run.port_count):
            port = &run.ports[i]
            region = max(self.region_cost[port.op.index], 1.0)
            port.batch.store(batch_for(region, self.region_room[port.op.index]), memory_order_relaxed)
            port.most.store(drain_for(port.ring.capacity(), region), memory_order_relaxed)
            port.wake_at.store(<uint32_t> max(1, port.ring.capacity() // 4), memory_order_relaxed)
        # A threaded port is woken the sooner the longer the region takes that sends to it, all of it: from here on, of the region
        # that an operator is called in.
        for place in range(run.operator_count):
            op = &run.operators[self.order[place]]
            for route in range(op.outputs):
                for i in range(op.routes[route].count):
                    target = &op.routes[route].targets[i]
                    if is_called(target):
                        self.region_cost[target.op.index] = max(self.region_cost[target.op.index], self.region_cost[op.index])
                    elif not target.port.discipline.pooled:
                        waiting = <uint32_t> max(1.0, <double> WAKE_FLOP / max(self.region_cost[op.index], 1.0))
                        target.port.wake_at.store(min(waiting, target.port.wake_at.load(memory_order_relaxed)), memory_order_relaxed)

        # A buffer gets a share of what its sender sends, and its thread is there to work while others do: it is woken the sooner.
        for place in self.balancing:
            op = &run.operators[place]
            for route in range(op.outputs):
                port = op.routes[route].targets.port
                region = max(self.region_cost[op.index] * op.outputs, self.region_cost[port.op.index])
                waiting = <uint32_t> max(1.0, <double> WAKE_FLOP / max(region, 1.0))
                port.wake_at.store(min(waiting, port.wake_at.load(memory_order_relaxed)), memory_order_relaxed)

    cdef size_t stack_of(self, uint32_t index) noexcept:
        """Bytes of stack that thread `index` needs."""
        return self.scheduler_stack if index >= self.first_scheduler else <size_t> self.worker_stacks[index]

    def worker_name(self, uint32_t index):
        """What thread `index` is for."""
        cdef Worker* worker = &self.run.workers[index]
        if worker.op != NULL:
            return f"source {self.operators[worker.op.index].name}"
        if worker.port != NULL:
            return f"port thread of {self.operators[worker.port.op.index].name}"
        return f"scheduler thread {index - self.first_scheduler}"

    def __dealloc__(self):
        cdef uint32_t i
        if self.run.operators != NULL:
            for i in range(self.run.operator_count):
                if self.run.operators[i].lock != NULL:
                    del self.run.operators[i].lock
            delete_array[Operator](self.run.operators)
        if self.run.ports != NULL:
            for i in range(self.run.port_count):
                if self.run.ports[i].arrivals != NULL:
                    del self.run.ports[i].arrivals
                    if self.run.ports[i].freed == NULL:
                        del self.run.ports[i].room
                if self.run.ports[i].call_lock != NULL:
                    del self.run.ports[i].call_lock
            delete_array[Port](self.run.ports)
        delete_array[Worker](self.run.workers)
        delete_array[Route](self.routes)
        delete_array[Target](self.targets)
        delete_array[TargetPointer](self.owed)
        delete_array[TargetPointer](self.feeders)
        if self.run.contexts != NULL:
            del self.run.contexts
        if self.run.ready != NULL:
            del self.run.ready
        give_back_memory(self.memory, self.memory_bytes)
        delete_array[Run](self.run)


cdef bint is_called(Target* target) noexcept:
    return target.port == NULL or target.port.mode.load(memory_order_relaxed) & WANTED_CALLED


def _is_cheap(operator):
    return operator.cost < COPY_FLOP and not operator.costs and not operator.busy_us


def _flop_of(operator, flop_ns):
    """Multiplies of `flop_ns` nanoseconds that take as long as the operator is busy."""
    flop = max(1, round(operator.busy_us * 1000 / flop_ns))
    if flop >= 2**32:
        raise UserError(f"operator {operator.name!r}: busy_us {operator.busy_us:g} is {flop} FLOP on this machine; at most {2**32 - 1}")
    return flop


def _available_bytes():
    """Memory that could be taken now without swapping."""
    import psutil

    return psutil.virtual_memory().available
