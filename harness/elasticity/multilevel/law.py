"""What a law is that also places queues: as `elasticity.law` has it, with the graph to look at."""

from __future__ import annotations

from collections.abc import Mapping

from harness.elasticity.cpu_limit import CpuLimit
from harness.elasticity.law import Bounds, Law
from harness.elasticity.multilevel.layout import Layout


class MultilevelLaw(Law):
    """Its readings have `costs` and `queued`, its decisions `queued`: all the places that shall have their queues."""

    def __init__(
        self,
        bounds: Bounds,
        layout: Layout,
        cpu: CpuLimit | None = None,
        settings: Mapping[str, object] | None = None,
    ) -> None:
        """`layout`: the graph; the rest as every law."""
        super().__init__(bounds, cpu, settings)
        self.layout = layout
