"""A file of records answers a block's question if it has its runs, under its settings, by the code
as it is now.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.experiments.experiment import Block
from harness.experiments.freshness import of_block
from harness.files.closure import ROOT
from harness.measurement.records import read_written_records

DAMAGED = "is damaged"


def why_due(block: Block, path: Path) -> str | None:
    """Name the reason for measuring a block, as in "is not there"; None if the file answers its
    question.
    """
    if not path.exists():
        return "is not there"
    if (problem := problem_of(block, path)) is not None:
        return problem
    newest = max(of_block(block), key=lambda file: file.stat().st_mtime_ns)
    if newest.stat().st_mtime_ns > path.stat().st_mtime_ns:
        return f"was measured before {newest.relative_to(ROOT)} changed"
    return None


def problem_of(block: Block, path: Path) -> str | None:
    """Name what is wrong with the records of a block, whatever code has made them; None if nothing
    is.
    """
    records, problem = read_written_records(path)
    if problem is not None:
        return f"{DAMAGED} in line {problem.line}: {problem.reason}"
    return None if _is_as_asked(block, records) else "was measured under other settings"


def _is_as_asked(block: Block, records: list[dict[str, Any]]) -> bool:
    """Tell whether these are exactly the block's runs.

    More variants than asked for do no harm, and with variants there may be more seeds.
    """
    runs = {(record.get("arm"), record.get("repeat")) for record in records if not _variant(record)}
    varied = {(record.get("arm"), _variant(record)) for record in records if _variant(record)}
    asked = {name: run.asked for name, run in block.runs_by_arm().items()}
    wanted = {(arm.name, repeat) for arm in block.arms for repeat in range(block.repeats)}
    if block.finals is not None:
        later = range(block.repeats, block.repeats + block.finals.repeats)
        wanted |= {(arm, repeat) for arm in block.finals.arms(records) for repeat in later}
    return (
        (runs >= wanted if varied else runs == wanted)
        and varied
        >= {
            (arm.name, tuple(sorted(variant.items())))
            for arm in block.arms
            for variant in block.variants
        }
        and all(
            record.get("asked") == asked.get(record["arm"]) and _is_simulated_as_in(block, record)
            for record in records
        )
    )


def _variant(record: dict[str, Any]) -> tuple[tuple[str, float], ...]:
    """Return the constants that a simulated run replaced; none of any other run."""
    return tuple(sorted((record.get("simulation") or {}).get("constants", {}).items()))


def _is_simulated_as_in(block: Block, record: dict[str, Any]) -> bool:
    """Return True if a simulated run had the profiles as they are now, or failed before it could
    say.
    """
    said = record.get("simulation")
    if said is None or record.get("error") is not None:
        return True
    return (said.get("machine_digest"), said.get("software_digest")) == block.place.digests
