"""From a run, its observation and the host to a record (`record.declaration`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, TypeVar

from harness.engine import Engine, Sample
from harness.engine.left_out import left_out_of
from harness.graph import Graph
from harness.graph.flow import hops_where
from harness.measurement import host
from harness.measurement.control import Step
from harness.measurement.cpu_use import Disturbance
from harness.measurement.latency import add_histograms, latency_summary
from harness.measurement.observe import Observation
from harness.measurement.record.declaration import OUTCOME, RECORD, SCHEMA_VERSION, SIMULATION
from harness.measurement.record.kinds import blank, build
from harness.measurement.spec import PeerModel, Run, arm_name, cell_slug, level_of
from harness.measurement.time_use import time_use_entry
from harness.models import Model
from harness.models.schemas import COLUMNS

Number = TypeVar("Number", int, float)

OUTCOMES = frozenset(field.name for field in OUTCOME.fields)


def blank_record(
    run: Run, parameters: Mapping[str, str | int], model: Model | PeerModel
) -> dict[str, Any]:
    """Return the record of a run that has not begun; `fill_record` or `fail_record` completes it.

    `parameters` with their defaults filled in; `model`: that of the run, with the threads that it
    has.
    """
    simulation = {
        "software": run.place.software,
        "seed": run.simulation_seed,
        "constants": dict(run.constants),
    }
    values = {
        "schema_version": SCHEMA_VERSION,
        "run_id": os.urandom(16).hex(),
        "asked": run.asked,
        "experiment": run.experiment,
        "cell": run.cell or cell_slug(run.topology, parameters),
        "arm": run.arm or arm_name(model),
        "topology": run.topology,
        "parameters": dict(parameters),
        "model": model.name,
        "peer": model.label if isinstance(model, PeerModel) else None,
        **{name: getattr(model, name, None) for name in COLUMNS},
        "threads": level_of(model),
        "machine": run.place.machine,
        "simulated": run.simulated,
        "simulation": blank(SIMULATION, simulation) if run.simulated else None,
        "seed": run.seed,
        "repeat": run.repeat,
        "order_in_block": run.order_in_block,
        **({"final": True} if run.final else {}),
        "queue_capacity": getattr(model, "queue_capacity", None) or 0,
        "host": {},
        "started_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    return blank(RECORD, values)


def fail_record(
    record: Mapping[str, Any], error: str, engine: Engine | None = None
) -> dict[str, Any]:
    """Return the record of a run that failed; `engine`: the one that it had."""
    simulation = engine.simulation if engine is not None and record["simulated"] else {}
    return _complete(record, {"error": error}, simulation)


def fill_record(
    record: Mapping[str, Any],
    seen: Observation,
    graph: Graph,
    engine: Engine,
    calibrate: bool = True,
) -> dict[str, Any]:
    """Return the record of a run that did start. `calibrate`: as of `host.describe`."""
    from harness.runtime.protocol import latency_bounds_ns  # compiled; loaded by now

    assert seen.totals is not None
    totals, samples = seen.totals, seen.samples
    flow, names = graph.flow(), list(graph.operators)
    simulated, bounded = record["simulated"], seen.bounded
    adapted = [] if seen.steps is None else seen.before  # nobody asks how a warm-up went
    elapsed_s = (
        samples[-1].time_s if bounded else sum((sample.elapsed_s for sample in samples), 0.0)
    )
    received = totals.received if bounded else sum(sample.sink_tuples for sample in samples)
    rate = received / elapsed_s if elapsed_s > 0 else None
    # bounded or ended: of the whole run
    counted = [totals] if bounded or seen.ended else samples
    histogram = add_histograms([each.latency_counts for each in counted])
    bounds_ns, longest_ns = latency_bounds_ns(), totals.latency_max_ns
    latency = latency_summary(histogram, bounds_ns, longest_ns)
    if parts := list(zip(*(each.part_latencies for each in counted), strict=True)):
        latency["parts"] = [
            _part_latency(names[part[0]], latency_summary(counts, bounds_ns, longest_ns))
            for part, counts in zip(engine.layout.parts, map(add_histograms, parts), strict=True)
        ]
    counts = graph.counts is not None and not simulated and not totals.stuck
    left_out, left_out_share = left_out_of(graph, totals)
    time_use = None
    if seen.time_use is not None:
        replicas = samples[-1].replicas if samples else ()
        time_use = time_use_entry(
            engine.layout, seen.time_use, seen.warmup_s, seen.processed, replicas, seen.disturbance
        )
    outcome = {
        "threads_total": engine.threads,
        "queue_capacity": engine.queue_capacity,
        "duration_s": elapsed_s,
        "warmup_s": seen.warmup_s,
        "settled": seen.settled,
        "ended": seen.ended,
        "sink_tuples_per_s": rate,
        "submitted_tuples_per_s": _rate(
            sum(sample.submitted_tuples for sample in samples), elapsed_s
        ),
        "ns_per_hop": 1e9 / (rate * flow.hops) if rate and flow.hops else None,
        "hops": flow.hops,
        "tuples_sent": totals.sent,
        "tuples_received": totals.received,
        "tuples_in_flight": totals.in_flight,
        "drained": totals.drained,
        "order_violations": totals.order_violations,
        "order_checked": totals.order_checked,
        "checksum_ok": totals.checksum_ok,
        "conservation": list(totals.conservation),
        "correct": totals.correct and seen.error is None,
        "error": totals.problem or seen.error,
        "latency_ns": latency,
        "context_switches": sum(sample.context_switches for sample in samples),
        "cpu_seconds": sum((sample.cpu_s for sample in samples), 0.0),
        "kernel_seconds": _kernel_seconds(samples),
        "elastic": _elastic(seen, names),
        "adaptation": [sample_entry(each, _step(each, seen), names) for each in adapted],
        "samples": [sample_entry(each, _step(each, seen), names) for each in samples],
        "scheduling": dict(totals.scheduling),
        # of an application, or of what its operators left out
        "application": graph.counts() if counts else totals.left_out or None,
        "left_out": left_out,
        "left_out_share": None if simulated else left_out_share,
    }
    if time_use is not None:
        outcome["time_use"] = time_use
    begun = {name: value for name, value in record.items() if name not in OUTCOMES}
    if not simulated:
        return _complete(begun, outcome, {}, seen.disturbance, calibrate)
    per_s = None
    if not bounded and not seen.ended:
        outcome["hops"] = hops_in(samples, graph) or flow.hops
        per_s = passed(samples, flow.hopping, outcome["hops"])
    return _complete(begun, outcome, {**engine.simulation, "passed_tuples_per_s": per_s})


def _part_latency(first: str, summary: Mapping[str, int | None]) -> dict[str, Any]:
    """Return the entry of a part of the graph; `first`: its first operator."""
    return {"first": first, "p99": summary["p99"], "count": summary["count"]}


def _kernel_seconds(samples: Sequence[Sample]) -> float | None:
    """Return the CPU time in the kernel; None if a sample does not have it."""
    known = [sample.kernel_s for sample in samples if sample.kernel_s is not None]
    return sum(known, 0.0) if len(known) == len(samples) else None


def _complete(
    record: Mapping[str, Any],
    outcome: dict[str, Any],
    simulation: Mapping[str, Any],
    disturbance: Disturbance | None = None,
    calibrate: bool = False,
) -> dict[str, Any]:
    """Return a whole record. `simulation`: what the engine of a simulated run says, empty if there
    was none. A simulation that hit its bound on events has failed, whatever it measured.
    """
    whole = {**record, **outcome}
    whole["host"] = host.describe(disturbance, calibrate=calibrate, simulates=record["simulated"])
    if simulation:
        whole["simulation"] = {"passed_tuples_per_s": None, **simulation}
        if simulation["bound"] is not None:
            whole |= {"settled": False, "correct": False, "error": simulation["bound"]}
    return build(RECORD, whole)


def hops_in(samples: Sequence[Sample], graph: Graph) -> float:
    """Return the hops of a tuple, per tuple at the sinks, where several sources send in the
    proportion of the window; 0 if it is not known, or there is one source.
    """
    sources = sum(operator.is_source for operator in graph.operators.values())
    if sources < 2 or not samples or not all(sample.processed for sample in samples):
        return 0.0
    processed = zip(*(sample.processed for sample in samples), strict=True)
    return hops_where(graph, [sum(each) for each in processed])


def passed(samples: Sequence[Sample], hopping: Sequence[int], hops: float) -> float | None:
    """Return the rate of a graph [tuples/s]: what its operators that are hops (`hopping`, by place)
    executed in the window, over the hops of a tuple.

    None if the hops of a tuple are unknown. In a stationary run it is the rate at the sinks. A deep
    pipeline moves its tuples in lumps, and a simulated window may end before the first lump
    arrives: hops count the part of the way that tuples have come.
    """
    elapsed_s = sum((sample.elapsed_s for sample in samples), 0.0)
    if not hops or elapsed_s <= 0.0 or not all(sample.processed for sample in samples):
        return None
    return (
        sum(sample.processed[place] for sample in samples for place in hopping) / hops / elapsed_s
    )


def _elastic(seen: Observation, names: Sequence[str]) -> dict[str, Any] | None:
    """Return the settings of an elastic pool's law and its levels; None if the pool is not
    elastic. `names`: of the operators.
    """
    if seen.terms is None:
        return None
    levels = [sample.threads_requested for sample in seen.samples]
    queued = [sample.queued_ports for sample in seen.samples]
    able = [names.index(name) for name in seen.terms["replicable"] or ()]
    replicas = [
        sum(sample.replicas[index] for index in able) / len(able) for sample in seen.samples if able
    ]
    return {
        **seen.terms,
        "settled_level": _middle(levels),
        "settled_queued": _middle(queued),
        "settled_replicas": _middle(replicas),
        "changes": sum(before != after for before, after in pairwise(levels)),
        "adaptation_s": seen.warmup_s,
        "settled": seen.level_settled,
    }


def _middle(numbers: list[Number]) -> Number | None:
    """Return the lower median; None of nothing."""
    return sorted(numbers)[(len(numbers) - 1) // 2] if numbers else None


def _step(sample: Sample, seen: Observation) -> Step:
    return (seen.steps or {}).get(sample.time_s, Step())


def read_of(step: Step) -> dict[str, Any] | None:
    """Return the other values that a law used, as a record has them; None if it used none."""
    plain = {
        name: list(value) if isinstance(value, (tuple, list)) else value
        for name, value in step.read.items()
    }
    return plain or None


def sample_entry(sample: Sample, step: Step, names: Sequence[str]) -> dict[str, Any]:
    """Return a sample, and what was decided after it, as a record has them. `names`: of the
    operators."""
    return {
        "time_s": sample.time_s,
        "elapsed_s": sample.elapsed_s,
        "sink_tuples_per_s": _rate(sample.sink_tuples, sample.elapsed_s) or 0.0,
        "source_tuples_per_s": _rate(sample.source_tuples, sample.elapsed_s) or 0.0,
        "submitted_tuples_per_s": _rate(sample.submitted_tuples, sample.elapsed_s) or 0.0,
        "threads_active": sample.threads_active,
        "cpu_s": sample.cpu_s,
        "context_switches": sample.context_switches,
        "threads_requested": sample.threads_requested,
        "threads_unsuspendable": sample.threads_unsuspendable,
        "queued_ports": sample.queued_ports,
        "system_cpu": sample.system_cpu,
        "others_cpu": sample.others_cpu,
        "utilisation": sample.utilisation,
        "law_state": step.state,
        "law_reason": step.reason,
        "law_tuples_per_s": step.throughput,
        "law_elapsed_s": step.elapsed_s,
        "law_arrived": step.arrived,
        "law_read": read_of(step),
        "switched_on": list(step.switched_on),
        "switched_off": list(step.switched_off),
        "replicas": {
            names[index]: count for index, count in enumerate(sample.replicas) if count > 1
        },
        "replicas_changed": dict(step.replicas),
        "operator_cost": sample.rounded_cost,
        "balancers": [
            _balancer_entry(name, sample, step) for name in getattr(sample, "balancers", {})
        ],
    }


def _balancer_entry(name: str, sample: Sample, step: Step) -> dict[str, Any]:
    balance = sample.balancers[name]
    return {
        "operator": name,
        "active": balance.active,
        "ports": balance.ports,
        "tuples_per_s": _rate(balance.submitted, sample.elapsed_s) or 0.0,
        "congestion": balance.congestion,
        "reason": step.balancers.get(name),
    }


def _rate(tuples: int, elapsed_s: float) -> float | None:
    return tuples / elapsed_s if elapsed_s > 0 else None
