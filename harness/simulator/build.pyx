# build.pyx - makes a simulation of a layout: operators, ports and workers in virtual time. Both
# engines execute one layout (harness/models/layout.py); its proofs and choices are used as they
# are.
#
# Locks and queues of threads get futexes by chance, in the order in which they are made: a seed's
# results depend on that order.

from libc.stdint cimport uint32_t, uint64_t

from harness.runtime.derived cimport contexts_of, sizes_of
from harness.runtime.protocol cimport CALLED, MAX_BATCH, POLICY_TABLE, QUEUED, most_at_once
from harness.simulator.native cimport (
    BALANCE,
    BARRIER,
    BUFFER,
    BURSTS,
    CONTROL,
    FILTER,
    MERGE,
    RESUMED,
    SCHEDULED,
    SINK,
    SOURCE,
    SPLIT,
    THREADED,
    TYPED,
    WORK,
    Operator,
    OperatorKind,
    Pace,
    Port,
    Simulation,
    Target,
)

from harness.models import Queue
from harness.models.layout import chosen_by, ends_of, paces_of, slots_of
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


cdef void build(Simulation* core, object layout, object limit, object profiled) except *:
    """Make all that runs. `limit` bounds the tuples of each source (None: no bound); `profiled`: a
    harness.engine.profiled.Profiled that is as fast as the machine, where streams are typed.
    """
    cdef uint32_t i
    core.stride = layout.stride if profiled is None else profiled.stride(layout.strides)
    core.payload = layout.payload
    core.own_threads = layout.first_scheduler
    if layout.policy:
        core.quantum_ns = layout.quantum_ns
        core.policy = &POLICY_TABLE[<size_t> list(POLICIES).index(layout.policy.name)]
    elif layout.pool_threads > 0:
        core.pool = &SCHEDULED
    # a scheduler thread, or a source's, may drain any scheduled port downstream of where it is
    core.system.nest(
        <size_t> FRAME_BYTES * max(layout.longest if core.pool != NULL else layout.calls)
    )
    _make_operators(core, layout)
    _make_states(core, layout, limit)
    if profiled is not None:
        _make_typed(core, layout, profiled)
    _make_ports(core, layout)
    _make_workers(core, layout)
    core.contexts = contexts_of(layout)
    for i in range(<uint32_t> core.ports.size()):
        core.ports[i].sole = core.contexts == NULL or core.contexts.sole(i)
    core.sizes = sizes_of(layout)
    core.choose_sizes()


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
        op.routes.resize(operator.outputs)
        for output in range(op.routes.size()):
            ways = layout.outgoing[i][output]
            if len(ways) > 1:
                op.routes[output].scratch.resize(MAX_BATCH)
            for way in [layout.ways[index] for index in ways]:
                target.op = &core.operators[<uint32_t> way.target]
                target.port = NULL
                if way.queue is not None:
                    target.port = &core.ports[<uint32_t> way.queue]
                target.path_step = way.path_step
                target.input = <uint32_t> layout.input_ports[way.port].port
                target.lazy_wake = way.lazy
                op.routes[output].targets.push_back(target)


cdef void _make_states(Simulation* core, object layout, object limit) except *:
    """Make the state of each operator, by its kind."""
    cdef uint32_t i
    cdef Operator* op
    cdef Pace pace
    regions = {region.merge: region for region in layout.regions}
    for i, operator in enumerate(layout.operators):
        op = &core.operators[i]
        op.keys = operator.keys
        choice = chosen_by(operator, i)
        if choice is not None:
            op.all = False
            op.seed = choice[0]
            op.threshold = choice[1]
        if op.kind == SOURCE:
            op.limit = <uint64_t> -1 if limit is None else limit
            op.window = operator.window
            op.buffer.resize(most_at_once(core.stride))
            for length_ns, gap_ns in paces_of(operator):
                pace.length_ps = length_ns * 1000
                pace.gap_ps = gap_ns * 1000
                op.paces.push_back(pace)
        elif op.kind == BURSTS:
            for end, cost in ends_of(operator):
                op.ends.push_back(end)
                op.costs.push_back(cost)
        elif op.kind == MERGE:
            op.slots.resize(slots_of(regions[i]))
            op.present.assign(op.slots.size(), 0)
            core.ring_bytes += op.slots.size() * core.stride
        elif op.kind == BALANCE:
            op.active = operator.initial_active_ports
            core.system.make_queue(op.room)
        elif op.kind in (SINK, CONTROL):
            op.next_of_path.assign(<size_t> (layout.paths[i] or 0), 0)
            core.add_histogram(op[0])
    for region in layout.regions:
        op = &core.operators[<uint32_t> region.split]
        op.merge = &core.operators[<uint32_t> region.merge]
        op.ahead = region.ahead
        for queue in region.queues:
            op.between.push_back(&core.ports[<uint32_t> queue])
    for place in layout.barriers:
        op = &core.operators[<uint32_t> place.operator]
        op.room_of_input = place.room
        op.inputs.resize(len(place.paths))
        for i, paths in enumerate(place.paths):
            op.inputs[i].next_of_path.assign(<size_t> (paths or 0), 0)
        for way in layout.incoming[place.operator]:
            i = layout.input_ports[layout.ways[way].port].port
            op.inputs[i].open_streams += 1
        core.ring_bytes += place.room * core.stride


cdef void _make_typed(Simulation* core, object layout, object profiled) except *:
    """Set the costs and output rates of typed operators. Tuples are numbered by output port; each
    stream is a path of its own.
    """
    cdef uint32_t i
    cdef Operator* op
    for i in range(len(layout.operators)):
        op = &core.operators[i]
        op.profiled = round(profiled.cost_ns[i] * 1000)
        op.next_of_path.assign(len(layout.incoming[i]), 0)
        op.numbers.assign(op.routes.size(), 0)
        op.owed.assign(op.routes.size(), 0)
        for sends in profiled.sends[i]:
            op.sends.push_back(round(sends * 2**32))
        if op.kind == TYPED:
            op.buffer.resize(MAX_BATCH)


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
        port.shared = queue.shared
        if queue.kind is Queue.RESUMED:
            port.discipline = &RESUMED
        else:
            port.discipline = &SCHEDULED if queue.kind is Queue.SCHEDULED else &THREADED
        port.open_streams = queue.streams
        port.mode = QUEUED if queue.on else CALLED
        port.room = &port.own_room
        if queue.shared and queue.kind is Queue.SCHEDULED:
            port.call_lock = core.make_mutex()
        core.system.make_queue(port.arrivals)
        core.system.make_queue(port.own_room)
        core.ring_bytes += port.ring.capacity() * core.stride
    for i in layout.balancing:
        op = &core.operators[i]
        for output in range(op.routes.size()):
            port = op.routes[output].targets[0].port
            port.balance = op
            port.room = &op.room


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
