"""Tests of what follows from the declaration of a record: objects, the JSON schema and the page in
the docs.
"""

from __future__ import annotations

import re
from datetime import date

import pytest

from harness.measurement.record.declaration import CIRCUMSTANCES, IDENTITY, OUTCOME, RECORD
from harness.measurement.record.json_schema import schema_of
from harness.measurement.record.kinds import (
    Array,
    Boolean,
    Field,
    Integer,
    Map,
    Number,
    OneOf,
    String,
    Struct,
    blank,
    build,
)
from harness.measurement.record.page import list_of, lists
from harness.measurement.records import validate_record
from tests.records import example

PART = Struct("Part", (Field("count", Integer(), "Number of parts"),))
THING = Struct(
    "Thing",
    (
        Field("name", String(), "Name of it"),
        Field("form", String(may_be_empty=True, pattern="^x*$"), "Form of it"),
        Field("hot", Boolean(), "True if it is hot"),
        Field("size", Integer(least=1, bits=32), "Size of it", "mm"),
        Field("heat", Number(above=True), "Heat of it", "K", null="it is cold"),
        Field("parts", Array(PART), "Parts of it", since="2026-01-02"),
        Field("options", Map(OneOf((Number(least=None), Boolean()))), "Its options"),
        Field("weight", Number(), "Weight of it", "g", optional=True),
    ),
)


def test_an_object_is_built_in_the_order_of_its_declaration():
    assert list(build(PART, {"count": 1}).items()) == [("count", 1)]
    made = build(OUTCOME, dict(reversed(example(OUTCOME).items())))
    assert list(made) == [field.name for field in OUTCOME.fields if not field.optional]


def test_a_field_that_is_not_declared_is_an_error():
    with pytest.raises(TypeError, match="not declared as fields: colour"):
        build(PART, {"count": 1, "colour": "red"})
    with pytest.raises(TypeError, match="not declared as fields: colour"):
        blank(PART, {"colour": "red"})


def test_a_field_without_a_value_is_an_error_unless_it_is_optional():
    whole = example(THING)
    assert "weight" not in build(THING, whole)
    del whole["hot"], whole["heat"]
    with pytest.raises(TypeError, match=r"fields without a value: hot, heat$"):
        build(THING, whole)


def test_a_blank_object_has_the_zero_of_each_kind():
    assert blank(THING, {"name": "it", "size": 3}) == {
        "name": "it",
        "form": "",
        "hot": False,
        "size": 3,
        "heat": None,
        "parts": [],
        "options": {},
    }


@pytest.mark.parametrize("name", ["name", "size"])
def test_a_field_that_has_no_zero_must_be_given(name):
    given = {"name": "it", "size": 3}
    del given[name]
    with pytest.raises(TypeError, match=f"fields without a value: {name}"):
        blank(THING, given)


def test_each_kind_has_its_rules_in_the_json_schema():
    schema = schema_of(THING)
    assert schema["required"] == ["name", "form", "hot", "size", "heat", "options"]
    assert schema["additionalProperties"] is False
    rules = {
        name: {key: value for key, value in rule.items() if key != "description"}
        for name, rule in schema["properties"].items()
    }
    assert rules == {
        "name": {"type": "string", "minLength": 1},
        "form": {"type": "string", "pattern": "^x*$"},
        "hot": {"type": "boolean"},
        "size": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
        "heat": {"type": ["number", "null"], "exclusiveMinimum": 0},
        "parts": {"type": "array", "items": schema_of(PART)},
        "options": {"type": "object", "additionalProperties": {"type": ["number", "boolean"]}},
        "weight": {"type": "number", "minimum": 0},
    }
    assert schema["properties"]["heat"]["description"] == "Heat of it [K]; null if it is cold"


def test_a_list_of_the_docs_has_a_line_for_each_field():
    assert list_of(THING).splitlines()[3:] == [
        "* `name` (text): Name of it",
        "* `form` (text): Form of it",
        "* `hot` (boolean): True if it is hot",
        "* `size` (integer [mm]): Size of it",
        "* `heat` (number [K]): Heat of it; null if it is cold",
        "* `parts` (list: [object](#part)): Parts of it (2026-01-02)",
        "* `options` (by name: number or boolean): Its options",
        "* `weight` (number [g]): Weight of it; optional",
    ]


def test_the_lists_of_the_docs_have_every_field():
    rows = re.findall(r"^\* `(\w+)` ", lists(), re.MULTILINE)
    assert sorted(set(rows)) == sorted({field.name for field in all_fields(RECORD)})


def all_fields(struct: Struct) -> list[Field]:
    """Return the fields of an object and of the objects in it."""
    inner = [getattr(field.kind, "of", field.kind) for field in struct.fields]
    return [
        *struct.fields,
        *(field for each in inner if isinstance(each, Struct) for field in all_fields(each)),
    ]


def test_each_field_says_what_it_is_and_since_when():
    assert len(all_fields(RECORD)) > 100
    for field in all_fields(RECORD):
        assert len(field.meaning) > 8 and not field.meaning.endswith("."), field.name
        assert not re.search(r"\b(told|null)\b", field.meaning), field.name
        assert not field.since or date.fromisoformat(field.since), field.name


def test_a_record_has_no_field_twice_and_all_its_parts():
    names = [field.name for field in RECORD.fields]
    assert len(set(names)) == len(names)
    assert RECORD.fields == IDENTITY.fields + OUTCOME.fields + CIRCUMSTANCES.fields


def test_the_record_that_tests_use_is_one():
    validate_record(example(RECORD))
    with pytest.raises(TypeError, match="colour"):
        example(RECORD, colour="red")
