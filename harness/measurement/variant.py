"""Variants that come out as the nominal run does: what they replace is nothing that it looked at.

The time of an atomic operation on a line that threads contend for is a table by the number of contenders, straight lines
between its steps (`simulator.costs`). A run in which no more of them met than the step before the replaced one never reads what
that one makes. It would be simulated bit for bit as before, so it is not simulated again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from harness.machines.machine import load_machine
from harness.measurement.spec import RunSpec

CONTENDED = "atomic.contended"


def is_unreached(variant: RunSpec, nominal: RunSpec, record: Mapping[str, Any]) -> bool:
    """Whether a simulated variant replaces only steps of `atomic.contended` out of the reach of its arm's nominal run.

    `record`: of the nominal run with the variant's chances, which are those of the first repeat.
    """
    replaced = [path for path, value in variant.constants.items() if nominal.constants.get(path) != value]
    contenders = (record.get("simulation") or {}).get("contenders")
    if not variant.simulated or not replaced or contenders is None or variant.repeat != nominal.repeat:
        return False
    if not all(path.startswith(f"{CONTENDED}.") for path in replaced):
        return False
    steps = load_machine(variant.machine).table(CONTENDED)
    below = [[step for step in steps if step < int(path.rsplit(".", 1)[1])] for path in replaced]
    return all(before and contenders <= max(before) for before in below)


def as_variant(record: Mapping[str, Any], variant: RunSpec) -> dict[str, Any]:
    """The record of the nominal run as that of a variant which comes out the same."""
    simulation = record["simulation"] | {"constants": dict(variant.constants)}
    return {**record, "run_id": os.urandom(16).hex(), "order_in_block": variant.order_in_block, "simulation": simulation}
