"""Explanation of a run, from its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from harness.errors import UserError
from harness.explain.bounds import Bound, bounds_of, critical_path
from harness.explain.shares import (
    OperatorShares,
    ThreadShares,
    Times,
    categories,
    operator_shares,
    shares_of,
    thread_shares,
)
from harness.explain.words import WITHOUT_OTHERS, own_bound, sentences
from harness.measurement.records import rare_results


@dataclass(frozen=True)
class RunExplanation:
    """Use of the time of a run's threads, and bounds of its throughput.

    `shares` are of the time of all threads together, by category (`harness.explain.shares`), and
    add up to 1. `bounds` begin with the one that is used most. `own_bound`: the
    nearest one if other programs took no CPUs, in words. `looks`: how often all threads were looked
    at; None: the times are exact. `critical_path` has the operators on the way of a tuple
    that takes longest.
    """

    title: str
    simulated: bool
    elapsed_s: float
    threads_s: float
    tuples_per_s: float | None
    looks: int | None
    shares: Times
    threads: tuple[ThreadShares, ...]
    operators: tuple[OperatorShares, ...]
    bounds: tuple[Bound, ...]
    own_bound: str
    critical_path: tuple[str, ...]
    path_ns: float
    sentences: tuple[str, ...]
    counters: Mapping[str, int]
    counters_problem: str | None

    @property
    def headline(self) -> str:
        """Nearest bound of the run, in a sentence. Beside other programs it names the one without
        them.
        """
        beside = [each for each in self.sentences[1:2] if each.startswith(WITHOUT_OTHERS)]
        return "; ".join([self.sentences[0], *beside])

    def to_mapping(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return asdict(self)


def explain(record: Mapping[str, Any]) -> RunExplanation:
    """Explain a run by its record. Raises UserError for one that was not asked to be explained."""
    use = record.get("time_use")
    if use is None:
        raise UserError("the record of the run does not say what its threads did (time_use)")
    rows = categories(use)
    threads_s = sum(time_s for *_, time_s in rows)
    shares = shares_of([(category, time_s) for *_, category, time_s in rows], threads_s)
    operators, threads = operator_shares(use), thread_shares(use)
    rate, elapsed_s = record["sink_tuples_per_s"], use["elapsed_s"]
    left = max(use["cpus"] - use["others_cpus"], 0.0)
    bounds = bounds_of(operators, threads, elapsed_s, left, rate)
    path = critical_path(operators)
    return RunExplanation(
        title=_title(record),
        simulated=record["simulated"],
        elapsed_s=elapsed_s,
        threads_s=threads_s,
        tuples_per_s=rate,
        looks=use["looks"],
        shares=shares,
        threads=tuple(threads),
        operators=tuple(operators),
        bounds=tuple(bounds),
        own_bound=own_bound(bounds, operators, use),
        critical_path=tuple(operator.name for operator in path),
        path_ns=sum(operator.tuple_ns for operator in path),
        sentences=(*sentences(shares, operators, threads, bounds, use), *_of_transient(record)),
        counters=use["counters"],
        counters_problem=use["counters_problem"],
    )


def _of_transient(record: Mapping[str, Any]) -> list[str]:
    if record.get("settled", True):
        return []
    why = rare_results(record) or "longer runs may have other shares"
    return [f"the run was not stationary when it was measured: {why}"]


def _title(record: Mapping[str, Any]) -> str:
    settings: Sequence[str] = [f"{name}={value}" for name, value in record["parameters"].items()]
    where = f" (SIMULATED on {record['machine']})" if record["simulated"] else ""
    return f"{' '.join([record['topology'], *settings])}, {record['arm']}{where}"
