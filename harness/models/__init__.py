"""The threading models, and the parts that each gives a graph: queues, threads, replicas, and a
layout that both engines execute.

option       the declaration of an option: type, bounds, help, source
models       the five models with their options
queue        the kinds of queue before an input port
port_queues  which port gets which queue
pool         how many scheduler threads there are
schemas      the options in JSON schemas
policy       which co-routine is next
replicas     which operators may have replicas
layout       everything that a graph gets under a model, for the engines
analysis     what the layout proves about the graph
"""

from harness.models.models import (
    DEFAULT_LAW,
    DEFAULT_POLICY,
    MODELS,
    OPTIONS,
    QUANTUM_MS,
    Coroutine,
    Dedicated,
    Dynamic,
    Manual,
    Model,
    Multilevel,
    asks_for_law,
    describe,
    make_model,
    model_on,
    owners_of,
)
from harness.models.pool import PoolSize, least_threads, pool_of, why_least, why_raised, with_level
from harness.models.port_queues import (
    COPY_FLOP,
    DEFAULT_QUEUE_CAPACITY,
    QUEUE_MEMORY,
    begins_queued,
    port_queues,
    scheduled_capacity,
    threaded_capacity,
)
from harness.models.queue import Chosen, PortQueue, Queue

__all__ = [
    "COPY_FLOP",
    "DEFAULT_LAW",
    "DEFAULT_POLICY",
    "DEFAULT_QUEUE_CAPACITY",
    "MODELS",
    "OPTIONS",
    "QUANTUM_MS",
    "QUEUE_MEMORY",
    "Chosen",
    "Coroutine",
    "Dedicated",
    "Dynamic",
    "Manual",
    "Model",
    "Multilevel",
    "PoolSize",
    "PortQueue",
    "Queue",
    "asks_for_law",
    "begins_queued",
    "describe",
    "least_threads",
    "make_model",
    "model_on",
    "owners_of",
    "pool_of",
    "port_queues",
    "scheduled_capacity",
    "threaded_capacity",
    "why_least",
    "why_raised",
    "with_level",
]
