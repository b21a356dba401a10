"""The scheduler threads of a run: the number that a graph and a model ask for, and the least that
the graph allows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from harness.errors import UserError
from harness.graph import Graph, Threading
from harness.graph.kinds import BARRIER
from harness.graph.values import MAX_THREADS
from harness.machines.host import cpu
from harness.models.models import Coroutine, Dynamic, Model, Multilevel
from harness.models.port_queues import port_queues
from harness.models.queue import PortQueue, Queue


@dataclass(frozen=True)
class PoolSize:
    """The scheduler threads of a run: 0 if there is nothing to schedule; if elastic, the number at
    the start.
    """

    threads: int
    elastic: bool
    minimum: int = 0  # levels that a law may choose; 0 if the pool is not elastic
    maximum: int = 0
    least: int = field(default=1, compare=False)  # the lowest level of any pool of the graph (FREE)


def pool_of(
    graph: Graph, model: Model, cpus: int | None = None, queues: Sequence[PortQueue] | None = None
) -> PoolSize:
    """Return the scheduler threads for a graph: the highest number that its annotations and the
    model ask for, and `least_threads` at least.

    The pool is elastic if no annotation, and not the run's model if that is dynamic or coroutine,
    asks for a fixed number. The levels are then those of the model, but none below `least_threads`,
    and the pool begins at the highest number asked for that is a level, or at the minimum. If
    neither asks for a number it is that of the CPUs: `cpus`, of the machine it runs on, or None for
    those of this process. `queues`: those of the graph under the model, if they are known. Raises
    UserError for a maximum that is too low for the graph, and if no pool is large enough for it.
    """
    queues = port_queues(graph, model) if queues is None else queues
    scheduled = any(queue.kind is Queue.SCHEDULED for queue in queues)
    if not scheduled and not isinstance(model, Coroutine):
        return PoolSize(0, False)
    wishes: set[Threading] = {
        operator.threading
        for operator in graph.operators.values()
        if operator.threading is not None
    }
    wishes = {wish for wish in wishes if wish.model == Dynamic.name}
    asked = [wish.threads for wish in wishes if wish.threads is not None]
    opinions = {wish.elastic for wish in wishes if wish.elastic is not None}
    low, high = 1, None
    if isinstance(model, (Dynamic, Multilevel, Coroutine)):
        # the law needs its levels
        opinions = {True} if isinstance(model, Multilevel) else opinions | {model.elastic}
        low, high = model.minimum or low, model.maximum
        if model.threads is not None:
            asked.append(model.threads)
    least = least_threads(graph, model)
    if least > MAX_THREADS:
        raise _too_large(graph, least)
    if opinions != {True}:
        level = max(least, max(asked, default=0) or cpus or cpu.allowed_cpus())
        return PoolSize(level, False, least=least)
    low = max(low, least)
    if high is not None and high < low:
        raise UserError(
            f"maximum must be at least {low} threads for graph {graph.name!r}, "
            f"{why_least(graph, model)}, not {high}"
        )
    high = high or min(max(cpus or cpu.usable_cpus(), low), MAX_THREADS)
    return PoolSize(max(low, min(high, max(asked, default=low))), True, low, high, least)


def _too_large(graph: Graph, least: int) -> UserError:
    """Return the error for a graph whose pool would need more threads than there may be."""
    blocking = [
        (operator.inputs, operator.name)
        for operator in graph.operators.values()
        if operator.kind.calls_user_function
    ]
    inputs, name = max(blocking, default=(0, ""))
    if inputs < MAX_THREADS:
        count = least - 1 - inputs
        rule = f"a thread for each of the {count} input ports of barriers and of what leads to them"
        return UserError(
            f"graph {graph.name!r}: a pool must have {rule}, and may have {MAX_THREADS} at most"
        )
    rule = (
        f"at most {MAX_THREADS - 1} of a user's operator where ports are scheduled "
        "(it may block a thread at each)"
    )
    return UserError(f"operator {name!r}: inputs must be {rule}, not {inputs}")


def least_threads(graph: Graph, model: Model) -> int:
    """Return the lowest level of a graph's pool (FREE): one more than the most input ports of a
    user's operator, which may block.

    P17 §4.2.3. Fewer threads could all be held by one operator that waits, on each of its ports,
    for what they should bring. At a barrier all threads may wait that execute what leads there: one
    more for each of these ports. Co-routines that wait hold no thread.
    """
    return (
        1
        + _most_users(graph)
        + (0 if isinstance(model, Coroutine) else _ports_before_barriers(graph))
    )


def why_least(graph: Graph, model: Model) -> str:
    """Describe for messages what `least_threads` counts in a graph whose lowest level is above
    1.
    """
    counted = ["input ports of a user's operator, which may block"] if _most_users(graph) else []
    if not isinstance(model, Coroutine) and _ports_before_barriers(graph):
        counted.append("input ports of barriers and of all that leads to them")
    return f"one more than the {' and the '.join(counted)}"


def why_raised(graph: Graph, model: Model, level: int) -> str:
    """Give the reason why a pool has this level, which is above the one that was asked for."""
    if level == least_threads(graph, model):
        return f"graph {graph.name!r} needs {why_least(graph, model)}"
    return f"a threading annotation in graph {graph.name!r} asks for as many"


def _most_users(graph: Graph) -> int:
    """Return the most input ports of a user's operator, which may block a thread at each."""
    return max(
        (
            operator.inputs
            for operator in graph.operators.values()
            if operator.kind.calls_user_function
        ),
        default=0,
    )


def _ports_before_barriers(graph: Graph) -> int:
    """Input ports of barriers, and of all that is upstream of one."""
    waiting = {operator.name for operator in graph.operators.values() if operator.kind is BARRIER}
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
    return sum(
        graph.operators[name].inputs
        for name in waiting
        if not graph.operators[name].kind.on_submitter
    )


def with_level(model: Model, pool: PoolSize) -> Model:
    """Return a model with a fixed number of threads as its pool gets it, which is never lower than
    the model's own; any other model as it is.
    """
    fixed = isinstance(model, (Dynamic, Coroutine)) and not model.elastic
    if not fixed or model.threads is None:
        return model
    return replace(model, threads=max(model.threads, pool.threads))
