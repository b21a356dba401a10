"""Layout of a graph under a model: which ports have queues, which locks and flags can be left out,
which thread executes what.

A layout is immutable, and has no memory of queues and no thread. A run has one: its checks, its
engine, its laws and its record all read it. Both engines execute it: the runtime's plan makes its
memory (`plan.pyx`), the simulator gives it virtual queues and threads (`simulator/build.pxi`). The
proofs about a graph that it relies on are in `analysis.py`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from harness.errors import UserError
from harness.graph import Graph, Operator, PortId
from harness.graph.kinds import FILTER, LOOP, NATIVE, PYTHON
from harness.graph.parts import parts_of
from harness.graph.values import MAX_THREADS
from harness.models import (
    COPY_FLOP,
    QUEUE_MEMORY,
    Coroutine,
    Model,
    PoolSize,
    PortQueue,
    Queue,
    begins_queued,
    pool_of,
    port_queues,
    scheduled_capacity,
    threaded_capacity,
)
from harness.models.analysis import facts_of
from harness.models.policy import Policy
from harness.models.replicas import NO_COROUTINE, begins_with, most_replicas, why_single
from harness.runtime.protocol import MAX_BATCH, slot_stride

MERGE_AHEAD = 4096 - 8 * MAX_BATCH
"""Most tuples between a split and its merge, about, unless four batches for each queue between them
are more. The room of these queues is a bound, too."""

LEAST_BATCHES, MOST_BATCHES = 8, 64
"""Batches that a barrier holds of each input: the first number, and one more for each operator that
sends to several inputs and may have sent to one already (barrier.hpp); the second number at
most."""

MOST_PARTS = 64
"""Most parts of a graph that have latencies of their own: each has a histogram, of which every
sample has a copy (a choice; a sample with 64 of them took 1.3 ms longer on two slow CPUs)."""

SEED_MULTIPLIER = 0xD1B54A32D192ED03
"""An odd number whose multiples spread over 64 bits: seeds of operators."""

AFTER_THE_END = 8 * MAX_BATCH
"""Slots of a merge beyond those: for tuples that waiting threads still send when the run is cut
short.
"""


Stream = tuple[int, int, int, int]
"""(source operator, output port, target operator, input port), by index."""


class Way(NamedTuple):
    """A stream, with its queue and the path step of its tuples."""

    source: int  # operator, by index; so is `target`
    output: int  # output port of the source
    target: int
    port: int  # input port of the graph
    queue: int | None  # of the layout; None: the target is called
    # Added to the path of a tuple on this stream; of a typed stream, its number among those into
    # the target.
    path_step: int
    lazy: bool  # one thread alone sends this way, so it may put off waking the port's thread


class QueuePlace(NamedTuple):
    """A queue before an input port."""

    port: int  # input port of the graph
    operator: int  # whose port it is
    kind: Queue
    capacity: int  # tuples
    shared: bool  # more than one thread may produce: the producer flag is needed
    on: bool  # it begins switched on
    streams: int  # that lead here
    stride: int  # of a slot [bytes]


@dataclass(frozen=True)
class Region:
    """Part of a graph between a split and the merge that restores its order."""

    split: int  # operators, by index
    merge: int
    queues: tuple[int, ...]  # of the layout
    ahead: int  # tuples that may be between the two
    marks: int  # and window punctuations: as many as the queues between hold


@dataclass(frozen=True)
class BarrierPlace:
    """Room of a barrier for tuples that wait for those of its other inputs."""

    operator: int  # by index
    room: int  # tuples of each input
    paths: tuple[int | None, ...]  # by input: number of paths that lead there


@dataclass(frozen=True)
class RunLayout:
    """Layout of a graph under a model. Operators, input ports, ways and queues are named by their
    index.
    """

    graph: Graph
    model: Model
    cpus: int | None  # of the machine it runs on; None: those of this process
    pool: (
        PoolSize  # scheduler threads, or those that resume co-routines; none: nothing is scheduled
    )
    port_queues: tuple[PortQueue, ...]  # by input port
    payload: int  # bytes
    stride: int  # of a slot [bytes], of the largest where streams are typed
    strides: tuple[tuple[int, ...], ...]  # of a slot, by operator and output port
    operators: tuple[Operator, ...]
    input_ports: tuple[PortId, ...]
    order: tuple[int, ...]  # of operators, topological
    ways: tuple[Way, ...]  # by source operator and output port
    queues: tuple[QueuePlace, ...]
    queue_of_port: tuple[int | None, ...]  # by input port
    capacity: int  # tuples a queue, of scheduled ports if there are any; 0 if there are no queues
    capacity_chosen: bool  # most slots are of queues whose capacity the user has not given
    locked: tuple[bool, ...]  # by operator: more than one thread can reach it (P17 §5.2)
    # by operator: how many sinks see a tuple from here; None: it depends on the tuple
    copies: tuple[int | None, ...]
    copies_behind: dict[int, int | None]  # by barrier: how many sinks see a tuple that it sends
    # by operator: how many lead there; None: too many, or in no order
    paths: tuple[int | None, ...]
    # by operator: values that come to it may differ from what the source gave
    changed: tuple[bool, ...]
    regions: tuple[Region, ...]
    barriers: tuple[BarrierPlace, ...]
    calls: tuple[int, ...]  # by operator: operators on the longest way of calls that starts with it
    longest: tuple[int, ...]  # and on the longest way of any kind
    # by operator: which one executes it, as `analysis.contexts_of` has it
    contexts: tuple[tuple[str, int], ...]
    policy: Policy | None = None  # of co-routines; None: the model has none
    quantum_ns: int = 0  # likewise
    # by operator: why it can have no replicas, "" if it can; empty: the model has no co-routines
    single: tuple[str, ...] = ()
    # by name: replicas that an operator begins with, if it does not begin with one
    first_replicas: Mapping[str, int] = field(default_factory=dict)
    at_once: int = MAX_BATCH  # most tuples that an operator gets at once, as the model says
    batch: int = MAX_BATCH  # the same, or fewer as the described runtime does
    # by operator: cost of a tuple [FLOP]; empty: not known before the machine is (`timed`)
    flop: tuple[int, ...] = ()
    # by queue: share that is filled when a timed simulated run begins; empty: half of each
    filled: tuple[float, ...] = ()

    def timed(self, flop_ns: Callable[[], float]) -> RunLayout:
        """Return the layout with the cost of each operator on a machine.

        `flop_ns` returns the nanoseconds of a FLOP, and is called if an operator is busy for a
        time. Raises UserError for one that is busy for too long.
        """
        return replace(self, flop=_flop_of(self.operators, flop_ns))

    @property
    def pool_threads(self) -> int:
        """Threads of the pool at the start; 0: nothing is scheduled, and nothing a co-routine."""
        return self.pool.threads

    @property
    def minimum_threads(self) -> int:
        """The lowest level of the pool (FREE); 1 without a pool."""
        return self.pool.least

    @property
    def threads(self) -> int:
        """Threads that a run begins with: of sources and of threaded ports, and of the pool."""
        return self.first_scheduler + self.pool.threads

    @cached_property
    def streams(self) -> list[Stream]:
        """(source operator, output port, target operator, input port) of each way."""
        return [(way.source, way.output, way.target, way.port) for way in self.ways]

    @cached_property
    def outgoing(self) -> list[list[list[int]]]:
        """The ways out of each operator, by output port."""
        outgoing: list[list[list[int]]] = [
            [[] for _ in range(operator.outputs)] for operator in self.operators
        ]
        for index, way in enumerate(self.ways):
            outgoing[way.source][way.output].append(index)
        return outgoing

    @cached_property
    def room_behind(self) -> list[list[int]]:
        """Capacity of the shortest queue that tuples get to, by operator and output port;
        `at_once` at most.
        """
        room = [[self.at_once] * operator.outputs for operator in self.operators]
        for index in reversed(self.order):
            for output, ways in enumerate(self.outgoing[index]):
                for way in map(self.ways.__getitem__, ways):
                    behind = (
                        room[way.target] if way.queue is None else [self.queues[way.queue].capacity]
                    )
                    room[index][output] = min([room[index][output], *behind])
        return room

    @cached_property
    def called(self) -> list[int]:
        """Number of operators executed by calls from each operator on, itself included. One way
        leads to each co-routine.
        """
        called = [1] * len(self.operators)
        for index in reversed(self.order):
            ways = [self.ways[way] for of_output in self.outgoing[index] for way in of_output]
            called[index] += sum(called[way.target] for way in ways if way.queue is None)
        return called

    @cached_property
    def incoming(self) -> list[list[int]]:
        """The ways into each operator."""
        incoming: list[list[int]] = [[] for _ in self.operators]
        for index, way in enumerate(self.ways):
            incoming[way.target].append(index)
        return incoming

    @cached_property
    def parts(self) -> list[list[int]]:
        """Operators of each part that no stream connects to another, in the order of their first
        ones. All are one part if there are more than `MOST_PARTS`.
        """
        whole = list(range(len(self.operators)))
        ends = [(operator.is_source, operator.is_sink) for operator in self.operators]
        if min(map(sum, zip(*ends, strict=True))) < 2:  # each part has a source and a sink
            return [whole]
        parts = parts_of(
            {
                index: [self.ways[way].source for way in ways]
                for index, ways in enumerate(self.incoming)
            }
        )
        return parts if len(parts) <= MOST_PARTS else [whole]

    @cached_property
    def part_of_sink(self) -> dict[int, int]:
        """The place in `parts` of each sink."""
        return {
            index: place
            for place, part in enumerate(self.parts)
            for index in part
            if self.operators[index].is_sink
        }

    @cached_property
    def sources(self) -> list[int]:
        """Sources with a thread of their own."""
        if self.policy:
            return []
        return [index for index, operator in enumerate(self.operators) if operator.is_source]

    @cached_property
    def coroutines(self) -> list[int]:
        """Operators that are co-routines: under the coroutine model the sources, and all behind a
        queue that is resumed.
        """
        if not self.policy:
            return []
        behind = {queue.operator for queue in self.queues if queue.kind is Queue.RESUMED}
        return [
            index
            for index, operator in enumerate(self.operators)
            if operator.is_source or index in behind
        ]

    @cached_property
    def replicas(self) -> dict[int, int]:
        """Operators that may have replicas, and how many, their own co-routine included."""
        able = [index for index, why in enumerate(self.single) if not why]
        most = most_replicas(len(able))
        return dict.fromkeys(able, most) if most > 1 else {}

    def replicated(self, operator: object, number: object) -> int:
        """Return the index of the operator of that name. Raises UserError if it cannot have this
        number of replicas.
        """
        index = self.index_of.get(operator) if isinstance(operator, str) else None
        if index is None:
            raise UserError(f"set_replicas: no operator is named {operator!r}")
        why = self.single_for(index)
        if why:
            raise UserError(f"set_replicas: operator {operator!r} {why}")
        most = self.replicas.get(index, 1)
        if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= most:
            raise UserError(
                f"set_replicas: replicas of {operator!r} must be from 1 to {most}, not {number!r}"
            )
        return index

    @cached_property
    def index_of(self) -> dict[str, int]:
        """Operators by name."""
        return {operator.name: index for index, operator in enumerate(self.operators)}

    def single_for(self, index: int) -> str:
        """Why an operator can have no replicas; "" if it can."""
        return self.single[index] if self.single else NO_COROUTINE

    @cached_property
    def threaded(self) -> list[int]:
        """Queues with a thread of their own."""
        return [index for index, queue in enumerate(self.queues) if queue.kind is Queue.THREADED]

    @cached_property
    def balancing(self) -> list[int]:
        """Operators with buffers before their output ports."""
        return [index for index, operator in enumerate(self.operators) if operator.kind.balances]

    @property
    def copies_known(self) -> bool:
        return None not in self.copies and None not in self.copies_behind.values()

    @property
    def first_scheduler(self) -> int:
        """Index of the pool's first thread: the threads of sources come first, then those of
        threaded ports.
        """
        return len(self.sources) + len(self.threaded)

    @property
    def most_threads(self) -> int:
        """Threads with the largest pool."""
        return self.first_scheduler + (MAX_THREADS if self.pool_threads > 0 else 0)

    @property
    def divided(self) -> bool:
        """True if a scheduled port may be fed from more than one context: then contexts are tracked
        as queues come and go.
        """
        return any(queue.kind is Queue.SCHEDULED and queue.shared for queue in self.queues)

    def thread_name(self, index: int) -> str:
        """Return a thread's name, which says what it executes."""
        if index < len(self.sources):
            return f"source {self.operators[self.sources[index]].name}"
        if index < self.first_scheduler:
            queue = self.queues[self.threaded[index - len(self.sources)]]
            name, port = self.input_ports[queue.port]
            alone = sum(self.queues[each].operator == queue.operator for each in self.threaded) == 1
            return f"port thread of {name}" + ("" if alone else f"[{port}]")
        return f"scheduler thread {index - self.first_scheduler}"


