"""The threading models that a run may choose (P17 §2.2), each with its options.

A model says which input ports have a queue and which threads execute them. The graph's author may
say otherwise for some, by threaded ports and annotations; `port_queues` and `pool_of` resolve both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from harness.errors import UserError
from harness.graph.functions.compiled import NativeFunction
from harness.graph.values import MAX_REPLICAS, MAX_THREADS
from harness.machines.host import cpu
from harness.machines.place import Place
from harness.models.checks import check_capacity, check_whole
from harness.models.policy import find_policy
from harness.models.queue import Chosen, Queue

DEFAULT_LAW = "millrace"
"""The control law of an elastic pool unless another one is named. `harness.elasticity` lists the
laws.
"""

DEFAULT_POLICY = "oldest_source"
"""The scheduling policy of co-routines unless another one is named. Simulated with 4 threads, it
and `highest_rate` have the least latency of all in three of C-Stream's four topologies (figure
cstream_policies), at the same throughput, and it does not need the operators' costs. In the tree
`max_running_time` has less latency."""

QUANTUM_MS = 50.0
"""After which a co-routine is preempted unless another time is given, as in C-Stream [ms]."""

LONGEST_QUANTUM_MS = 3.6e6


@dataclass(frozen=True)
class Manual:
    """No queues: the thread of each source executes everything downstream of it by function
    calls.
    """

    name: ClassVar[str] = "manual"
    queue: ClassVar[Queue] = Queue.CALLED


@dataclass(frozen=True)
class Dedicated:
    """A queue before every input port, and a thread for each of them."""

    name: ClassVar[str] = "dedicated"
    queue: ClassVar[Queue] = Queue.THREADED
    # tuples a queue; None: 1000, fewer of large tuples (`threaded_capacity`)
    queue_capacity: int | None = None

    def __post_init__(self) -> None:
        check_capacity(self.queue_capacity)


@dataclass(frozen=True)
class Dynamic:
    """A queue before every input port, and scheduler threads that execute any of them (P17
    §4.1).
    """

    name: ClassVar[str] = "dynamic"
    queue: ClassVar[Queue] = Queue.SCHEDULED
    # scheduler threads, if elastic at the start; None: one for each CPU, if elastic the minimum
    threads: int | None = None
    # tuples a queue; None: 1000, fewer of large tuples, or cheap work (`scheduled_capacity`)
    queue_capacity: int | None = None
    # which of the scheduled ports have their queue: all, none, so many, a share, or their names
    # (`Chosen`)
    queued: str = "all"
    # whether a control law changes the number of threads while tuples flow (P17 §4.2)
    elastic: bool = False
    law: str = DEFAULT_LAW  # its name
    # its settings, name and value; those not named have its defaults
    law_settings: tuple[tuple[str, object], ...] = ()
    # threads that the law may go down to; None: the least that the graph allows
    minimum: int | None = None
    # threads that it may go up to; None: one for each CPU that the process can keep busy
    maximum: int | None = None

    def __post_init__(self) -> None:
        check_capacity(self.queue_capacity)
        Chosen.parse(self.queued)
        if self.threads is not None:
            check_whole("threads", self.threads, MAX_THREADS, "")
        _check_elastic(self)


@dataclass(frozen=True)
class Multilevel:
    """Model dynamic with a control law that decides while tuples flow which ports have queues, and
    how many threads run (M19 §3).
    """

    name: ClassVar[str] = "multilevel"
    queue: ClassVar[Queue] = Queue.SCHEDULED
    elastic: ClassVar[bool] = True
    queued: ClassVar[str] = "none"  # to begin with
    threads: int | None = None  # scheduler threads at the start; None: the minimum
    # tuples a queue; None: 1000, fewer of large tuples, or cheap work (`scheduled_capacity`)
    queue_capacity: int | None = None
    law: str = DEFAULT_LAW  # its name, one of `harness.elasticity.queues`
    law_settings: tuple[tuple[str, object], ...] = ()  # as of dynamic, and so the levels
    minimum: int | None = None
    maximum: int | None = None

    def __post_init__(self) -> None:
        check_capacity(self.queue_capacity)
        if self.threads is not None:
            check_whole("threads", self.threads, MAX_THREADS, "")
        _check_levels(self.threads, self.minimum, self.maximum)


@dataclass(frozen=True)
class Coroutine:
    """Every operator is a co-routine, and threads resume those that can go on, as a policy says
    (C-Stream §3).
    """

    name: ClassVar[str] = "coroutine"
    queue: ClassVar[Queue] = Queue.RESUMED
    threads: int | None = None  # that resume co-routines; None: one for each CPU
    # which of those that can go on is next (`find_policy`)
    policy: str | Callable[..., Any] | NativeFunction = DEFAULT_POLICY
    # after which one that runs is preempted, when it next waits or sends
    quantum_ms: float = QUANTUM_MS
    queue_capacity: int | None = None  # tuples a queue; None: as of dynamic (`scheduled_capacity`)
    # Of each operator that may have some (`harness.models.replicas`); if a law decides about them,
    # to begin with.
    replicas: int = 1
    # whether a control law changes the number of threads, and of replicas, while tuples flow (§4)
    elastic: bool = False
    # its name: of those that choose replicas, and else of those that choose threads alone
    law: str = DEFAULT_LAW
    law_settings: tuple[tuple[str, object], ...] = ()  # as of dynamic, and so the levels
    minimum: int | None = None
    maximum: int | None = None

    def __post_init__(self) -> None:
        check_capacity(self.queue_capacity)
        if self.threads is not None:
            check_whole("threads", self.threads, MAX_THREADS, "")
        find_policy(self.policy)
        quantum = self.quantum_ms
        if (
            not isinstance(quantum, (int, float))
            or isinstance(quantum, bool)
            or not 0.0 < quantum <= LONGEST_QUANTUM_MS
        ):
            raise UserError(
                f"quantum must be above 0 and at most {LONGEST_QUANTUM_MS:,.0f} ms, not {quantum!r}"
            )
        check_whole("replicas", self.replicas, MAX_REPLICAS, "")
        _check_elastic(self)


Model = Manual | Dedicated | Dynamic | Multilevel | Coroutine

MODELS: dict[str, type[Model]] = {
    model.name: model for model in (Manual, Dedicated, Dynamic, Multilevel, Coroutine)
}


def model_on(place: Place, name: str, options: Mapping[str, Any]) -> Model:
    """Return the model called `name` with `options`, as `make_model` takes them, for runs on a machine.

    A pool of a fixed number of threads has one for each of the machine's CPUs unless `options` say otherwise. A law may go up
    to as many on a simulated machine. Raises UserError as `make_model`, and for more threads than a simulated machine has CPUs.
    """
    given = {option: value for option, value in options.items() if value not in (None, "")}
    threads, maximum = given.get("threads"), given.get("maximum")
    place.check_levels(threads, maximum)
    if name in (Dynamic.name, Multilevel.name, Coroutine.name):
        chosen_by_law = name == Multilevel.name or any(
            given.get(word) for word in ("elastic", "law", "law_settings")
        )
        if not chosen_by_law:
            given["threads"] = threads or place.cpus
        elif place.simulated:
            given["maximum"] = maximum or place.cpus
    return make_model(name, **given)


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
    """The model called `name`; a law, or settings of one, make dynamic and coroutine elastic, as
    multilevel always is.

    Raises UserError for an unknown name, for an option that the model does not have, or for levels
    that contradict each other. Whether there is such a law is for `harness.elasticity` to say.
    """
    if name not in MODELS:
        raise UserError(f"model {name!r} is unknown; models are: {', '.join(MODELS)}")
    options = {
        "threads": threads,
        "queue_capacity": queue_capacity,
        "elastic": (elastic or bool(law) or bool(law_settings) or None)
        if name != Multilevel.name
        else None,
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
        owners = [
            model.name
            for model in MODELS.values()
            if option in {field.name for field in fields(model)}
        ]
        if name in owners:
            continue
        listed = " and ".join([", ".join(owners[:-1]), owners[-1]] if len(owners) > 1 else owners)
        raise UserError(f"{option} applies to {listed} only, not to the model {name}")
    return MODELS[name](**given)


def _check_levels(threads: int | None, minimum: int | None, maximum: int | None) -> None:
    for option, level in (("minimum", minimum), ("maximum", maximum)):
        if level is not None:
            check_whole(option, level, MAX_THREADS, " threads")
    low = minimum or 1
    if maximum is not None and low > maximum:
        raise UserError(f"minimum must be at most the maximum of {maximum} threads, not {low}")
    high = maximum or max(cpu.usable_cpus(), low)
    if threads is None or low <= threads <= high:
        return
    why = "" if maximum else ", as there are CPUs for if no maximum is given"
    raise UserError(
        f"threads must be from {low} to {high}, the levels of the law{why}, not {threads}"
    )


def _check_elastic(model: Dynamic | Coroutine) -> None:
    """Levels that agree, if a law chooses them; nothing about laws, if none does."""
    if model.elastic:
        _check_levels(model.threads, model.minimum, model.maximum)
        return
    for option in ("law", "law_settings", "minimum", "maximum"):
        value = getattr(model, option)
        if value != getattr(type(model), option):
            raise UserError(
                f"{option} applies to an elastic pool only, not to one of a fixed level: {value!r}"
            )
