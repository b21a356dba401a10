"""Variants beside their nominal run: whether what they replace was reached at all, and whether one
seed says enough.

A variant that comes out as the nominal run does has replaced nothing that this looked at. It varies
nothing, and its record says so (`simulation.reached`).

The time of an atomic operation on a line that threads contend for is a table by the number of
contenders, straight lines between its steps (`simulator.costs`). A run in which no more of them met
than the step before the replaced one never reads what that one makes. It would be simulated bit for
bit as before, so it is not simulated again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from harness.machines.machine import load_machine
from harness.measurement.records import rate_of
from harness.measurement.spec import Run

CONTENDED = "atomic.contended"

VARIANT_SEEDS = 4
"""Seeds with which an arm is simulated where one does not say enough. A guess, not tuned."""

SEED_NOISE = 0.02
"""Share of throughput by which seeds may differ without a reason: windows of a stationary run on an
idle machine do by 1 to 3 %.
"""


def is_unreached(variant: Run, nominal: Run, record: Mapping[str, Any]) -> bool:
    """Return True if a variant replaces only steps of `atomic.contended` that its nominal run
    cannot reach.

    `record`: of the nominal run with the variant's chances, which are those of the first repeat.
    """
    replaced = [
        path for path, value in variant.constants.items() if nominal.constants.get(path) != value
    ]
    contenders = (record.get("simulation") or {}).get("contenders")
    if (
        not variant.simulated
        or not replaced
        or contenders is None
        or variant.repeat != nominal.repeat
    ):
        return False
    if not all(path.startswith(f"{CONTENDED}.") for path in replaced):
        return False
    steps = load_machine(variant.place.machine).table(CONTENDED)
    below = [[step for step in steps if step < int(path.rsplit(".", 1)[1])] for path in replaced]
    return all(before and contenders <= max(before) for before in below)


def as_variant(record: Mapping[str, Any], variant: Run) -> dict[str, Any]:
    """The record of the nominal run as that of a variant which comes out the same."""
    simulation = record["simulation"] | {"constants": dict(variant.constants), "reached": False}
    return {
        **record,
        "run_id": os.urandom(16).hex(),
        "order_in_block": variant.order_in_block,
        "simulation": simulation,
    }


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
    told = tuple(
        record[key]
        for key in ("sink_tuples_per_s", "submitted_tuples_per_s", "cpu_seconds", "latency_ns")
    )
    return (
        *told,
        *(simulation.get(key) for key in ("events", "virtual_s", "passed_tuples_per_s", "load")),
    )


def one_seed_decides(nominal: Mapping[str, Any], ends: Sequence[Mapping[str, Any]]) -> bool:
    """Return True if both ends of a constant's range move throughput to the same side, by more than
    noise.

    Then chance has moved it, and not the constant, or as much as that. `ends`: the variants'
    records.
    """
    rates = [rate_of(record) for record in (nominal, *ends)]
    if len(ends) < 2 or None in rates:
        return False
    middle, *others = rates
    return min(others) > (1 + SEED_NOISE) * middle or max(others) < (1 - SEED_NOISE) * middle
