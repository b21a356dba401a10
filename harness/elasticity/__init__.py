"""Control laws: one law a file, readings in, decisions out.

  law                   the interface of a law: Reading, Decision, Bounds, Law
  layout                the graph as a law sees it
  cpu_limit             limits on CPU use, which a law asks before it climbs
  fixed                 keeps its level: a baseline with the interface of a law
  trends                records of levels, which the next three laws keep
  pldi17                P17 Figures 7 and 8
  streams               the law that IBM Streams really had
  elastic_load_balance  the law of the ElasticLoadBalance operator
  utilisation           C-Stream §4.1
  plain_search          doubling, then golden section
  golden                golden section, checked again
  bandit                levels as arms of a bandit
  hill_climbing         the thread pool of .NET
  gradient2, aimd       Netflix's limits of concurrency
  ds2, flink            threads for a target rate
  millrace              our own, the default of elastic
  queues                laws that also place queues
  replicas              laws that also choose replicas

`harness.bench` measures which law is best.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from harness.elasticity.cpu_limit import CpuLimit
from harness.elasticity.law import Bounds, Decides, Decision, Law, Reading, Setting
from harness.elasticity.layout import Layout, Link, layout_of, seen_by_laws
from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.models import DEFAULT_LAW

__all__ = [
    "BY_MODEL",
    "DEFAULT_LAW",
    "LAWS",
    "Bounds",
    "Decides",
    "Decision",
    "Law",
    "Layout",
    "Link",
    "Reading",
    "Setting",
    "decides_of",
    "law_class",
    "law_module",
    "layout_of",
    "make_law",
    "seen_by_laws",
]

LAWS: Mapping[Decides, tuple[str, ...]] = {
    Decides.THREADS: (
        "millrace",
        "pldi17",
        "streams",
        "elastic_load_balance",
        "utilisation",
        "plain_search",
        "golden",
        "bandit",
        "hill_climbing",
        "gradient2",
        "aimd",
        "ds2",
        "flink",
        "fixed",
    ),
    Decides.QUEUES: ("millrace", "middleware19", "streams"),
    Decides.REPLICAS: ("millrace", "cstream"),
}
"""The laws by what they decide about; the first of each is the default."""

_PACKAGES = {
    Decides.THREADS: "harness.elasticity.threads",
    Decides.QUEUES: "harness.elasticity.queues",
    Decides.REPLICAS: "harness.elasticity.replicas",
}
BY_MODEL: Mapping[str, tuple[Decides, ...]] = {
    "multilevel": (Decides.QUEUES,),
    "coroutine": (Decides.REPLICAS, Decides.THREADS),
}
"""Kinds of laws that a model allows, in order of preference; other models allow laws of threads
alone.

A name means the first law of that name. Under coroutine `millrace` is the law of replicas and
threads. `utilisation` has no law of replicas, so it is the law of threads.
"""

_TASKS = {
    Decides.THREADS: "choose threads",
    Decides.QUEUES: "place queues",
    Decides.REPLICAS: "choose replicas",
}


def law_class(name: str, decides: Decides = Decides.THREADS) -> type[Law]:
    """Return the class of the law `name` of this kind: the one `Law` that its module defines.

    Raise UserError for an unknown name.
    """
    law: type[Law] = importlib.import_module(law_module(name, decides)).LAW
    return law


def law_module(name: str, decides: Decides = Decides.THREADS) -> str:
    """Return the name of the module of that law. Raise UserError for an unknown name."""
    if name not in LAWS[decides]:
        raise _no_law(name, (decides,))
    return f"{_PACKAGES[decides]}.{name}"


def decides_of(name: str, model: str) -> Decides:
    """Return the kind of the law `name` under a model.

    Raise UserError if the model allows no law of that name.
    """
    kinds = BY_MODEL.get(model, (Decides.THREADS,))
    for kind in kinds:
        if name in LAWS[kind]:
            return kind
    raise _no_law(name, kinds)


def _no_law(name: str, kinds: tuple[Decides, ...]) -> UserError:
    """Return the error for a name that is no law of these kinds."""
    laws = dict.fromkeys(each for kind in kinds for each in LAWS[kind])
    known = any(name in each for each in LAWS.values())
    what, which = (
        (f"does not {' or '.join(_TASKS[kind] for kind in kinds)}", "laws that do")
        if known
        else (f"is unknown{did_you_mean(name, laws)}", "laws")
    )
    return UserError(f"law {name!r} {what}; {which} are: {', '.join(laws)}")


def make_law(
    name: str,
    bounds: Bounds,
    cpu: CpuLimit | None = None,
    settings: Mapping[str, object] | None = None,
    layout: Layout | None = None,
    decides: Decides = Decides.THREADS,
) -> Law:
    """Return a law that is ready for its first reading.

    `layout` is the graph. A law that decides about more than threads must know it. Raise UserError
    for an unknown law or setting, a value out of range, or a missing graph.
    """
    return law_class(name, decides)(bounds, cpu, settings, layout)
