"""The tables of docs/records.md: `python -m harness.measurement.record.page` writes them anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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

PAGE = Path(__file__).resolve().parents[3] / "docs" / "records.md"
MARK = "<!-- `python -m harness.measurement.record.page` makes all that follows -->\n"


def page_of(text: str) -> str:
    """Return the page with its tables made anew. `text`: the page as it is."""
    structs = dict.fromkeys(
        each for part in (IDENTITY, OUTCOME, CIRCUMSTANCES) for each in _all(part)
    )
    return text.partition(MARK)[0] + MARK + "".join(map(table_of, structs))


def table_of(struct: Struct) -> str:
    """Return the heading and the table of an object's fields."""
    head = f"\n## {struct.title}\n\n| field | kind | meaning | since |\n|---|---|---|---|\n"
    return head + "".join(map(_row, struct.fields))


def _all(struct: Struct) -> Iterator[Struct]:
    """Yield an object, and after it those in it."""
    yield struct
    for field in struct.fields:
        inner = field.kind.of if isinstance(field.kind, Array) else field.kind
        if isinstance(inner, Struct):
            yield from _all(inner)


def _row(field: Field) -> str:
    unit = f" [{field.unit}]" if field.unit else ""
    null = f"; null if {field.null}" if field.null else ""
    absent = "; written only where it was measured" if field.optional else ""
    meaning = field.meaning.replace("|", "\\|") + null + absent
    return f"| `{field.name}` | {_words(field.kind)}{unit} | {meaning} | {field.since} |\n"


def _words(kind: Kind) -> str:
    match kind:
        case String():
            return "text"
        case Boolean():
            return "true or false"
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
            return f"[object](#{kind.title.lower()})"


if __name__ == "__main__":
    PAGE.write_text(page_of(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
