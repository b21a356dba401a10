"""A trace: one JSON object with the input of a law.

  throughputs    [tuples/s], one a sample
  max            highest level; min (1) and start (min): lowest, and where the law begins
  cpu_ok         [true or false], one a *request* to climb; requests beyond its end are granted, and
                 without it all of them
  congested      [true or false], one a sample, for elastic_load_balance
  utilisation    [0 .. 1 or null], one a sample, for utilisation
  untrust_above  true: levels above the start are untrusted at first, as IBM Streams does when it
                 has put queues somewhere

With `ports` it is multi-level, for laws that place queues: a pipeline of a source and an operator
for each port. Each port is a place.

  ports    number of ports; or a list of the costs of their operators a tuple, in any unit
  costs    shares of the work, 0 .. 1, one a port, as the profiler saw them: one list a sample
           (null: not known) or one for all. Without it they follow from `ports`, or are not known
  arrived  tuples at the sinks over those submitted, one a sample (null: not known): by it
           `millrace` sees queues fill and drain
  payload  bytes a tuple (0); cpus: that threads may use (the highest level)

A sample lasts a second. `name` and the results of a replay may be in the file; they are ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

from harness.bench.replay import values as checked
from harness.bench.replay.decisions import Trace, pipeline_of
from harness.bench.replay.record import trace_of_record
from harness.elasticity import Bounds, Decides, Layout, Reading
from harness.errors import UserError
from harness.graph import PortId
from harness.graph.values import MAX_PAYLOAD, MAX_THREADS

OF_PLACES = ("ports", "costs", "arrived", "payload", "cpus")
INPUTS = (
    "min",
    "max",
    "start",
    "throughputs",
    "cpu_ok",
    "congested",
    "utilisation",
    "untrust_above",
    *OF_PLACES,
)
IGNORED = ("name", "law", "levels", "queued", "replicas", "reasons", "states")
MAX_PLACES = 100_000

Costs = tuple[float, ...]


def parse_trace(text: str) -> Trace:
    """Return the trace in a text. Raise UserError naming the key, the rule and the value."""
    if not text.strip():
        raise UserError("a trace must be a JSON object, not an empty text")
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise UserError(
                f"a trace must be one JSON object; another text follows in line {error.lineno}"
            ) from None
        raise UserError(
            f"a trace must be JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # a number of thousands of digits; thousands of brackets
        raise UserError(f"a trace must be JSON: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"a trace must be a JSON object, not {checked.shown(document)}")
    return trace_of_record(document) if "samples" in document else _of_trace(document)


def _of_trace(document: Mapping[str, Any]) -> Trace:
    for key in document:
        if key not in INPUTS + IGNORED:
            raise UserError(
                f"a trace has no key {checked.shown(key)}; its keys are: {', '.join(INPUTS)}"
            )
    for key in ("max", "throughputs"):
        if document.get(key) is None:
            raise UserError(f"a trace must have the key {key!r}")
    minimum = document.get("min", 1)
    bounds = Bounds(minimum, document["max"], document.get("start", minimum))
    throughputs = [
        checked.throughput(f"throughputs[{i}]", value)
        for i, value in enumerate(checked.listed(document, "throughputs"))
    ]
    if not throughputs:
        raise UserError("throughputs must hold one sample at least, not []")
    samples = len(throughputs)
    congested = checked.flags(document, "congested")
    if congested is not None:
        checked.same_length("congested", congested, samples, "samples")
    utilisation = None
    if document.get("utilisation") is not None:
        utilisation = [
            checked.share(f"utilisation[{i}]", value)
            for i, value in enumerate(checked.listed(document, "utilisation"))
        ]
        checked.same_length("utilisation", utilisation, samples, "samples")
    cpu_ok = checked.flags(document, "cpu_ok") or []
    if len(cpu_ok) > samples:
        raise UserError(
            f"cpu_ok must hold one answer a request, at most one for each of {samples} samples, not {len(cpu_ok)}"
        )
    untrust_above = document.get("untrust_above", False)
    if not isinstance(untrust_above, bool):
        raise UserError(f"untrust_above must be true or false, not {checked.shown(untrust_above)}")
    layout, costs = _layout(document, samples, bounds)
    arrived = _arrived(document, samples)
    busy_shares = repeat(None) if utilisation is None else utilisation
    congestion = repeat(None) if congested is None else map(float, congested)
    readings = tuple(
        Reading(
            float(second),
            1.0,
            bounds.start,
            throughput,
            utilisation=busy,
            congestion=fill,
            costs=work,
            arrived=share,
        )
        for second, (throughput, busy, fill, work, share) in enumerate(
            zip(throughputs, busy_shares, congestion, costs, arrived, strict=False), start=1
        )
    )
    decides = Decides.THREADS if layout is None else Decides.QUEUES
    return Trace(bounds, readings, tuple(cpu_ok), untrust_above, layout, decides)


def _layout(
    document: Mapping[str, Any], samples: int, bounds: Bounds
) -> tuple[Layout | None, Iterable[Costs]]:
    """Return the pipeline of a trace, None if it is not multi-level, and the costs of its operators
    by sample.

    The costs of the source come first.
    """
    given = document.get("ports")
    if given is None:
        for key in OF_PLACES[1:]:
            if document.get(key) is not None:
                raise UserError(f"{key} is for multi-level traces, which must have the key 'ports'")
        return None, repeat(())
    if isinstance(given, list):
        flop = [checked.cost(f"ports[{i}]", value) for i, value in enumerate(given)]
        checked.whole("the length of ports", len(flop), 0, MAX_PLACES)
    else:
        flop = [0.0] * checked.whole("ports", given, 0, MAX_PLACES)
    names = [PortId(str(place), 0) for place in range(len(flop))]
    payload = checked.whole("payload", checked.given(document, "payload", 0), 0, MAX_PAYLOAD)
    cpus = checked.whole("cpus", checked.given(document, "cpus", bounds.maximum), 1, MAX_THREADS)
    return pipeline_of(names, flop, payload, cpus), _costs(document, samples, flop)


def _costs(document: Mapping[str, Any], samples: int, flop: Sequence[float]) -> Iterable[Costs]:
    if document.get("costs") is None:
        total = sum(flop)
        return repeat((0.0, *(cost / total for cost in flop)) if 0.0 < total < float("inf") else ())
    listed = checked.listed(document, "costs")
    if not listed or not all(entry is None or isinstance(entry, list) for entry in listed):
        return repeat(_shares("costs", listed, len(flop)))
    checked.same_length("costs", listed, samples, "samples")
    return [
        () if entry is None else _shares(f"costs[{i}]", entry, len(flop))
        for i, entry in enumerate(listed)
    ]


def _arrived(document: Mapping[str, Any], samples: int) -> Iterable[float | None]:
    """Return `arrived` by sample; None where it is unknown."""
    if document.get("arrived") is None:
        return repeat(None)
    values = [
        checked.ratio(f"arrived[{i}]", value)
        for i, value in enumerate(checked.listed(document, "arrived"))
    ]
    checked.same_length("arrived", values, samples, "samples")
    return values


def _shares(key: str, values: object, ports: int) -> Costs:
    if not isinstance(values, list):
        raise UserError(f"{key} must be a list, not {checked.shown(values)}")
    checked.same_length(key, values, ports, "ports")
    return (0.0, *(_share(f"{key}[{i}]", value) for i, value in enumerate(values)))


def _share(key: str, value: object) -> float:
    return checked.share(key, checked.number(key, value)) or 0.0
