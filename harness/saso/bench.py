"""All laws on all scenarios, a row for each pair; as many processes as there are CPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.elasticity import LAWS, Decides, law_class, make_law
from harness.errors import UserError
from harness.saso.closed_loop import run
from harness.saso.scenario import Scenario
from harness.saso.score import score
from harness.saso.side_by_side import each_pair

CHUNK = 16  # scenarios that a process takes at once
SHOWN = frozenset(("utilisation", "congestion", "latency_s"))
"""What a curve can show besides throughput."""


def contestants() -> list[str]:
    """The laws of threads that need no more than a curve can show."""
    return [name for name in LAWS[Decides.THREADS] if law_class(name).NEEDS <= SHOWN]


def check_name(name: str) -> None:
    """Raises UserError for an unknown law, or one that needs more than a curve can show."""
    missing = sorted(law_class(name).NEEDS - SHOWN)
    if missing:
        raise UserError(
            f"law {name!r} needs what no curve shows: {', '.join(missing)}; laws on curves: {', '.join(contestants())}"
        )


@dataclass(frozen=True)
class Row:
    """A law on a scenario; the numbers are those of `score`."""

    law: str
    scenario: str
    curve: str
    event: str
    noise: float
    drift: float
    minimum: int
    maximum: int
    start: int
    periods: int
    seed: int
    best_level: int
    settled_level: int
    accuracy: float
    settling: float
    overshoot: float
    changes: float
    regret: float
    levels: tuple[int, ...]  # at which the periods passed
    kind: str = ""  # of the curve
    held_out: bool = False  # no number of our law was chosen on its kind


def row_of(law: str, scenario: Scenario) -> Row:
    """One run. Raises UserError for an unknown law."""
    trace = run(make_law(law, scenario.bounds), scenario)
    return Row(
        law=law,
        scenario=scenario.name,
        curve=scenario.shape,
        event=scenario.event,
        noise=scenario.noise,
        drift=scenario.drift,
        minimum=scenario.bounds.minimum,
        maximum=scenario.bounds.maximum,
        start=scenario.bounds.start,
        periods=scenario.periods,
        seed=scenario.seed,
        **score(scenario, trace).__dict__,
        levels=tuple(trace.levels),
        kind=scenario.kind,
        held_out=scenario.held_out,
    )


def run_bench(
    laws: Sequence[str], scenarios: Sequence[Scenario], progress: Callable[[int, int], None], jobs: int | None = None
) -> list[Row]:
    """The rows, law by law, in the scenarios' order: the same whatever the number of processes.

    `progress` is told how many of how many pairs are done; `jobs`: processes at most, None: one for each CPU allowed.
    """
    return each_pair(row_of, laws, scenarios, progress, jobs, CHUNK)
