# build.pxi - makes a simulation of a layout: operators, ports and workers in virtual time; part
# of engine.pyx. Both engines execute one layout (harness/models/layout.py); its proofs and choices
# are used as they are.
#
# Locks and queues of threads get futexes by chance, in the order in which they are made: a seed's
# results depend on that order.

from dataclasses import replace

from libc.stdint cimport uint32_t

from harness.runtime.derived cimport (
    chosen_of,
    contexts_of,
    fill_bursts,
    fill_merge,
    fill_sink,
    fill_source,
    sizes_of,
)
from harness.runtime.native cimport BurstState, MergeState, SinkState, Tuple
from harness.runtime.protocol cimport CALLED, MAX_BATCH, POLICY_TABLE, QUEUED
from harness.simulator.native cimport (
    BALANCE,
    BARRIER,
    BUFFER,
    BURSTS,
    CONTROL,
    FILTER,
    MERGE,
    PRINTED,
    RESUMED,
    SCHEDULED,
    SINK,
    SOURCE,
    SPLIT,
    THREADED,
    TYPED,
    WORK,
    BalanceState,
    BarrierState,
    Mutex,
    Operator,
    OperatorKind,
    Port,
    Profile,
    Simulation,
    SplitState,
    Target,
    give_kernel,
)

from harness.graph import kinds
from harness.graph.kinds import LOOP
from harness.models import Queue
from harness.models.layout import slots_of
from harness.runtime.protocol import POLICIES

FRAME_BYTES = 6 * 1024
"""Stack for one level of nesting; tests/simulator/test_stacks.py fails if it is too little."""

KINDS = {
    "source": SOURCE, "work": WORK, "filter": FILTER, "split": SPLIT, "merge": MERGE,
    "buffer": BUFFER, "sink": SINK,
}
# `bursts`: work whose cost changes
KINDS |= {"bursts": BURSTS, "control": CONTROL, "barrier": BARRIER, "typed": TYPED}
KINDS |= {"threaded_split": BALANCE, "elastic_load_balance": BALANCE}


def _as_profiled(layout):
    """Return the layout with kinds that do what a profile shows in place of loops, and of filters
    with functions: a loop without inputs is a source, and one without outputs a sink.
    """
    operators = []
    for operator in layout.operators:
        if operator.kind is LOOP or (operator.kind is kinds.FILTER and operator.typed is not None):
            kind = (
                kinds.SOURCE if not operator.inputs
                else kinds.TYPED if operator.outputs
                else kinds.SINK
            )
            operator = replace(operator, kind=kind)
        operators.append(operator)
    return replace(layout, operators=tuple(operators))


cdef void build(
    Simulation* core, object layout, object limit, object profiled, bint interpreter_lock
) except *:
    """Make all that runs. `limit` bounds the tuples of each source (None: no bound); `profiled`: a
    harness.engine.profiled.Profiled that is as fast as the machine, where streams are typed;
    `interpreter_lock`: whether functions in Python take turns.
    """
    cdef uint32_t i
    cdef Mutex* interpreter
    layout = _as_profiled(layout)
    core.slot_bytes = layout.stride if profiled is None else profiled.stride(layout.strides)
    core.payload_bytes = layout.payload
    core.own_threads = layout.first_scheduler
    if layout.policy:
        core.quantum_ns = layout.quantum_ns
        core.policy = &POLICY_TABLE[<size_t> list(POLICIES).index(layout.policy.name)]
    elif layout.pool_threads > 0:
        core.pool = &PRINTED if core.software.printed else &SCHEDULED
        core.add_ready()
    # a scheduler thread, or a source's, may drain any scheduled port downstream of where it is
    core.system.nest(
        <size_t> FRAME_BYTES * max(layout.longest if core.pool != NULL else layout.calls)
    )
    _make_operators(core, layout)
    _make_states(core, layout, limit)
    if profiled is not None:
        _make_typed(core, layout, profiled)
    _make_ports(core, layout)
    for i in range(len(layout.operators)):
        give_kernel(core.operators[i])
    _make_workers(core, layout)
    core.contexts = contexts_of(layout)
    for i in range(<uint32_t> core.ports.size()):
        core.ports[i].sole = core.contexts == NULL or core.contexts.sole(i)
    core.sizes = sizes_of(layout)
    core.size_batches()
    if interpreter_lock and any([operator.in_python for operator in layout.operators]):
        interpreter = core.make_mutex()
        for i, operator in enumerate(layout.operators):
            if operator.in_python:
                core.operators[i].interpreter = interpreter


