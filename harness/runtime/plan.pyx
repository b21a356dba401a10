"""The memory of a layout: flat arrays of operators, ports and workers, and the slots of all queues.

Which ports have queues, and which locks and flags can be left out, is in `layout.py`; what each
kind of operator keeps, in `states.pyx`.
"""

import os

cimport cython
from libc.stdint cimport uint32_t
from libcpp.atomic cimport memory_order_relaxed

from harness.graph.kinds import LOOP, MERGE, WORK
from harness.runtime.derived cimport contexts_of, sizes_of
from harness.runtime.native cimport (
    FINAL,
    BalanceState,
    BarrierState,
    LoopInput,
    MergeState,
    Operator,
    Parking,
    Port,
    ReadyPorts,
    Route,
    Run,
    SplitState,
    Target,
    Tuple,
    Worker,
    choose_sizes,
    delete_array,
    give_back_memory,
    make_array,
    mutex,
    reserve_memory,
    set_shortcut,
)
from harness.runtime.path cimport (
    Coroutines,
    coroutine_body_for,
    coroutines_for,
    coroutines_of,
    discipline_of,
    kernel_for,
    mark_kernel_for,
    source_body_for,
    stream_end_for,
)
from harness.runtime.policy cimport PolicyOf
from harness.runtime.protocol cimport CALLED, MAX_BATCH, PATIENCE_LOOKS
from harness.runtime.states cimport States, make_for_replicas, make_loop, make_typed

from harness.errors import RunFailed, UserError
from harness.models import Queue
from harness.machines.host.cpu import allowed_cpus
from harness.models.layout import slots_of
from harness.runtime.protocol import slot_stride
from harness.machines.host.memory_room import memory_room

ctypedef Target* TargetPointer

FRAME_BYTES = 1536
"""Stack for one level of nesting; tests/runtime/test_limits.py fails if it is too little."""

CO_STACK_BYTES = 64 * 1024
"""Stack of a co-routine, which runs users' code on its thread's stack; memory for it is taken as it
is touched. Typed operators and loops, which run on it, get STACK_BYTES."""

STACK_BYTES = 256 * 1024

BY_ATTRIBUTES = 2**32
"""Keys of an operator whose key is attributes: as many as there can be."""

USERS_STACK_KIB, LEAST_STACK_KIB, MOST_STACK_KIB = 2048, 256, 2**20
"""Stack of a thread that executes users' operators or policies, unless MILLRACE_STACK_KIB is set,
and the limits of that number.
"""