def layout_of(
    graph: Graph,
    model: Model,
    cpus: int | None = None,
    capacity: int | None = None,
    batch: int = MAX_BATCH,
    simulated: bool = False,
) -> RunLayout:
    """Return the layout of a checked graph under a model.

    `cpus`: of the machine it runs on, for the pool; None: those of this process. `capacity`: tuples
    of each queue if the model gives no number; None: as `scheduled_capacity` and
    `threaded_capacity` say. `batch`: most tuples that the runtime moves at once. `simulated`: typed
    operators then have no replicas. Raises UserError if the two do not go together, no pool is
    large enough for the graph, or no operator can have as many replicas as the model says.
    """
    if capacity is not None and hasattr(model, "queue_capacity"):
        model = replace(model, queue_capacity=model.queue_capacity or capacity)
    at_once = model.batch or MAX_BATCH
    queues = port_queues(graph, model)
    begins = begins_queued(graph, model, queues)
    single = why_single(graph, model, queues, simulated)
    first_replicas = begins_with(graph, model, single)
    pool = pool_of(graph, model, cpus, queues)
    operators = list(graph.operators.values())
    input_ports = list(graph.input_ports())
    number = {name: index for index, name in enumerate(graph.operators)}
    port_number = {port: index for index, port in enumerate(input_ports)}
    order = list(graph.numbered().order)
    queued = [queue.kind is not Queue.CALLED for queue in queues]
    streams = [
        (number[source[0]], source[1], number[target[0]], port_number[target])
        for source, target in graph.streams
    ]
    incoming: list[list[Stream]] = [[] for _ in operators]
    outgoing: list[list[list[Stream]]] = [
        [[] for _ in range(operator.outputs)] for operator in operators
    ]
    for stream in streams:
        incoming[stream[2]].append(stream)
        outgoing[stream[0]][stream[1]].append(stream)
    resumed = [queue.kind is Queue.RESUMED for queue in queues]
    facts = facts_of(operators, order, incoming, outgoing, queued, resumed)
    flow = graph.flow()
    strides = _strides(graph, operators)
    stride = max(max(each, default=0) for each in strides)
    queue_of_port, capacities, capacity, chosen = _sizes(
        queues, input_ports, graph.threaded, operators, stride
    )
    steps = facts.steps
    if graph.typed_graph:
        steps = {
            stream: place for streams_in in incoming for place, stream in enumerate(streams_in)
        }
    # In the context of a source, a co-routine or a threaded port one thread alone sends, so it may
    # put wake-ups off.
    lazy = [
        kind in ("source", "co-routine")
        or (kind == "port" and queues[which].kind is Queue.THREADED)
        for kind, which in facts.contexts
    ]
    return RunLayout(
        graph=graph,
        model=model,
        cpus=cpus,
        pool=pool,
        port_queues=tuple(queues),
        payload=graph.payload,
        stride=stride,
        strides=strides,
        operators=tuple(operators),
        input_ports=tuple(input_ports),
        order=tuple(order),
        ways=tuple(
            Way(*stream, queue_of_port[stream[3]], steps.get(stream, 0), lazy[stream[0]])
            for ports in outgoing
            for of_port in ports
            for stream in of_port
        ),
        queues=_places(queues, capacities, incoming, facts.contexts, begins, input_ports, strides),
        queue_of_port=tuple(queue_of_port),
        capacity=capacity,
        capacity_chosen=chosen,
        locked=tuple(facts.locked),
        copies=tuple(map(flow.copies_from.__getitem__, graph.operators)),
        copies_behind={number[name]: copies for name, copies in flow.copies_behind.items()},
        paths=tuple(facts.paths),
        changed=tuple(facts.changed),
        regions=_regions(facts.regions, queue_of_port, capacities),
        barriers=_barriers(incoming, facts.paths_at_inputs),
        calls=tuple(facts.calls),
        longest=tuple(facts.longest),
        contexts=tuple(facts.contexts),
        policy=model.found_policy if isinstance(model, Coroutine) else None,
        quantum_ns=round(model.quantum_ms * 1e6) if isinstance(model, Coroutine) else 0,
        single=tuple(single),
        first_replicas=first_replicas,
        at_once=at_once,
        batch=min(batch, at_once),
    )


