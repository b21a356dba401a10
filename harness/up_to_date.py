"""Whether a file of records answers a block's question: the same runs, under the same settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.experiment import Block
from harness.measurement.records import read_records


def is_measured(block: Block, path: Path) -> bool:
    """Whether the file holds exactly the block's runs under its settings; more variants than asked for do no harm."""
    if not path.exists():
        return False
    records, problems = read_records(path)
    runs = {(record["arm"], record["repeat"]) for record in records if not _variant(record)}
    varied = {(record["arm"], _variant(record)) for record in records if _variant(record)}
    return (
        not problems
        and runs == {(arm.name, repeat) for arm in block.arms for repeat in range(block.repeats)}
        and varied >= {(arm.name, tuple(sorted(variant.items()))) for arm in block.arms for variant in block.variants}
        and all(_is_of(block, record) for record in records)
    )


def _variant(record: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """The constants that a simulated run replaced; none of any other run."""
    return tuple(sorted((record.get("simulation") or {}).get("constants", {}).items()))


def _is_of(block: Block, record: dict[str, Any]) -> bool:
    """Whether the record answers the block's question. What a failed run never got to say is not held against it."""
    place = block.place
    asked = (block.experiment, block.cell.name, place.machine, place.simulated, block.seed)
    said = tuple(record[name] for name in ("experiment", "cell", "machine", "simulated", "seed"))
    window_s = next((block.window_s(arm) for arm in block.arms if arm.name == record["arm"]), block.duration_s)
    return said == asked and (
        record["error"] is not None
        or (
            (block.events is not None or abs(record["duration_s"] - window_s) < 0.5 * window_s)
            and _is_controlled_as_in(block, record)
            and _is_simulated_as_in(block, record)
        )
    )


def _is_controlled_as_in(block: Block, record: dict[str, Any]) -> bool:
    """Whether the run had the model of its arm, with its threads or its law, and any queues were as long as the block's."""
    terms = record.get("elastic")
    arm = next((arm for arm in block.arms if arm.name == record["arm"]), None)
    if arm is None:
        return True
    if record["model"] != arm.model:
        return False
    if arm.has_queues and block.queue_capacity not in (None, record["queue_capacity"]):  # others: threaded ports
        return False
    if terms is None or not arm.elastic:
        return arm.elastic or arm.threads in (None, record["threads"])
    return (
        terms["period_s"] == block.period_s
        and arm.law in ("", terms["law"])
        and arm.minimum in (None, terms["minimum"])
        and arm.maximum in (None, terms["maximum"])
        and all(terms["settings"].get(name) == value for name, value in arm.law_settings.items() if not isinstance(value, str))
    )


def _is_simulated_as_in(block: Block, record: dict[str, Any]) -> bool:
    """Whether a simulated run had the profiles as they are now."""
    said = record.get("simulation")
    if not block.place.simulated or said is None:
        return block.place.simulated == (said is not None)
    return (said["software"], said["machine_digest"], said["software_digest"]) == (block.place.software, *block.place.digests)
