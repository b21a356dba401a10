"""All contestants on all scenarios, a row for each pair; as many processes as there are CPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from harness.models import allowed_cpus
from harness.saso.placement.contestants import check_name, trace_of
from harness.saso.placement.scenario import Scenario
from harness.saso.placement.score import Score, score
from harness.saso.side_by_side import processes


@dataclass(frozen=True, kw_only=True)
class Row(Score):
    """A contestant on a scenario."""

    law: str
    scenario: str
    shape: str
    costs: str
    payload: int
    operators: int
    places: int
    cpus: int
    software: str
    event: str
    noise: float
    periods: int
    seed: int
    levels: tuple[int, ...]  # at which the periods passed
    queues: tuple[int, ...]  # how many there were
    simulated: bool = False  # on the simulator, and not along a surface


def rows_of(laws: Sequence[str], scenarios: Sequence[Scenario]) -> list[Row]:
    """All on some scenarios, scenario by scenario. Raises UserError for an unknown law."""
    return [row_of(law, scenario) for scenario in scenarios for law in laws]


def row_of(law: str, scenario: Scenario) -> Row:
    """One run. Raises UserError for an unknown law."""
    trace = trace_of(law, scenario)
    return Row(
        law=law,
        **facts(scenario),
        event=scenario.event,
        noise=scenario.noise,
        periods=scenario.periods,
        **score(scenario, trace).__dict__,
        levels=tuple(trace.levels),
        queues=tuple(len(queued) for queued in trace.placements),
    )


def facts(scenario: Scenario) -> dict[str, Any]:
    """What a row tells of the graph and the machine, however they were run."""
    layout = scenario.layout
    return {
        "scenario": scenario.name,
        "shape": scenario.shape.topology,
        "costs": scenario.costs,
        "payload": layout.payload,
        "operators": layout.operators,
        "places": len(layout.ports),
        "cpus": scenario.world.cpus,
        "software": scenario.world.software,
        "seed": scenario.seed,
    }


def run_bench(
    laws: Sequence[str], scenarios: Sequence[Scenario], progress: Callable[[int, int], None], jobs: int | None = None
) -> list[Row]:
    """The rows, scenario by scenario and law by law: the same whatever the number of processes.

    `progress` is told how many of how many pairs are done; `jobs`: processes at most, None: one for each CPU allowed. Scenarios
    that differ by noise alone go to one process, as they have the same oracle.
    """
    for law in laws:
        check_name(law)
    groups = [
        list(group) for _, group in groupby(scenarios, key=lambda each: (each.shape, each.graph_seed, each.own, each.phases))
    ]
    total, rows = len(laws) * len(scenarios), []
    workers = min(jobs or allowed_cpus(), len(groups))
    if workers <= 1:
        for group in groups:
            rows += rows_of(laws, group)
            progress(len(rows), total)
        return rows
    with processes(workers) as pool:
        for some in pool.map(rows_of, [laws] * len(groups), groups):
            rows += some
            progress(len(rows), total)
    return rows
