"""What a law would have decided: a recorded trace is fed to it, open loop.

The throughputs are the trace's, whatever the law decides, so a trace that was recorded at other levels says how the law
reasons, not how good it is. A trace is one JSON object:

  throughputs    [tuples/s], one a sample
  max            highest level; min (1) and start (min): lowest, and where the law begins
  cpu_ok         [true or false], one a *request* to climb; requests beyond its end are granted, and without it all of them
  congested      [true or false], one a sample, for elastic_load_balance
  utilisation    [0 .. 1 or null], one a sample, for utilisation
  untrust_above  true: levels above the start are untrusted at first, as IBM Streams does when it has put queues somewhere

With `ports` it is multi-level, for laws that place queues: see `replay_multilevel`. A sample lasts a second. `name`, and what
a replay answers, may stay in the file and are not looked at.

A trace may also be the record of a run: its periods are those of `adaptation`, if it has that, and of `samples`; its levels are
those of `elastic`, or from 1 to the CPUs it was allowed to use or the threads it used, whichever is more. Where it has readings
of the CPUs the law's own limit decides on climbing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from harness import elasticity
from harness.elasticity import LAWS, Bounds, Decides, Decision, Law, Layout, Reading
from harness.elasticity.cpu_limit import Answers
from harness.errors import UserError
from harness.models import Coroutine
from harness.saso import replay_multilevel
from harness.saso import trace_values as checked

INPUTS = ("min", "max", "start", "throughputs", "cpu_ok", "congested", "utilisation", "untrust_above")
LISTED = ("useful_s", "tuples", "full", "replicas")
READ = (*LISTED, "utilisation", "target", "latency_s")
IGNORED = ("name", "law", "levels", "queued", "replicas", "reasons", "states")


@dataclass(frozen=True, slots=True)
class Trace:
    """What a law is fed with."""

    bounds: Bounds
    readings: tuple[Reading, ...]  # their level is a stand-in
    cpu_ok: tuple[bool, ...] | None  # None: by the law's own CPU limit
    untrust_above: bool
    layout: Layout | None = None  # the graph, where it is known
    decides: Decides = Decides.THREADS  # what laws that it is for decide about


def law_for(name: str, trace: Trace, settings: Mapping[str, object] | None = None) -> Law:
    """The law that the trace is for. Raises UserError for an unknown law or setting, or a law of the other kind."""
    cpu = None if trace.cpu_ok is None else Answers(trace.cpu_ok)
    decides = trace.decides if trace.decides is not Decides.REPLICAS else elasticity.decides_of(name, Coroutine.name)
    if decides is Decides.THREADS and name not in LAWS[decides]:
        if name in LAWS[Decides.QUEUES]:
            raise UserError(f"law {name} places queues: a trace for it must have the key 'ports'")
        if name in LAWS[Decides.REPLICAS]:
            raise UserError(
                f"law {name} chooses replicas: a trace for it must be the record of a run under the model coroutine"
            )
    return elasticity.make_law(name, trace.bounds, cpu, settings, trace.layout, decides)


def replay(law_name: str, trace: Trace, settings: Mapping[str, object] | None = None) -> list[Decision]:
    """What the law decides after each sample. Raises UserError for an unknown law or setting, or a clock that goes back."""
    law = law_for(law_name, trace, settings)
    if trace.untrust_above and hasattr(law, "untrust_above"):  # others trust no level at first
        law.untrust_above()
    decisions: list[Decision] = []
    level, queued = trace.bounds.start, frozenset[int]()
    for reading in trace.readings:
        decision = law.step(replace(reading, threads=level, queued=queued))
        level = decision.threads
        if trace.decides is Decides.QUEUES:
            queued = queued if decision.queued is None else decision.queued
            decision = replace(decision, queued=queued)
        decisions.append(decision)
    return decisions


def answer(law_name: str, decisions: Sequence[Decision]) -> dict[str, object]:
    """A replay as JSON: after sample i the level is `levels[i]`; multi-level, the places with queues are `queued[i]`."""
    queued = [sorted(decision.queued) for decision in decisions if decision.queued is not None]
    replicas = [list(decision.replicas) for decision in decisions if decision.replicas is not None]
    return {
        "law": law_name,
        "levels": [decision.threads for decision in decisions],
        **({"queued": queued} if queued else {}),
        **({"replicas": replicas} if replicas else {}),
        "reasons": [decision.reason for decision in decisions],
        "states": [decision.state for decision in decisions],
    }


def parse_trace(text: str) -> Trace:
    """The trace that a text holds. Raises UserError naming the key, the rule and the value."""
    if not text.strip():
        raise UserError("a trace must be a JSON object, not an empty text")
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            raise UserError(f"a trace must be one JSON object; another text follows in line {error.lineno}") from None
        raise UserError(f"a trace must be JSON: {error.msg} in line {error.lineno}, column {error.colno}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; thousands of brackets
        raise UserError(f"a trace must be JSON: {error}") from None
    if not isinstance(document, dict):
        raise UserError(f"a trace must be a JSON object, not {checked.shown(document)}")
    return _of_record(document) if "samples" in document else _of_trace(document)


# -- a trace ---------------------------------------------------------------------------------------------------------------


def _of_trace(document: Mapping[str, Any]) -> Trace:
    known = INPUTS + replay_multilevel.INPUTS
    for key in document:
        if key not in known + IGNORED:
            raise UserError(f"a trace has no key {checked.shown(key)}; its keys are: {', '.join(known)}")
    for key in ("max", "throughputs"):
        if document.get(key) is None:
            raise UserError(f"a trace must have the key {key!r}")
    minimum = document.get("min", 1)
    bounds = Bounds(minimum, document["max"], document.get("start", minimum))
    throughputs = [
        checked.throughput(f"throughputs[{i}]", value) for i, value in enumerate(checked.listed(document, "throughputs"))
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
            checked.share(f"utilisation[{i}]", value) for i, value in enumerate(checked.listed(document, "utilisation"))
        ]
        checked.same_length("utilisation", utilisation, samples, "samples")
    cpu_ok = checked.flags(document, "cpu_ok") or []
    if len(cpu_ok) > samples:
        raise UserError(f"cpu_ok must hold one answer a request, at most one for each of {samples} samples, not {len(cpu_ok)}")
    untrust_above = document.get("untrust_above", False)
    if not isinstance(untrust_above, bool):
        raise UserError(f"untrust_above must be true or false, not {checked.shown(untrust_above)}")
    layout, costs = replay_multilevel.layout_of_trace(document, samples, bounds)
    arrived = replay_multilevel.arrived_of_trace(document, samples)
    busy_shares = repeat(None) if utilisation is None else utilisation
    congestion = repeat(None) if congested is None else map(float, congested)
    readings = tuple(
        Reading(float(second), 1.0, bounds.start, throughput, utilisation=busy, congestion=fill, costs=work, arrived=share)
        for second, (throughput, busy, fill, work, share) in enumerate(
            zip(throughputs, busy_shares, congestion, costs, arrived, strict=False), start=1
        )
    )
    decides = Decides.THREADS if layout is None else Decides.QUEUES
    return Trace(bounds, readings, tuple(cpu_ok), untrust_above, layout, decides)


# -- the record of a run -----------------------------------------------------------------------------------------------------


def _of_record(record: Mapping[str, Any]) -> Trace:
    phases = ("adaptation", "samples")
    for key in phases:
        if not isinstance(record.get(key, []), list):
            raise UserError(f"{key} must be a list, not {checked.shown(record[key])}")
    samples = [(f"{key}[{i}]", sample) for key in phases for i, sample in enumerate(record.get(key, []))]
    if not samples:
        raise UserError("samples must hold one sample at least, not []")
    for place, sample in samples:
        if not isinstance(sample, dict):
            raise UserError(f"{place} must be a JSON object, not {checked.shown(sample)}")
    bounds = _bounds_of_record(record, samples)
    layout = replay_multilevel.layout_of_record(record, bounds)
    decides = _decides_of_record(record)
    readings = tuple(
        _reading(place, sample, bounds.start, replay_multilevel.costs_of_sample(place, sample, layout))
        for place, sample in samples
    )
    if isinstance(record.get("elastic"), dict):
        readings = tuple(reading for reading, (_, sample) in zip(readings, samples, strict=True) if _stepped(sample))
    knows_cpu = any(reading.system_cpu is not None for reading in readings)
    return Trace(bounds, readings, None if knows_cpu else (), False, layout, decides)


def _decides_of_record(record: Mapping[str, Any]) -> Decides:
    """What laws may decide about that the record is for; under coroutine also those that choose threads alone."""
    elastic = record.get("elastic")
    if isinstance(elastic, dict) and elastic.get("places") is not None:
        return Decides.QUEUES
    return Decides.REPLICAS if isinstance(elastic, dict) and record.get("model") == Coroutine.name else Decides.THREADS


def _stepped(sample: Mapping[str, Any]) -> bool:
    """Whether a sample ended a period of the law's: not in the midst of one, nor put off for a thread that did not obey."""
    return sample.get("law_state", "") is not None and not str(sample.get("law_reason")).startswith("put off: ")


