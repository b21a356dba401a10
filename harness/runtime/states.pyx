"""States that operators keep between tuples, by kind: made from the graph's operators and freed
with the plan.
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libcpp.atomic cimport memory_order_relaxed

from harness.runtime.native cimport (
    CACHE_LINE,
    BalanceState,
    BarrierColumn,
    BarrierInput,
    BarrierState,
    BurstState,
    Incoming,
    KEY_BYTES,
    KEY_DOUBLE,
    KEY_FLOAT,
    KEY_TEXT,
    KeyAttribute,
    LoopFunction,
    LoopInput,
    LoopOutput,
    LoopState,
    MergeState,
    NativeFunction,
    NativeState,
    Operator,
    Outgoing,
    PredicateFunction,
    ProcessFunction,
    PythonState,
    Sieve,
    SinkState,
    SourceState,
    SplitState,
    StepFunction,
    Tuple,
    TypedState,
    delete_array,
    give_back_memory,
    make_array,
    pass_accepted,
    port_seed,
    reserve_memory,
    rewind,
)
from harness.runtime.derived cimport (
    chosen_of,
    fill_bursts,
    fill_merge,
    fill_sink,
    fill_source,
)
from harness.runtime.path cimport connect_loop, connect_typed
from harness.runtime.protocol cimport most_at_once
from harness.runtime.python_loops cimport call_of
from harness.runtime.users cimport PythonCall, TypedCall, connect_python, connect_typed_python

from harness.errors import RunFailed
from harness.graph.kinds import FILTER, LOOP, SOURCE
from harness.graph.typed import columns_of
from harness.models.layout import incoming_of


cdef enum:
    # least bytes requested from the system; pages that are not touched take no memory
    REGION = 1 << 20


cdef char* block_of(void* states, size_t bytes) except NULL:
    return (<States> states).block(bytes)


@cython.no_gc_clear
cdef class States:
    """The states of a run's operators; slots are `stride` bytes."""

    def __cinit__(self, size_t stride):
        self.stride = stride
        self.regions = []
        self.made = []
        self.calls = []
        self.natives = []

    cdef char* block(self, size_t size) except NULL:
        """Zeroed memory in cache lines of its own, that lives as long as this.

        One block lies behind the other. Each at the beginning of a page would be in the few sets of
        a cache that hold beginnings of pages.
        """
        cdef size_t lines = (max(size, 1) + CACHE_LINE - 1) // CACHE_LINE * CACHE_LINE
        cdef size_t region
        cdef char* memory
        if lines > self.left:
            region = max(lines, <size_t> REGION)
            memory = reserve_memory(region)
            if memory == NULL:
                raise RunFailed(f"the system refuses {region} bytes of memory")
            self.regions.append((<size_t> memory, region))
            self.free, self.left = memory, region
        memory = self.free
        self.free += lines
        self.left -= lines
        return memory

    cdef int give(
        self, Operator* op, object operator, object limit, object paths, bint changed, size_t slots,
        size_t marks
    ) except -1:
        """Make the state of `operator`, a harness.graph.Operator.

        `limit`: tuples that a source sends, or None. `paths`: of a sink, how many lead there, or
        None: order is not checked. `changed`: an operator upstream may have changed values.
        `slots`, `marks`: of a merge, how many tuples, a power of two, and punctuations may reach it
        before the tuple that is next.
        """
        kind = operator.kind.name
        op.chosen = chosen_of(operator, op.index, block_of, <void*> self)
        if kind == "source":
            op.own = self._source(operator, limit)
        elif kind in ("sink", "control", "loop"):
            op.own = self._sink(paths, changed)
        elif kind == "merge":
            op.own = self._merge(slots, marks)
        elif kind == "split":
            op.own = self._split(operator.keys)
        elif operator.kind.balances:
            op.own = self._balance(operator)
            kind = "balance"
        elif kind == "work" and operator.costs:
            op.own = self._bursts(operator)
        elif kind == "native":
            op.own = self._native(operator)
        elif kind == "python":
            call = PythonCall(operator.name, operator.function, op.control != NULL)
            self.calls.append(call)
            op.own = self.block(sizeof(PythonState))
            connect_python(<PythonState*> op.own, call)
        if op.own != NULL and kind != "python":
            self.made.append((kind, <size_t> op.own))
        return 0

    cdef void* _source(self, operator, limit) except NULL:
        cdef SourceState* state = make_array[SourceState](1)
        fill_source(state, operator, limit, self.stride, self.stride, 1, block_of, <void*> self)
        return state

    cdef void* _sink(self, paths, bint changed) except NULL:
        cdef SinkState* state = make_array[SinkState](1)
        state.check_value = not changed
        fill_sink(state, paths or 0, block_of, <void*> self)
        return state

    cdef void* _merge(self, size_t slots, size_t marks) except NULL:
        cdef MergeState* state = make_array[MergeState](1)
        fill_merge(state, slots, marks, self.stride, block_of, <void*> self)
        return state

    cdef BarrierState* barrier(self, Operator* op, place, strides, bint changed) except NULL:
        """Make the state of a barrier. `place`: its harness.models.layout.BarrierPlace; `strides`:
        bytes that it keeps of a tuple, by input; `changed` as in give().
        """
        cdef BarrierState* state = <BarrierState*> self.block(sizeof(BarrierState))
        cdef BarrierInput* input_
        cdef size_t stride
        state.check_value = not changed
        state.count = <uint32_t> len(place.paths)
        state.inputs = make_array[BarrierInput](state.count)
        self.made.append(("barrier", <size_t> state.inputs))
        for i, paths in enumerate(place.paths):
            input_ = &state.inputs[<uint32_t> i]
            stride = strides[i]
            input_.ring.init(self.block(place.room * stride), place.room, stride)
            input_.paths = paths or 0
            if input_.paths > 0:
                input_.next_of_path = <uint64_t*> self.block(input_.paths * sizeof(uint64_t))
        op.own = state
        return state

    cdef int columns(self, BarrierState* state, typed) except -1:
        """Tell a barrier where the attributes of the tuples that it sends come from."""
        cdef BarrierColumn* columns
        cdef uint32_t i
        found = columns_of(typed)
        columns = <BarrierColumn*> self.block(len(found) * sizeof(BarrierColumn))
        for i, column in enumerate(found):
            columns[i].input, columns[i].from_, columns[i].to, columns[i].bytes = column
        state.columns = columns
        state.column_count = <uint32_t> len(found)
        return 0

    cdef void* _split(self, uint64_t keys) except NULL:
        cdef SplitState* state = make_array[SplitState](1)
        state.keys = keys
        return state

    cdef int by(self, TypedState* state, schema, names) except -1:
        """Tell a typed operator, or a split, the attributes of its key."""
        cdef KeyAttribute* by = <KeyAttribute*> self.block(len(names) * sizeof(KeyAttribute))
        for i, name in enumerate(names):
            attribute = schema[name]
            by[<uint32_t> i].offset, by[<uint32_t> i].bytes = attribute.offset, attribute.bound
            by[<uint32_t> i].kind = (
                KEY_TEXT if attribute.kind == "string"
                else KEY_FLOAT if attribute.kind == "float32"
                else KEY_DOUBLE if attribute.kind == "float64"
                else KEY_BYTES
            )
        state.by = by
        state.key_count = <uint32_t> len(names)
        return 0

    cdef void* _balance(self, operator) except NULL:
        cdef BalanceState* state = make_array[BalanceState](1)
        state.active.store(operator.initial_active_ports, memory_order_relaxed)
        state.ways = <uint32_t*> self.block(operator.outputs * sizeof(uint32_t))
        return state

    cdef void* _bursts(self, operator) except NULL:
        cdef BurstState* state = make_array[BurstState](1)
        fill_bursts(state, operator, block_of, <void*> self)
        return state

    cdef void* _native(self, operator) except NULL:
        cdef NativeState* state = make_array[NativeState](1)
        self.natives.append(operator.native)
        state.function = <NativeFunction> <size_t> operator.native.address
        state.state = <void*> <size_t> (operator.native.state or 0)
        return state

    def __dealloc__(self):
        for kind, address in self.made or ():
            if kind == "source":
                delete_array[SourceState](<SourceState*> <size_t> address)
            elif kind in ("sink", "control", "loop"):
                delete_array[SinkState](<SinkState*> <size_t> address)
            elif kind == "merge":
                delete_array[MergeState](<MergeState*> <size_t> address)
            elif kind == "barrier":
                delete_array[BarrierInput](<BarrierInput*> <size_t> address)
            elif kind == "split":
                delete_array[SplitState](<SplitState*> <size_t> address)
            elif kind == "balance":
                delete_array[BalanceState](<BalanceState*> <size_t> address)
            elif kind == "work":
                delete_array[BurstState](<BurstState*> <size_t> address)
            elif kind == "typed state":
                delete_array[TypedState](<TypedState*> <size_t> address)
            elif kind == "loop state":
                delete_array[LoopState](<LoopState*> <size_t> address)
            elif kind == "native":
                delete_array[NativeState](<NativeState*> <size_t> address)
        for address, size in self.regions or ():
            give_back_memory(<char*> <size_t> address, size)


