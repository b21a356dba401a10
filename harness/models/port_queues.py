"""The queue that each input port of a graph gets under a model, and how many tuples it holds."""

from __future__ import annotations

from collections.abc import Sequence

from harness.errors import UserError
from harness.graph import Graph, PortId
from harness.graph.functions.compiled import NativeFunction
from harness.graph.kinds import LOOP
from harness.models.models import MODELS, Coroutine, Dedicated, Manual, Model
from harness.models.queue import Chosen, PortQueue, Queue

DEFAULT_QUEUE_CAPACITY = 1000
"""Tuples a queue holds, as in IBM Streams 4.2, unless that would pass `QUEUE_BYTES`, `QUEUE_CACHE`
or `QUEUE_MEMORY`.
"""

COPY_FLOP = 32
"""Work of an operator [FLOP] that takes about as long as copying a tuple from memory that is not in
a near cache.
"""

QUEUE_CACHE = 512 * 2**10
"""Bytes of all scheduled queues together, when the capacity is not given and all operators cost
less than `COPY_FLOP`: half of a usual second-level cache. Under load queues are full, and each
tuple comes from the cache level that holds all of them. Where operators cost more, long queues pay:
threads meet less often."""

LEAST_QUEUE_CAPACITY = 64
"""Tuples that a scheduled queue holds at least, and of which it holds a multiple, when the capacity
is not given: two batches, so that none is cut by the end of the ring. Measured on one CPU at cost
1, ns per hop of pipelines of 10, 100 and 1,000 operators: 2.6, 2.0 and 2.5 with queues of 64; 2.7,
2.3 and 2.8 with 128; 3.3, 3.1 and about 6 with 1,000."""

QUEUE_BYTES = 512 * 2**10
"""Bytes of a scheduled queue, when the capacity is not given, rounded up to a multiple of
`LEAST_QUEUE_CAPACITY` tuples: a large tuple should come from a near cache, and a drain is long
enough with few of them. results/reference/design-measurements.md has the measured effect."""

THREADED_BYTES = 2 * QUEUE_BYTES
"""Bytes of a queue with a thread of its own, likewise: there each meeting of two threads costs a
switch.
"""

QUEUE_MEMORY = 2 * 2**30
"""Bytes that the queues of a graph may take together when the capacity is not given. A guess, not
tuned.
"""

_CALLED = PortQueue(Queue.CALLED)


def scheduled_capacity(queues: int, stride: int, cheap: bool) -> int:
    """Return the tuples that each of `queues` scheduled queues holds when the capacity is not
    given.

    `stride`: of a slot [bytes]; `cheap`: True if all operators cost less than `COPY_FLOP`.
    """
    alone = -(-QUEUE_BYTES // (stride * LEAST_QUEUE_CAPACITY)) * LEAST_QUEUE_CAPACITY
    together = (
        (QUEUE_CACHE if cheap else QUEUE_MEMORY)
        // (queues * stride)
        // LEAST_QUEUE_CAPACITY
        * LEAST_QUEUE_CAPACITY
    )
    return max(LEAST_QUEUE_CAPACITY, min(DEFAULT_QUEUE_CAPACITY, alone, together))


def threaded_capacity(stride: int) -> int:
    """Return the tuples that a queue with a thread of its own holds when the capacity is not
    given.
    """
    return max(LEAST_QUEUE_CAPACITY, min(DEFAULT_QUEUE_CAPACITY, THREADED_BYTES // stride))


def port_queues(graph: Graph, model: Model) -> list[PortQueue]:
    """Return the queue before each input port of a graph, in the order of `Graph.input_ports`.

    A port threaded by hand stays so under every model, and so does a buffer. An operator that only
    chooses a way runs on the thread that submits to it (`Kind.on_submitter`). The others follow
    their operator's annotation, or else the run's model.
    """
    if isinstance(model, Coroutine):
        return _queues_of_coroutines(graph, model)
    own = next(
        (operator.name for operator in graph.operators.values() if operator.kind is LOOP), None
    )
    if own is not None:
        raise UserError(
            f"operator {own!r} has a loop of its own, which needs the coroutine model, not "
            f"{model.name}"
        )
    capacity = getattr(model, "queue_capacity", None)
    by_model = {
        name: _CALLED if kind.queue is Queue.CALLED else PortQueue(kind.queue, capacity)
        for name, kind in MODELS.items()
    }
    default = by_model[model.name]
    queues: list[PortQueue] = []
    for operator in graph.operators.values():
        if operator.kind.on_submitter:
            queues.append(_CALLED)
        elif operator.inputs:
            queues += [
                by_model[operator.threading.model] if operator.threading else default
            ] * operator.inputs
    if graph.threaded:
        for place, port in enumerate(graph.input_ports()):
            if port in graph.threaded:
                queues[place] = PortQueue(Queue.THREADED, graph.threaded[port])
    return queues


def _queues_of_coroutines(graph: Graph, model: Coroutine) -> list[PortQueue]:
    """Return the queues under the coroutine model, where one co-routine executes an operator for
    all its ports.

    So no co-routine holds a lock, which it could not do while it waits. An operator is called only
    if one stream leads to it, and it only chooses a way, or is annotated with the manual model. It
    has a thread at each port if one of them is threaded by hand or it is annotated so, or if it is
    a user's operator that locks its own state and has several ports. An annotation with the dynamic
    model asks for a pool, and here the pool is the threads that resume co-routines.
    """
    for operator in graph.operators.values():
        if (
            operator.typed is not None
            and isinstance(operator.typed.function, NativeFunction)
            and operator.typed.function.is_python
        ):
            rule = (
                "must not be a ctypes callback under the coroutine model: give the callable itself"
            )
            raise UserError(f"operator {operator.name!r}: function {rule}")
    fed: dict[str, int] = {}
    for _, (name, _) in graph.streams:
        fed[name] = fed.get(name, 0) + 1
    by_hand = {port.operator for port in graph.threaded}
    queues: list[PortQueue] = []
    for operator in graph.operators.values():
        wish = operator.threading.model if operator.threading else ""
        threaded = (
            operator.name in by_hand
            or wish == Dedicated.name
            or (operator.reentrant and operator.inputs > 1)
        )
        if operator.kind is LOOP and (threaded or wish == Manual.name):
            rule = (
                "it is a co-routine, so neither its ports can be threaded nor its annotation "
                "say manual or dedicated"
            )
            raise UserError(f"operator {operator.name!r} has a loop of its own: {rule}")
        called = operator.kind.on_submitter or wish == Manual.name
        kind = (
            Queue.THREADED
            if threaded
            else Queue.CALLED
            if called and fed.get(operator.name) == 1
            else Queue.RESUMED
        )
        for number in range(operator.inputs):
            port = PortId(operator.name, number)
            capacity = graph.threaded.get(port, model.queue_capacity)
            queues.append(_CALLED if kind is Queue.CALLED else PortQueue(kind, capacity))
    return queues


def begins_queued(graph: Graph, model: Model, queues: Sequence[PortQueue]) -> frozenset[PortId]:
    """Return the scheduled ports of a graph that begin with their queue switched on: all, unless
    the model says otherwise.

    `queues`: those of the graph under the model. Raises UserError for the name of a port that is
    not there, or not scheduled.
    """
    kinds = zip(graph.input_ports(), queues, strict=True)
    scheduled = [port for port, queue in kinds if queue.kind is Queue.SCHEDULED]
    return Chosen.parse(getattr(model, "queued", "all")).of(scheduled)
