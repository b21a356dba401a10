"""Lists of the fields of a record, for the page of records in the site of the docs."""

from __future__ import annotations

from collections.abc import Iterator

from harness.measurement.record.declaration import CIRCUMSTANCES, IDENTITY, OUTCOME
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


def lists() -> str:
    """Return the lists of all objects that a record consists of."""
    structs = dict.fromkeys(
        each for part in (IDENTITY, OUTCOME, CIRCUMSTANCES) for each in _all(part)
    )
    return "".join(map(list_of, structs))


def list_of(struct: Struct) -> str:
    """Return the heading and the list of an object's fields."""
    return f"\n## {struct.title}\n\n" + "".join(map(_line, struct.fields))


def _all(struct: Struct) -> Iterator[Struct]:
    """Yield an object, and after it those in it."""
    yield struct
    for field in struct.fields:
        inner = field.kind.of if isinstance(field.kind, Array) else field.kind
        if isinstance(inner, Struct):
            yield from _all(inner)


def _line(field: Field) -> str:
    unit = f" [{field.unit}]" if field.unit else ""
    null = f"; null if {field.null}" if field.null else ""
    absent = "; optional" if field.optional else ""
    since = f" ({field.since})" if field.since else ""
    return f"* `{field.name}` ({_words(field.kind)}{unit}): {field.meaning}{null}{absent}{since}\n"


def _words(kind: Kind) -> str:
    match kind:
        case String():
            return "text"
        case Boolean():
            return "boolean"
        case Integer():
            return "integer"
        case Number():
            return "number"
        case Array():
            return f"list: {_words(kind.of)}"
        case Map():
            return f"by name: {_words(kind.of)}"
        case OneOf():
            return " or ".join(map(_words, kind.kinds))
        case Struct():
            return f"[object](#{kind.title.lower().replace(' ', '-')})"
