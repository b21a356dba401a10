"""The threading models that a run may choose (P17 §2.2), each with its options.

A model says which input ports have a queue and which threads execute them. The graph's author may
say otherwise for some, by threaded ports and annotations; `port_queues` and `pool_of` resolve both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.graph.functions.compiled import NativeFunction
from harness.graph.values import MAX_BATCH, MAX_QUEUE_CAPACITY, MAX_REPLICAS, MAX_THREADS
from harness.machines.host import cpu
from harness.machines.place import Place
from harness.models.option import (
    Flag,
    HasOptions,
    Option,
    Real,
    Settings,
    Text,
    Whole,
    option,
    options_of,
)
from harness.models.policy import Policy, find_policy
from harness.models.queue import PORTS_RULE, Chosen, Queue

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


# -- options of several models ---------------------------------------------------------------------

THREADS = Whole(
    help="threads of the pool: scheduler threads, or those that resume co-routines; "
    "if a law changes them, to begin with",
    default="one for each CPU; with a law, the least",
    source="P17 §4.1, C-Stream §3.2",
    unit="threads",
    most=MAX_THREADS,
    recorded_as="threads",
    arm=lambda threads: "",  # `arm_name` puts the level first
)

QUEUE_CAPACITY = Whole(
    help="tuples that a queue holds",
    default="1000, fewer if queues are many, tuples large or work is cheap",
    source="IBM Streams 4.2",
    unit="tuples",
    most=MAX_QUEUE_CAPACITY,
    recorded_as="queue_capacity",
    arm=lambda capacity: "",
)

BATCH = Whole(
    help="tuples that an operator gets at once, at most; 1: each is handed over by itself. "
    "A merge, a barrier and replicas hand on together what had to wait",
    default=f"{MAX_BATCH}, fewer if tuples are large or work is expensive",
    unit="tuples",
    most=MAX_BATCH,
)

ELASTIC = Flag(
    help="a control law changes the threads while tuples flow, and under coroutine the replicas; "
    "the run is measured once the law has settled",
    source="P17 §4.2, C-Stream §4",
    recorded_as="elastic",
    arm=lambda elastic: "",
)

LAW = Text(
    help="the control law, which makes a pool elastic; millrace laws list has them",
    default=DEFAULT_LAW,
    words="the name of a law",
    recorded_as="elastic.law",
    arm=lambda law: "",
)

LAW_SETTINGS = Settings(
    help="settings of the law; those not named have its defaults",
    default="the law's own",
    flag="law-set",
    recorded_as="elastic.settings",
    arm=lambda settings: "",
)

MINIMUM = Whole(
    help="lowest level that a law may choose",
    default="the least that the graph allows",
    source="P17 §4.2.3",
    unit="threads",
    flag="min-threads",
    most=MAX_THREADS,
    recorded_as="elastic.minimum",
    arm=lambda minimum: "",
)

MAXIMUM = Whole(
    help="highest level that a law may choose",
    default="one for each CPU that can be kept busy",
    source="P17 §4.2",
    unit="threads",
    flag="max-threads",
    most=MAX_THREADS,
    recorded_as="elastic.maximum",
    arm=lambda maximum: "",
)


# -- the models ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Manual(HasOptions):
    """No queues: the thread of each source executes everything downstream of it by function
    calls.
    """

    name: ClassVar[str] = "manual"
    queue: ClassVar[Queue] = Queue.CALLED
    batch: int | None = option(None, BATCH)


@dataclass(frozen=True)
class Dedicated(HasOptions):
    """A queue before every input port, and a thread for each of them."""

    name: ClassVar[str] = "dedicated"
    queue: ClassVar[Queue] = Queue.THREADED
    queue_capacity: int | None = option(None, QUEUE_CAPACITY)
    batch: int | None = option(None, BATCH)


@dataclass(frozen=True)
class Dynamic(HasOptions):
    """A queue before every input port, and scheduler threads that execute any of them (P17
    §4.1).
    """

    name: ClassVar[str] = "dynamic"
    queue: ClassVar[Queue] = Queue.SCHEDULED
    threads: int | None = option(None, THREADS)
    queue_capacity: int | None = option(None, QUEUE_CAPACITY)
    queued: str = option(
        "all",
        Text(
            help="which scheduled ports have queues: all, none, a number or a share of them, "
            "evenly spread, or names such as work50,sink; "
            "the thread that sends to any other port executes it by a call",
            default="all",
            source="M19 §3",
            words=PORTS_RULE,
            or_whole=True,
            find=Chosen.parse,
            recorded_as="samples.queued_ports",
            arm=lambda queued: f"queued-{queued.replace('%', 'pct')}",
        ),
    )
    elastic: bool = option(False, ELASTIC)
    law: str = option(DEFAULT_LAW, LAW)
    law_settings: tuple[tuple[str, object], ...] = option((), LAW_SETTINGS)
    minimum: int | None = option(None, MINIMUM)
    maximum: int | None = option(None, MAXIMUM)
    batch: int | None = option(None, BATCH)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_elastic(self)


@dataclass(frozen=True)
class Multilevel(HasOptions):
    """Model dynamic with a control law that decides while tuples flow which ports have queues, and
    how many threads run (M19 §3).
    """

    name: ClassVar[str] = "multilevel"
    queue: ClassVar[Queue] = Queue.SCHEDULED
    elastic: ClassVar[bool] = True
    queued: ClassVar[str] = "none"  # to begin with
    threads: int | None = option(None, THREADS)
    queue_capacity: int | None = option(None, QUEUE_CAPACITY)
    law: str = option(DEFAULT_LAW, LAW)  # one of `harness.elasticity.queues`
    law_settings: tuple[tuple[str, object], ...] = option((), LAW_SETTINGS)
    minimum: int | None = option(None, MINIMUM)
    maximum: int | None = option(None, MAXIMUM)
    batch: int | None = option(None, BATCH)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_levels(self.threads, self.minimum, self.maximum)


@dataclass(frozen=True)
class Coroutine(HasOptions):
    """Every operator is a co-routine, and threads resume those that can go on, as a policy says
    (C-Stream §3).
    """

    name: ClassVar[str] = "coroutine"
    queue: ClassVar[Queue] = Queue.RESUMED
    threads: int | None = option(None, THREADS)
    policy: str | Callable[..., Any] | NativeFunction = option(
        DEFAULT_POLICY,
        Text(
            help="which co-routine goes on next, as millrace models lists them, "
            "or a function of yours as FILE.py:NAME or FILE.so:SYMBOL",
            default=DEFAULT_POLICY,
            source="C-Stream §3.2.6",
            words="a policy that millrace models lists, not a function of yours",
            in_files="^[^:]+$",
            find=find_policy,
            # of a user's file, without its folder
            arm=lambda policy: Path(find_policy(policy).name).name,
        ),
    )
    quantum_ms: float = option(
        QUANTUM_MS,
        Real(
            help="time after which a co-routine that runs is preempted, when it next waits or "
            "sends",
            default=f"{QUANTUM_MS:g}",
            source="C-Stream §3.2.4",
            unit="ms",
            flag="quantum",
            most=LONGEST_QUANTUM_MS,
            arm=lambda quantum_ms: f"{quantum_ms:g}ms",
        ),
    )
    queue_capacity: int | None = option(None, QUEUE_CAPACITY)
    replicas: int = option(
        1,
        Whole(
            help="replicas of each operator that may have some: stateless or by key, with one "
            "input and one output port; if a law decides about them, to begin with",
            default="1",
            source="C-Stream §4.2",
            unit="replicas",
            most=MAX_REPLICAS,
        ),
    )
    elastic: bool = option(False, ELASTIC)
    # one of those that choose replicas, or of those that choose threads alone
    law: str = option(DEFAULT_LAW, LAW)
    law_settings: tuple[tuple[str, object], ...] = option((), LAW_SETTINGS)
    minimum: int | None = option(None, MINIMUM)
    maximum: int | None = option(None, MAXIMUM)
    batch: int | None = option(None, BATCH)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_elastic(self)

    @cached_property
    def found_policy(self) -> Policy:
        """The policy that the option names."""
        return find_policy(self.policy)


Model = Manual | Dedicated | Dynamic | Multilevel | Coroutine

MODELS: dict[str, type[Model]] = {
    model.name: model for model in (Manual, Dedicated, Dynamic, Multilevel, Coroutine)
}

OPTIONS: dict[str, Option] = {
    name: declared for model in MODELS.values() for name, declared in options_of(model).items()
}
"""Options of all models by the names of their fields. A name is the same option everywhere."""


def owners_of(name: str) -> str:
    """Return the models that have an option, as a list for people."""
    owners = [model.name for model in MODELS.values() if name in options_of(model)]
    return " and ".join([", ".join(owners[:-1]), owners[-1]] if len(owners) > 1 else owners)


def describe(name: str) -> str:
    """Return the help of an option: the models that have it, its meaning, bounds and default."""
    option = OPTIONS[name]
    lacking = [model.name for model in MODELS.values() if name not in options_of(model)]
    whose = f"all models but {lacking[0]}" if len(lacking) == 1 else owners_of(name)
    bounds = " ".join(filter(None, (option.range, option.unit)))
    return f"{whose}: {option.help} {bounds and f'[{bounds}] '}(default: {option.default})"


def asks_for_law(name: str, options: Mapping[str, Any]) -> bool:
    """Return True if a control law will change something under the model with these options."""
    return name == Multilevel.name or any(
        options.get(word) for word in ("elastic", "law", "law_settings")
    )


def model_on(place: Place, name: str, options: Mapping[str, Any]) -> Model:
    """Return the model called `name` with `options`, as `make_model` takes them, for runs on a
    machine.

    A pool of a fixed number of threads has one for each of the machine's CPUs unless `options` say
    otherwise. A law may go up to as many on a simulated machine. Raises UserError as `make_model`,
    and for more threads than a simulated machine has CPUs.
    """
    given = dict(options)
    threads, maximum = given.get("threads"), given.get("maximum")
    place.check_levels(threads, maximum)
    if name in MODELS and "threads" in options_of(MODELS[name]):
        if not asks_for_law(name, given):
            given["threads"] = threads or place.cpus
        elif place.simulated:
            given["maximum"] = maximum or place.cpus
    return make_model(name, **given)


def make_model(name: str, **options: Any) -> Model:
    """Return the model called `name` with these options, by the names of its fields.

    An option that is None, False or empty is not given; the settings of a law may be a mapping. A
    law, or settings of one, make dynamic and coroutine elastic, as multilevel always is. Raises
    UserError for an unknown name, for an option that the model does not have, or for levels that
    contradict each other. `harness.elasticity` looks for the law.
    """
    if name not in MODELS:
        meant = did_you_mean(name, MODELS)
        raise UserError(f"model {name!r} is unknown{meant}; models are: {', '.join(MODELS)}")
    given = {
        each: tuple(value.items()) if isinstance(value, Mapping) else value
        for each, value in options.items()
        if value is not None and value is not False and value not in ("", {}, ())
    }
    if asks_for_law(name, given):
        given = {"elastic": True, **given}
    if name == Multilevel.name:
        del given["elastic"]  # it always is
    own = options_of(MODELS[name])
    for each in given:
        if each not in OPTIONS:
            raise UserError(
                f"no model has an option {each!r}{did_you_mean(each, OPTIONS)}; options are: "
                f"{', '.join(OPTIONS)}"
            )
        if each not in own:
            raise UserError(f"{each} applies to {owners_of(each)} only, not to the model {name}")
    return MODELS[name](**given)


def _check_levels(threads: int | None, minimum: int | None, maximum: int | None) -> None:
    """Raise UserError for levels that contradict each other."""
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
    """Raise UserError for levels that contradict each other, or for options of a law without
    one.
    """
    if model.elastic:
        _check_levels(model.threads, model.minimum, model.maximum)
        return
    for name in ("law", "law_settings", "minimum", "maximum"):
        if name in model.changed:
            raise UserError(
                f"{name} applies to an elastic pool only, not to one of a fixed level: "
                f"{model.changed[name]!r}"
            )
