"""The threading models that a run may choose (P17 §2.2), each with its options.

A model says which input ports have a queue and which threads execute them; `harness/runtime/` and every other engine obey it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import ClassVar

from harness.errors import UserError
from harness.graph import Operator

DEFAULT_QUEUE_CAPACITY = 1000
"""Tuples a queue holds, as in IBM Streams 4.2, unless all the queues together would pass `QUEUE_MEMORY`."""

QUEUE_MEMORY = 2 * 2**30
"""Bytes that the queues of a graph may take together when the capacity is not given. A guess, not tuned."""

MAX_THREADS = 1024
MAX_QUEUE_CAPACITY = 2**20


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
    queue_capacity: int | None = None  # tuples a queue; None: 1000, fewer if the queues would not fit in memory

    def __post_init__(self) -> None:
        _check_capacity(self.queue_capacity)
        if self.threads is None:
            object.__setattr__(self, "threads", allowed_cpus())
        elif not 1 <= self.threads <= MAX_THREADS:
            raise UserError(f"threads must be from 1 to {MAX_THREADS}, not {self.threads}")


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


def has_queue(model: Model | None, operator: Operator) -> bool:
    """Whether an operator's input ports have queues under a model. A split's never do: it runs on the thread that submits."""
    return model is not None and not isinstance(model, Manual) and operator.kind not in ("source", "split")


def allowed_cpus() -> int:
    """CPUs that this process may use: its affinity mask where the system has one, else all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_capacity(capacity: int | None) -> None:
    if capacity is not None and not 1 <= capacity <= MAX_QUEUE_CAPACITY:
        raise UserError(f"queue_capacity must be from 1 to {MAX_QUEUE_CAPACITY} tuples, not {capacity}")
