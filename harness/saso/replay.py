"""What a law would have decided: a recorded trace is fed to it, open loop.

The throughputs are the trace's, whatever the law decides, so a trace that was recorded at other levels says how the law
reasons, not how good it is. A trace is one JSON object:

  throughputs    [tuples/s], one a sample
  max            highest level; min (1) and start (min): lowest, and where the law begins
  cpu_ok         [true or false], one a *request* to climb; requests beyond its end are granted, and without it all of them
  congested      [true or false], one a sample, for elastic_load_balance
  utilisation    [0 .. 1 or null], one a sample, for utilisation
  untrust_above  true: levels above the start are untrusted at first, as IBM Streams does when it has put queues somewhere

A sample lasts a second. `name`, and what a replay answers, may stay in the file and are not looked at.

A trace may also be the record of a run: its periods are those of `adaptation`, if it has that, and of `samples`; its levels are
those of `elastic`, or from 1 to the CPUs it was allowed to use or the threads it used, whichever is more. Where it has readings
of the CPUs the law's own limit decides on climbing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from harness.elasticity import Bounds, Decision, Reading, make_law
from harness.elasticity.cpu_limit import Answers
from harness.errors import UserError

INPUTS = ("min", "max", "start", "throughputs", "cpu_ok", "congested", "utilisation", "untrust_above")
IGNORED = ("name", "law", "levels", "reasons", "states")


@dataclass(frozen=True, slots=True)
class Trace:
    """What a law is fed with."""

    bounds: Bounds
    readings: tuple[Reading, ...]  # their level is a stand-in
    cpu_ok: tuple[bool, ...] | None  # None: by the law's own CPU limit
    untrust_above: bool


def replay(law_name: str, trace: Trace, settings: Mapping[str, object] | None = None) -> list[Decision]:
    """What the law decides after each sample. Raises UserError for an unknown law or setting, or a clock that goes back."""
    cpu = None if trace.cpu_ok is None else Answers(trace.cpu_ok)
    law = make_law(law_name, trace.bounds, cpu, settings)
    if trace.untrust_above and hasattr(law, "untrust_above"):  # others trust no level at first
        law.untrust_above()
    decisions: list[Decision] = []
    level = trace.bounds.start
    for reading in trace.readings:
        decisions.append(law.step(replace(reading, threads=level)))
        level = decisions[-1].threads
    return decisions


def answer(law_name: str, decisions: Sequence[Decision]) -> dict[str, object]:
    """A replay as JSON: `levels[i]` is the level after sample i."""
    return {
        "law": law_name,
        "levels": [decision.threads for decision in decisions],
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
        raise UserError(f"a trace must be a JSON object, not {_shown(document)}")
    return _of_record(document) if "samples" in document else _of_trace(document)


# -- a trace ---------------------------------------------------------------------------------------------------------------


def _of_trace(document: Mapping[str, Any]) -> Trace:
    for key in document:
        if key not in INPUTS + IGNORED:
            raise UserError(f"a trace has no key {_shown(key)}; its keys are: {', '.join(INPUTS)}")
    for key in ("max", "throughputs"):
        if document.get(key) is None:
            raise UserError(f"a trace must have the key {key!r}")
    minimum = document.get("min", 1)
    bounds = Bounds(minimum, document["max"], document.get("start", minimum))
    throughputs = [_throughput(f"throughputs[{i}]", value) for i, value in enumerate(_list(document, "throughputs"))]
    if not throughputs:
        raise UserError("throughputs must hold one sample at least, not []")
    samples = len(throughputs)
    congested = _flags(document, "congested")
    if congested is not None:
        _same_length("congested", congested, samples)
    utilisation = None
    if document.get("utilisation") is not None:
        utilisation = [_share(f"utilisation[{i}]", value) for i, value in enumerate(_list(document, "utilisation"))]
        _same_length("utilisation", utilisation, samples)
    cpu_ok = _flags(document, "cpu_ok") or []
    if len(cpu_ok) > samples:
        raise UserError(f"cpu_ok must hold one answer a request, at most one for each of {samples} samples, not {len(cpu_ok)}")
    untrust_above = document.get("untrust_above", False)
    if not isinstance(untrust_above, bool):
        raise UserError(f"untrust_above must be true or false, not {_shown(untrust_above)}")
    busy_shares = repeat(None) if utilisation is None else utilisation
    congestion = repeat(None) if congested is None else map(float, congested)
    readings = tuple(
        Reading(float(second), 1.0, bounds.start, throughput, utilisation=busy, congestion=fill)
        for second, (throughput, busy, fill) in enumerate(zip(throughputs, busy_shares, congestion, strict=False), start=1)
    )
    return Trace(bounds, readings, tuple(cpu_ok), untrust_above)


# -- the record of a run -----------------------------------------------------------------------------------------------------


def _of_record(record: Mapping[str, Any]) -> Trace:
    phases = ("adaptation", "samples")
    for key in phases:
        if not isinstance(record.get(key, []), list):
            raise UserError(f"{key} must be a list, not {_shown(record[key])}")
    samples = [(f"{key}[{i}]", sample) for key in phases for i, sample in enumerate(record.get(key, []))]
    if not samples:
        raise UserError("samples must hold one sample at least, not []")
    for place, sample in samples:
        if not isinstance(sample, dict):
            raise UserError(f"{place} must be a JSON object, not {_shown(sample)}")
    bounds = _bounds_of_record(record, samples)
    readings = tuple(_reading(place, sample, bounds.start) for place, sample in samples)
    knows_cpu = any(reading.system_cpu is not None for reading in readings)
    return Trace(bounds, readings, None if knows_cpu else (), untrust_above=False)


def _bounds_of_record(record: Mapping[str, Any], samples: Sequence[tuple[str, dict[str, Any]]]) -> Bounds:
    elastic, host = record.get("elastic"), record.get("host")
    if isinstance(elastic, dict):
        return Bounds(elastic.get("minimum", 1), elastic.get("maximum"), elastic.get("start", 1))
    levels = [_number(f"{place}.threads_active", sample.get("threads_active", 0)) for place, sample in samples]
    cpus = host.get("cpus_allowed", 1) if isinstance(host, dict) else 1
    return Bounds(1, max(1, int(_number("host.cpus_allowed", cpus)), *map(int, levels)), max(1, int(levels[0])))


def _reading(place: str, sample: Mapping[str, Any], level: int) -> Reading:
    throughput = _throughput(f"{place}.submitted_tuples_per_s", sample.get("submitted_tuples_per_s"))
    time_s = _number(f"{place}.time_s", sample.get("time_s"))
    elapsed_s = _number(f"{place}.elapsed_s", sample.get("elapsed_s"))
    shares = {name: _share(f"{place}.{name}", sample.get(name)) for name in ("system_cpu", "others_cpu", "utilisation")}
    try:
        return Reading(time_s, elapsed_s, level, throughput, **shares)
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


# -- values ------------------------------------------------------------------------------------------------------------------


def _number(place: str, value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if math.isfinite(number):
            return number
    raise UserError(f"{place} must be a number, not {_shown(value)}")


def _throughput(place: str, value: object) -> float:
    try:
        number = _number(place, value)
    except UserError:
        number = -1.0
    if number < 0.0:
        raise UserError(f"{place} must be a number of tuples/s from 0, not {_shown(value)}")
    return number


def _share(place: str, value: object) -> float | None:
    if value is None:
        return None
    number = _number(place, value)
    if not 0.0 <= number <= 1.0:
        raise UserError(f"{place} must be from 0 to 1, not {_shown(value)}")
    return number


def _list(document: Mapping[str, Any], key: str) -> list[Any]:
    if not isinstance(document[key], list):
        raise UserError(f"{key} must be a list, not {_shown(document[key])}")
    return document[key]


def _flags(document: Mapping[str, Any], key: str) -> list[bool] | None:
    if document.get(key) is None:
        return None
    flags = _list(document, key)
    for i, flag in enumerate(flags):
        if not isinstance(flag, bool):
            raise UserError(f"{key}[{i}] must be true or false, not {_shown(flag)}")
    return flags


def _same_length(key: str, values: Sequence[object], samples: int) -> None:
    if len(values) != samples:
        raise UserError(f"{key} must hold one value for each of {samples} samples, not {len(values)}")


def _shown(value: object) -> str:
    try:
        text = json.dumps(value)
    except ValueError:  # a whole number of thousands of digits
        text = "a number too long to print"
    return text if len(text) <= 40 else text[:40] + "…"
