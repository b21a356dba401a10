"""Tuples as text: an object of JSON with a member for each attribute of the schema. `bytes[N]` is
written in base 16.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from harness.graph.schema import Schema


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
    for each in schema.attributes:
        value = values.get(each.name)
        if each.kind in ("string", "bytes") and not isinstance(value, str):
            raise ValueError(f"{each.name} must be text")
        if each.kind == "bytes":
            values[each.name] = bytes.fromhex(value)
    schema.pack(values)  # raises ValueError if a value does not fit
    return values