@cython.no_gc_clear
cdef class Plan:
    """Owns all memory of a run.

    `limit` bounds the tuples of each source (None: no bound). Raises UserError if the run's data
    may not fit in memory, RunFailed if the system refuses memory.
    """

    def __cinit__(self, layout, limit):
        self.run = make_array[Run](1)
        self.layout = layout
        self.operators = layout.operators
        self.first_scheduler = layout.first_scheduler
        self.own_stacks = []
        self.room = memory_room()
        self.promised = 0
        self.prepared = set()
        self.run.stride = layout.stride
        self.run.payload = layout.payload
        self.states = States(self.run.stride)
        self._reserve()
        self._make_operators()
        self._make_ports()
        self._list_feeders()
        self._find_contexts()
        self.run.sizes = sizes_of(layout)
        self._make_states(limit)
        self._make_workers()
        choose_sizes(self.run)

    def _reserve(self):
        """The slots of all queues."""
        count = len(self.layout.queues)
        if count == 0:
            return
        self.memory_bytes = sum([queue.capacity * queue.stride for queue in self.layout.queues])
        slots = f" for {count} queues of {self.run.stride}-byte slots"
        cause = (
            f"payload {self.run.payload}"
            if self.layout.capacity_chosen
            else f"queue_capacity {self.layout.capacity}"
        )
        self._check_memory(cause, self.memory_bytes, slots)
        self.memory = reserve_memory(self.memory_bytes)
        if self.memory == NULL:
            raise RunFailed(f"the system refuses {self.memory_bytes} bytes for {count} queues")

    def _check_memory(self, what, size, why=""):
        """Promise memory. It is taken as it is touched, so the room is that from before the first
        of it was taken.
        """
        need = self.promised + size
        if need > self.room.bytes:
            others = (
                f", besides {self.promised / 2**20:,.0f} MiB that the rest of the run needs"
                if self.promised > 0
                else ""
            )
            raise UserError(
                f"{what} needs {size / 2**20:,.0f} MiB{why}{others}; {self.room.reason}"
            )
        self.promised = need

    cdef int make_room_for_replicas(self, uint32_t index, uint32_t co) except -1:
        """Take memory for the tuples that the replicas of an operator hold, before there are two.
        Raises as the plan does.
        """
        if index in self.prepared:
            return 0
        size, name = coroutines_of(self.run).replica_bytes(co), self.operators[index].name
        most = self.layout.replicas[index]
        self._check_memory(
            f"operator {name!r}", size,
            f" for tuples of {self.run.stride} bytes in the hands of up to {most} replicas",
        )
        try:
            coroutines_of(self.run).prepare_replicas(co)
        except MemoryError:
            self.promised -= size
            raise RunFailed(
                f"the system refuses {size} bytes for replicas of operator {name!r}"
            ) from None
        self.prepared.add(index)
        return 0

    def _make_operators(self):
        """Operators, their routes and targets."""
        cdef uint32_t i, port, route = 0, target = 0
        cdef Operator* op
        cdef Target* to
        layout = self.layout
        self.run.operator_count = <uint32_t> len(self.operators)
        self.run.operators = make_array[Operator](self.run.operator_count)
        self.run.open_operators.store(self.run.operator_count, memory_order_relaxed)
        self.names = [operator.name.encode() for operator in self.operators]
        self.run.names = <const char**> self.states.block(len(self.names) * sizeof(char*))
        for i in range(self.run.operator_count):
            self.run.names[i] = <bytes> self.names[i]
        self.run.port_count = <uint32_t> len(layout.queues)
        self.run.ports = make_array[Port](self.run.port_count)
        self.routes = make_array[Route](sum([operator.outputs for operator in self.operators]))
        self.targets = make_array[Target](len(layout.ways))
        for i, operator in enumerate(self.operators):
            op = &self.run.operators[i]
            op.kernel = kernel_for(operator)
            op.mark = mark_kernel_for(operator)
            op.stream_ended = stream_end_for(operator)
            op.factor = 1.0
            op.lock = new mutex() if layout.locked[i] else NULL
            op.cost = layout.flop[i]
            op.drops = not operator.preserves
            op.outputs = operator.outputs
            op.index = i
            op.open_streams = <uint32_t> len(layout.incoming[i])
            op.copies = layout.copies[i] or 0
            op.routes = &self.routes[route]
            route += op.outputs
            for port in range(op.outputs):
                op.routes[port].targets = &self.targets[target]
                op.routes[port].count = <uint32_t> len(layout.outgoing[i][port])
                op.routes[port].stride = layout.strides[i][port]
                target += op.routes[port].count
                if op.routes[port].count > 1:
                    op.routes[port].scratch = self.states.block(MAX_BATCH * self.run.stride)
        for target, way in enumerate(layout.ways):
            to = &self.targets[target]
            to.op = &self.run.operators[<uint32_t> way.target]
            to.path_step = way.path_step
            to.stride = layout.strides[way.source][way.output]
            to.input = <uint32_t> layout.input_ports[way.port].port
            to.lazy_wake = way.lazy
            if way.queue is not None:
                to.port = &self.run.ports[<uint32_t> way.queue]
            elif layout.policy and len(layout.outgoing[way.source][way.output]) > 1:
                to.scratch = self.states.block(MAX_BATCH * to.stride)
        for i in range(self.run.operator_count):
            op = &self.run.operators[i]
            only = op.outputs == 1 and op.routes[0].count == 1
            if (
                only
                and op.routes[0].targets.op.stream_ended == NULL
                and self.operators[i].typed is None
            ):
                to = op.routes[0].targets
                op.next_path_step = to.path_step
                to.from_ = op
                if to.port == NULL:
                    op.next.store(to.op, memory_order_relaxed)

    def _make_ports(self):
        """The ports with queues."""
        cdef Port* port
        cdef char* memory = self.memory
        cdef uint32_t index
        layout = self.layout
        fed_by_threads = {
            way.queue for way in layout.ways if layout.contexts[way.source][0] in ("port", "lock")
        }
        for index, queue in enumerate(layout.queues):
            port = &self.run.ports[index]
            port.index = index
            port.input = <uint32_t> layout.input_ports[queue.port].port
            port.op = &self.run.operators[<uint32_t> queue.operator]
            port.discipline = discipline_of(queue.kind)
            port.ring.init(memory, queue.capacity, queue.stride)
            memory += <size_t> queue.capacity * queue.stride
            port.open_streams = queue.streams
            port.unended.store(queue.streams, memory_order_relaxed)
            port.shared = queue.shared
            if queue.kind is Queue.RESUMED:
                if index in fed_by_threads:
                    port.room = new Parking()
                continue
            if not port.discipline.pooled:
                port.arrivals = new Parking()
                port.room = new Parking()
                continue
            if port.shared:
                port.call_lock = new mutex()
            if not queue.on:
                port.mode.store(CALLED, memory_order_relaxed)

    def _list_feeders(self):
        """List the targets that send to each scheduled port, those of one port side by side."""
        cdef Port* port
        cdef uint32_t i, target, place = 0
        feeding = [[] for _ in range(self.run.port_count)]
        for i in range(len(self.layout.ways)):
            port = self.targets[i].port
            if port != NULL and port.discipline.pooled:
                feeding[port.index].append(i)
        self.feeders = make_array[TargetPointer](len(self.layout.ways))
        for i, targets in enumerate(feeding):
            port = &self.run.ports[i]
            port.feeders = &self.feeders[place]
            port.feeder_count = len(targets)
            for target in targets:
                self.feeders[place] = &self.targets[target]
                place += 1

    def _find_contexts(self):
        """Find the ports that may be called without a lock, and set shortcuts to those that begin
        without a queue (native/switching.hpp).
        """
        cdef Port* port
        cdef uint32_t i, j
        self.run.contexts = contexts_of(self.layout)
        for i in range(self.run.port_count):
            port = &self.run.ports[i]
            port.sole.store(
                self.run.contexts == NULL or port.discipline.pooled and self.run.contexts.sole(i),
                memory_order_relaxed,
            )
            if (
                port.sole.load(memory_order_relaxed)
                and port.mode.load(memory_order_relaxed) == CALLED
            ):
                for j in range(port.feeder_count):
                    set_shortcut(port.feeders[j])

    def _make_states(self, limit):
        """Make the states of the operators."""
        cdef uint32_t i
        cdef SplitState* state
        layout = self.layout
        number = {operator.name: index for index, operator in enumerate(self.operators)}
        self.run.final_punctuation = <Tuple*> self.states.block(self.run.stride)
        self.run.final_punctuation.kind = FINAL
        for i, operator in enumerate(self.operators):
            if operator.controls:
                self.run.operators[
                    <uint32_t> number[operator.controls]
                ].control = &self.run.operators[i]
        regions = {region.merge: region for region in layout.regions}
        for i, operator in enumerate(self.operators):
            if operator.kind is WORK and not operator.costs and operator.selectivity == 1.0:
                continue
            if operator.reentrant and self.run.operators[i].lock != NULL:
                # where several threads call a port that never has a queue, the lock is all that
                # keeps its tuples apart
                self.run.operators[i].reentrant = all(
                    [layout.ways[way].queue is not None for way in layout.incoming[i]]
                )
            slots = marks = 0
            if operator.kind is MERGE:
                slots, marks = slots_of(regions[i]), regions[i].marks
                self._check_memory(
                    f"merge {operator.name!r}", slots * self.run.stride + marks * sizeof(Tuple)
                )
            paths = layout.paths[i] if operator.typed is None else None
            self.states.give(
                &self.run.operators[i], operator, limit, paths, layout.changed[i], slots, marks
            )
            if operator.typed is not None:
                make_typed(self.states, &self.run.operators[i], operator, layout)
            if operator.kind is LOOP:
                make_loop(self.states, &self.run.operators[i], operator, layout, limit)
                self._list_inputs(i)
            if operator.kind.balances:
                self._join_buffers(&self.run.operators[i])
        for region in layout.regions:
            state = <SplitState*> self.run.operators[<uint32_t> region.split].own
            state.merge = <MergeState*> self.run.operators[<uint32_t> region.merge].own
            state.ahead = region.ahead
            state.port_count = <uint32_t> len(region.queues)
            state.ports = <Port**> self.states.block(len(region.queues) * sizeof(void*))
            for i, queue in enumerate(region.queues):
                state.ports[i] = &self.run.ports[<uint32_t> queue]
        for place in layout.barriers:
            self._make_barrier(
                &self.run.operators[<uint32_t> place.operator], place,
                layout.changed[place.operator],
            )

    cdef int _make_barrier(self, Operator* op, place, bint changed) except -1:
        """Make the state of a barrier."""
        cdef BarrierState* state
        cdef uint32_t number
        layout = self.layout
        operator = self.operators[op.index]
        typed = operator.typed
        # of all but the first input, what is in front of the payload
        strides = [self.run.stride] + [sizeof(Tuple)] * (len(place.paths) - 1)
        if typed is not None:
            strides = [slot_stride(schema.size) for schema in typed.takes]
        self._check_memory(f"barrier {operator.name!r}", place.room * sum(strides))
        state = self.states.barrier(op, place, strides, changed)
        if typed is not None:
            self.states.columns(state, typed)
        for way in layout.incoming[place.operator]:
            number = layout.input_ports[layout.ways[way].port].port
            state.inputs[number].open_streams += 1
        return 0

    def _list_inputs(self, uint32_t index):
        """The queues before an operator with a loop of its own, port by port."""
        cdef LoopInput* from_
        cdef uint32_t i
        queues = sorted(
            [
                (queue.port, place)
                for place, queue in enumerate(self.layout.queues)
                if queue.operator == index
            ]
        )
        for i, (_, place) in enumerate(queues):
            from_ = &self.run.operators[index].loop.inputs[i]
            from_.port = &self.run.ports[<uint32_t> place]
            from_.streams = from_.port.open_streams
            if from_.port.ring.capacity() < MAX_BATCH:
                from_.taken_out = <Tuple*> self.states.block(from_.port.ring.stride())

    cdef void _join_buffers(self, Operator* op) noexcept:
        """Let the thread that fills the buffers of `op` wait for room in any of them."""
        cdef BalanceState* state = <BalanceState*> op.own
        cdef Port* port
        cdef uint32_t route
        for route in range(op.outputs):
            port = op.routes[route].targets.port
            del port.room
            port.room = &state.room
            port.freed = &state.freed

    def _make_workers(self):
        """One thread for each source and each threaded port, and room for the largest pool."""
        cdef Worker* worker
        cdef uint32_t next_worker = 0, i, index, owed = 0
        cdef Run* run = self.run
        layout = self.layout
        pooled = layout.pool_threads > 0
        if pooled and not layout.policy:
            run.ready = new ReadyPorts(run.port_count)
        if self.first_scheduler + layout.pool_threads <= allowed_cpus():
            run.patience = PATIENCE_LOOKS
        run.worker_count = layout.most_threads
        run.workers = make_array[Worker](run.worker_count)
        lent = len(layout.ways) + 1 + sum(
            [(most - 1) * len(layout.outgoing[index][0]) for index, most in layout.replicas.items()]
        )
        self.owed = make_array[TargetPointer](lent if layout.threaded or layout.policy else 0)
        # a native function may be a callback into Python too (ctypes)
        run.python = any([operator.users for operator in self.operators])
        base = (
            _users_stack_bytes()
            if run.python or (layout.policy and layout.policy.function)
            else STACK_BYTES
        )
        # any thread may drain any scheduled port downstream of it
        nested = max(layout.longest) if run.ready != NULL else 0
        for index in layout.sources:
            worker = &run.workers[next_worker]
            worker.op = &run.operators[index]
            worker.body = source_body_for(self.operators[index])
            self.own_stacks.append(base + FRAME_BYTES * max(layout.calls[index], nested))
            if layout.threaded:
                owed = self._lend_owed(worker, index, owed)
            next_worker += 1
        for index in layout.threaded:
            worker = &run.workers[next_worker]
            worker.port = &run.ports[index]
            worker.body = worker.port.discipline.body
            self.own_stacks.append(
                base + FRAME_BYTES * max(layout.calls[worker.port.op.index], nested)
            )
            owed = self._lend_owed(worker, worker.port.op.index, owed)
            next_worker += 1
        self.scheduler_stack = base + FRAME_BYTES * nested
        for i in range(run.worker_count):
            worker = &run.workers[i]
            worker.run = run
            worker.pooled = i >= self.first_scheduler
            if worker.pooled:
                worker.body = discipline_of(
                    Queue.RESUMED if layout.policy else Queue.SCHEDULED
                ).body
                worker.co = i - self.first_scheduler
        if layout.policy:
            self._make_coroutines(owed)

    def _make_coroutines(self, uint32_t owed):
        """`owed`: how much of the room for targets is lent already."""
        cdef uint32_t co, index
        cdef uint32_t extra = sum(self.layout.replicas.values()) - len(self.layout.replicas)
        cdef uint32_t own = <uint32_t> len(self.layout.coroutines)
        self.run.co_worker_count = own + extra
        self.run.co_workers = make_array[Worker](self.run.co_worker_count)
        self.run.replica_operators = make_array[Operator](extra)
        for co, index in enumerate(self.layout.coroutines):
            owed = self._lend_owed(&self.run.co_workers[co], index, owed)
            queues = [queue for queue in self.layout.queues if queue.operator == index]
            short = [
                queue.stride * queue.capacity for queue in queues if queue.capacity < MAX_BATCH
            ]
            if short:
                self.run.co_workers[co].taken_out = self.states.block(max(short))
        co = own
        for index, most in self.layout.replicas.items():
            for _ in range(most - 1):
                owed = self._lend_owed(&self.run.co_workers[co], index, owed)
                co += 1
        most_called = max([self.layout.called[index] for index in self.layout.coroutines])
        choose_sizes(self.run)
        on_them = any(
            [operator.typed is not None or operator.kind is LOOP for operator in self.operators]
        )
        self.policy = PolicyOf(self.layout.policy, self.operators)
        bytes_ = (STACK_BYTES if on_them else CO_STACK_BYTES) + FRAME_BYTES * most_called
        self._connect_coroutines(own, bytes_, on_them)

    cdef int _connect_coroutines(self, uint32_t own, size_t stack_bytes, bint users_code) except -1:
        """Make the co-routines, before any thread: `own`, and those of replicas. Operators, ports
        and workers exist already.

        `users_code`: functions of users run on their stacks. Raises RunFailed if the system refuses
        their stacks.
        """
        cdef uint32_t co, port, index
        cdef Coroutines* all_
        cdef MergeState* merge_state
        cdef Worker* worker
        cdef Run* run = self.run
        layout, operators = self.layout, self.operators
        number = {index: co for co, index in enumerate(layout.coroutines)}
        run.coroutines = coroutines_for(
            run, layout, run.co_worker_count, run.co_worker_count - own, self.policy.policy
        )
        all_ = coroutines_of(run)
        for co, index in enumerate(layout.coroutines):
            worker = &run.co_workers[co]
            worker.run = run
            worker.op = &run.operators[index]
            worker.body = coroutine_body_for(operators[index], index in layout.replicas)
            all_.set_name(co, run.names[index])
        for index in range(run.operator_count):
            all_.add_operator(run.names[index])
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
            operator = operators[index]
            typed = operator.typed
            keys = BY_ATTRIBUTES if typed is not None and typed.by else operator.keys
            all_.replicate(number[index], most, keys)
            make_for_replicas(
                self.states, &run.operators[<uint32_t> index], &run.operators[<uint32_t> index],
                operator, layout,
            )
        for co in range(run.replica_count):
            index = run.replica_operators[co].index
            make_for_replicas(
                self.states, &run.replica_operators[co], &run.operators[index], operators[index],
                layout,
            )
        for region in layout.regions:
            kind, sender = layout.contexts[region.split]
            if kind in ("source", "co-routine"):
                merge_state = <MergeState*> run.operators[<uint32_t> region.merge].own
                merge_state.splits_on = number[sender]
        if not all_.begin(stack_bytes, users_code):
            raise RunFailed(
                f"the system refuses {run.co_worker_count:,} stacks of {stack_bytes // 1024:,} KiB "
                "for co-routines"
            )
        return 0

    cdef uint32_t _lend_owed(self, Worker* worker, index, uint32_t begin) except? 0:
        """Give a thread room for the targets that it may have to wake: those of the operators that
        it alone executes.
        """
        worker.owed = &self.owed[begin]
        frontier, seen = [index], {index}
        while frontier:
            for ways in self.layout.outgoing[frontier.pop()]:
                for way in [self.layout.ways[place] for place in ways]:
                    if way.queue is not None:
                        begin += way.lazy
                    elif way.target not in seen:
                        seen.add(way.target)
                        frontier.append(way.target)
        return begin

    cdef size_t stack_of(self, uint32_t index) noexcept:
        """Bytes of stack that thread `index` needs."""
        return (
            self.scheduler_stack
            if index >= self.first_scheduler
            else <size_t> self.own_stacks[index]
        )

    def __dealloc__(self):
        cdef uint32_t i
        cdef Coroutines* coroutines
        coroutines = coroutines_of(self.run)
        del coroutines
        if self.run.operators != NULL:
            for i in range(self.run.operator_count):
                if self.run.operators[i].lock != NULL:
                    del self.run.operators[i].lock
            delete_array[Operator](self.run.operators)
        if self.run.ports != NULL:
            for i in range(self.run.port_count):
                if self.run.ports[i].arrivals != NULL:
                    del self.run.ports[i].arrivals
                if self.run.ports[i].room != NULL and self.run.ports[i].freed == NULL:
                    del self.run.ports[i].room
                if self.run.ports[i].call_lock != NULL:
                    del self.run.ports[i].call_lock
            delete_array[Port](self.run.ports)
        delete_array[Worker](self.run.workers)
        delete_array[Worker](self.run.co_workers)
        delete_array[Operator](self.run.replica_operators)
        delete_array[Route](self.routes)
        delete_array[Target](self.targets)
        delete_array[TargetPointer](self.owed)
        delete_array[TargetPointer](self.feeders)
        if self.run.contexts != NULL:
            del self.run.contexts
        if self.run.sizes != NULL:
            del self.run.sizes
        if self.run.ready != NULL:
            del self.run.ready
        give_back_memory(self.memory, self.memory_bytes)
        delete_array[Run](self.run)


def _users_stack_bytes():
    """Raises UserError if the environment has no number of KiB that can be."""
    given = os.environ.get("MILLRACE_STACK_KIB") or str(USERS_STACK_KIB)
    if not given.isdecimal() or not LEAST_STACK_KIB <= int(given) <= MOST_STACK_KIB:
        raise UserError(
            f"MILLRACE_STACK_KIB must be a whole number from {LEAST_STACK_KIB} to "
            f"{MOST_STACK_KIB:,} KiB, not {given!r:.40}"
        )
    return int(given) * 1024