def _bounds_of_record(record: Mapping[str, Any], samples: Sequence[tuple[str, dict[str, Any]]]) -> Bounds:
    elastic, host = record.get("elastic"), record.get("host")
    if isinstance(elastic, dict):
        return Bounds(elastic.get("minimum", 1), elastic.get("maximum"), elastic.get("start", 1))
    levels = [checked.number(f"{place}.threads_active", sample.get("threads_active", 0)) for place, sample in samples]
    cpus = host.get("cpus_allowed", 1) if isinstance(host, dict) else 1
    return Bounds(1, max(1, int(checked.number("host.cpus_allowed", cpus)), *map(int, levels)), max(1, int(levels[0])))


def _reading(place: str, sample: Mapping[str, Any], level: int, costs: Sequence[float]) -> Reading:
    read = "submitted_tuples_per_s" if sample.get("law_tuples_per_s") is None else "law_tuples_per_s"
    throughput = checked.throughput(f"{place}.{read}", sample.get(read))
    time_s = checked.number(f"{place}.time_s", sample.get("time_s"))
    length = "elapsed_s" if sample.get("law_elapsed_s") is None else "law_elapsed_s"
    elapsed_s = checked.number(f"{place}.{length}", sample.get(length))
    shares = {name: checked.share(f"{place}.{name}", sample.get(name)) for name in ("system_cpu", "others_cpu", "utilisation")}
    arrived = checked.ratio(f"{place}.law_arrived", sample.get("law_arrived"))
    seen = shares | _read(place, sample)
    try:
        return Reading(time_s, elapsed_s, level, throughput, costs=costs, arrived=arrived, **seen)
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


def _read(place: str, sample: Mapping[str, Any]) -> dict[str, Any]:
    """What else the law went by."""
    read = sample.get("law_read")
    if read is None:
        return {}
    if not isinstance(read, dict):
        raise UserError(f"{place}.law_read must be a JSON object, not {checked.shown(read)}")
    found: dict[str, Any] = {}
    for name, value in read.items():
        key = f"{place}.law_read.{name}"
        if name not in READ:
            raise UserError(f"{place}.law_read has no key {checked.shown(name)}; its keys are: {', '.join(READ)}")
        if name in LISTED:
            if not isinstance(value, list):
                raise UserError(f"{key} must be a list, not {checked.shown(value)}")
            found[name] = tuple(checked.cost(f"{key}[{i}]", each) for i, each in enumerate(value))
            if name == "replicas":
                found[name] = tuple(int(each) for each in found[name])
        else:
            found[name] = checked.ratio(key, value)
    return found
