"""Graph + model -> the flat arrays that threads run on: which ports have queues, which locks and flags can be left out, who executes what.

What it proves about the graph, so that tuples need not pay for it, is in `analysis.py`.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.atomic cimport memory_order_relaxed

from harness.runtime cimport dedicated, dynamic
from harness.runtime.native cimport (
    FINAL,
    FreeList,
    MergeState,
    Operator,
    Parking,
    Port,
    Route,
    Run,
    SinkState,
    SourceState,
    Target,
    Tuple,
    Worker,
    delete_array,
    give_back_memory,
    make_array,
    mutex,
    reserve_memory,
    slot_stride,
    slots_for,
)
from harness.runtime.operators cimport PythonCall, kernel_for

from harness.errors import RunFailed, UserError
from harness.models import DEFAULT_QUEUE_CAPACITY, QUEUE_MEMORY, Dedicated, Dynamic, Manual, Queue, port_queues
from harness.runtime.analysis import contexts_of, depths_of, paths_of

ctypedef Target* TargetPointer

MAX_BATCH = 32
"""Tuples an operator is handed at once, at most: enough that publishing costs little a tuple (docs/design.md)."""

BATCH_FLOP = 16384
"""Work in a batch, about: an expensive operator passes its tuples on one by one, so that others can start (a guess, not tuned)."""

WAKE_FLOP = 8 * BATCH_FLOP
"""Dedicated: work of a sender, about, after which it wakes the thread that it sends to (a guess: 0.1 ms, many times a wake-up)."""

BATCH_BYTES = 256 * 1024
"""Memory of a batch, at most: half of a usual second-level cache."""

FRAME_BYTES = 1024
"""Stack for one level of nesting; tests/runtime/test_limits.py fails if it is too little."""

STACK_BYTES = 256 * 1024
PYTHON_STACK_BYTES = 2 * 2**20


cdef class Plan:
    """Owns all memory of a run. `graph` is checked; `limit` bounds the tuples of each source (None: no bound).

    Raises UserError if the queues would not fit in memory, RunFailed if the system refuses the memory.
    """

    def __cinit__(self, graph, model, limit):
        self.run = make_array[Run](1)
        self.operators = list(graph.operators.values())
        self.input_ports = list(graph.input_ports())
        self.blocks = []
        self.owners = []
        self.worker_names = []
        self.worker_stacks = []
        number = {operator.name: index for index, operator in enumerate(self.operators)}
        port_number = {port: index for index, port in enumerate(self.input_ports)}
        order = [number[name] for name in graph.topological_order()]
        queued = [queue.kind is not Queue.CALLED for queue in port_queues(graph, model)]
        self.streams = [
            (number[stream.source.operator], stream.source.port, number[stream.target.operator], port_number[stream.target])
            for stream in graph.streams
        ]
        incoming = [[] for _ in self.operators]  # by operator: its streams
        outgoing = [[[] for _ in range(operator.outputs)] for operator in self.operators]
        for stream in self.streams:
            incoming[stream[2]].append(stream)
            outgoing[stream[0]][stream[1]].append(stream)
        copies = graph.flow().copies_from
        if not all(operator.preserves for operator in self.operators):
            copies = dict.fromkeys(copies)  # what is dropped is not accounted for yet
        self.copies_known = all(copies[operator.name] is not None for operator in self.operators)

        self.run.stride = slot_stride(graph.payload)
        self.run.payload = graph.payload
        self.run.one_at_a_time = isinstance(model, Manual)
        self._number_queues(queued)
        self._size_queues(model)
        context, locked = contexts_of(self.operators, order, incoming, queued)
        paths, steps = paths_of(self.operators, order, incoming)
        # a source's context is its thread; under the dedicated model so is that of a port
        threads = ("source", "port") if isinstance(model, Dedicated) else ()
        lazy = [kind in threads for kind, _ in context]
        self._make_operators(outgoing, incoming, queued, steps, locked, lazy, copies)
        self._make_ports(incoming, queued, context, model)
        self._make_own_state(order, outgoing, incoming, queued, paths, limit)
        self._make_workers(order, outgoing, queued, lazy, model)

    cdef char* block(self, size_t size) except NULL:
        """Zeroed memory that lives as long as the plan."""
        cdef char* memory = reserve_memory(max(size, 1))
        if memory == NULL:
            raise RunFailed(f"the system refuses {size} bytes of memory")
        self.blocks.append((<size_t> memory, max(size, 1)))
        return memory

    def _number_queues(self, queued):
        self.queue_of_port = []
        for has_queue in queued:
            self.queue_of_port.append(self.run.port_count if has_queue else None)
            self.run.port_count += has_queue

    def _size_queues(self, model):
        """Choose the capacity and reserve the memory of all queues."""
        cdef size_t stride = self.run.stride
        if self.run.port_count == 0:
            return
        capacity = model.queue_capacity
        if capacity is None:
            capacity = min(DEFAULT_QUEUE_CAPACITY, max(2, QUEUE_MEMORY // (self.run.port_count * stride)))
            while capacity > 2 and slots_for(capacity) * stride * self.run.port_count > QUEUE_MEMORY:
                capacity = slots_for(capacity) // 2
        self.run.capacity = capacity
        self.memory_bytes = slots_for(capacity) * stride * self.run.port_count
        available = _available_bytes()
        if self.memory_bytes > available:
            raise UserError(
                f"queue_capacity {capacity} needs {self.memory_bytes / 2**20:,.0f} MiB for {self.run.port_count} queues of "
                f"{stride}-byte slots; at most {available / 2**20:,.0f} MiB of memory are available"
            )
        self.memory = reserve_memory(self.memory_bytes)
        if self.memory == NULL:
            raise RunFailed(f"the system refuses {self.memory_bytes} bytes for {self.run.port_count} queues of {capacity} tuples")

    def _make_operators(self, outgoing, incoming, queued, steps, locked, lazy, copies):
        cdef uint32_t route = 0, target = 0, i, port
        cdef Operator* op
        self.run.operator_count = <uint32_t> len(self.operators)
        self.run.operators = make_array[Operator](self.run.operator_count)
        self.run.open_operators.store(self.run.operator_count, memory_order_relaxed)
        self.run.ports = make_array[Port](self.run.port_count)
        self.routes = make_array[Route](sum(operator.outputs for operator in self.operators))
        self.targets = make_array[Target](len(self.streams))
        for i, operator in enumerate(self.operators):
            op = &self.run.operators[i]
            op.kernel = kernel_for(operator.kind, operator.outputs)
            op.factor = 1.0
            op.lock = new mutex() if locked[i] else NULL
            op.cost = operator.cost
            op.outputs = operator.outputs
            op.index = i
            op.open_streams = <uint32_t> len(incoming[i])
            op.copies = copies[operator.name] or 0
            op.routes = &self.routes[route]
            for port in range(op.outputs):
                op.routes[port].targets = &self.targets[target]
                op.routes[port].count = <uint32_t> len(outgoing[i][port])
                called = 0
                for stream in outgoing[i][port]:
                    self.targets[target].op = &self.run.operators[<uint32_t> stream[2]]
                    self.targets[target].path_step = steps[stream]
                    self.targets[target].lazy_wake = lazy[i]
                    if queued[stream[3]]:
                        self.targets[target].port = &self.run.ports[<uint32_t> self.queue_of_port[stream[3]]]
                    else:
                        called += 1
                    target += 1
                if called > 1:
                    op.routes[port].scratch = self.block(MAX_BATCH * self.run.stride)
            route += op.outputs
            if op.outputs == 1 and op.routes[0].count == 1 and op.routes[0].targets[0].port == NULL:
                op.next = op.routes[0].targets[0].op
                op.next_path_step = op.routes[0].targets[0].path_step

    def _make_ports(self, incoming, queued, context, model):
        cdef Port* port
        cdef size_t bytes_each
        cdef uint32_t queue, operator_index
        if self.run.port_count == 0:
            return
        bytes_each = self.memory_bytes // self.run.port_count
        feeding = {}
        for streams in incoming:
            for stream in streams:
                feeding.setdefault(stream[3], []).append(stream[0])
        number = {operator.name: index for index, operator in enumerate(self.operators)}
        for index, port_id in enumerate(self.input_ports):
            if not queued[index]:
                continue
            queue = self.queue_of_port[index]
            port = &self.run.ports[queue]
            port.ring.init(self.memory + queue * bytes_each, self.run.capacity, self.run.stride)
            operator_index = number[port_id.operator]
            port.op = &self.run.operators[operator_index]
            port.index = queue
            port.batch = _batch(port.op.cost, self.run.stride)
            port.open_streams = <uint32_t> len(feeding[index])
            producers = {context[upstream] for upstream in feeding[index]}
            port.shared = len(producers) > 1
            if isinstance(model, Dedicated):
                port.arrivals = new Parking()
                port.room = new Parking()
                slowest = max(self.operators[upstream].cost for upstream in feeding[index])
                port.wake_at = <uint32_t> max(1, min(self.run.capacity // 4, WAKE_FLOP // max(slowest, 1)))

    def _make_own_state(self, order, outgoing, incoming, queued, paths, limit):
        """The state of sources, sinks, merges and Python operators."""
        cdef SourceState* source
        cdef SinkState* sink
        cdef MergeState* merge
        cdef Operator* op
        cdef uint32_t i
        cdef PythonCall call
        self.run.final_punctuation = <Tuple*> self.block(self.run.stride)
        self.run.final_punctuation.kind = FINAL
        changed = [False] * len(self.operators)  # behind some operators values may differ from what the source gave
        for i in order:
            changed[i] = not self.operators[i].preserves or any(changed[stream[0]] for stream in incoming[i])
        for i in range(self.run.operator_count):
            op = &self.run.operators[i]
            kind = self.operators[i].kind
            if kind == "source":
                source = make_array[SourceState](1)
                source.limit = <uint64_t> -1 if limit is None else limit
                region = _called_cost(self, i, outgoing, queued)
                source.batch = _batch(region, self.run.stride)
                source.buffer = <Tuple*> self.block(source.batch * self.run.stride)
                op.own = source
            elif kind == "sink":
                sink = make_array[SinkState](1)
                sink.check_value = not changed[i]
                sink.paths = paths[i] or 0
                if sink.paths > 0:
                    sink.next_of_path = make_array[uint64_t](sink.paths)
                op.own = sink
            elif kind == "merge":
                merge = make_array[MergeState](1)
                slots = slots_for(_ahead_of(self, i, incoming, queued))
                merge.mask = slots - 1
                merge.slots = self.block(slots * self.run.stride)
                merge.present = <uint8_t*> self.block(slots)
                op.own = merge
            elif kind == "python":
                call = PythonCall(self.operators[i].name, self.operators[i].function)
                self.owners.append(call)
                op.own = <void*> call

    def _make_workers(self, order, outgoing, queued, lazy, model):
        """One thread for each source, and what the model adds."""
        cdef Worker* worker
        cdef uint32_t next_worker = 0, i, owed = 0
        cdef Run* run = self.run
        sources = [index for index, operator in enumerate(self.operators) if operator.kind == "source"]
        pool = model.threads if isinstance(model, Dynamic) else 0
        if isinstance(model, Dedicated):
            pool = run.port_count
            run.wait_for_space = dedicated.wait_for_room
            run.published = dedicated.tuples_published
            run.flush = dedicated.wake_owed
            self.owed = make_array[TargetPointer](len(self.streams) + 1)
        elif isinstance(model, Dynamic):
            run.wait_for_space = dynamic.reschedule
            run.published = dynamic.tuples_published
            run.free_ports = new FreeList(run.port_count)
            for i in range(run.port_count):
                run.free_ports.push(i)
        run.worker_count = <uint32_t> (len(sources) + pool)
        run.workers = make_array[Worker](run.worker_count)
        calls, longest = depths_of(order, outgoing, queued)
        base = PYTHON_STACK_BYTES if self.owners else STACK_BYTES
        nested = max(longest) if isinstance(model, Dynamic) else 0
        for index in sources:
            worker = &run.workers[next_worker]
            worker.op = &run.operators[<uint32_t> index]
            self.worker_names.append(f"source {self.operators[index].name}")
            self.worker_stacks.append(base + FRAME_BYTES * max(calls[index], nested))
            owed = self._lend_owed(worker, index, outgoing, queued, lazy, owed)
            next_worker += 1
        for i in range(pool):
            worker = &run.workers[next_worker]
            if isinstance(model, Dedicated):
                worker.port = &run.ports[i]
                operator_index = worker.port.op.index
                self.worker_names.append(f"port thread of {self.operators[operator_index].name}")
                self.worker_stacks.append(base + FRAME_BYTES * calls[operator_index])
                owed = self._lend_owed(worker, operator_index, outgoing, queued, lazy, owed)
            else:
                self.worker_names.append(f"scheduler thread {i}")
                self.worker_stacks.append(base + FRAME_BYTES * nested)
            next_worker += 1
        for i in range(run.worker_count):
            run.workers[i].run = run

    cdef uint32_t _lend_owed(self, Worker* worker, index, outgoing, queued, lazy, uint32_t begin) except? 0:
        """Room for the targets that a thread may have to wake: those of the operators that it alone executes."""
        if self.owed == NULL:
            return begin
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

    def __dealloc__(self):
        cdef uint32_t i
        cdef Operator* op
        if self.run.operators != NULL:
            for i in range(self.run.operator_count):
                op = &self.run.operators[i]
                if op.lock != NULL:
                    del op.lock
                kind = self.operators[i].kind
                if op.own == NULL:
                    continue
                if kind == "source":
                    delete_array[SourceState](<SourceState*> op.own)
                elif kind == "sink":
                    delete_array[uint64_t]((<SinkState*> op.own).next_of_path)
                    delete_array[SinkState](<SinkState*> op.own)
                elif kind == "merge":
                    delete_array[MergeState](<MergeState*> op.own)
            delete_array[Operator](self.run.operators)
        if self.run.ports != NULL:
            for i in range(self.run.port_count):
                if self.run.ports[i].arrivals != NULL:
                    del self.run.ports[i].arrivals
                    del self.run.ports[i].room
            delete_array[Port](self.run.ports)
        delete_array[Worker](self.run.workers)
        delete_array[Route](self.routes)
        delete_array[Target](self.targets)
        delete_array[TargetPointer](self.owed)
        if self.run.free_ports != NULL:
            del self.run.free_ports
        give_back_memory(self.memory, self.memory_bytes)
        for address, size in self.blocks or ():
            give_back_memory(<char*> <size_t> address, size)
        delete_array[Run](self.run)


def _batch(cost, stride):
    """Tuples handed over at once for an operator of `cost` FLOP and slots of `stride` bytes."""
    return max(1, min(MAX_BATCH, BATCH_FLOP // max(cost, 1), BATCH_BYTES // stride))


def _called_cost(Plan plan, index, outgoing, queued):
    """FLOP of everything that a source's thread executes by calls for one tuple, at most."""
    total, frontier, seen = 0, [index], {index}
    while frontier:
        for streams in outgoing[frontier.pop()]:
            for stream in streams:
                if not queued[stream[3]] and stream[2] not in seen:
                    seen.add(stream[2])
                    frontier.append(stream[2])
                    total += plan.operators[stream[2]].cost
    return total


def _ahead_of(Plan plan, index, incoming, queued):
    """How many tuples a merge may have to hold: as many as fit in the queues between it and its split, and in a batch on the way."""
    queues, frontier, seen = set(), [index], {index}
    while frontier:
        for stream in incoming[frontier.pop()]:
            if queued[stream[3]]:
                queues.add(stream[3])
            if stream[0] not in seen and plan.operators[stream[0]].kind != "split":
                seen.add(stream[0])
                frontier.append(stream[0])
    return len(queues) * plan.run.capacity + MAX_BATCH * (len(queues) + 1)


def _available_bytes():
    """Memory that could be taken now without swapping."""
    import psutil

    return psutil.virtual_memory().available
