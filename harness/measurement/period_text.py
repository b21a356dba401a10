"""Periods of a run as text, for people."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

from harness.engine import Sample
from harness.measurement.control import Step


def period_line(sample: Sample, step: Step) -> str:
    """Return a sample and what was decided after it, for people: `12.00 s, 4 threads, 101 queues,
    1.23 M tuples/s, climbing: up`.
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
        parts.append(f"replicas {replicas_text(step.replicas)}")
    for name, balance in getattr(sample, "balancers", {}).items():
        reason = f" {step.balancers[name]}" if name in step.balancers else ""
        parts.append(f"{name} {balance.active} of {balance.ports} ports{reason}")
    return ", ".join(parts)


def replicas_text(replicas: Mapping[str, int], most: int = 6) -> str:
    """Return the replicas of the first few operators as text: `busy1 3, busy2 4 and 5 more`."""
    shown = [f"{name} {count}" for name, count in islice(replicas.items(), most)]
    rest = len(replicas) - len(shown)
    return ", ".join(shown) + (f" and {rest:,} more" if rest else "")


def short(number: float) -> str:
    """Return a rate in three digits: `1.23 M`."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= 0.9995 * size:  # which three digits round to it
            return f"{number / size:.3g} {unit}"
    return f"{number:.3g}"
