"""Control laws of the thread level: one law a file, readings in, decisions out.

  law                   what a law is: Reading, Decision, Bounds, Law
  cpu_limit             who may climb
  fixed                 keeps its level: the baseline goes through the same door
  trends                records of levels, which the next three laws keep
  pldi17                P17 Figures 7 and 8
  streams               what IBM Streams really did
  elastic_load_balance  the ElasticLoadBalance operator's
  utilisation           C-Stream §4.1
  millrace              our own, the default of elastic

Which law is best is for `harness.saso` to say.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from harness.elasticity.cpu_limit import CpuLimit
from harness.elasticity.law import Bounds, Decision, Law, Reading, Setting
from harness.errors import UserError

__all__ = ["DEFAULT_LAW", "LAWS", "Bounds", "Decision", "Law", "Reading", "Setting", "law_class", "make_law"]

LAWS = ("millrace", "pldi17", "streams", "elastic_load_balance", "utilisation", "fixed")
DEFAULT_LAW = "millrace"


def law_class(name: str) -> type[Law]:
    """The law called `name`: the one `Law` that its module defines. Raises UserError for an unknown name."""
    if name not in LAWS:
        raise UserError(f"law {name!r} is unknown; laws are: {', '.join(LAWS)}")
    module = importlib.import_module(f"harness.elasticity.{name}")
    return module.LAW


def make_law(name: str, bounds: Bounds, cpu: CpuLimit | None = None, settings: Mapping[str, object] | None = None) -> Law:
    """A law ready for its first reading. Raises UserError for an unknown law or setting, or a value out of range."""
    return law_class(name)(bounds, cpu, settings)
