"""The threading models that a run may choose (P17 §2.2), each with its options.

A model says which input ports have a queue and which threads execute them. The graph's author may say otherwise for some,
by threaded ports and annotations; `port_queues` and `pool_of` resolve both, and `harness/runtime/` and other engines obey.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, ClassVar

from harness.errors import UserError
from harness.graph import Graph, PortId, Threading
from harness.graph.operator import BALANCING, USERS
from harness.graph.values import MAX_OPERATORS, MAX_QUEUE_CAPACITY, MAX_REPLICAS, MAX_THREADS
from harness.host.cpu import usable_cpus
from harness.native_function import NativeFunction
from harness.policy import find_policy

DEFAULT_QUEUE_CAPACITY = 1000
"""Tuples a queue holds, as in IBM Streams 4.2, unless that would pass `QUEUE_BYTES`, `QUEUE_CACHE` or `QUEUE_MEMORY`."""

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

QUEUE_BYTES = 512 * 2**10
"""Bytes of a scheduled queue, when the capacity is not given, rounded up to a multiple of `LEAST_QUEUE_CAPACITY` tuples: a
large tuple is to be fetched from a near cache, and a drain is long enough with few of them. docs/design.md has what
it brings."""

THREADED_BYTES = 2 * QUEUE_BYTES
"""The same of a queue with a thread of its own, which pays for each meeting of two threads with a switch."""

QUEUE_MEMORY = 2 * 2**30
"""Bytes that the queues of a graph may take together when the capacity is not given. A guess, not tuned."""

DEFAULT_LAW = "millrace"
"""The control law of an elastic pool unless another one is named. Which ones there are, `harness.elasticity` says."""


class Queue(StrEnum):
    """How tuples get into an input port, and so which threads execute it.

    Each engine has a record of what that means to a tuple: `runtime/disciplines.pyx`, `simulator/native/disciplines.hpp`.
    """

    CALLED = "called"  # by a function call of whoever submits
    THREADED = "threaded"  # through a queue with a thread of its own
    SCHEDULED = "scheduled"  # through a queue that scheduler threads empty
    RESUMED = "resumed"  # through a queue before a co-routine, which threads resume when it can go on


@dataclass(frozen=True)
class Manual:
    """No queues: the thread of each source executes everything downstream of it by function calls."""

    name: ClassVar[str] = "manual"
    queue: ClassVar[Queue] = Queue.CALLED


@dataclass(frozen=True)
class Dedicated:
    """A queue before every input port, and a thread for each of them."""

    name: ClassVar[str] = "dedicated"
    queue: ClassVar[Queue] = Queue.THREADED
    queue_capacity: int | None = None  # tuples a queue; None: 1000, fewer of large tuples (`threaded_capacity`)

    def __post_init__(self) -> None:
        _check_capacity(self.queue_capacity)


@dataclass(frozen=True)
class Dynamic:
    """A queue before every input port, and scheduler threads that execute any of them (P17 §4.1)."""

    name: ClassVar[str] = "dynamic"
    queue: ClassVar[Queue] = Queue.SCHEDULED
    threads: int | None = None  # scheduler threads, if elastic at the start; None: one for each CPU, if elastic the minimum
    queue_capacity: int | None = None  # tuples a queue; None: 1000, fewer of large tuples, or cheap work (`scheduled_capacity`)
    queued: str = "all"  # which of the scheduled ports have their queue: all, none, so many, a share, or their names (`Chosen`)
    elastic: bool = False  # whether a control law changes the number of threads while tuples flow (P17 §4.2)
    law: str = DEFAULT_LAW  # its name
    law_settings: tuple[tuple[str, object], ...] = ()  # its settings, name and value; those not named have its defaults
    minimum: int | None = None  # threads that the law may go down to; None: the least that the graph allows
    maximum: int | None = None  # threads that it may go up to; None: one for each CPU that the process can keep busy

    def __post_init__(self) -> None:
        _check_capacity(self.queue_capacity)
        Chosen.parse(self.queued)
        if self.threads is not None:
            _check_whole("threads", self.threads, MAX_THREADS, "")
        _check_elastic(self)


@dataclass(frozen=True)
class Multilevel:
    """As dynamic, but a control law decides while tuples flow where queues stand, and how many threads run (M19 §3)."""

    name: ClassVar[str] = "multilevel"
    queue: ClassVar[Queue] = Queue.SCHEDULED
    elastic: ClassVar[bool] = True
    queued: ClassVar[str] = "none"  # to begin with
    threads: int | None = None  # scheduler threads at the start; None: the minimum
    queue_capacity: int | None = None  # tuples a queue; None: 1000, fewer of large tuples, or cheap work (`scheduled_capacity`)
    law: str = DEFAULT_LAW  # its name, one of `harness.elasticity.multilevel`
    law_settings: tuple[tuple[str, object], ...] = ()  # as of dynamic, and so the levels
    minimum: int | None = None
    maximum: int | None = None

    def __post_init__(self) -> None:
        _check_capacity(self.queue_capacity)
        if self.threads is not None:
            _check_whole("threads", self.threads, MAX_THREADS, "")
        _check_levels(self.threads, self.minimum, self.maximum)


DEFAULT_POLICY = "oldest_source"
"""The scheduling policy of co-routines unless another one is named: simulated with 4 threads, it and `highest_rate` have
the least latency of all in three of C-Stream's four topologies (figure cstream_policies), at the same throughput, and it needs
to know nothing of what operators cost. In the tree `max_running_time` has less."""

QUANTUM_MS = 50.0
"""After which a co-routine is preempted unless another time is given, as in C-Stream [ms]."""

LONGEST_QUANTUM_MS = 3.6e6


@dataclass(frozen=True)
class Coroutine:
    """Every operator is a co-routine, and threads resume those that can go on, as a policy says (C-Stream §3)."""

    name: ClassVar[str] = "coroutine"
    queue: ClassVar[Queue] = Queue.RESUMED
    threads: int | None = None  # that resume co-routines; None: one for each CPU
    policy: str | Callable[..., Any] | NativeFunction = DEFAULT_POLICY  # which of those that can go on is next (`find_policy`)
    quantum_ms: float = QUANTUM_MS  # after which one that runs is preempted, when it next waits or sends
    queue_capacity: int | None = None  # tuples a queue; None: as of dynamic (`scheduled_capacity`)
    replicas: int = 1  # of each operator that may have some (`harness.replicas`), if a law decides about them to begin with
    elastic: bool = False  # whether a control law changes the number of threads, and of replicas, while tuples flow (§4)
    law: str = DEFAULT_LAW  # its name: of those that choose replicas, and else of those that choose threads alone
    law_settings: tuple[tuple[str, object], ...] = ()  # as of dynamic, and so the levels
    minimum: int | None = None
    maximum: int | None = None

    def __post_init__(self) -> None:
        _check_capacity(self.queue_capacity)
        if self.threads is not None:
            _check_whole("threads", self.threads, MAX_THREADS, "")
        find_policy(self.policy)
        quantum = self.quantum_ms
        if not isinstance(quantum, (int, float)) or isinstance(quantum, bool) or not 0.0 < quantum <= LONGEST_QUANTUM_MS:
            raise UserError(f"quantum must be above 0 and at most {LONGEST_QUANTUM_MS:,.0f} ms, not {quantum!r}")
        _check_whole("replicas", self.replicas, MAX_REPLICAS, "")
        _check_elastic(self)


Model = Manual | Dedicated | Dynamic | Multilevel | Coroutine
MODELS: dict[str, type[Model]] = {model.name: model for model in (Manual, Dedicated, Dynamic, Multilevel, Coroutine)}


def make_model(
    name: str,
    *,
    threads: int | None = None,
    queue_capacity: int | None = None,
    elastic: bool = False,
    law: str | None = None,
    law_settings: Mapping[str, object] | None = None,
    minimum: int | None = None,
    maximum: int | None = None,
    queued: str | None = None,
    policy: str | Callable[..., Any] | NativeFunction | None = None,
    quantum_ms: float | None = None,
    replicas: int | None = None,
) -> Model:
    """The model called `name`; a law, or settings of one, make dynamic and coroutine elastic, as multilevel always is.

    Raises UserError for an unknown name, for an option that the model does not have, or for levels that contradict each other.
    Whether there is such a law is for `harness.elasticity` to say.
    """
    if name not in MODELS:
        raise UserError(f"model {name!r} is unknown; models are: {', '.join(MODELS)}")
    options = {
        "threads": threads,
        "queue_capacity": queue_capacity,
        "elastic": (elastic or bool(law) or bool(law_settings) or None) if name != Multilevel.name else None,
        "law": law or None,
        "law_settings": tuple(law_settings.items()) if law_settings else None,
        "minimum": minimum,
        "maximum": maximum,
        "queued": queued,
        "policy": policy or None,
        "quantum_ms": quantum_ms,
        "replicas": replicas,
    }
    given = {option: value for option, value in options.items() if value is not None}
    for option in given:
        owners = [model.name for model in MODELS.values() if option in {field.name for field in fields(model)}]
        if name in owners:
            continue
        listed = " and ".join([", ".join(owners[:-1]), owners[-1]] if len(owners) > 1 else owners)
        raise UserError(f"{option} applies to {listed} only, not to the model {name}")
    return MODELS[name](**given)


@dataclass(frozen=True)
class PortQueue:
    """The queue before an input port; `capacity` in tuples, None: the engine chooses."""

    kind: Queue
    capacity: int | None = None


@dataclass(frozen=True)
class Pool:
    """The scheduler threads of a run: 0 if there is nothing to schedule; if elastic, those to begin with."""

    threads: int
    elastic: bool
    minimum: int = 0  # levels that a law may choose; 0 if the pool is not elastic
    maximum: int = 0


_CALLED = PortQueue(Queue.CALLED)

ON_SUBMITTER = BALANCING | {"split"}
"""Kinds that run on the thread that submits to them: all they do is choose a way. One that shares tuples out among buffers also
waits where all are full, and shall hold up whoever sends to it, as any full queue does, not one more thread."""


def scheduled_capacity(queues: int, stride: int, cheap: bool) -> int:
    """Tuples that each of so many scheduled queues holds when nobody says it.

    `stride`: of a slot [bytes]; `cheap`: whether all operators cost less than `COPY_FLOP`.
    """
    alone = -(-QUEUE_BYTES // (stride * LEAST_QUEUE_CAPACITY)) * LEAST_QUEUE_CAPACITY
    together = (QUEUE_CACHE if cheap else QUEUE_MEMORY) // (queues * stride) // LEAST_QUEUE_CAPACITY * LEAST_QUEUE_CAPACITY
    return max(LEAST_QUEUE_CAPACITY, min(DEFAULT_QUEUE_CAPACITY, alone, together))


def threaded_capacity(stride: int) -> int:
    """The same of a queue with a thread of its own."""
    return max(LEAST_QUEUE_CAPACITY, min(DEFAULT_QUEUE_CAPACITY, THREADED_BYTES // stride))


def port_queues(graph: Graph, model: Model) -> list[PortQueue]:
    """The queue before each input port of a graph, in the order of `Graph.input_ports`.

    A port threaded by hand stays so under every model, and so does a buffer. What only chooses a way runs on the thread that
    submits to it (`ON_SUBMITTER`). Others go by their operator's annotation, and without one by the run's model.
    """
    if isinstance(model, Coroutine):
        return _queues_of_coroutines(graph, model)
    own = next((operator.name for operator in graph.operators.values() if operator.kind == "loop"), None)
    if own is not None:
        raise UserError(f"operator {own!r} has a loop of its own, which needs the coroutine model, not {model.name}")
    capacity = getattr(model, "queue_capacity", None)
    by_model = {
        name: _CALLED if kind.queue is Queue.CALLED else PortQueue(kind.queue, capacity) for name, kind in MODELS.items()
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


def _queues_of_coroutines(graph: Graph, model: Coroutine) -> list[PortQueue]:
    """The same under the coroutine model: one co-routine executes an operator, whichever port its tuples come by.

    So no co-routine holds a lock, which it could not do while it waits. An operator is called only where one stream leads to
    it: what only chooses a way, and what its author wants under the manual model. It has a thread at each port if its author
    wants one at some, or if it is a user's that locks its own state and has several. Who wants an operator under the dynamic
    model wants it executed by a pool, which is here the threads that resume co-routines.
    """
    for operator in graph.operators.values():
        if operator.typed is not None and operator.typed.compiled and operator.typed.function.is_python:
            rule = "must not be a ctypes callback under the coroutine model: give the callable itself"
            raise UserError(f"operator {operator.name!r}: function {rule}")
    fed: dict[str, int] = {}
    for _, (name, _) in graph.streams:
        fed[name] = fed.get(name, 0) + 1
    by_hand = {port.operator for port in graph.threaded}
    queues: list[PortQueue] = []
    for operator in graph.operators.values():
        wish = operator.threading.model if operator.threading else ""
        threaded = operator.name in by_hand or wish == Dedicated.name or (operator.reentrant and operator.inputs > 1)
        if operator.kind == "loop" and (threaded or wish == Manual.name):
            rule = "it is a co-routine, so neither its ports can be threaded nor its annotation say manual or dedicated"
            raise UserError(f"operator {operator.name!r} has a loop of its own: {rule}")
        called = operator.kind in ON_SUBMITTER or wish == Manual.name
        kind = Queue.THREADED if threaded else Queue.CALLED if called and fed.get(operator.name) == 1 else Queue.RESUMED
        for number in range(operator.inputs):
            port = PortId(operator.name, number)
            capacity = graph.threaded.get(port, model.queue_capacity)
            queues.append(_CALLED if kind is Queue.CALLED else PortQueue(kind, capacity))
    return queues


def begins_queued(graph: Graph, model: Model) -> frozenset[PortId]:
    """The scheduled ports of a graph that begin with their queue switched on: all, unless the model says otherwise.

    Raises UserError for the name of a port that is not there, or not scheduled.
    """
    kinds = zip(graph.input_ports(), port_queues(graph, model), strict=True)
    scheduled = [port for port, queue in kinds if queue.kind is Queue.SCHEDULED]
    return Chosen.parse(getattr(model, "queued", "all")).of(scheduled)


@dataclass(frozen=True)
class Chosen:
    """Some of the scheduled ports: `all`, `none`, `7` or `30%` of them (evenly spread over the graph's order, so that 1 is
    in the middle), or names: `work50,sink`, `join[1]`; an operator's name stands for all its ports.
    """

    share: float | None = None
    count: int | None = None
    names: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Chosen:
        """Raises UserError for a text that is none of these."""
        rule = "all, none, a number of ports, a share as 30%, or names of ports as work50,sink"
        if not isinstance(text, str) or not text.strip():
            raise UserError(f"queued must be {rule}, not {text!r}")
        if text in ("all", "none"):
            return cls(share=1.0 if text == "all" else 0.0)
        if re.fullmatch(r"[0-9]{1,3}(\.[0-9]+)?%", text):
            if float(text[:-1]) > 100.0:
                raise UserError(f"queued must be at most 100% of the ports, not {text}")
            return cls(share=float(text[:-1]) / 100.0)
        if re.fullmatch(r"[0-9]{1,19}", text):  # Python refuses to read very long ones
            _check_whole("queued", int(text), MAX_OPERATORS, " ports")
            return cls(count=int(text))
        if not re.match(r"[^\W0-9]", text):
            raise UserError(f"queued must be {rule}, not {text[:40]!r}")
        return cls(names=tuple(name.strip() for name in text.split(",")))

    def of(self, ports: Sequence[PortId]) -> frozenset[PortId]:
        """Those of the ports that are meant. Raises UserError for a name that is none of theirs."""
        if self.names:
            chosen: set[PortId] = set()
            for name in self.names:
                meant = [port for port in ports if name in (port.operator, str(port))]
                if not meant:
                    raise UserError(f"queued must name scheduled input ports of the graph, not {name!r}")
                chosen.update(meant)
            return frozenset(chosen)
        count = min(self.count if self.count is not None else round((self.share or 0.0) * len(ports)), len(ports))
        return frozenset(ports[(2 * number + 1) * len(ports) // (2 * count)] for number in range(count))


def pool_of(graph: Graph, model: Model, cpus: int | None = None) -> Pool:
    """The scheduler threads for a graph: as many as its annotations and the model ask for, the highest number of all, and
    `least_threads` at least.

    It is elastic if all annotations that say something about it say so, and the run's model, if that is dynamic or coroutine:
    who wants a fixed number wins. The levels are then those of the model, but none below `least_threads`, and the pool begins
    at the highest number asked for that is a level, or at the minimum. Where nobody asks for a number it is that of the CPUs:
    `cpus`, of the machine it runs on, or None for those of this process. Raises UserError for a maximum that is too low for the
    graph.
    """
    if not any(queue.kind is Queue.SCHEDULED for queue in port_queues(graph, model)) and not isinstance(model, Coroutine):
        return Pool(0, False)
    wishes: set[Threading] = {operator.threading for operator in graph.operators.values() if operator.threading is not None}
    wishes = {wish for wish in wishes if wish.model == Dynamic.name}
    asked = [wish.threads for wish in wishes if wish.threads is not None]
    opinions = {wish.elastic for wish in wishes if wish.elastic is not None}
    low, high = 1, None
    if isinstance(model, (Dynamic, Multilevel, Coroutine)):
        opinions = {True} if isinstance(model, Multilevel) else opinions | {model.elastic}  # the law needs its levels
        low, high = model.minimum or low, model.maximum
        if model.threads is not None:
            asked.append(model.threads)
    least = least_threads(graph, model)
    if opinions != {True}:
        return Pool(max(least, max(asked, default=0) or cpus or allowed_cpus()), False)
    low = max(low, least)
    if high is not None and high < low:
        raise UserError(
            f"maximum must be at least {low} threads for graph {graph.name!r}, {why_least(graph, model)}, not {high}"
        )
    high = high or min(max(cpus or usable_cpus(), low), MAX_THREADS)
    return Pool(max(low, min(high, max(asked, default=low))), True, low, high)


def least_threads(graph: Graph, model: Model) -> int:
    """The lowest level of a graph's pool (FREE): one more than the most input ports of a user's operator, which may block.

    P17 §4.2.3. Fewer threads could all be held by one operator that waits, on each of its ports, for what they should bring. At
    a barrier all threads may wait that execute what leads there: one more for each of these ports. Co-routines that wait hold
    no thread.
    """
    return 1 + _most_users(graph) + (0 if isinstance(model, Coroutine) else _ports_before_barriers(graph))


def why_least(graph: Graph, model: Model) -> str:
    """What `least_threads` counts in a graph whose lowest level is above 1, for messages."""
    counted = ["input ports of a user's operator, which may block"] if _most_users(graph) else []
    if not isinstance(model, Coroutine) and _ports_before_barriers(graph):
        counted.append("input ports of barriers and of all that leads to them")
    return f"one more than the {' and the '.join(counted)}"


def why_raised(graph: Graph, model: Model, level: int) -> str:
    """Why a pool has this level, which is above the one that was asked for."""
    if level == least_threads(graph, model):
        return f"graph {graph.name!r} needs {why_least(graph, model)}"
    return f"a threading annotation in graph {graph.name!r} asks for as many"


def _most_users(graph: Graph) -> int:
    """The most input ports of a user's operator, which may block a thread at each."""
    return max((operator.inputs for operator in graph.operators.values() if operator.kind in USERS), default=0)


