"""Laws that decide where queues stand and how many threads run, while tuples flow (M19): one law a file.

  layout        the graph as they see it
  law           what such a law is
  groups        operators by what they cost
  middleware19  M19 §3; its rules R1 to R5 are middleware19_search
  streams       what IBM Streams really does; how it looks for operators is streams_ports
  millrace      our own, the default

A law of this kind begins without any queue at the ports that it may switch (its places), and with the lowest level.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from harness.elasticity.cpu_limit import CpuLimit
from harness.elasticity.law import Bounds
from harness.elasticity.multilevel.law import MultilevelLaw
from harness.elasticity.multilevel.layout import Layout, Link, layout_of
from harness.errors import UserError

__all__ = ["DEFAULT_LAW", "LAWS", "Layout", "Link", "MultilevelLaw", "law_class", "layout_of", "make_law"]

LAWS = ("millrace", "middleware19", "streams")
DEFAULT_LAW = "millrace"


def law_class(name: str) -> type[MultilevelLaw]:
    """The law called `name`: the one that its module defines. Raises UserError for an unknown name."""
    if name not in LAWS:
        raise UserError(f"law {name!r} does not place queues; laws that do are: {', '.join(LAWS)}")
    module = importlib.import_module(f"harness.elasticity.multilevel.{name}")
    return module.LAW


def make_law(
    name: str,
    bounds: Bounds,
    layout: Layout,
    cpu: CpuLimit | None = None,
    settings: Mapping[str, object] | None = None,
) -> MultilevelLaw:
    """A law ready for its first reading. Raises UserError for an unknown law or setting, or a value out of range."""
    return law_class(name)(bounds, layout, cpu, settings)
