"""Variants beside their nominal run: whether what they replace was reached at all.

A variant that comes out as the nominal run does has replaced nothing that this looked at. It varies
nothing, and its record says so (`simulation.reached`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def mark_reached(record: dict[str, Any], nominal: Mapping[str, Any]) -> None:
    """Write into a variant's record whether it came out otherwise than the nominal run with the
    same chances.
    """
    if (
        record.get("simulation") is not None
        and record["error"] is None
        and nominal["error"] is None
    ):
        record["simulation"]["reached"] = _outcome(record) != _outcome(nominal)


def _outcome(record: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return values that two simulations share only if all their events were at the same times."""
    simulation = record["simulation"]
    values = tuple(
        record[key]
        for key in ("sink_tuples_per_s", "submitted_tuples_per_s", "cpu_seconds", "latency_ns")
    )
    return (
        *values,
        *(simulation.get(key) for key in ("events", "virtual_s", "passed_tuples_per_s", "load")),
    )