def _ports_before_barriers(graph: Graph) -> int:
    """Input ports of barriers, and of all that is upstream of one."""
    waiting = {operator.name for operator in graph.operators.values() if operator.kind == "barrier"}
    if not waiting:
        return 0
    senders: dict[str, list[str]] = {}
    for source, target in graph.streams:
        senders.setdefault(target.operator, []).append(source.operator)
    frontier = list(waiting)
    while frontier:
        for name in senders.get(frontier.pop(), ()):
            if name not in waiting:
                waiting.add(name)
                frontier.append(name)
    return sum(graph.operators[name].inputs for name in waiting if graph.operators[name].kind not in ON_SUBMITTER)


def with_level(graph: Graph, model: Model) -> Model:
    """A model that names a fixed number of threads with the number that the graph gets, which is never a lower one."""
    if not isinstance(model, (Dynamic, Coroutine)) or getattr(model, "elastic", False) or model.threads is None:
        return model
    return replace(model, threads=max(model.threads, pool_of(graph, model).threads))


def allowed_cpus() -> int:
    """CPUs that this process may use: its affinity mask where the system has one, else all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_levels(threads: int | None, minimum: int | None, maximum: int | None) -> None:
    for option, level in (("minimum", minimum), ("maximum", maximum)):
        if level is not None:
            _check_whole(option, level, MAX_THREADS, " threads")
    low = minimum or 1
    if maximum is not None and low > maximum:
        raise UserError(f"minimum must be at most the maximum of {maximum} threads, not {low}")
    high = maximum or max(usable_cpus(), low)
    if threads is None or low <= threads <= high:
        return
    why = "" if maximum else ", as there are CPUs for if no maximum is given"
    raise UserError(f"threads must be from {low} to {high}, the levels of the law{why}, not {threads}")


def _check_elastic(model: Dynamic | Coroutine) -> None:
    """Levels that agree, if a law chooses them; nothing about laws, if none does."""
    if model.elastic:
        _check_levels(model.threads, model.minimum, model.maximum)
        return
    for option in ("law", "law_settings", "minimum", "maximum"):
        value = getattr(model, option)
        if value != getattr(type(model), option):
            raise UserError(f"{option} applies to an elastic pool only, not to one of a fixed level: {value!r}")


def _check_capacity(capacity: int | None) -> None:
    if capacity is not None:
        _check_whole("queue_capacity", capacity, MAX_QUEUE_CAPACITY, " tuples")


def _check_whole(what: str, value: object, high: int, unit: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= high:
        raise UserError(f"{what} must be from 1 to {high}{unit}, not {value!r}")
