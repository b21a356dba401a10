"""The threading models that a run may choose (P17 §2.2), each with its options.

A model says which input ports have a queue and which threads execute them. The graph's author may say otherwise for some,
by threaded ports and annotations; `port_queues` and `pool_of` resolve both, and `harness/runtime/` and other engines obey.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import ClassVar

from harness.errors import UserError
from harness.graph import BALANCING, MAX_QUEUE_CAPACITY, MAX_THREADS, Graph, Threading

DEFAULT_QUEUE_CAPACITY = 1000
"""Tuples a queue holds, as in IBM Streams 4.2, unless all the queues together would pass `QUEUE_CACHE` or `QUEUE_MEMORY`."""

COPY_FLOP = 32
"""Work of an operator that takes about as long as to copy a tuple from memory that is not in a near cache."""

QUEUE_CACHE = 512 * 2**10
"""Bytes of all scheduled queues together, when the capacity is not given and all operators cost less than `COPY_FLOP`: half of
a usual second-level cache. Under load queues are full, and each tuple comes from where the whole of them fits. Where
operators cost more, long queues pay: threads meet less often."""

LEAST_QUEUE_CAPACITY = 64
"""Tuples that a scheduled queue holds at least, and of which it holds a multiple, when the capacity is not given: two batches,
so that none is cut by the end of the ring. Measured on one CPU at cost 1, ns per hop of pipelines of 10, 100 and 1,000
operators: 2.6, 2.0 and 2.5 with queues of 64; 2.7, 2.3 and 2.8 with 128; 3.3, 3.1 and about 6 with 1,000."""

QUEUE_MEMORY = 2 * 2**30
"""Bytes that the queues of a graph may take together when the capacity is not given. A guess, not tuned."""


@dataclass(frozen=True)
class Manual:
    """No queues: the thread of each source executes everything downstream of it by function calls."""

    name: ClassVar[str] = "manual"


@dataclass(frozen=True)
class Dedicated:
    """A queue before every input port, and a thread for each of them."""

    name: ClassVar[str] = "dedicated"
    queue_capacity: int | None = None  # tuples a queue; None: 1000, fewer if the queues would not fit in memory

    def __post_init__(self) -> None:
        _check_capacity(self.queue_capacity)


@dataclass(frozen=True)
class Dynamic:
    """A queue before every input port, and scheduler threads that execute any of them (P17 §4.1)."""

    name: ClassVar[str] = "dynamic"
    threads: int | None = None  # scheduler threads; None: one for each CPU that the process may use
    queue_capacity: int | None = None  # tuples a queue; None: 1000, fewer if the queues would not fit in a cache
    queued: str = "all"  # scheduled ports that begin with their queue switched on: all, or none (as M19 begins)

    def __post_init__(self) -> None:
        _check_capacity(self.queue_capacity)
        if self.queued not in ("all", "none"):
            raise UserError(f"queued must be all or none, not {self.queued!r}")
        if self.threads is None:
            object.__setattr__(self, "threads", allowed_cpus())
        else:
            _check_whole("threads", self.threads, MAX_THREADS, "")


Model = Manual | Dedicated | Dynamic
MODELS: dict[str, type[Model]] = {model.name: model for model in (Manual, Dedicated, Dynamic)}


def make_model(name: str, *, threads: int | None = None, queue_capacity: int | None = None) -> Model:
    """The model called `name`. Raises UserError for an unknown name, or for an option that the model does not have."""
    if name not in MODELS:
        raise UserError(f"model {name!r} is unknown; models are: {', '.join(MODELS)}")
    options = {"threads": threads, "queue_capacity": queue_capacity}
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        owners = [model.name for model in MODELS.values() if option in {field.name for field in fields(model)}]
        if name in owners:
            continue
        raise UserError(f"{option} applies to {' and '.join(owners)} only, not to the model {name}")
    return MODELS[name](**given)


class Queue(StrEnum):
    """How tuples get into an input port."""

    CALLED = "called"  # by a function call of whoever submits
    THREADED = "threaded"  # through a queue with a thread of its own
    SCHEDULED = "scheduled"  # through a queue that scheduler threads empty


@dataclass(frozen=True)
class PortQueue:
    """The queue before an input port; `capacity` in tuples, None: the engine chooses."""

    kind: Queue
    capacity: int | None = None


@dataclass(frozen=True)
class Pool:
    """The scheduler threads of a run; 0 if there is nothing to schedule."""

    threads: int
    elastic: bool


_CALLED = PortQueue(Queue.CALLED)

ON_SUBMITTER = BALANCING | {"split"}
"""Kinds that run on the thread that submits to them: all they do is choose a way. One that shares tuples out among buffers also
waits where all are full, and shall hold up whoever sends to it, as any full queue does, not one more thread."""


def port_queues(graph: Graph, model: Model) -> list[PortQueue]:
    """The queue before each input port of a graph, in the order of `Graph.input_ports`.

    A port threaded by hand stays so under every model, and so does a buffer. What only chooses a way runs on the thread that
    submits to it (`ON_SUBMITTER`). Others go by their operator's annotation, and without one by the run's model.
    """
    capacity = getattr(model, "queue_capacity", None)
    by_model = {
        Manual.name: _CALLED,
        Dedicated.name: PortQueue(Queue.THREADED, capacity),
        Dynamic.name: PortQueue(Queue.SCHEDULED, capacity),
    }
    default = by_model[model.name]
    queues: list[PortQueue] = []
    for operator in graph.operators.values():
        if operator.kind in ON_SUBMITTER:
            queues.append(_CALLED)
        elif operator.inputs:
            queues += [by_model[operator.threading.model] if operator.threading else default] * operator.inputs
    if graph.threaded:
        for place, port in enumerate(graph.input_ports()):
            if port in graph.threaded:
                queues[place] = PortQueue(Queue.THREADED, graph.threaded[port])
    return queues


def pool_of(graph: Graph, model: Model) -> Pool:
    """The scheduler threads for a graph: as many as its annotations and the model ask for, the highest number of all.

    The pool is elastic only if all agree, and the model dynamic itself is not. Raises UserError if it would be: there is
    no control law yet.
    """
    if not any(queue.kind is Queue.SCHEDULED for queue in port_queues(graph, model)):
        return Pool(0, False)
    wishes: set[Threading] = {operator.threading for operator in graph.operators.values() if operator.threading is not None}
    wishes = {wish for wish in wishes if wish.model == Dynamic.name}
    asked = [wish.threads for wish in wishes if wish.threads is not None]
    if isinstance(model, Dynamic):
        asked.append(model.threads)
    elif all(wish.elastic for wish in wishes):
        raise UserError(
            f"graph {graph.name!r}: elastic=True: this version has no control law; give threads and leave elastic out"
        )
    return Pool(max(asked, default=0) or allowed_cpus(), False)


def allowed_cpus() -> int:
    """CPUs that this process may use: its affinity mask where the system has one, else all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_capacity(capacity: int | None) -> None:
    if capacity is not None:
        _check_whole("queue_capacity", capacity, MAX_QUEUE_CAPACITY, " tuples")


def _check_whole(what: str, value: object, high: int, unit: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= high:
        raise UserError(f"{what} must be from 1 to {high}{unit}, not {value!r}")
