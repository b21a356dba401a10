"""Costs of a graph's operators and queues, from explained runs.

A run under the manual model has no queues: its times are the operators' own. Runs under other
models show what moving a tuple through a queue costs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.explain import RunExplanation
from harness.explain.bounds import interpreter_work
from harness.explain.shares import OperatorShares

LEAST_HOP_NS = 2.0  # that a queue costs a tuple at least, whatever noise says: a copy


@dataclass(frozen=True)
class OperatorCost:
    """Cost of an operator. `share`: tuples that it takes for one that all sources send together;
    `interpreter_ns`: time of a tuple with the interpreter's lock, None if it needs none;
    `least_ns`: the shortest time of a tuple that could be seen, None if times are exact;
    `most_threads`: that may execute it at once without replicas.
    """

    name: str
    is_source: bool
    share: float
    tuple_ns: float
    behind: tuple[str, ...]  # operators that send to it
    replicable: bool
    interpreter_ns: float | None = None
    least_ns: float | None = None
    most_threads: int = 1

    @property
    def load_ns(self) -> float:
        """Its time for each tuple of the sources."""
        return self.share * self.tuple_ns

    @property
    def takes_turns(self) -> bool:
        """True if most of its time holds the interpreter's lock, so that replicas would wait."""
        return (self.interpreter_ns or 0.0) > 0.5 * self.tuple_ns


@dataclass(frozen=True)
class GraphPart:
    """Operators whose rates are in a fixed proportion, and the most that their sources send
    together [tuples/s].
    """

    operators: Sequence[str]
    most_per_s: float


@dataclass(frozen=True)
class GraphCosts:
    """Costs of all operators, in topological order, and of a tuple at a queue, by model [ns].
    `threaded`: operators that have a queue and a thread of their own whatever the arm; `parts`: all
    operators, by what bounds them.
    """

    operators: Mapping[str, OperatorCost]
    hop_ns: Mapping[str, float]
    threaded: frozenset[str] = frozenset()
    parts: Sequence[GraphPart] = ()

    @property
    def total_ns(self) -> float:
        """Time of all operators for each tuple of the sources."""
        return sum(each.load_ns for each in self.operators.values())

    @property
    def interpreter_ns(self) -> float:
        """Time for each tuple of the sources with the interpreter's lock, one thread at a time."""
        return self.interpreter_ns_of(self.operators)

    def interpreter_ns_of(self, names: Iterable[str]) -> float:
        """Return the same time of some operators."""
        return interpreter_work(
            each.interpreter_ns and each.share * each.interpreter_ns
            for each in (self.operators[name] for name in names)
        )


def costs_of(runs: Mapping[str, RunExplanation], plain: str) -> GraphCosts:
    """Return costs from runs by model; `plain`: the one with the fewest queues, whose times are
    taken for the operators' own.
    """
    shares = _in_order(runs[plain].operators)
    sent = sum(each.tuples for each in shares if not each.behind)
    operators = {
        each.name: OperatorCost(
            each.name,
            not each.behind,
            each.tuples / sent if sent else 0.0,
            each.tuple_ns if each.queue_capacity is None else each.work_ns or 0.0,
            each.behind,
            each.replicable,
            _interpreter_ns(each, runs[plain].elapsed_s),
            each.least_ns,
            each.most_threads,
        )
        for each in shares
    }
    return GraphCosts(operators, {name: _hop_ns(run) for name, run in runs.items()})


def _interpreter_ns(operator: OperatorShares, elapsed_s: float) -> float | None:
    if operator.interpreter is None or not operator.tuples:
        return None
    return operator.interpreter * elapsed_s * 1e9 / operator.tuples


def _hop_ns(run: RunExplanation) -> float:
    """Return what moving a tuple through a queue takes, on average. Time in which threads look for
    work does not count: those that are too many spend it for nothing.
    """
    moved = sum(each.tuples for each in run.operators if each.queue_capacity is not None)
    moving_ns = run.shares["queues"] * run.threads_s * 1e9
    return max(moving_ns / moved, LEAST_HOP_NS) if moved else LEAST_HOP_NS


def _in_order(operators: tuple[OperatorShares, ...]) -> list[OperatorShares]:
    """Return operators so that each comes after those that send to it."""
    left = {each.name: each for each in operators}
    ordered: dict[str, OperatorShares] = {}
    while left:
        ready = [each for each in left.values() if all(name in ordered for name in each.behind)]
        for each in ready:
            ordered[each.name] = left.pop(each.name)
    return list(ordered.values())
