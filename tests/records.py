"""Valid records, made from their declaration. A test names only what it is about."""

from __future__ import annotations

from typing import Any

from harness.measurement.assemble import blank_record
from harness.measurement.record.declaration import HOST, RECORD
from harness.measurement.record.kinds import (
    Array,
    Boolean,
    Field,
    Integer,
    Map,
    Number,
    String,
    Struct,
)
from harness.measurement.spec import Run

TEXTS = {
    "run_id": f"{1:032x}",
    "asked": "0123456789ab",
    "machine_digest": "0123456789ab",
    "software_digest": "ba9876543210",
    "digest": "0123456789ab",
    "hostname_hash": "0123456789ab",
    "started_at": "2025-01-01T00:00:00Z",
}
"""Examples of texts that have a form. Each other text is the name of its field."""


def example(struct: Struct, **changes: Any) -> dict[str, Any]:
    """Return a valid object with all its fields but the optional ones; `changes` replace or add
    some.

    Raises TypeError for a change of a field that is not declared.
    """
    values = {field.name: _example(field) for field in struct.fields if not field.optional}
    if struct == RECORD:
        values |= {"correct": True, "settled": True}
    if struct == HOST:
        values |= {"host_fit": True}
    return _with(struct, values | changes)


def _with(struct: Struct, given: dict[str, Any]) -> dict[str, Any]:
    """Return an object with its fields in order. Objects within may be older or broken ones, so
    nothing checks these.
    """
    if unknown := given.keys() - {field.name for field in struct.fields}:
        raise TypeError(f"{struct.title} has no {', '.join(sorted(unknown))}")
    return {field.name: given[field.name] for field in struct.fields if field.name in given}


def record_of(run: Run, **changes: Any) -> dict[str, Any]:
    """Return the record of a run that was correct and settled, with `changes`."""
    made = blank_record(run, run.parameters, run.model) | {"host": example(HOST)}
    return _with(RECORD, made | {"correct": True, "settled": True} | changes)


def oldest(record: dict[str, Any], struct: Struct = RECORD) -> dict[str, Any]:
    """Return a record as the first release of its format had it: without fields that came later."""
    return {
        field.name: _oldest_value(record[field.name], field.kind)
        for field in struct.fields
        if field.required
    }


def _oldest_value(value: Any, kind: Any) -> Any:
    if isinstance(kind, Struct):
        return oldest(value, kind)
    inner = getattr(kind, "of", None)
    return [oldest(each, inner) for each in value] if isinstance(inner, Struct) else value


def _example(field: Field) -> Any:
    if field.null:
        return None
    kind = field.kind
    match kind:
        case String():
            return TEXTS.get(field.name, field.name)
        case Boolean():
            return False
        case Integer():
            return kind.least
        case Number():
            return float(kind.least or 0)
        case Array():
            return []
        case Map():
            return {}
        case Struct():
            return example(kind)
    raise TypeError(f"no example of {field.name}")
