"""The schemas of Spark: that of records follows from their declaration."""

from __future__ import annotations

import pytest
from pyspark.sql.types import StructField

from harness.measurement.record import declaration
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
)
from harness.spark.schemas import RECORD, TABLES, type_of


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (String(), "string"),
        (Boolean(), "boolean"),
        (Integer(bits=32), "int"),
        (Integer(), "bigint"),
        (Number(), "double"),
        (OneOf((Number(), Boolean())), "string"),
        (Array(Integer()), "array<bigint>"),
        (Map(Array(Number())), "map<string,array<double>>"),
        (Struct("A", (Field("b", Struct("C", (Field("d", Boolean(), ""),)), ""),)), "struct<b:struct<d:boolean>>"),
    ],
)  # fmt: skip
def test_each_kind_of_value_has_its_type(kind, name):
    assert type_of(kind).simpleString() == name


@pytest.mark.parametrize(
    ("field", "nullable"),
    [
        (Field("a", Boolean(), ""), False),
        (Field("a", Boolean(), "", null="unknown"), True),
        (Field("a", Boolean(), "", since="2026-01-02"), True),
        (Field("a", Boolean(), "", optional=True), True),
    ],
)
def test_a_field_that_may_be_null_or_missing_is_nullable(field, nullable):
    assert type_of(Struct("A", (field,))).fields == [StructField("a", type_of(Boolean()), nullable)]


def test_all_fields_of_a_record_are_read():
    assert RECORD.names == [field.name for field in declaration.RECORD.fields]
    assert RECORD["adaptation"].dataType == RECORD["samples"].dataType


def test_a_table_has_each_column_once():
    for name, table in TABLES.items():
        assert len(set(table.names)) == len(table.names), name
