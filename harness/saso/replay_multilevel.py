"""Multi-level traces: what a law that places queues is fed with besides, and how its places are told.

A trace with the key `ports` is one. It is a pipeline of a source and an operator for each port; each port is a place:

  ports    how many there are; or a list of what the operator of each costs a tuple, in any unit
  costs    shares of the work, 0 .. 1, one a port, as the profiler saw them: one list a sample (null: not known) or one for all.
           Without it they follow from `ports`, or are not known
  arrived  tuples at the sinks over those submitted, one a sample (null: not known): by it `millrace` sees queues fill and drain
  payload  bytes a tuple (0); cpus: that threads may use (the highest level)

The record of a run with such a law is one, too: its graph is built anew, and `operator_cost` of its samples are the costs. The
graph of a file is not in the record; a pipeline of its places stands for it, and what its operators cost is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from math import ceil
from typing import Any

import topologies
from harness.elasticity import Bounds, Layout, Link, layout_of
from harness.elasticity.multilevel.regions import BATCH
from harness.errors import UserError
from harness.graph import MAX_PAYLOAD, MAX_QUEUE_CAPACITY, MAX_THREADS, PortId
from harness.machine import load_machine
from harness.models import DEFAULT_QUEUE_CAPACITY, Dynamic, make_model
from harness.saso import trace_values as checked
from harness.software import load_software

INPUTS = ("ports", "costs", "arrived", "payload", "cpus")
MAX_PLACES = 100_000

Costs = tuple[float, ...]


def layout_of_trace(document: Mapping[str, Any], samples: int, bounds: Bounds) -> tuple[Layout | None, Iterable[Costs]]:
    """The pipeline of a trace, None if it is not multi-level; and by sample the costs of its operators, the source's first."""
    given = document.get("ports")
    if given is None:
        for key in INPUTS[1:]:
            if document.get(key) is not None:
                raise UserError(f"{key} is for multi-level traces, which must have the key 'ports'")
        return None, repeat(())
    if isinstance(given, list):
        flop = [checked.cost(f"ports[{i}]", value) for i, value in enumerate(given)]
        checked.whole("the length of ports", len(flop), 0, MAX_PLACES)
    else:
        flop = [0.0] * checked.whole("ports", given, 0, MAX_PLACES)
    names = [PortId(str(place), 0) for place in range(len(flop))]
    payload = checked.whole("payload", _or(document, "payload", 0), 0, MAX_PAYLOAD)
    cpus = checked.whole("cpus", _or(document, "cpus", bounds.maximum), 1, MAX_THREADS)
    return _pipeline(names, flop, payload, cpus), _costs(document, samples, flop)


def _or(document: Mapping[str, Any], key: str, default: int) -> object:
    value = document.get(key)
    return default if value is None else value


def _costs(document: Mapping[str, Any], samples: int, flop: Sequence[float]) -> Iterable[Costs]:
    if document.get("costs") is None:
        total = sum(flop)
        return repeat((0.0, *(cost / total for cost in flop)) if 0.0 < total < float("inf") else ())
    listed = checked.listed(document, "costs")
    if not listed or not all(entry is None or isinstance(entry, list) for entry in listed):
        return repeat(_shares("costs", listed, len(flop)))
    checked.same_length("costs", listed, samples, "samples")
    return [() if entry is None else _shares(f"costs[{i}]", entry, len(flop)) for i, entry in enumerate(listed)]


def arrived_of_trace(document: Mapping[str, Any], samples: int) -> Iterable[float | None]:
    """By sample; None where it is not known."""
    if document.get("arrived") is None:
        return repeat(None)
    values = [checked.ratio(f"arrived[{i}]", value) for i, value in enumerate(checked.listed(document, "arrived"))]
    checked.same_length("arrived", values, samples, "samples")
    return values


def _shares(key: str, values: object, ports: int) -> Costs:
    if not isinstance(values, list):
        raise UserError(f"{key} must be a list, not {checked.shown(values)}")
    checked.same_length(key, values, ports, "ports")
    return (0.0, *(_share(f"{key}[{i}]", value) for i, value in enumerate(values)))


def _share(key: str, value: object) -> float:
    return checked.share(key, checked.number(key, value)) or 0.0