cdef void _make_operators(Simulation* core, object layout) except *:
    cdef uint32_t i, output
    cdef Operator* op
    cdef Target target
    for i in layout.coroutines:
        core.operators[i].resumed = True
        core.operators[i].most_replicas = layout.replicas.get(i, 1)
    for i, operator in enumerate(layout.operators):
        op = &core.operators[i]
        op.kind = <OperatorKind> <uint32_t> KINDS[
            "bursts" if operator.costs else operator.kind.name
        ]
        op.index = i
        op.cost = layout.flop[i]
        op.copies = layout.copies[i] or 0
        op.open_streams = <uint32_t> len(layout.incoming[i])
        if layout.locked[i]:
            op.lock = core.make_mutex()
        op.outputs = operator.outputs
        op.routes.resize(operator.outputs)
        for output in range(op.routes.size()):
            ways = layout.outgoing[i][output]
            if len(ways) > 1:
                op.routes[output].scratch = core.block(MAX_BATCH * sizeof(Tuple))
            for way in [layout.ways[index] for index in ways]:
                target.op = &core.operators[<uint32_t> way.target]
                target.port = NULL
                if way.queue is not None:
                    target.port = &core.ports[<uint32_t> way.queue]
                target.path_step = way.path_step
                target.input = <uint32_t> layout.input_ports[way.port].port
                target.lazy_wake = way.lazy
                op.routes[output].targets.push_back(target)
                op.routes[output].count += 1


cdef void _make_states(Simulation* core, object layout, object limit) except *:
    """Make the state of each operator, by its kind."""
    cdef uint32_t i
    cdef Operator* op
    cdef SplitState* split
    cdef BarrierState* barrier
    regions = {region.merge: region for region in layout.regions}
    for i, operator in enumerate(layout.operators):
        op = &core.operators[i]
        op.keys = operator.keys
        op.chosen = chosen_of(operator, i, block_of, core)
        if op.kind == SOURCE:
            core.sources.emplace_back()
            op.own = &core.sources.back()
            # a source goes by a clock of picoseconds, and tuples are headers
            fill_source(
                &core.sources.back(), operator, limit, core.slot_bytes, sizeof(Tuple), 1000,
                block_of, core,
            )
        elif op.kind == BURSTS:
            op.own = core.block(sizeof(BurstState))
            fill_bursts(<BurstState*> op.own, operator, block_of, core)
        elif op.kind == SPLIT:
            core.splits.emplace_back()
            core.splits.back().keys = operator.keys
            op.own = &core.splits.back()
        elif op.kind == MERGE:
            slots = slots_of(regions[i])
            core.merges.emplace_back()
            op.own = &core.merges.back()
            fill_merge(
                &core.merges.back(), slots, regions[i].marks, sizeof(Tuple), block_of, core
            )
            core.ring_bytes += slots * core.slot_bytes
        elif op.kind == BALANCE:
            core.balances.emplace_back()
            core.balances.back().active = operator.initial_active_ports
            core.balances.back().ways.resize(operator.outputs)
            core.system.make_queue(core.balances.back().room.queue)
            op.own = &core.balances.back()
        elif op.kind in (SINK, CONTROL):
            core.sinks.emplace_back()
            core.sinks.back().check_value = False  # simulated tuples have no value
            op.own = &core.sinks.back()
            fill_sink(&core.sinks.back(), layout.paths[i] or 0, block_of, core)
    for region in layout.regions:
        op = &core.operators[<uint32_t> region.split]
        split = <SplitState*> op.own
        split.behind = &core.operators[<uint32_t> region.merge]
        split.merge = <MergeState*> split.behind.own
        split.ahead = region.ahead
        for queue in region.queues:
            split.ports_.push_back(&core.ports[<uint32_t> queue])
        split.ports, split.port_count = split.ports_.data(), <uint32_t> split.ports_.size()
    for place in layout.barriers:
        core.barriers.emplace_back()
        barrier = &core.barriers.back()
        core.operators[<uint32_t> place.operator].own = barrier
        barrier.count = <uint32_t> len(place.paths)
        barrier.inputs_.resize(barrier.count)
        barrier.inputs = barrier.inputs_.data()
        for i, paths in enumerate(place.paths):
            barrier.inputs[i].ring.resize(place.room)
            if layout.graph.typed_graph:  # each stream into the operator is a path of its own
                paths = len(layout.incoming[place.operator])
            barrier.inputs[i].paths = paths or 0
            barrier.inputs[i].next_of_path.assign(barrier.inputs[i].paths, 0)
        for way in layout.incoming[place.operator]:
            i = layout.input_ports[layout.ways[way].port].port
            barrier.inputs[i].open_streams += 1
        core.ring_bytes += place.room * core.slot_bytes


cdef char* block_of(void* core, size_t bytes) except NULL:
    return (<Simulation*> core).block(bytes)


cdef void _make_typed(Simulation* core, object layout, object profiled) except *:
    """Set what a profile has shown of operators. Tuples are numbered by output port; each stream is
    a path of its own.
    """
    cdef uint32_t i
    cdef Operator* op
    cdef SinkState* sink
    cdef Profile* profile
    for i in range(len(layout.operators)):
        op = &core.operators[i]
        core.profiles.emplace_back()
        profile = &core.profiles.back()
        op.profile = profile
        profile.cost = round(profiled.cost_ns[i] * 1000)
        profile.numbers.assign(op.routes.size(), 0)
        profile.owed.assign(op.routes.size(), 0)
        operator = layout.operators[i]
        profile.one_for_one = op.kind == TYPED and operator.preserves
        for sends in _shares(operator, profiled.sends[i]):
            profile.sends.push_back(round(sends * 2**32))
        profile.paths = <uint32_t> len(layout.incoming[i])
        if op.kind in (TYPED, SPLIT):
            profile.next_of_path.assign(profile.paths, 0)
            profile.buffer.resize(MAX_BATCH)
            _match_inputs(profile, layout, i, profiled)
        elif op.kind in (SINK, CONTROL):
            sink = <SinkState*> op.own
            fill_sink(sink, profile.paths, block_of, core)


