"""A verdict as rows: one per cell, flat, so that any reader of Parquet can use them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from harness.errors import UserError
from harness.gate.host_key import facts, host_key
from harness.gate.verdict import CellResult, Comparison
from harness.measurement.rank_interval import median_interval

SCHEMA_VERSION = 1  # 1: the first

SCHEMA = pa.schema(
    [
        ("schema_version", pa.int32()),
        ("verdict_id", pa.string()),  # hash of the content; all rows of a verdict share it
        ("started_at", pa.timestamp("us", tz="UTC")),
        ("suite", pa.string()),
        ("base_commit", pa.string()),  # null: not under version control
        ("head_commit", pa.string()),
        ("base_dirty", pa.bool_()),
        ("head_dirty", pa.bool_()),
        ("cell", pa.string()),
        ("metric", pa.string()),
        ("unit", pa.string()),
        ("lower_is_better", pa.bool_()),
        ("verdict", pa.string()),
        ("reason", pa.string()),
        ("ratio", pa.float64()),  # as in verdict.CellDecision, with its bounds; null: unknown
        ("low", pa.float64()),
        ("high", pa.float64()),  # infinite where there is no bound
        ("blocks", pa.int32()),
        ("factor", pa.float64()),
        ("alpha", pa.float64()),
        ("interleaved", pa.bool_()),
        ("control_failed", pa.bool_()),
        ("base_samples", pa.int32()),  # processes
        ("head_samples", pa.int32()),
        ("base_median", pa.float64()),  # [unit]; null without samples
        ("head_median", pa.float64()),
        # the 95 % interval of head's median (measurement.rank_interval)
        ("head_low", pa.float64()),
        ("head_high", pa.float64()),
        # of head's host, as are the facts that follow; null where the host does not report it
        ("host_key", pa.string()),
        ("cpu_model", pa.string()),
        ("cpus_allowed", pa.int32()),
        ("cgroup_quota_cpus", pa.float64()),
        ("governor", pa.string()),
        ("kernel", pa.string()),
        ("python", pa.string()),
        ("compiler", pa.string()),
        ("compiler_flags", pa.string()),
    ],
    metadata={"millrace_gate_history": str(SCHEMA_VERSION)},
)


@dataclass(frozen=True)
class Entry:
    """A verdict in its stored form: rows of `SCHEMA`, and a name that depends only on the
    content."""

    name: str
    rows: pa.Table


def entry_of(comparison: Comparison) -> Entry:
    """Return a verdict's rows. Raises UserError if its time is invalid, if it has no cells, or if a
    fact about a host cannot be stored."""
    if not comparison.cells:
        raise UserError("the verdict has no cells: there is nothing to keep")
    content = json.dumps(asdict(comparison), sort_keys=True, default=str)
    identity = hashlib.sha256(content.encode()).hexdigest()[:16]
    started_at = _time(comparison.started_at)
    common = {
        "schema_version": SCHEMA_VERSION,
        "verdict_id": identity,
        "started_at": started_at,
        **_of_all(comparison),
    }
    try:
        rows = pa.Table.from_pylist(
            [common | _of_cell(result) for result in comparison.cells], schema=SCHEMA
        )
    # `host` may be anything that a program has printed
    except (pa.ArrowException, OverflowError) as error:
        raise UserError(f"the verdict cannot be kept: {str(error).splitlines()[0]}") from error
    return Entry(f"{started_at:%Y%m%dT%H%M%SZ}-{identity}.parquet", rows)


def _of_all(comparison: Comparison) -> dict[str, Any]:
    base, head = comparison.base, comparison.head
    return {
        "suite": comparison.suite,
        "base_commit": base.commit,
        "head_commit": head.commit,
        "base_dirty": base.dirty,
        "head_dirty": head.dirty,
        "factor": comparison.factor,
        "alpha": comparison.alpha,
        "interleaved": comparison.interleaved,
        "control_failed": comparison.control_failed,
        "host_key": host_key(head.host),
        **_texts(facts(head.host)),
    }


def _texts(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts in the types of their columns: numbers as they are, all others as texts."""
    numbers = ("cpus_allowed", "cgroup_quota_cpus")
    return {
        name: value if value is None or name in numbers else str(value)
        for name, value in values.items()
    }


def _of_cell(result: CellResult) -> dict[str, Any]:
    cell, decision = result.cell, result.decision
    base = median_interval(result.base) if result.base else None
    head = median_interval(result.head) if result.head else None
    return {
        "cell": cell.name,
        "metric": cell.metric.name,
        "unit": cell.metric.unit,
        "lower_is_better": cell.metric.lower_is_better,
        "verdict": str(result.verdict),
        "reason": result.reason,
        **{name: None if math.isnan(value) else value for name, value in _bounds(result).items()},
        "blocks": decision.blocks,
        "base_samples": len(result.base),
        "head_samples": len(result.head),
        "base_median": base.median if base else None,
        "head_median": head.median if head else None,
        "head_low": head.low if head else None,
        "head_high": head.high if head else None,
    }


def _bounds(result: CellResult) -> dict[str, float]:
    return {
        "ratio": result.decision.ratio,
        "low": result.decision.low,
        "high": result.decision.high,
    }


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError as error:
        raise UserError(f"the verdict's time must be in ISO 8601, not {text!r}") from error
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
