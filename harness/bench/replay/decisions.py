"""Decisions that a law would have made on a recorded trace, open loop.

The throughputs are those of the trace for all decisions. So a trace from other levels shows how the
law reasons, not how good it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from harness import elasticity
from harness.elasticity import LAWS, Bounds, Decides, Decision, Law, Layout, Link, Reading
from harness.elasticity.cpu_limit import Answers
from harness.errors import UserError
from harness.graph import PortId
from harness.models import DEFAULT_QUEUE_CAPACITY, Coroutine


@dataclass(frozen=True, slots=True)
class Trace:
    """Input of a law."""

    bounds: Bounds
    readings: tuple[Reading, ...]  # their level is a placeholder
    cpu_ok: tuple[bool, ...] | None  # None: by the law's own CPU limit
    untrust_above: bool
    layout: Layout | None = None  # the graph, if it is known
    decides: Decides = Decides.THREADS  # kind of laws that it is for


def law_for(name: str, trace: Trace, settings: Mapping[str, object] | None = None) -> Law:
    """Return the law that the trace is for.

    Raise UserError for an unknown law or setting, or a law of another kind.
    """
    cpu = None if trace.cpu_ok is None else Answers(trace.cpu_ok)
    decides = (
        trace.decides
        if trace.decides is not Decides.REPLICAS
        else elasticity.decides_of(name, Coroutine.name)
    )
    if decides is Decides.THREADS and name not in LAWS[decides]:
        if name in LAWS[Decides.QUEUES]:
            raise UserError(
                f"law {name} places queues: it needs the record of a run under the model multilevel"
            )
        if name in LAWS[Decides.REPLICAS]:
            raise UserError(
                f"law {name} chooses replicas: it needs the record of a run under the model "
                "coroutine"
            )
    return elasticity.make_law(name, trace.bounds, cpu, settings, trace.layout, decides)


def replay(
    law_name: str, trace: Trace, settings: Mapping[str, object] | None = None
) -> list[Decision]:
    """Return the law's decision after each sample.

    Raise UserError for an unknown law or setting, or a clock that goes back.
    """
    law = law_for(law_name, trace, settings)
    if trace.untrust_above and hasattr(law, "untrust_above"):  # others trust no level at first
        law.untrust_above()
    decisions: list[Decision] = []
    level, queued = trace.bounds.start, frozenset[int]()
    for reading in trace.readings:
        decision = law.step(replace(reading, threads=level, queued=queued))
        level = decision.threads
        if trace.decides is Decides.QUEUES:
            queued = queued if decision.queued is None else decision.queued
            decision = replace(decision, queued=queued)
        decisions.append(decision)
    return decisions


def answer(law_name: str, decisions: Sequence[Decision]) -> dict[str, object]:
    """Return a replay as JSON.

    After sample i the level is `levels[i]`. In a multi-level replay the places with queues are
    `queued[i]`.
    """
    queued = [sorted(decision.queued) for decision in decisions if decision.queued is not None]
    replicas = [list(decision.replicas) for decision in decisions if decision.replicas is not None]
    return {
        "law": law_name,
        "levels": [decision.threads for decision in decisions],
        **({"queued": queued} if queued else {}),
        **({"replicas": replicas} if replicas else {}),
        "reasons": [decision.reason for decision in decisions],
        "states": [decision.state for decision in decisions],
    }


def place_names(places: Iterable[int], layout: Layout) -> str:
    """Return places as text, with runs of neighbours cut short: `work1..work9, sink`."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    names = [port.operator if port.port == 0 else str(port) for port in layout.ports]
    return ", ".join(
        names[run[0]] if len(run) == 1 else f"{names[run[0]]}..{names[run[-1]]}" for run in runs
    )


def pipeline_of(
    ports: Sequence[PortId],
    flop: Sequence[float],
    payload: int,
    cpus: int,
    queue_capacity: int = 0,
    batch: int = 0,
) -> Layout:
    """Return the layout of a source followed by each operator that has a port, in their order;
    `flop` by port."""
    numbers: dict[str, int] = {}
    for port in ports:
        numbers.setdefault(port.operator, 1 + len(numbers))
    at = [numbers[port.operator] for port in ports]
    work = dict(zip(reversed(at), reversed(flop), strict=True))  # of its first port
    return Layout(
        ports=list(ports),
        at=at,
        sources=[0],
        links=[Link(operator - 1, operator, 1.0, place) for place, operator in enumerate(at)],
        tuples=[1.0] * (1 + len(numbers)),
        flop=[0.0, *(work[operator] for operator in numbers.values())],
        payload=payload,
        cpus=cpus,
        queue_capacity=queue_capacity or DEFAULT_QUEUE_CAPACITY,
        batch=batch,
    )
