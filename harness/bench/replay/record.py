"""The record of a run as a trace.

Its periods are those of `adaptation`, if the record has it, and of `samples`. Its levels are those
of `elastic`, or from 1 to the larger of its allowed CPUs and its threads. If it has readings of the
CPUs, the law's own limit answers requests to climb.

The graph of a run with a law that places queues is built again, and `operator_cost` of its samples
are the costs. The record does not have the graph of a file. A pipeline of its places replaces that
graph, with unknown costs of the operators.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Any

import topologies
from harness.bench.replay import values as checked
from harness.bench.replay.decisions import Trace, pipeline_of
from harness.elasticity import Bounds, Decides, Layout, Reading, layout_of
from harness.elasticity.layout import BATCH
from harness.errors import UserError
from harness.graph import PortId
from harness.graph.values import MAX_QUEUE_CAPACITY, MAX_THREADS
from harness.machines.machine import load_machine
from harness.machines.software import load_software
from harness.models import Coroutine, Dynamic, make_model

LIST_FIELDS = ("useful_s", "tuples", "full", "replicas")
SHARE_FIELDS = ("system_cpu", "others_cpu", "utilisation")
READING_FIELDS = (*LIST_FIELDS, *SHARE_FIELDS, "target", "done", "latency_s")

Costs = tuple[float, ...]


def parse_record(text: str) -> Trace:
    """Return the trace of the record in a text, one line of a file of records.

    Raise UserError naming the key, the rule and the value.
    """
    if not text.strip():
        raise UserError("a record must be a JSON object, not an empty text")
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise UserError(
                f"a record must be one JSON object; another text follows in line {error.lineno}"
            ) from None
        raise UserError(
            f"a record must be JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from None
    except (ValueError, RecursionError) as error:  # thousands of digits, or of brackets
        raise UserError(f"a record must be JSON: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"a record must be a JSON object, not {checked.shown(document)}")
    if "samples" not in document:
        raise UserError("a record must have the key 'samples'")
    return trace_of_record(document)


def trace_of_record(record: Mapping[str, Any]) -> Trace:
    """Return the trace of a record. Raise UserError naming the key, the rule and the value."""
    phases = ("adaptation", "samples")
    for key in phases:
        if not isinstance(record.get(key, []), list):
            raise UserError(f"{key} must be a list, not {checked.shown(record[key])}")
    samples = [
        (f"{key}[{i}]", sample) for key in phases for i, sample in enumerate(record.get(key, []))
    ]
    if not samples:
        raise UserError("samples must hold one sample at least, not []")
    for place, sample in samples:
        if not isinstance(sample, dict):
            raise UserError(f"{place} must be a JSON object, not {checked.shown(sample)}")
    bounds = _bounds_of_record(record, samples)
    layout = _layout(record, bounds)
    decides = _decides_of_record(record)
    readings = tuple(
        _reading(place, sample, bounds.start, _costs_of_sample(place, sample, layout))
        for place, sample in samples
    )
    if isinstance(record.get("elastic"), dict):
        readings = tuple(
            reading
            for reading, (_, sample) in zip(readings, samples, strict=True)
            if _stepped(sample)
        )
    knows_cpu = any(reading.system_cpu is not None for reading in readings)
    return Trace(bounds, readings, None if knows_cpu else (), False, layout, decides)


def _decides_of_record(record: Mapping[str, Any]) -> Decides:
    """Return the kind of laws that the record is for; under coroutine laws of threads alone are
    allowed, too."""
    elastic = record.get("elastic")
    if isinstance(elastic, dict) and elastic.get("places") is not None:
        return Decides.QUEUES
    return (
        Decides.REPLICAS
        if isinstance(elastic, dict) and record.get("model") == Coroutine.name
        else Decides.THREADS
    )


def _stepped(sample: Mapping[str, Any]) -> bool:
    """Return True if a sample ended a period of the law.

    It did not if it lies within a period, or if the step was put off for a thread that did not
    obey.
    """
    return sample.get("law_state", "") is not None and not str(sample.get("law_reason")).startswith(
        "put off: "
    )


def _bounds_of_record(
    record: Mapping[str, Any], samples: Sequence[tuple[str, dict[str, Any]]]
) -> Bounds:
    elastic, host = record.get("elastic"), record.get("host")
    if isinstance(elastic, dict):
        return Bounds(elastic.get("minimum", 1), elastic.get("maximum"), elastic.get("start", 1))
    levels = [
        checked.number(f"{place}.threads_active", sample.get("threads_active", 0))
        for place, sample in samples
    ]
    cpus = host.get("cpus_allowed", 1) if isinstance(host, dict) else 1
    return Bounds(
        1,
        max(1, int(checked.number("host.cpus_allowed", cpus)), *map(int, levels)),
        max(1, int(levels[0])),
    )


def _reading(place: str, sample: Mapping[str, Any], level: int, costs: Sequence[float]) -> Reading:
    read = (
        "submitted_tuples_per_s" if sample.get("law_tuples_per_s") is None else "law_tuples_per_s"
    )
    throughput = checked.throughput(f"{place}.{read}", sample.get(read))
    time_s = checked.number(f"{place}.time_s", sample.get("time_s"))
    length = "elapsed_s" if sample.get("law_elapsed_s") is None else "law_elapsed_s"
    elapsed_s = checked.number(f"{place}.{length}", sample.get(length))
    shares = {name: checked.share(f"{place}.{name}", sample.get(name)) for name in SHARE_FIELDS}
    arrived = checked.ratio(f"{place}.law_arrived", sample.get("law_arrived"))
    seen = shares | _read(place, sample)
    try:
        return Reading(time_s, elapsed_s, level, throughput, costs=costs, arrived=arrived, **seen)
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


def _read(place: str, sample: Mapping[str, Any]) -> dict[str, Any]:
    """Return the further fields that the law read."""
    read = sample.get("law_read")
    if read is None:
        return {}
    if not isinstance(read, dict):
        raise UserError(f"{place}.law_read must be a JSON object, not {checked.shown(read)}")
    found: dict[str, Any] = {}
    for name, value in read.items():
        key = f"{place}.law_read.{name}"
        if name not in READING_FIELDS:
            raise UserError(
                f"{place}.law_read has no key {checked.shown(name)}; its keys are: "
                f"{', '.join(READING_FIELDS)}"
            )
        if name in LIST_FIELDS:
            if not isinstance(value, list):
                raise UserError(f"{key} must be a list, not {checked.shown(value)}")
            found[name] = tuple(checked.cost(f"{key}[{i}]", each) for i, each in enumerate(value))
            if name == "replicas":
                found[name] = tuple(int(each) for each in found[name])
        else:
            found[name] = checked.ratio(key, value)
    return found


def _layout(record: Mapping[str, Any], bounds: Bounds) -> Layout | None:
    """Return the graph of a record; None if it is unknown and the law placed no queues."""
    elastic = record.get("elastic")
    if not isinstance(elastic, dict):
        return None
    if elastic.get("places") is None:
        return _layout_without_places(record, bounds)
    ports = [
        _port(f"elastic.places[{i}]", name)
        for i, name in enumerate(checked.listed(elastic, "places"))
    ]
    cpus = _cpus(record) or bounds.maximum
    held = checked.whole(
        "queue_capacity", checked.given(record, "queue_capacity", 0), 0, MAX_QUEUE_CAPACITY
    )
    batch = _batch(record)
    try:
        graph, _ = topologies.build(record["topology"], record["parameters"], record["seed"])
    except (UserError, KeyError, TypeError, AttributeError):  # of a file, or no whole record
        return pipeline_of(ports, [0.0] * len(ports), 0, cpus, held, batch)
    layout = layout_of(graph, Dynamic(), cpus, held, batch)
    return (
        layout
        if layout.ports == ports
        else pipeline_of(ports, [0.0] * len(ports), graph.payload, cpus, held, batch)
    )


def _layout_without_places(record: Mapping[str, Any], bounds: Bounds) -> Layout | None:
    """Return the layout of a topology by name under the record's model; None for a file, which is
    not in the record."""
    try:
        graph, _ = topologies.build(record["topology"], record["parameters"], record["seed"])
        return layout_of(graph, make_model(record["model"]), _cpus(record) or bounds.maximum)
    except (UserError, KeyError, TypeError, AttributeError):
        return None


def _cpus(record: Mapping[str, Any]) -> int | None:
    """Return the CPUs of the run's machine, a described one or the host; None if they are
    unknown.
    """
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
    return max(
        1, min(allowed, ceil(checked.cost("host.cgroup_quota_cpus", host["cgroup_quota_cpus"])))
    )


def _batch(record: Mapping[str, Any]) -> int:
    """Return the most tuples that the runtime, or the simulated one, moved at once; 0 if
    unknown.
    """
    if record.get("simulated") is not True:
        return BATCH
    simulation = record.get("simulation")
    try:
        return (
            int(load_software(simulation["software"])["how.batch"])
            if isinstance(simulation, dict)
            else 0
        )
    except (UserError, KeyError, TypeError):
        return 0


def _port(key: str, name: object) -> PortId:
    parts = re.fullmatch(r"(.+)\[(\d{1,7})\]", name) if isinstance(name, str) else None
    if parts is None:
        raise UserError(f"{key} must be a port as work1[0], not {checked.shown(name)}")
    return PortId(parts[1], int(parts[2]))


def _costs_of_sample(key: str, sample: Mapping[str, Any], layout: Layout | None) -> Costs:
    """Return the profiler's shares in a sample of a record; empty if unknown, or of another graph
    than the layout's."""
    if layout is None or sample.get("operator_cost") is None:
        return ()
    given = sample["operator_cost"]
    if not isinstance(given, list):
        raise UserError(f"{key}.operator_cost must be a list, not {checked.shown(given)}")
    costs = tuple(checked.cost(f"{key}.operator_cost[{i}]", value) for i, value in enumerate(given))
    return costs if len(costs) == layout.operators else ()
