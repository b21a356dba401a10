"""The elastic part of a run: samples pass and laws step, until the laws have settled."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice

from harness.engine import Engine, Sample
from harness.measurement.control import Controller, Step
from harness.measurement.spec import Run
from harness.measurement.steady import WarmUp

SHORTEST_REST_S = 0.01
"""Longest remainder of an adaptation that is ignored [s], or a tenth of a sample: too short to
learn from.
"""

Announce = Callable[[str], None]


def watch(
    engine: Engine, controller: Controller, phase: str, announce: Announce, most_s: float = math.inf
) -> Sample:
    """Let one sample's time pass, `most_s` at most, and the laws act on it. Raises
    ControlFailed.
    """
    sample = engine.sample(min(controller.sample_s, most_s))
    if not engine.finished():
        step = controller.see(sample)
        announce(f"{phase}: {period_line(sample, step)}")
    return sample


def adapt(
    engine: Engine,
    controller: Controller,
    run: Run,
    copies: int | None,
    announce: Announce,
    seen: list[Sample],
) -> bool | None:
    """Let the laws find their levels; `seen` gets the samples. Returns whether the run has settled.

    That is when the laws have settled (`Controller.settled`) and the run is stationary (`steady`),
    or never within the time that `spec` allows. With a warm-up of fixed length nobody looks: None.
    """
    limit_s = run.adaptation_limit_s
    elapsed_s = 0.0
    warm_up = WarmUp(copies, limit_s)
    rest_s = min(SHORTEST_REST_S, controller.sample_s / 10)
    while limit_s - elapsed_s > rest_s and not engine.finished():
        sample = lean(watch(engine, controller, "adapting", announce, limit_s - elapsed_s))
        seen.append(sample)
        elapsed_s += sample.elapsed_s
        if run.warmup != "auto":
            continue
        if controller.kept == 0:  # what was seen at another level says nothing about this one
            warm_up = WarmUp(copies, limit_s)
        warm_up.step(sample)
        if controller.settled and warm_up.settled:
            return True
    return None if run.warmup != "auto" else False


def lean(sample: Sample) -> Sample:
    """Without most that is said of each operator and port: a long adaptation of a large graph would
    not fit in memory.
    """
    gone = ("processed", "queue_fill", "write_blocked", "latency_counts", "useful_s", "queue_full")
    return replace(sample, **dict.fromkeys(gone, ()))


def period_line(sample: Sample, step: Step) -> str:
    """A sample and what was decided after it, for people: `12.00 s, 4 threads, 101 queues, 1.23 M
    tuples/s, climbing: up`.
    """
    parts = [f"{sample.time_s:.2f} s"]
    if sample.threads_requested:
        active = (
            ""
            if sample.threads_active == sample.threads_requested
            else f" ({sample.threads_active} active)"
        )
        many = "" if sample.threads_requested == 1 else "s"
        parts.append(f"{sample.threads_requested} thread{many}{active}")
    rate = sample.submitted_tuples / sample.elapsed_s if sample.elapsed_s > 0 else 0.0
    parts += [f"{sample.queued_ports} queues", f"{short(rate)} tuples/s"]
    if step.state is not None:
        parts.append(f"{step.state}: {step.reason}")
    changed = [
        f"{sign}{len(ports)}"
        for sign, ports in (("+", step.switched_on), ("-", step.switched_off))
        if ports
    ]
    if changed:
        parts.append(f"queues {' '.join(changed)}")
    if step.replicas:
        parts.append(f"replicas {told_replicas(step.replicas)}")
    for name, balance in getattr(sample, "balancers", {}).items():
        reason = f" {step.balancers[name]}" if name in step.balancers else ""
        parts.append(f"{name} {balance.active} of {balance.ports} ports{reason}")
    return ", ".join(parts)


def told_replicas(replicas: Mapping[str, int], most: int = 6) -> str:
    """Return the replicas of the first few operators as text: `busy1 3, busy2 4 and 5 more`."""
    shown = [f"{name} {count}" for name, count in islice(replicas.items(), most)]
    rest = len(replicas) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def short(number: float) -> str:
    """A rate in three digits: `1.23 M`."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= 0.9995 * size:  # which three digits round to it
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"
