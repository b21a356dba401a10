"""All arms of a graph and a place that a thorough user would try, by the graph's structure alone.

Laws have no arms: what a law ends at has one, or is near one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from harness.advise.candidates import SHORT_QUEUE, levels
from harness.errors import UserError
from harness.experiments.experiment import Arm
from harness.graph import Graph
from harness.machines.place import Place
from harness.measurement.spec import arm_name
from harness.models import model_on

STRIDES = (2, 4, 8, 16)  # a queue before each operator at such a distance


def arms_of(graph: Graph, place: Place) -> list[Arm]:
    """Return all arms, each setting once."""
    found: dict[str, Arm] = {}
    for name, options in _settings(graph, place.cpus):
        try:
            model = model_on(place, name, dict(options))
        except UserError:
            continue  # options that do not go together
        found.setdefault(f"{model}", Arm(arm_name(model), model))
    # arms with different queues may share a name
    return [Arm(f"{arm.name}-{n}", arm.model) for n, arm in enumerate(found.values())]


def _settings(graph: Graph, cpus: int) -> Iterator[tuple[str, Mapping[str, object]]]:
    threads = sorted({*levels(cpus), max(cpus - 1, 1)})
    yield "manual", {}
    yield "dedicated", {}
    for count in threads:
        for queued in _placements(graph):
            yield "dynamic", {"threads": count, **queued}
        yield "dynamic", {"threads": count, "queue_capacity": SHORT_QUEUE}
        for replicas in levels(count):
            yield "coroutine", {"threads": count, "replicas": replicas}


def _placements(graph: Graph) -> Iterator[dict[str, str]]:
    """Yield queues everywhere, and then queues at equal distances from the sources."""
    yield {}
    depth = depths(graph)
    for stride in STRIDES:
        for first in (1, stride):
            queued = [
                name
                for name, each in depth.items()
                if each >= first and each % stride == first % stride
            ]
            if queued:
                yield {"queued": ",".join(queued)}


def depths(graph: Graph) -> dict[str, int]:
    """Return each operator's longest distance from a source, in streams."""
    depth = dict.fromkeys(graph.topological_order(), 0)
    downstream = graph.downstream()
    for name in depth:
        for behind in downstream[name]:
            depth[behind] = max(depth[behind], depth[name] + 1)
    return depth