def _shares(operator, sends):
    """Return the tuples that an operator sends for one by each output port. One that passes on
    every tuple does so exactly: while it was counted, some were on their way.
    """
    if not operator.preserves:
        return sends
    total = sum(sends)
    return [each / total if total else 1.0 / len(sends) for each in sends]


cdef void _match_inputs(Profile* profile, object layout, uint32_t index, object profiled) except *:
    """Let a loop wait for tuples of all its groups of input ports, in the ratio of the profile."""
    cdef uint32_t place, port
    groups = _groups_of_inputs(layout, index, profiled)
    if len(groups) < 2 or any([came == 0 for _, _, came, _ in groups]):
        return
    total = sum([came for _, _, came, _ in groups])
    profile.group_of.resize(layout.operators[index].inputs)
    profile.groups.resize(len(groups))
    for place, (_, ports, came, streams) in enumerate(groups):
        profile.groups[place].share = came / total
        profile.groups[place].open_streams = streams
        for port in ports:
            profile.group_of[port] = place


def _groups_of_inputs(layout, index, profiled):
    """Return groups of a loop's input ports: operators upstream of each, its ports, the tuples that
    came by them, and their streams. Ports that one operator sends to, by any way, are one group:
    their ratio comes by itself. An operator that is no loop has none.
    """
    name = layout.operators[index].name
    if layout.graph.operators[name].kind is not LOOP:
        return []
    streams = {}
    for way in sorted([layout.ways[way] for way in layout.incoming[index]], key=_port_of):
        streams.setdefault(way.port, []).append(way)
    groups = []
    for port, ways in enumerate(streams.values()):
        upstream = _upstream(layout, [way.source for way in ways])
        came = sum([
            profiled.tuples[way.source] * profiled.sends[way.source][way.output] for way in ways
        ])
        ports, number = [port], len(ways)
        for other in [other for other in groups if other[0] & upstream]:
            groups.remove(other)
            upstream |= other[0]
            ports += other[1]
            came += other[2]
            number += other[3]
        groups.append((upstream, ports, came, number))
    return groups


def _port_of(way):
    return way.port


def _upstream(layout, sources):
    """Return these operators and all upstream of them."""
    found, frontier = set(sources), list(sources)
    while frontier:
        for way in layout.incoming[frontier.pop()]:
            source = layout.ways[way].source
            if source not in found:
                found.add(source)
                frontier.append(source)
    return found


cdef void _make_ports(Simulation* core, object layout) except *:
    cdef uint32_t i, output
    cdef Operator* op
    cdef Port* port
    for i, queue in enumerate(layout.queues):
        port = &core.ports[i]
        port.index = i
        port.input = <uint32_t> layout.input_ports[queue.port].port
        port.op = &core.operators[<uint32_t> queue.operator]
        port.ring.resize(queue.capacity)
        port.ring.port = port.producing.port = port.consuming.port = port
        port.shared = queue.shared
        if queue.kind is Queue.RESUMED:
            port.discipline = &RESUMED
        else:
            port.discipline = core.pool if queue.kind is Queue.SCHEDULED else &THREADED
        port.open_streams = queue.streams
        port.unended = queue.streams
        port.mode = QUEUED if queue.on else CALLED
        port.room = &port.own_room
        if queue.kind is Queue.THREADED:
            port.arrivals = &port.own_arrivals
        if queue.shared and queue.kind is Queue.SCHEDULED:
            port.call_lock = core.make_mutex()
        core.system.make_queue(port.own_arrivals.queue)
        core.system.make_queue(port.own_room.queue)
        core.ring_bytes += port.ring.capacity() * core.slot_bytes
    for i in layout.balancing:
        op = &core.operators[i]
        for output in range(op.routes.size()):
            port = op.routes[output].targets[0].port
            port.balance = op
            port.room = &(<BalanceState*> op.own).room
            port.freed = &(<BalanceState*> op.own).freed


cdef void _make_workers(Simulation* core, object layout) except *:
    """Make the workers in the runtime's order: threads of sources, then those of threaded ports,
    then the pool's.
    """
    cdef uint32_t i, index, worker = 0
    for index in layout.sources:
        core.workers[worker].op = &core.operators[index]
        worker += 1
    for index in layout.threaded:
        core.workers[worker].port = &core.ports[index]
        worker += 1
    for i in range(worker, <uint32_t> core.workers.size()):
        core.workers[i].pooled = True