def layout_of_record(record: Mapping[str, Any], bounds: Bounds) -> Layout | None:
    """The graph of a record; None if it is not known, and the law placed no queues."""
    elastic = record.get("elastic")
    if not isinstance(elastic, dict):
        return None
    if elastic.get("places") is None:
        return _layout_without_places(record, bounds)
    ports = [_port(f"elastic.places[{i}]", name) for i, name in enumerate(checked.listed(elastic, "places"))]
    cpus = _cpus(record) or bounds.maximum
    held = checked.whole("queue_capacity", _or(record, "queue_capacity", 0), 0, MAX_QUEUE_CAPACITY)
    batch = _batch(record)
    try:
        graph, _ = topologies.build(record["topology"], record["parameters"], record["seed"])
    except (UserError, KeyError, TypeError, AttributeError):  # of a file, or no whole record
        return _pipeline(ports, [0.0] * len(ports), 0, cpus, held, batch)
    layout = layout_of(graph, Dynamic(), cpus, held, batch)
    return layout if layout.ports == ports else _pipeline(ports, [0.0] * len(ports), graph.payload, cpus, held, batch)


def _layout_without_places(record: Mapping[str, Any], bounds: Bounds) -> Layout | None:
    """Of a topology by name under the record's model; the graph of a file is not in the record."""
    try:
        graph, _ = topologies.build(record["topology"], record["parameters"], record["seed"])
        return layout_of(graph, make_model(record["model"]), _cpus(record) or bounds.maximum)
    except (UserError, KeyError, TypeError, AttributeError):
        return None


def _cpus(record: Mapping[str, Any]) -> int | None:
    """Of the machine that the run was made on, be it described or the host; None if that is not known."""
    machine, host = record.get("machine"), record.get("host")
    if record.get("simulated") is True and isinstance(machine, str):
        try:
            return load_machine(machine).cpus
        except UserError:
            return None
    if not isinstance(host, dict) or host.get("cpus_allowed") is None:
        return None
    allowed = checked.whole("host.cpus_allowed", host["cpus_allowed"], 1, MAX_THREADS)
    if host.get("cgroup_quota_cpus") is None:
        return allowed
    return max(1, min(allowed, ceil(checked.cost("host.cgroup_quota_cpus", host["cgroup_quota_cpus"]))))


def _batch(record: Mapping[str, Any]) -> int:
    """Tuples that moved at once: of this runtime, or of the simulated one; 0 if nobody knows."""
    if record.get("simulated") is not True:
        return BATCH
    simulation = record.get("simulation")
    try:
        return int(load_software(simulation["software"])["how.batch"]) if isinstance(simulation, dict) else 0
    except (UserError, KeyError, TypeError):
        return 0


def _port(key: str, name: object) -> PortId:
    parts = re.fullmatch(r"(.+)\[(\d{1,7})\]", name) if isinstance(name, str) else None
    if parts is None:
        raise UserError(f"{key} must be a port as work1[0], not {checked.shown(name)}")
    return PortId(parts[1], int(parts[2]))


def costs_of_sample(key: str, sample: Mapping[str, Any], layout: Layout | None) -> Costs:
    """What the profiler saw in a sample of a record; empty if it is not known, or of another graph than the layout's."""
    if layout is None or sample.get("operator_cost") is None:
        return ()
    given = sample["operator_cost"]
    if not isinstance(given, list):
        raise UserError(f"{key}.operator_cost must be a list, not {checked.shown(given)}")
    costs = tuple(checked.cost(f"{key}.operator_cost[{i}]", value) for i, value in enumerate(given))
    return costs if len(costs) == layout.operators else ()


def _pipeline(
    ports: Sequence[PortId], flop: Sequence[float], payload: int, cpus: int, queue_capacity: int = 0, batch: int = 0
) -> Layout:
    """A source, and behind it each operator that has a port, in their order; `flop` by port."""
    numbers: dict[str, int] = {}
    for port in ports:
        numbers.setdefault(port.operator, 1 + len(numbers))
    at = [numbers[port.operator] for port in ports]
    work = dict(zip(reversed(at), reversed(flop), strict=True))  # of its first port
    return Layout(
        ports=list(ports),
        at=at,
        sources=[0],
        links=[Link(operator - 1, operator, 1.0, place) for place, operator in enumerate(at)],
        tuples=[1.0] * (1 + len(numbers)),
        flop=[0.0, *(work[operator] for operator in numbers.values())],
        payload=payload,
        cpus=cpus,
        queue_capacity=queue_capacity or DEFAULT_QUEUE_CAPACITY,
        batch=batch,
    )


def told(places: Iterable[int], layout: Layout) -> str:
    """Places as people read them, runs of neighbours cut short: `work1..work9, sink`."""
    runs: list[list[int]] = []
    for place in sorted(places):
        if runs and place == runs[-1][-1] + 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    names = [port.operator if port.port == 0 else str(port) for port in layout.ports]
    return ", ".join(names[run[0]] if len(run) == 1 else f"{names[run[0]]}..{names[run[-1]]}" for run in runs)
