"""Tuples as records of CSV (RFC 4180)."""

from __future__ import annotations

import csv
from typing import Any

from harness.errors import RunFailed
from harness.graph.schema import Schema

TRUTH = {"true": True, "false": False, "1": True, "0": False}


class CsvLines:
    """Parser of records of CSV for sources (`parse`): the first one names the columns, of which
    some are the attributes of the schema. An empty time or number is broken.
    """

    def __init__(self, schema: Schema, delimiter: str = ",") -> None:
        self.schema, self.delimiter = schema, delimiter
        self._places: dict[str, int] | None = None

    def goes_on(self, record: bytes) -> bool:
        """Return True if a field in quotes is still open at the end of these lines."""
        if record.count(b'"') % 2 == 0:
            return False
        if b"\n" in record:
            return True  # open since its first line
        line = record.decode("utf-8-sig", errors="replace")
        try:
            list(csv.reader([line], delimiter=self.delimiter, strict=True))
        except csv.Error as problem:
            return str(problem) == "unexpected end of data"
        return False  # a quote within a field that is in none

    def __call__(self, record: bytes) -> dict[str, Any] | None:
        """Return the values of a record, None for the first one. Raises ValueError for one that
        cannot be read, and RunFailed if the first one lacks an attribute.
        """
        text = record.decode("utf-8-sig" if self._places is None else "utf-8")
        try:
            fields = next(csv.reader([text], delimiter=self.delimiter, strict=True), [])
        except csv.Error as problem:
            raise ValueError(str(problem)) from None
        if self._places is None:
            names = [name.strip() for name in fields]
            for attribute, _ in self.schema.types:
                if attribute not in names:
                    raise RunFailed(f"the first line must name a column {attribute!r}")
            self._places = {name: names.index(name) for name, _ in self.schema.types}
            return None
        if len(fields) <= max(self._places.values()):
            raise ValueError(f"must have {max(self._places.values()) + 1} fields")
        return {
            each.name: _value(each.kind, fields[self._places[each.name]])
            for each in self.schema.attributes
        }


def _value(kind: str, text: str) -> Any:
    if kind in ("string", "bytes"):
        return text
    text = text.strip()
    if kind == "boolean":
        if text.lower() not in TRUTH:
            raise ValueError(f"must be true or false, not {text!r:.60}")
        return TRUTH[text.lower()]
    if kind == "time":
        return int(text) if text.lstrip("-").isdecimal() else text
    if kind.startswith("float"):
        return float(text)
    return int(text) if text.lstrip("+-").isdecimal() else float(text)
