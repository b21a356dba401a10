"""Tuples as text: an object of JSON with a member for each attribute of the schema. `bytes[N]` is
written in base 16.

What is read may have more members. A time may be one of ISO 8601 (without a zone it is of UTC), a
whole number may have a fraction of zero, and a text may be null, which is none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from harness.graph.schema import Attribute, Schema


def to_json(schema: Schema, values: Mapping[str, Any]) -> str:
    """Return the tuple as one line."""
    written = {
        each.name: values[each.name].hex() if each.kind == "bytes" else values[each.name]
        for each in schema.attributes
    }
    return json.dumps(written, ensure_ascii=False, separators=(",", ":"))


def from_json(schema: Schema, text: bytes) -> dict[str, Any]:
    """Return the values of a tuple. Raises ValueError for a text that does not fit this schema."""
    try:
        values = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(values, dict):
        raise ValueError("must be an object")
    return fitted(schema, values)


def fitted(schema: Schema, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a tuple, of those that a record has. Raises ValueError for values that
    do not fit this schema.
    """
    read = {}
    for each in schema.attributes:
        if each.name not in values:
            raise ValueError(f"must have {each.name}")
        read[each.name] = _value(each, values[each.name])
    schema.pack(read)  # raises ValueError if a value does not fit
    return read


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _value(attribute: Attribute, value: Any) -> Any:
    """Return the value of an attribute. Raises ValueError for one of another kind."""
    match attribute.kind, value:
        case "string", None:
            return ""
        case "string" | "bytes", _ if not isinstance(value, str | bytes):
            raise ValueError(f"{attribute.name} must be text")
        case "bytes", str():
            return bytes.fromhex(value)
        case "time", str():
            time = datetime.fromisoformat(value)
            since = (time if time.tzinfo else time.replace(tzinfo=UTC)) - EPOCH
            return (since.days * 86400 + since.seconds) * 10**9 + since.microseconds * 1000
        case kind, float() if kind == "time" or "int" in kind:
            if not value.is_integer():
                raise ValueError(f"{attribute.name} must be a whole number")
            return int(value)
    return value
