"""Graph as laws see it: its streams, their rates, the ports that may have a queue, and the
operators that may have replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.graph import Graph, Operator, PortId
from harness.graph.values import MAX_REPLICAS
from harness.models import DEFAULT_QUEUE_CAPACITY, Model, PortQueue, Queue, port_queues
from harness.models.replicas import most_replicas, why_single

if TYPE_CHECKING:
    from harness.models.layout import RunLayout

BATCH = 32  # most tuples that this runtime moves at once (`native/submit.hpp`)


@dataclass(frozen=True, slots=True)
class Link:
    """Stream between two operators, by index. `tuples`: number that pass it for each tuple that
    each source sends.

    `dealt`: True if the source operator deals its tuples out in turn. It then calls with one tuple
    at a time (`native/submit.hpp`).
    """

    source: int
    target: int
    tuples: float
    place: int | None  # place of the target's port; None: the port always has a queue, or never
    threaded: bool = False  # it always has one, with a thread of its own
    dealt: bool = False
    port: int = 0  # the target's input port, by index in `Graph.input_ports`


@dataclass(frozen=True)
class Layout:
    """Operators in the graph's order; places 0, 1, ... are the input ports whose queue may be added
    and removed.

    `ports`: the port of each place. `at`: its operator. `sources`: operators with a thread of their
    own. `tuples`: number of tuples through each operator for each tuple that each source sends, on
    average, as the graph declares it. `flop`: work of each operator a tuple, 0 if unknown.
    `payload`: bytes. `cpus`: CPUs that threads may use. `queue_capacity`: tuples that a queue
    holds. `batch`: most tuples that the runtime moves at once, 0 if unknown. `replicable`:
    operators that may have replicas, up to `most_replicas` each. `inputs`: number of input ports of
    all operators. `names`: names of the operators, empty if unknown.
    """

    ports: Sequence[PortId]
    at: Sequence[int]
    sources: Sequence[int]
    links: Sequence[Link]
    tuples: Sequence[float]
    flop: Sequence[float]
    payload: int
    cpus: int
    queue_capacity: int = DEFAULT_QUEUE_CAPACITY
    batch: int = 0
    replicable: Sequence[int] = ()
    most_replicas: int = MAX_REPLICAS
    inputs: int = 0
    names: Sequence[str] = ()

    @property
    def operators(self) -> int:
        """Number of operators."""
        return len(self.tuples)


def seen_by_laws(whole: RunLayout, cpus: int) -> Layout:
    """Return what a law may know of a run's layout. Ports that are threaded or annotated manual are
    no places.
    """
    return _seen(whole.graph, whole.port_queues, whole.single, cpus, whole.capacity, whole.batch)


def layout_of(
    graph: Graph, model: Model, cpus: int, queue_capacity: int = 0, batch: int = 0
) -> Layout:
    """Return what a law may know of a graph that no engine has laid out.

    `queue_capacity`: the capacity of its queues; 0: that of operators that are not cheap. `batch`:
    as in `Layout`.
    """
    queues = port_queues(graph, model)
    return _seen(graph, queues, why_single(graph, model, queues), cpus, queue_capacity, batch)


def _seen(
    graph: Graph,
    queue_of: Sequence[PortQueue],
    single: Sequence[str],
    cpus: int,
    queue_capacity: int,
    batch: int,
) -> Layout:
    operators = list(graph.operators.values())
    numbered = graph.numbered()
    index_of = {operator.name: index for index, operator in enumerate(operators)}
    queues = dict(zip(graph.input_ports(), queue_of, strict=True))
    index_of_port = {port: index for index, port in enumerate(queues)}
    ports = [port for port, queue in queues.items() if queue.kind is Queue.SCHEDULED]
    place_of = {port: place for place, port in enumerate(ports)}
    tuples = [1.0 if operator.is_source else 0.0 for operator in operators]
    able = [index for index, why in enumerate(single) if not why]
    most = most_replicas(len(able))
    links = []
    for index in numbered.order:
        share = tuples[index] * operators[index].selectivity / (operators[index].outputs or 1)
        for stream in numbered.leaving(index):
            target = graph.streams[stream].target
            threaded = queues[target].kind is Queue.THREADED
            dealt = operators[index].outputs > 1
            port = index_of_port[target]
            links.append(
                Link(
                    index,
                    index_of[target.operator],
                    share,
                    place_of.get(target),
                    threaded,
                    dealt,
                    port,
                )
            )
            tuples[index_of[target.operator]] += share
    return Layout(
        ports=ports,
        at=[index_of[port.operator] for port in ports],
        sources=[index for index, operator in enumerate(operators) if operator.is_source],
        links=links,
        tuples=tuples,
        flop=[_flop(operator) for operator in operators],
        payload=graph.payload,
        cpus=cpus,
        queue_capacity=queue_capacity or DEFAULT_QUEUE_CAPACITY,
        batch=batch,
        replicable=able if most > 1 else [],
        most_replicas=most if able else 1,
        inputs=len(queues),
        names=list(graph.operators),
    )


def _flop(operator: Operator) -> float:
    """Return the work of an operator a tuple; for a cycle of bursts, the mean over the cycle."""
    if operator.costs:
        return sum(tuples * cost for tuples, cost in operator.costs) / sum(
            tuples for tuples, _ in operator.costs
        )
    return float(operator.cost)
