"""All laws of replicas on all scenarios, a row for each pair; as many processes as there are CPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.elasticity import Decides, law_class, make_law
from harness.saso.replication.closed_loop import run
from harness.saso.replication.scenario import HELD_OUT, Scenario
from harness.saso.replication.score import Score, score
from harness.saso.side_by_side import each_pair

CHUNK = 4  # pairs that a process takes at once


@dataclass(frozen=True, kw_only=True)
class Row(Score):
    """A law on a scenario."""

    law: str
    scenario: str
    kind: str
    held_out: bool  # no number of our law was chosen on its kind of graph
    load: str
    operators: int
    maximum: int
    noise: float
    periods: int
    seed: int
    levels: tuple[int, ...]  # at which the periods passed
    all_replicas: tuple[int, ...]  # of all operators together


def row_of(law: str, scenario: Scenario) -> Row:
    """One run. Raises UserError for an unknown law."""
    trace = run(make_law(law, scenario.bounds, layout=scenario.layout, decides=Decides.REPLICAS), scenario)
    return Row(
        law=law,
        scenario=scenario.name,
        kind=scenario.kind,
        held_out=scenario.kind in HELD_OUT,
        load=scenario.load,
        operators=scenario.layout.operators,
        maximum=scenario.bounds.maximum,
        noise=scenario.noise,
        periods=scenario.periods,
        seed=scenario.seed,
        **score(scenario, trace).__dict__,
        levels=tuple(trace.levels),
        all_replicas=tuple(sum(replicas) for replicas in trace.replicas),
    )


def run_bench(
    laws: Sequence[str], scenarios: Sequence[Scenario], progress: Callable[[int, int], None], jobs: int | None = None
) -> list[Row]:
    """The rows, law by law, in the scenarios' order: the same whatever the number of processes.

    `progress` is told how many of how many pairs are done; `jobs`: processes at most, None: one for each CPU allowed.
    """
    for law in laws:
        law_class(law, Decides.REPLICAS)
    return each_pair(row_of, laws, scenarios, progress, jobs, CHUNK)
