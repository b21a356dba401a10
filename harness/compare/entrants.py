"""Arms that can run a graph, each with its run as the graph allows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from harness.compare.contest import Contender
from harness.experiments.arms import in_words
from harness.experiments.experiment import Arm
from harness.graph import Graph
from harness.graph.schedule import Schedule
from harness.machines.host.cpu import SHORTEST_S
from harness.machines.place import Place
from harness.measurement.spec import (
    VIRTUAL_DURATION_S,
    PeerModel,
    Run,
    until_stationary,
    virtual_period_s,
)

if TYPE_CHECKING:
    from harness.measurement.subject import Subject

DURATION_S = 0.5  # of a run: many short runs tell more than few long ones
PERIOD_S = SHORTEST_S  # of laws: a run of an elastic arm takes dozens of periods
ROUNDING = 1e-9  # cycles that a length may be above a whole number by an error of rounding


@dataclass(frozen=True)
class RunTerms:
    """Terms that all runs of a call have in common. A length that is None is the usual one:
    simulated runs go on until they are stationary, by the rule of experiments.
    """

    place: Place
    experiment: str
    duration_s: float | None = None
    period_s: float | None = None
    warmup: float | str = "auto"
    constants: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    allow_threads: int | None = None
    profile: str = ""

    def run_of(self, arm: Arm, subject: Subject) -> Run:
        """Return the run of an arm on a graph."""
        asked_s = arm.duration_s or self.duration_s
        usual_s = VIRTUAL_DURATION_S if self.place.simulated else DURATION_S
        usual_period_s = virtual_period_s(arm.model) if self.place.simulated else PERIOD_S
        run = Run(
            subject.topology,
            subject.given,
            arm.model,
            self.place,
            duration_s=asked_s or usual_s,
            period_s=self.period_s or usual_period_s,
            warmup=self.warmup,
            constants=self.constants,
            seed=self.seed,
            experiment=self.experiment,
            cell=subject.cell,
            arm=arm.name,
            graph_file=subject.file,
            digest=subject.digest,
            allow_threads=self.allow_threads,
            profile=self.profile,
        )
        return run if asked_s is not None else until_stationary(run)


def graph_of(subject: Subject, terms: RunTerms) -> Graph:
    """Return the graph that a word names, built if it is that of a topology; it has costs in place
    of functions if there is a profile.
    """
    import topologies

    graph = subject.graph or topologies.build(subject.topology, subject.given, terms.seed)[0]
    if not terms.profile:
        return graph
    from harness.measurement.profiling import load_profile
    from harness.measurement.simulable import simulable

    return simulable(graph, load_profile(terms.profile, graph), terms.place.described())


def entrant(arm: Arm, words: str, run: Run, graph: Graph) -> Contender:
    """Return an arm as the graph allows it; a note says what was changed for which reason. Raises
    UserError if it cannot be run.
    """
    fitted, note = _fitted(run, graph)
    if note:
        words = in_words(replace(arm, name=fitted.arm, model=fitted.model))
    return Contender(fitted.arm, words, fitted, notes=[note] if note else [])


def execute(run: Run, announce: Callable[[str], None]) -> dict[str, Any]:
    """Do a run and return its record: a real one in a process of its own."""
    from harness.measurement.run import run_in_fresh_process, run_once

    if run.simulated:
        return run_once(run, announce=announce)
    return run_in_fresh_process(run, announce=announce)


def _fitted(run: Run, graph: Graph) -> tuple[Run, str]:
    """Return a run as the graph allows it, and what was changed for which reason; "" for nothing.

    Raises UserError if it cannot be run.
    """
    from harness.measurement.prepare import check_run, raised, with_room
    from harness.measurement.spec import arm_name
    from harness.models import with_level

    if isinstance(run.model, PeerModel):
        from harness.peers import find_peer

        find_peer(run.model.name).plan(graph, 1, None)
        return _in_whole_cycles(run, graph), ""
    usual = run.arm == arm_name(run.model)
    run = _in_whole_cycles(with_room(run, graph), graph)
    layout = check_run(run, graph)
    if layout is None:
        return run, ""
    asked = getattr(run.model, "threads", None)
    notice = raised(layout, asked, layout.pool.threads)
    fitted = replace(run, model=with_level(run.model, layout.pool))
    if usual:
        fitted = replace(fitted, arm=arm_name(fitted.model))
    return fitted, "" if notice is None else f"threads {notice}"


def _in_whole_cycles(run: Run, graph: Graph) -> Run:
    """Return a run whose window is as long as whole cycles of bursts, so that all runs have the
    same mean rate. A run that goes on until it is stationary stays as it is.
    """
    cycle_s = 0.0 if run.events is not None else Schedule.of(graph).cycle_s
    if cycle_s <= 0.0:
        return run
    return replace(run, duration_s=cycle_s * math.ceil(run.duration_s / cycle_s - ROUNDING))
