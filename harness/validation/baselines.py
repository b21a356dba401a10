"""Naive predictions of throughput. A simulator is of use only where its errors are smaller.

bottleneck  what the operators' own work allows: queues, copies, locks, calls and switches are free
            (bounds of a bottleneck analysis: Denning and Buzen, Computing Surveys 10(3), 1978)
USL         the universal scalability law (Gunther, Guerrilla Capacity Planning, Springer, 2007):
            N threads have the throughput X(N) = X(1) N / (1 + a (N - 1) + b N (N - 1))

The USL has three parameters, and the cases have the levels 1 and 2 of the dynamic model alone. So
X(1) is the measured throughput of one thread, and a and b count together: X(2) = 2 X(1) / (1 + c)
with c = a + 2 b. The c of a case is the median over the other cases of its cost (leave-one-out).
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import topologies
from harness.engine.profiled import Profiled
from harness.graph import Graph
from harness.graph.flow import visits_of
from harness.machines.machine import Machine
from harness.measurement.profiling import kept_profile
from harness.models import Coroutine
from harness.models.replicas import replicable
from harness.validation.cases import APPLICATIONS, ARMS, Case, CaseArm
from harness.validation.comparison import CaseComparison, grouped

BASELINES: Mapping[str, Callable[[CaseComparison], float | None]] = {
    "bottleneck": lambda each: each.bottleneck,
    "USL": lambda each: each.usl,
}
REGIMES = ("cost", "model", "graph")
"""Groups of cases for which the errors of the simulator and of a baseline are compared."""


@dataclass(frozen=True)
class OperatorWork:
    """Work of an operator for each tuple at the sinks [ns], and its threads at once, at most."""

    ns: float
    is_source: bool = False
    most_threads: int = 1


def bottleneck_rate(works: Sequence[OperatorWork], arm: CaseArm, cpus: int) -> float | None:
    """Return the highest throughput [tuples/s] that the work of a graph with one source allows;
    None without work.

    All work needs CPUs, that of an operator as many threads as it has replicas. Under manual one
    thread does all of it. The threads of a pool do all of it, but for the source's under dynamic.
    """
    whole = sum(each.ns for each in works)
    of_source = sum(each.ns for each in works if each.is_source)
    times = [whole / cpus, *(each.ns / each.most_threads for each in works)]
    if arm.model == "manual":
        times.append(whole)
    elif arm.threads is not None:
        times.append((whole - (of_source if arm.model == "dynamic" else 0.0)) / arm.threads)
    return 1e9 / max(times) if whole > 0.0 else None


def works_of(graph: Graph, flop_ns: float, replicas: int | None = None) -> list[OperatorWork]:
    """Return the work of operators that compute for `flop_ns` a FLOP; `replicas`: of each operator
    that may have some.
    """
    visits = visits_of(graph)
    several = replicable(graph, Coroutine()) if replicas else {}
    return [
        OperatorWork(
            visits.get(name, 0.0) * each.cost * flop_ns,
            each.is_source,
            replicas if replicas and name in several else 1,
        )
        for name, each in graph.operators.items()
    ]


def profiled_works(graph: Graph, profiled: Profiled) -> list[OperatorWork]:
    """Return the work of typed operators, from a run in which they were profiled."""
    operators = list(graph.operators.values())
    counts = zip(operators, profiled.tuples, strict=True)
    arrived = sum(tuples for each, tuples in counts if each.is_sink)
    if not arrived:
        return []
    of_operators = zip(operators, profiled.cost_ns, profiled.tuples, strict=True)
    return [
        OperatorWork(cost_ns * tuples / arrived, each.is_source)
        for each, cost_ns, tuples in of_operators
    ]


def flop_ns(machine: Machine) -> float:
    """Return the time of a FLOP at the highest clock, each after the one before it [ns]."""
    return machine["core.fmul_latency_cycles"] / max(machine.table("core.clock_ghz").values())


def usl_rates(comparisons: Iterable[CaseComparison]) -> dict[Case, float]:
    """Return the throughput of two threads by the USL, of the cases for which it is known."""
    measured = {each.case: each.measured for each in comparisons if each.measured}
    single = {
        case: measured[replace(case, arm="dynamic-1")]
        for case in measured
        if case.arm == "dynamic-2" and replace(case, arm="dynamic-1") in measured
    }
    losses = {case: 2 * rate / measured[case] - 1 for case, rate in single.items()}
    rates = {}
    for case, rate in single.items():
        others = [
            loss
            for other, loss in losses.items()
            if other.cost == case.cost and other.group != case.group
        ]
        if others:
            rates[case] = 2 * rate / (1 + statistics.median(others))
    return rates


def with_baselines(
    comparisons: Sequence[CaseComparison], machine: Machine, cpus: int
) -> list[CaseComparison]:
    """Return the comparisons with the rates of the baselines, on so many CPUs of a machine."""
    a_flop, by_usl = flop_ns(machine), usl_rates(comparisons)
    graphs: dict[tuple, Graph] = {}
    found = []
    for each in comparisons:
        case, arm = each.case, ARMS[each.case.arm]
        if case.group not in graphs:
            graphs[case.group] = topologies.build(case.shape, case.parameters, 0)[0]
        works = _works(case, graphs[case.group], a_flop)
        rate = bottleneck_rate(works, arm, cpus)
        found.append(replace(each, bottleneck=rate, usl=by_usl.get(case)))
    return found


def _works(case: Case, graph: Graph, a_flop: float) -> list[OperatorWork]:
    """Return the work of a case; none of an application that was not profiled."""
    if case.topology not in APPLICATIONS:
        return works_of(graph, a_flop, ARMS[case.arm].replicas)
    profiled = kept_profile(case.shape, case.parameters, 0)
    return [] if profiled is None else profiled_works(graph, profiled)


@dataclass(frozen=True)
class BesideBaseline:
    """Absolute errors of the simulator and of a baseline over the same cases."""

    by: str
    value: object
    cases: int
    median: float
    worst: float
    baseline_median: float
    baseline_worst: float


def beside(comparisons: Sequence[CaseComparison], baseline: str) -> list[BesideBaseline]:
    """Return the errors over all cases that both predict, and by regime; none if there is none."""
    rate = BASELINES[baseline]
    known = [each for each in comparisons if each.error is not None and rate(each) is not None]
    if not known:
        return []
    rows = []
    for by, value, group in [("all", "", known), *grouped(known, REGIMES)]:
        ours = [abs(each.error) for each in group]
        theirs = [abs(rate(each) / each.measured - 1) for each in group]
        sizes = (size for of in (ours, theirs) for size in (statistics.median(of), max(of)))
        rows.append(BesideBaseline(by, value, len(group), *sizes))
    return rows