# -- typed operators and loops ---------------------------------------------------------------------


cdef int make_typed(States states, Operator* op, object operator, object layout) except -1:
    """Make the state of a typed operator, once it has that of its kind."""
    cdef TypedState* state = make_array[TypedState](1)
    cdef uint32_t i, source, output
    cdef Outgoing* out
    cdef Sieve* sieve
    op.typed = state
    states.made.append(("typed state", <size_t> state))
    state.op = op
    given = operator.typed
    if operator.kind is SOURCE:
        state.source = <SourceState*> op.own
    elif operator.is_sink:
        state.latency = &(<SinkState*> op.own).latency
    if given.function is None or operator.kind is LOOP:
        pass  # make_loop() gives it its function; a barrier, a split and a merge have none
    elif operator.kind is FILTER and given.compiled:
        sieve = <Sieve*> states.block(sizeof(Sieve))
        sieve.accepts = <PredicateFunction> <size_t> given.function.address
        sieve.state = <void*> <size_t> given.function.state
        sieve.bytes = given.takes[0].size
        state.process, state.state = pass_accepted, sieve
        states.natives.append(given)
    elif given.compiled:
        if operator.kind is SOURCE:
            state.step = <StepFunction> <size_t> given.function.address
        else:
            state.process = <ProcessFunction> <size_t> given.function.address
        if given.finish is not None:
            state.finish = <StepFunction> <size_t> given.finish.address
        state.state = <void*> <size_t> given.function.state
        states.natives.append(given)
    else:
        called = TypedCall(operator)
        states.calls.append(called)
        connect_typed_python(state, called)
    if given.by:
        states.by(state, given.takes[0], given.by)
    ways = incoming_of(layout, op.index)
    state.incoming = <Incoming*> states.block(len(ways) * sizeof(Incoming))
    for i, (source, output, port) in enumerate(ways):
        state.incoming[i].seed = port_seed(source, output)
        state.incoming[i].stride = layout.strides[source][output]
        state.incoming[i].port = port
    state.outputs = op.outputs
    state.outgoing = <Outgoing*> states.block(op.outputs * sizeof(Outgoing))
    state.context.room = <char**> states.block(op.outputs * sizeof(char*))
    connect_typed(op)
    for i in range(op.outputs):
        out = &state.outgoing[i]
        out.stride = layout.strides[op.index][i]
        out.most = min(most_at_once(out.stride), layout.room_behind[op.index][i])
        out.seed = port_seed(op.index, i)
        out.slots = <Tuple*> states.block(out.most * out.stride)
        rewind(state, i)
    return 0


