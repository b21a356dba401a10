"""Conversion of a suite's `run:` entry into the request that a measuring process reads on stdin. It
is checked as `millrace run` checks its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.errors import UserError
from harness.machines.machine import LOCAL
from harness.measurement.prepare import check_run
from harness.measurement.spec import Run, arm_name, cell_slug, run_of
from harness.measurement.subject import find_subject
from harness.models import OPTIONS, asks_for_law

PAIR = "{pair}"
"""Placeholder for the number of the pair, from 0; both sides of a pair have the same number."""

WARMUP_S, DURATION_S = 0.05, 0.2
"""Defaults for real runs. They are short, because a process takes 0.1 to 0.2 s to start, and many
short samples tell more than a few long ones."""

SHORTEST_S = 0.05


def run_in(
    entry: Mapping[str, Any], warmup: float | str = WARMUP_S, duration_s: float = DURATION_S
) -> Run:
    """Return the run that an entry asks for. `warmup` and `duration_s` [s] are the suite's, for
    real runs that set none themselves.

    Raises UserError for an unknown topology, parameter, model, machine or law, or for options that
    exclude each other. A graph file is looked for in the working directory, and may differ from
    tree to tree.
    """
    given = {"machine": LOCAL, "seed": 0, **entry}
    parameters = dict(given.pop("parameters", {}))
    subject = find_subject(given.pop("topology"), parameters, given["seed"])
    model = given.pop("model")
    real = given["machine"] == LOCAL and not given.get("simulated", False)
    elastic = asks_for_law(model, given)
    if real:
        given.setdefault("duration_s", duration_s)
    given.setdefault("warmup", warmup if real and not elastic else "auto")
    for name in ("duration_s", "period_s"):
        if given.get(name) is not None:
            given[name] = float(given[name])
    given["warmup"] = given["warmup"] if given["warmup"] == "auto" else float(given["warmup"])
    given |= {name: OPTIONS[name].read(given[name]) for name in OPTIONS.keys() & given.keys()}
    run = run_of(subject.topology, parameters, model, graph_file=subject.file, **given)
    for name, least in (("duration_s", SHORTEST_S), ("period_s", run.shortest_s)):
        if not run.simulated and getattr(run, name) < least:
            raise UserError(f"{name} must be {least:g} or more, not {getattr(run, name):g}")
    check_run(run, subject.graph, starts_threads=False)
    return run


def name_of(run: Run) -> str:
    """Return the name of a run's program if the suite gives none: place, topology with the given
    parameters, and model."""
    label = run.place.label
    cell = cell_slug(run.topology, run.parameters)
    return f"{label + '~' if label else ''}{cell}/{arm_name(run.model)}"


def question(run: Run) -> str:
    """Return the run as JSON without fields at their defaults, so that an older tree need not know
    fields that are not used.

    The random choices of a simulated run follow the number of the pair; those of a real run are the
    same in all pairs.
    """
    return run.to_json()[:-1] + (f', "repeat": {PAIR}}}' if run.simulated else "}")