def _strides(graph: Graph, operators: Sequence[Operator]) -> tuple[tuple[int, ...], ...]:
    """Return the bytes of a slot, by operator and output port."""
    if not graph.typed_graph:
        plain = slot_stride(graph.payload)
        return tuple((plain,) * operator.outputs for operator in operators)
    return tuple(
        tuple(slot_stride(schema.size) for schema in operator.typed.gives) for operator in operators
    )


def _sizes(
    queues: Sequence[PortQueue],
    ports: Sequence[PortId],
    by_hand: Container[PortId],
    operators: Sequence[Operator],
    stride: int,
) -> tuple[list[int | None], list[int], int, bool]:
    """Return, by input port, its queue; by queue, its capacity; the capacity to report; and True if
    most slots are of queues whose capacity the user has not given.

    `by_hand`: ports threaded by hand. Their capacity is reported only if there are no other
    threaded ports.
    """
    queue_of_port: list[int | None] = []
    count = threaded = scheduled = given = 0
    of_scheduled = of_threaded = 0
    for port, queue in zip(ports, queues, strict=True):
        if queue.kind is Queue.CALLED:
            queue_of_port.append(None)
            continue
        queue_of_port.append(count)
        count += 1
        if queue.capacity is not None:
            given += queue.capacity
            if queue.kind is not Queue.THREADED:
                of_scheduled = queue.capacity
            elif port not in by_hand or of_threaded == 0:
                of_threaded = queue.capacity
        elif queue.kind is not Queue.THREADED:
            scheduled += 1
        else:
            threaded += 1
    most = max(2, QUEUE_MEMORY // (max(threaded + scheduled, 1) * stride))
    if threaded:
        of_threaded = min(threaded_capacity(stride), most)
    if scheduled:
        of_scheduled = min(
            scheduled_capacity(scheduled, stride, all(map(_is_cheap, operators))), most
        )
    capacities = [
        0
        if queue.kind is Queue.CALLED
        else queue.capacity or (of_threaded if queue.kind is Queue.THREADED else of_scheduled)
        for queue in queues
    ]
    return (
        queue_of_port,
        capacities,
        of_scheduled or of_threaded,
        threaded * of_threaded + scheduled * of_scheduled > given,
    )


def _places(
    queues: Sequence[PortQueue],
    capacities: Sequence[int],
    incoming: Sequence[Sequence[Stream]],
    context: Sequence[tuple[str, int]],
    on: Container[PortId],
    ports: Sequence[PortId],
    strides: Sequence[Sequence[int]],
) -> tuple[QueuePlace, ...]:
    """Return the queues, in the order of the ports."""
    places = {}
    for operator, streams in enumerate(incoming):
        feeding: dict[int, list[int]] = {}
        stride = {}
        for stream in streams:
            if queues[stream[3]].kind is not Queue.CALLED:
                feeding.setdefault(stream[3], []).append(stream[0])
                stride[stream[3]] = strides[stream[0]][stream[1]]
        for port, feeders in feeding.items():
            shared = any(context[feeder] != context[feeders[0]] for feeder in feeders)
            kind = queues[port].kind
            begins = kind is not Queue.SCHEDULED or ports[port] in on
            places[port] = QueuePlace(
                port, operator, kind, capacities[port], shared, begins, len(feeders), stride[port]
            )
    return tuple(places[port] for port in sorted(places))


def _regions(
    found: Sequence[tuple[int, int, Sequence[int]]],
    queue_of_port: Sequence[int | None],
    capacities: Sequence[int],
) -> tuple[Region, ...]:
    """Between each merge that restores order and its split. `found`: as `GraphFacts` has them."""
    regions = []
    for split, merge, between in found:
        marks = sum(capacities[port] for port in between) + MAX_BATCH * (len(between) + 2)
        ahead = min(marks, max(MERGE_AHEAD, 4 * MAX_BATCH * len(between)))
        queues = tuple(queue_of_port[port] for port in between)
        regions.append(Region(split, merge, queues, ahead, marks))
    return tuple(regions)


def _is_cheap(operator: Operator) -> bool:
    return operator.cost < COPY_FLOP and not operator.costs and not operator.busy_us


def incoming_of(layout: RunLayout, index: int) -> list[tuple[int, int, int]]:
    """Return the streams into a typed operator, by their number: source operator, output port, and
    input port.
    """
    ways = sorted(
        (layout.ways[way] for way in layout.incoming[index]), key=lambda way: way.path_step
    )
    # every port is fed, and an operator's lie side by side
    first = min((way.port for way in ways), default=0)
    return [(way.source, way.output, way.port - first) for way in ways]


def _flop_of(operators: Sequence[Operator], flop_ns: Callable[[], float]) -> tuple[int, ...]:
    flop = []
    measured: float | None = None
    for operator in operators:
        if operator.busy_us > 0:
            measured = measured or flop_ns()  # asked once, so that equal times are equal work
            busy = max(1, round(operator.busy_us * 1000 / measured))
            if busy >= 2**32:
                rule = f"is {busy} FLOP on this machine; at most {2**32 - 1}"
                raise UserError(f"operator {operator.name!r}: busy_us {operator.busy_us:g} {rule}")
            flop.append(busy)
        elif operator.kind.calls_user_function:
            flop.append(operator.kind.flop)
        elif operator.kind is LOOP:
            flop.append((PYTHON if operator.native is None else NATIVE).flop)
        else:  # of bursts, the highest, for a guess of what a batch takes
            flop.append(
                max((cost for _, cost in operator.costs), default=operator.cost)
                if operator.costs
                else operator.cost
            )
    return tuple(flop)


def paces_of(operator: Operator) -> list[tuple[int, float]]:
    """Return the stretches of a source's schedule: the length of each [ns], 0 for ever; and the gap
    between tuples [ns], 0 if it sends as fast as it can, below 0 if it is silent.
    """
    rates = operator.rates or (((0.0, operator.rate),) if operator.rate is not None else ())
    return [
        (int(seconds * 1e9), 0.0 if rate is None else -1.0 if rate == 0 else 1e9 / rate)
        for seconds, rate in rates
    ]


def ends_of(operator: Operator) -> list[tuple[int, int]]:
    """Return the bursts of cost: the first sequence number (modulo the last one) behind each; the
    cost of a tuple [FLOP].
    """
    end, ends = 0, []
    for tuples, cost in operator.costs:
        end += tuples
        ends.append((end, cost))
    return ends


def _barriers(
    incoming: Sequence[Sequence[Stream]], paths: dict[int, list[int | None]]
) -> tuple[BarrierPlace, ...]:
    """Return the room of each barrier; `paths`: by barrier, the number of paths that lead to each
    of its inputs.
    """
    places = []
    for index, input_paths in paths.items():
        upstream, frontier, sending = {index}, [index], Counter()
        while frontier:
            for stream in incoming[frontier.pop()]:
                sending[stream[0]] += 1
                if stream[0] not in upstream:
                    upstream.add(stream[0])
                    frontier.append(stream[0])
        both_ways = sum(1 for ways in sending.values() if ways > 1)
        room = MAX_BATCH * min(LEAST_BATCHES + both_ways, MOST_BATCHES) + both_ways
        places.append(BarrierPlace(index, room, tuple(input_paths)))
    return tuple(places)


def chosen_by(operator: Operator, index: int) -> tuple[int, int] | None:
    """Return the rule by which an operator passes tuples on, None if it passes all.

    It passes those whose number, mixed with the first value, is below the second one (`passes` in
    protocol.hpp). Filters mix with 0, so that all of them agree; work operators with their `index`.
    """
    if operator.selectivity >= 1.0 or not operator.kind.stateless:
        return None
    return 0 if operator.kind is FILTER else (index + 1) * SEED_MULTIPLIER % 2**64, int(
        operator.selectivity * 2.0**64
    )


def slots_of(region: Region) -> int:
    """Return the slots of a merge: a power of two."""
    return 1 << (region.ahead + AFTER_THE_END - 1).bit_length()
