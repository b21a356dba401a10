"""The schema that Spark reads with is the schema that records are written with."""

from __future__ import annotations

import pytest

from harness.measurement.records import record_schema
from harness.spark.schemas import (
    BALANCER,
    ELASTIC,
    LATENCY,
    RECORD,
    SAMPLE,
    SCHEMA_VERSION,
    SIMULATION,
    TABLES,
)

JSON_SCHEMA = record_schema()
JSON_TYPES = {"string": "string", "integer": "int bigint", "number": "double", "boolean": "boolean"}


def described() -> list:
    fields, sample = JSON_SCHEMA["properties"], JSON_SCHEMA["properties"]["samples"]["items"]
    return [
        pytest.param(RECORD, JSON_SCHEMA, id="record"),
        pytest.param(SAMPLE, sample, id="sample"),
        pytest.param(BALANCER, sample["properties"]["balancers"]["items"], id="balancer"),
        pytest.param(ELASTIC, fields["elastic"], id="elastic"),
        pytest.param(SIMULATION, fields["simulation"], id="simulation"),
        pytest.param(LATENCY, fields["latency_ns"], id="latency"),
        pytest.param(ELASTIC, fields["elastic"], id="elastic"),
        pytest.param(
            BALANCER, fields["samples"]["items"]["properties"]["balancers"]["items"], id="balancer"
        ),
    ]


@pytest.mark.parametrize(("struct", "schema"), described())
def test_fields_are_those_of_the_json_schema(struct, schema):
    assert sorted(struct.names) == sorted(schema["properties"])


@pytest.mark.parametrize(("struct", "schema"), described())
def test_types_and_nullability_are_those_of_the_json_schema(struct, schema):
    for field in struct:
        kinds = schema["properties"][field.name]["type"]
        kinds = kinds if isinstance(kinds, list) else [kinds]
        assert field.nullable == ("null" in kinds or field.name not in schema["required"]), (
            field.name
        )
        (kind,) = [kind for kind in kinds if kind != "null"]
        if kind in JSON_TYPES:
            assert field.dataType.simpleString() in JSON_TYPES[kind].split(), field.name


def test_both_series_of_a_record_hold_samples():
    assert JSON_SCHEMA["properties"]["adaptation"]["items"] == {
        "$ref": "#/properties/samples/items"
    }
    assert RECORD["adaptation"].dataType == RECORD["samples"].dataType


def test_the_version_is_that_of_the_json_schema():
    assert JSON_SCHEMA["properties"]["schema_version"]["const"] == SCHEMA_VERSION


def test_a_table_has_each_column_once():
    for name, table in TABLES.items():
        assert len(set(table.names)) == len(table.names), name