cdef int make_loop(
    States states, Operator* op, object operator, object layout, object limit
) except -1:
    """Make the state of a loop operator, once it has that of a sink, and of a typed operator if it
    is one. `limit`: tuples that it sends if it is a source, or None.
    """
    cdef LoopState* state = make_array[LoopState](1)
    cdef LoopOutput* out
    cdef uint32_t i
    op.loop = state
    states.made.append(("loop state", <size_t> state))
    state.op = op
    if operator.native is not None:
        state.run = <LoopFunction> <size_t> operator.native.address
        state.state = <void*> <size_t> operator.native.state
        states.natives.append(operator.native)
    else:
        states.calls.append(call_of(operator, state))
    state.context.inputs, state.context.outputs = operator.inputs, operator.outputs
    state.source = operator.is_source
    state.limit = <uint64_t> -1 if limit is None else limit
    if op.typed == NULL:
        state.context.payload_bytes = layout.payload
    connect_loop(state)
    state.counts = <uint32_t*> states.block(operator.inputs * sizeof(uint32_t))
    state.inputs = <LoopInput*> states.block(operator.inputs * sizeof(LoopInput))
    state.outputs = <LoopOutput*> states.block(operator.outputs * sizeof(LoopOutput))
    for i in range(op.outputs):
        out = &state.outputs[i]
        if op.typed != NULL:
            out.most = op.typed.outgoing[i].most
            continue
        out.most = min(most_at_once(layout.stride), layout.room_behind[op.index][i])
        out.slots = <Tuple*> states.block(out.most * layout.stride)
        copies = [layout.copies[layout.ways[way].target] for way in layout.outgoing[op.index][i]]
        out.copies = 0 if None in copies else sum(copies)
    return 0


cdef int make_for_replicas(
    States states, Operator* op, Operator* first, object operator, object layout
) except -1:
    """Make the state of a replica of a typed operator or a loop, whose own state is there. `op` may
    be `first`, the operator itself.
    """
    if first.typed != NULL:
        if op != first:
            make_typed(states, op, operator, layout)
        op.typed.first = first.typed
        if first.loop == NULL:
            connect_typed(op)
    if first.loop != NULL:
        if op != first:
            make_loop(states, op, operator, layout, None)
        op.loop.first = first.loop
        op.loop.inputs[0].port = first.loop.inputs[0].port
        op.loop.inputs[0].by_tickets = True
    return 0
