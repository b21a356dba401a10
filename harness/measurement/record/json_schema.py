"""The JSON schema of records: `python -m harness.measurement.record.json_schema` prints it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from harness.measurement.record.declaration import RECORD, SCHEMA_VERSION
from harness.measurement.record.kinds import (
    Array,
    Boolean,
    Field,
    Integer,
    Kind,
    Map,
    Number,
    OneOf,
    String,
    Struct,
)


@cache
def record_schema() -> dict[str, Any]:
    """Return the schema that each record must fit."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Millrace record",
        "description": "One run: one line of JSON",
        **schema_of(RECORD),
    }
    schema["properties"]["schema_version"]["const"] = SCHEMA_VERSION
    return schema


def schema_of(kind: Kind) -> dict[str, Any]:
    """Return the schema of a kind of values."""
    match kind:
        case String():
            empty = {} if kind.may_be_empty or kind.pattern else {"minLength": 1}
            return {
                "type": "string",
                **empty,
                **({"pattern": kind.pattern} if kind.pattern else {}),
            }
        case Boolean():
            return {"type": "boolean"}
        case Integer():
            most = 2 ** (kind.bits - 1) - 1
            return {"type": "integer", "minimum": kind.least, "maximum": most}
        case Number(least=None):
            return {"type": "number"}
        case Number():
            return {"type": "number", "exclusiveMinimum" if kind.above else "minimum": kind.least}
        case Array():
            return {"type": "array", "items": schema_of(kind.of)}
        case Map():
            return {"type": "object", "additionalProperties": schema_of(kind.of)}
        case OneOf():
            return _one_of([schema_of(each) for each in kind.kinds], kind.or_null)
        case Struct():
            return {
                "type": "object",
                "properties": {field.name: _schema_of_field(field) for field in kind.fields},
                "required": [field.name for field in kind.fields if field.required],
                "additionalProperties": False,
            }


def _schema_of_field(field: Field) -> dict[str, Any]:
    unit = f" [{field.unit}]" if field.unit else ""
    null = f"; null if {field.null}" if field.null else ""
    schema = schema_of(field.kind)
    if field.null:
        schema = _one_of([schema], or_null=True)
    return {"description": f"{field.meaning}{unit}{null}", **schema}


def _one_of(schemas: list[dict[str, Any]], or_null: bool) -> dict[str, Any]:
    """Return a schema for values of any of several types; each rule concerns one type only."""
    types = [schema["type"] for schema in schemas] + (["null"] if or_null else [])
    rules = {name: rule for schema in schemas for name, rule in schema.items()}
    return rules | {"type": types[0] if len(types) == 1 else types}


if __name__ == "__main__":
    print(json.dumps(record_schema(), indent=2, ensure_ascii=False))
