"""Short traces for tests of laws, and records with as little as a replay needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness.bench.replay.decisions import Trace, pipeline_of
from harness.elasticity import Bounds, Decides, Reading
from harness.graph import PortId


def trace_of(
    *,
    max: int,
    throughputs: Sequence[float],
    min: int = 1,
    start: int | None = None,
    cpu_ok: Sequence[bool] = (),
    congested: Sequence[bool] | None = None,
    utilisation: Sequence[float | None] | None = None,
    untrust_above: bool = False,
    ports: int | Sequence[float] | None = None,
    costs: Sequence[Any] | None = None,
    arrived: Sequence[float | None] | None = None,
    payload: int = 0,
    cpus: int | None = None,
) -> Trace:
    """A trace with a reading a second.

    `cpu_ok`: answers to requests to climb; further ones are granted. `ports`: places of queues in a
    pipeline, or the cost of the operator of each; the trace is then for laws that place queues.
    `costs`: shares of the work, one for each port, in all readings or in each.
    """
    bounds, count = Bounds(min, max, min if start is None else start), len(throughputs)
    layout, shares = None, [()] * count
    if ports is not None:
        flop = [0.0] * ports if isinstance(ports, int) else list(map(float, ports))
        names = [PortId(str(place), 0) for place in range(len(flop))]
        layout = pipeline_of(names, flop, payload, max if cpus is None else cpus)
        total = sum(flop)
        alike = [cost / total for cost in flop] if 0.0 < total < float("inf") else None
        each = (
            costs if costs and not isinstance(costs[0], (int, float)) else [costs or alike] * count
        )
        shares = [() if given is None else (0.0, *given) for given in each]
    readings = tuple(
        Reading(
            float(1 + number),
            1.0,
            bounds.start,
            float(throughput),
            utilisation=utilisation[number] if utilisation else None,
            congestion=float(congested[number]) if congested else None,
            costs=shares[number],
            arrived=arrived[number] if arrived else None,
        )
        for number, throughput in enumerate(throughputs)
    )
    decides = Decides.THREADS if layout is None else Decides.QUEUES
    return Trace(bounds, readings, tuple(cpu_ok), untrust_above, layout, decides)


def record_of(throughputs: Sequence[float], maximum: int, **elastic: Any) -> dict[str, Any]:
    """A record with a sample a second, of a run with a control law."""
    return {
        "elastic": {"law": "fixed", "minimum": 1, "maximum": maximum, "start": 1, **elastic},
        "samples": [
            {"time_s": second, "elapsed_s": 1.0, "submitted_tuples_per_s": throughput}
            for second, throughput in enumerate(throughputs, start=1)
        ],
    }
