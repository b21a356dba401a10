"""The laws of a run: the one of its pool of threads, and those of its load balancers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import elasticity
from harness.elasticity import Bounds, Decides, Law, Layout, seen_by_laws
from harness.elasticity.law import NO_LAYOUT, PROFILE_PERIODS
from harness.engine import PROFILE_WINDOW_S
from harness.graph import Operator
from harness.graph.kinds import ELASTIC_LOAD_BALANCE
from harness.machines.host.cpu import usable_cpus
from harness.models import DEFAULT_LAW, Coroutine, Model
from harness.models.layout import RunLayout

# half of it is 200 looks at each thread: fewer say little about a hundred operators
SHORTEST_PROFILE_S = 0.4


def check_law(model: Model) -> None:
    """Raise UserError if the law of an elastic model, or a setting of it, cannot be. For when there
    is no graph yet.
    """
    if getattr(model, "elastic", False):
        low = model.minimum or 1
        start = model.threads or low
        _law(model, Bounds(low, model.maximum or max(low, start), start), lambda: NO_LAYOUT)


def pool_law(layout: RunLayout) -> Law | None:
    """Return the law of a run's pool; None if it is not elastic. Raises UserError for one that
    cannot be.
    """
    pool, cpus = layout.pool, layout.cpus or usable_cpus()
    if not pool.elastic:
        return None
    bounds = Bounds(pool.minimum, pool.maximum, pool.threads)
    return _law(layout.model, bounds, lambda: seen_by_laws(layout, cpus))


def _law(model: Model, bounds: Bounds, seen: Callable[[], Layout]) -> Law:
    """Return the model's law, or the default one where an annotation makes the pool of another
    model elastic. `seen` returns the graph for a law that needs it.
    """
    name = getattr(model, "law", DEFAULT_LAW)
    decides = elasticity.decides_of(name, model.name)
    needs = elasticity.law_class(name, decides).NEEDS
    layout = seen() if decides is not Decides.THREADS or "layout" in needs else None
    settings = dict(getattr(model, "law_settings", ()))
    return elasticity.make_law(name, bounds, settings=settings, layout=layout, decides=decides)


def balancer_law(operator: Operator) -> Law:
    """Return the law of an `elastic_load_balance` operator: its levels are output ports."""
    settings = {
        name: getattr(operator, name)
        for name in ("congestion_tolerance", "throughput_tolerance", "rapid_scaling")
    }
    bounds = Bounds(1, operator.outputs, operator.initial_active_ports)
    return elasticity.make_law(ELASTIC_LOAD_BALANCE.name, bounds, settings=settings)


def needed_by(law: Law | None, model: Model, period_s: float) -> dict[str, Any]:
    """Return the options of an engine that the law of a run's pool needs: a profile of costs, and
    replicas.
    """
    if law is None:
        return {"changes_replicas": False}
    if isinstance(model, Coroutine):  # its engine counts useful time itself
        return {"changes_replicas": law.decides is Decides.REPLICAS}
    if not law.NEEDS & {"costs", "useful_s"}:
        return {}
    window_s = max(PROFILE_PERIODS * period_s, SHORTEST_PROFILE_S)
    return {"profile": True, "profile_window_s": min(window_s, PROFILE_WINDOW_S)}
