"""A Comparison as a file, and back: JSON as pytest-benchmark writes it, with an additional object
`gate` that holds everything.

JSON has no infinity and no NaN: an unknown ratio is null, and so is an upper bound if there is
none.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from harness import __version__
from harness.errors import UserError
from harness.files.checked_yaml import dotted, load_schema
from harness.files.whole import write_whole
from harness.gate.cell import GateCell, Metric
from harness.gate.errors import UnusableResults
from harness.gate.geometric_mean import GeometricMean, geometric_mean
from harness.gate.results.load import load_json
from harness.gate.results.pytest_format import pytest_document
from harness.gate.verdict import CellDecision, CellResult, Comparison, Side, Verdict, exit_code

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class VerdictFile:
    """Contents of a verdict file."""

    comparison: Comparison
    exit_code: int
    finished: bool = True  # False: the user interrupted it
    # of the call, as far as the comparison does not have them
    options: Mapping[str, Any] = field(default_factory=dict)


def write_json(
    comparison: Comparison,
    path: str | os.PathLike[str],
    *,
    code: int | None = None,
    finished: bool = True,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Write the file, whole or not at all. `code`: the exit code if it is not that of the verdict.
    Raises RunFailed if it cannot be written."""
    code = int(exit_code(comparison)) if code is None else code
    write_whole(path, as_json(VerdictFile(comparison, code, finished, options or {})).encode())


def as_json(verdict: VerdictFile) -> str:
    """Return the file's text, checked against config/schemas/gate-verdict.schema.json."""
    document = {**pytest_document(verdict.comparison), "gate": _gate(verdict)}
    text = json.dumps(document, allow_nan=False, indent=1) + "\n"
    problem = schema_problem(json.loads(text))  # parsed first, because tuples become lists in JSON
    assert problem is None, problem
    return text


def read_verdict(path: str | os.PathLike[str]) -> VerdictFile:
    """Read a verdict file.

    Raises UserError, in one line, if it cannot be read, is cut short, has another version, or has a
    sample that is not finite.
    """
    document = load_json(path)
    verdict = verdict_of(document, path)
    _require_finite(document["gate"], path)
    return verdict


def verdict_of(document: Any, path: object) -> VerdictFile:
    """Return the verdict in a document, including samples that are not finite.

    Raises UserError naming `path` if it does not fit the schema.
    """
    version = document.get("gate", {}).get("schema_version") if _is_verdict(document) else None
    if version is None:
        raise UserError(f"{path}: not a verdict of the gate: has no gate.schema_version")
    if version != SCHEMA_VERSION:
        raise UserError(f"{path}: schema version {version!r}, this program reads {SCHEMA_VERSION}")
    problem = schema_problem(document)
    if problem is not None:
        raise UserError(f"{path}: {problem}")
    return _verdict(document["gate"])


def _require_finite(gate: Mapping[str, Any], path: object) -> None:
    """Raise UnusableResults for a sample that is not finite. Python reads NaN, and 1e999 as
    infinity, and a schema accepts both as numbers."""
    for cell in (*gate["cells"], *([gate["control"]] if gate["control"] else [])):
        for side in ("base", "head"):
            for place, value in enumerate(cell[side]):
                if isinstance(value, float) and not math.isfinite(value):
                    raise UnusableResults(
                        f"{path}: {cell['name']}: {side}[{place}] must be a finite number, not "
                        f"{value}"
                    )


def _is_verdict(document: Any) -> bool:
    return isinstance(document, dict) and isinstance(document.get("gate"), dict)


def schema_problem(document: Any) -> str | None:
    """Return the first fault of a document, place and rule in one line; None if it fits the
    schema."""
    import jsonschema

    rules = load_schema("gate-verdict")
    error = next(iter(jsonschema.Draft202012Validator(rules).iter_errors(document)), None)
    if error is None:
        return None
    message = " ".join(error.message.split())
    return (
        f"{dotted(tuple(error.absolute_path)) or 'the file'}: "
        f"{message if len(message) <= 160 else message[:157] + '...'}"
    )


def _gate(verdict: VerdictFile) -> dict[str, Any]:
    comparison = verdict.comparison
    return {
        "schema_version": SCHEMA_VERSION,
        "tool": {"name": "millrace", "version": __version__},
        "finished": verdict.finished,
        "exit_code": int(verdict.exit_code),
        "options": dict(verdict.options),
        "suite": comparison.suite,
        "title": comparison.title,
        "factor": comparison.factor,
        "alpha": comparison.alpha,
        "seed": comparison.seed,
        "started_at": comparison.started_at,
        "seconds": comparison.seconds,
        "interleaved": comparison.interleaved,
        "notes": list(comparison.notes),
        "base": _side(comparison.base),
        "head": _side(comparison.head),
        "control_failed": comparison.control_failed,
        "control": None if comparison.control is None else _cell(comparison.control),
        "cells": [_cell(result) for result in comparison.cells],
        "geometric_mean": _mean(geometric_mean(comparison)),
        "needed_s": comparison.needed_s,
    }


def _mean(found: GeometricMean | None) -> dict[str, Any] | None:
    return found and {
        name: (value if math.isfinite(value) else None) for name, value in found._asdict().items()
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "label": side.label,
        "commit": side.commit,
        "dirty": side.dirty,
        "host": dict(side.host),
    }


def _cell(result: CellResult) -> dict[str, Any]:
    decision = result.decision
    return {
        "name": result.cell.name,
        "key": result.cell.key,
        "metric": asdict(result.cell.metric),
        "verdict": str(decision.verdict),
        "ratio": _finite(decision.ratio),
        "low": _finite(decision.low) or 0.0,
        "high": _finite(decision.high),
        "blocks": decision.blocks,
        "base": list(result.base),
        "head": list(result.head),
        "reason": result.reason,
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _verdict(gate: Mapping[str, Any]) -> VerdictFile:
    comparison = Comparison(
        suite=gate["suite"],
        base=Side(**gate["base"]),
        head=Side(**gate["head"]),
        cells=tuple(_result(cell) for cell in gate["cells"]),
        control=None if gate["control"] is None else _result(gate["control"]),
        control_failed=gate["control_failed"],
        factor=gate["factor"],
        alpha=gate["alpha"],
        seed=gate["seed"],
        started_at=gate["started_at"],
        seconds=gate["seconds"],
        interleaved=gate["interleaved"],
        notes=tuple(gate["notes"]),
        title=gate.get("title", ""),  # files of earlier versions have none
        needed_s=gate.get("needed_s"),
    )
    return VerdictFile(comparison, gate["exit_code"], gate["finished"], gate["options"])


def _result(cell: Mapping[str, Any]) -> CellResult:
    decision = CellDecision(
        verdict=Verdict(cell["verdict"]),
        ratio=math.nan if cell["ratio"] is None else cell["ratio"],
        low=cell["low"],
        high=math.inf if cell["high"] is None else cell["high"],
        blocks=cell["blocks"],
    )
    described = GateCell(cell["name"], Metric(**cell["metric"]), cell["key"])
    return CellResult(described, decision, tuple(cell["base"]), tuple(cell["head"]), cell["reason"])
