"""Runs of all laws on all scenarios, a row for each pair, in as many processes as there are
CPUs.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.bench.closed_loop import RunCourse, trace_of
from harness.bench.scenario import Scenario
from harness.bench.score import Score, score
from harness.bench.side_by_side import each_of
from harness.elasticity import LAWS, Decides, law_class
from harness.errors import UserError

LIBRARIES = {
    "threads": "threads.scenario",
    "paced": "threads.paced",
    "queues": "queues.scenario",
    "replicas": "replicas.scenario",
}
"""Module of each library: scenarios for laws of threads, the same with a paced source, for laws of
queues, and of replicas."""

SHOWN = frozenset(
    ("utilisation", "congestion", "latency_s", "layout", "target", "useful_s", "tuples")
)
"""Facts that a curve can show, or that a scenario of curves tells the laws that need them."""


def library(bench: str, every: int = 1) -> list[Scenario]:
    """Return one in `every` scenarios of one of `LIBRARIES`."""
    return importlib.import_module(f"harness.bench.{LIBRARIES[bench]}").some_of(every)


def contestants(bench: str = "threads") -> list[str]:
    """Return the contestants: the laws that need no more than scenarios can show, and the
    baselines."""
    if bench == "queues":
        from harness.bench.queues.contestants import contestants

        return contestants()
    return [
        name
        for name in LAWS[_decides(bench)]
        if bench != "threads" or law_class(name).NEEDS <= SHOWN
    ]


def check_name(name: str, bench: str = "threads") -> None:
    """Raise UserError for an unknown contestant, or a law that needs more than a curve can show."""
    known = contestants(bench)
    if name in known:
        return
    if bench == "queues":
        raise UserError(
            f"law {name!r} is not on the bench of placements; there are: {', '.join(known)}"
        )
    missing = sorted(law_class(name, _decides(bench)).NEEDS - SHOWN)
    raise UserError(
        f"law {name!r} needs what no curve shows: {', '.join(missing)}; laws on curves: "
        f"{', '.join(known)}"
    )


def _decides(bench: str) -> Decides:
    return Decides.THREADS if bench == "paced" else Decides(bench)


@dataclass(frozen=True, kw_only=True)
class Row(Score):
    """Result of a contestant on a scenario."""

    bench: str = "threads"
    law: str
    scenario: str
    kind: str = ""
    held_out: bool = False  # no number of our laws was chosen on its kind
    event: str = ""
    noise: float = 0.0
    drift: float = 0.0
    minimum: int = 1
    maximum: int
    start: int = 1
    periods: int
    seed: int
    costs: str = ""  # of a graph's operators
    payload: int = 0  # bytes a tuple
    operators: int = 0  # 0: there is no graph
    places: int = 0
    software: str = ""
    levels: tuple[int, ...]  # at which the periods passed
    counts: tuple[int, ...] = ()  # how many queues or replicas there were
    simulated: bool = False  # on the simulator


def row_of(law: str, scenario: Scenario) -> Row:
    """Return the result of one run. Raise UserError for an unknown law."""
    trace = trace_of(law, scenario)
    return as_row(law, scenario, trace, score(scenario, trace))


def as_row(law: str, scenario: Scenario, trace: RunCourse, numbers: Score, **other: object) -> Row:
    """Return a run with its score as a row; `other` facts replace those of the scenario."""
    layout = scenario.layout
    graph = {} if layout is None else {"operators": layout.operators, "places": len(layout.ports)}
    about = {
        "event": scenario.event,
        "noise": scenario.noise,
        "periods": scenario.periods,
        **scenario.facts(),
        **graph,
    }
    return Row(
        bench=scenario.bench,
        law=law,
        scenario=scenario.name,
        kind=scenario.kind,
        held_out=scenario.held_out,
        drift=scenario.drift,
        minimum=scenario.bounds.minimum,
        maximum=scenario.bounds.maximum,
        start=scenario.bounds.start,
        seed=scenario.seed,
        **numbers.__dict__,
        levels=tuple(trace.levels),
        counts=tuple(each.parts for each in trace.configurations),
        **about | other,
    )


def rows_of(laws: Sequence[str], scenario: Scenario) -> list[Row]:
    """Return the results of all laws on one scenario. Raise UserError for an unknown law."""
    return [row_of(law, scenario) for law in laws]


def run_bench(
    laws: Sequence[str],
    scenarios: Sequence[Scenario],
    progress: Callable[[int, int], None],
    jobs: int | None = None,
    rows_of: Callable[[Sequence[str], Scenario], list[Row]] = rows_of,
) -> list[Row]:
    """Return the rows, scenario by scenario and law by law. They do not depend on the number of
    processes.

    `progress` gets the number of finished pairs and of all pairs. `jobs`: most processes; None: one
    for each CPU allowed. Raise UserError for an unknown law.
    """
    for bench in dict.fromkeys(scenario.bench for scenario in scenarios):
        for law in laws:
            check_name(law, bench)
    rows: list[Row] = []
    for some in each_of(rows_of, laws, scenarios, jobs):
        rows += some
        progress(len(rows), len(laws) * len(scenarios))
    return rows
