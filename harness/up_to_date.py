"""Whether a file of records answers a block's question: the same runs, under the same settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.experiment import Block
from harness.measurement.records import read_records


def is_measured(block: Block, path: Path) -> bool:
    """Whether the file holds exactly the block's runs under its settings. More variants than asked for do no harm, and with
    variants there may be more seeds.
    """
    if not path.exists():
        return False
    records, problems = read_records(path)
    runs = {(record["arm"], record["repeat"]) for record in records if not _variant(record)}
    varied = {(record["arm"], _variant(record)) for record in records if _variant(record)}
    asked = {name: spec.asked for name, spec in block.specs().items()}
    wanted = {(arm.name, repeat) for arm in block.arms for repeat in range(block.repeats)}
    return (
        not problems
        and (runs >= wanted if varied else runs == wanted)
        and varied >= {(arm.name, tuple(sorted(variant.items()))) for arm in block.arms for variant in block.variants}
        and all(record.get("asked") == asked.get(record["arm"]) and _is_simulated_as_in(block, record) for record in records)
    )


def _variant(record: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """The constants that a simulated run replaced; none of any other run."""
    return tuple(sorted((record.get("simulation") or {}).get("constants", {}).items()))


def _is_simulated_as_in(block: Block, record: dict[str, Any]) -> bool:
    """Whether a simulated run had the profiles as they are now. A run that was lost never got to say which."""
    said = record.get("simulation")
    if said is None or record["error"] is not None:
        return True
    return (said["machine_digest"], said["software_digest"]) == block.place.digests
