"""Conversion of a suite's `run:` entry into the request that a measuring process reads on stdin. It
is checked as `millrace run` checks its arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from harness.engine import LOCAL
from harness.errors import UserError
from harness.machines.place import Place, find_place
from harness.measurement.control import check_law, pool_law
from harness.measurement.spec import PERIOD_S, VIRTUAL_DURATION_S, RunSpec, arm_name, cell_slug, virtual_period_s
from harness.measurement.subject import build_subject, find_subject
from harness.models import Chosen, Coroutine, Dynamic, Multilevel, begins_queued
from harness.models.replicas import begins_with

PAIR = "{pair}"
"""Placeholder for the number of the pair, from 0; both sides of a pair have the same number."""

WARMUP_S, DURATION_S = 0.05, 0.2
"""Defaults for real runs. They are short, because a process takes 0.1 to 0.2 s to start, and many
short samples tell more than a few long ones."""

SHORTEST_S = 0.05


def spec_of(run: Mapping[str, Any], warmup: float | str = WARMUP_S, duration_s: float = DURATION_S) -> RunSpec:
    """Return the run that an entry asks for. `warmup` and `duration_s` [s] are the suite's, for
    real runs that set none themselves.

    Raises UserError for an unknown topology, parameter, model, machine or law, or for options that
    exclude each other. A graph file is looked for in the working directory, and may differ from
    tree to tree.
    """
    place = find_place(run.get("machine", LOCAL), run.get("simulated", False), run.get("software", ""), run.get("cpus"))
    subject = find_subject(run["topology"], run.get("parameters", {}), run.get("seed", 0))
    elastic = run["model"] == Multilevel.name or any(run.get(word) for word in ("elastic", "law", "law_settings"))
    period_s = virtual_period_s(run["model"], run.get("quantum_ms")) if place.simulated else PERIOD_S
    spec = RunSpec(
        topology=subject.topology,
        parameters=dict(run.get("parameters", {})),
        model=run["model"],
        queue_capacity=run.get("queue_capacity"),
        machine=place.machine,
        simulated=place.simulated,
        software=place.software,
        duration_s=float(run.get("duration_s", VIRTUAL_DURATION_S if place.simulated else duration_s)),
        warmup=_seconds(run.get("warmup", "auto" if place.simulated or elastic else warmup)),
        seed=run.get("seed", 0),
        tuples=run.get("tuples"),
        graph_file=subject.file,
        elastic=elastic and run["model"] != Multilevel.name,
        law=run.get("law", ""),
        law_settings=run.get("law_settings", {}),
        period_s=float(run.get("period_s", period_s)),
        minimum=run.get("minimum"),
        queued=str(run.get("queued", "")),
        policy=run.get("policy", ""),
        quantum_ms=run.get("quantum_ms"),
        replicas=run.get("replicas"),
        **_levels(run, place, elastic),
    )
    for name, least in (("duration_s", SHORTEST_S), ("period_s", spec.shortest_s)):
        if not spec.simulated and getattr(spec, name) < least:
            raise UserError(f"{name} must be {least:g} or more, not {getattr(spec, name):g}")
    model = spec.made_model()
    check_law(model)
    if subject.graph is not None:
        pool_law(subject.graph, model)
    if spec.replicas is not None:
        begins_with(subject.graph or build_subject(spec)[0], model)
    if spec.queued and Chosen.parse(spec.queued).names:
        begins_queued(build_subject(spec)[0], model)
    return spec


def name_of(spec: RunSpec) -> str:
    """Return the name of a run's program if the suite gives none: place, topology with the given
    parameters, and model."""
    label = find_place(spec.machine, spec.simulated, spec.software).label
    cell = cell_slug(spec.topology, spec.parameters)
    return f"{label + '~' if label else ''}{cell}/{arm_name(spec.made_model())}"


def question(spec: RunSpec) -> str:
    """Return the spec as JSON without fields at their defaults, so that an older tree need not know
    fields that are not used.

    The random choices of a simulated run follow the number of the pair; those of a real run are the
    same in all pairs.
    """
    defaults = {
        each.name: each.default if each.default is not MISSING else each.default_factory()  # type: ignore[misc]
        for each in fields(RunSpec)
        if each.default is not MISSING or each.default_factory is not MISSING
    }
    asked = {name: value for name, value in asdict(spec).items() if name not in defaults or value != defaults[name]}
    return json.dumps(asked)[:-1] + (f', "repeat": {PAIR}}}' if spec.simulated else "}")


def _levels(run: Mapping[str, Any], place: Place, elastic: bool) -> dict[str, int | None]:
    """Return the scheduler threads and the highest level. The default on a simulated machine is its
    number of CPUs."""
    threads, maximum = run.get("threads"), run.get("maximum")
    place.check_levels(threads, maximum)
    if place.simulated and elastic:
        maximum = maximum or place.cpus
    elif place.simulated and run["model"] in (Dynamic.name, Coroutine.name):
        threads = threads or place.cpus
    return {"threads": threads, "maximum": maximum}


def _seconds(warmup: float | str) -> float | str:
    return warmup if warmup == "auto" else float(warmup)
