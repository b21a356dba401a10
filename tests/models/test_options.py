"""An option of a model is declared once. All places that take or show options have each of them."""

from __future__ import annotations

import argparse
from dataclasses import fields

import jsonschema
import pytest

from harness.cli import run, show
from harness.cli.model_options import add_model_options, flag_of, given_options
from harness.errors import UserError
from harness.experiments.config import config_schema
from harness.experiments.file import experiment_schema
from harness.gate.suite import suite_schema
from harness.measurement.assemble import blank_record
from harness.measurement.records import record_schema
from harness.measurement.spec import Run, run_of
from harness.models import MODELS, OPTIONS, describe
from harness.models.option import Flag, Option, Real, Whole, declared_in, options_of
from harness.models.schemas import COLUMNS
from harness.spark.schemas import RECORD

NUMBERS = [name for name, option in OPTIONS.items() if isinstance(option, Whole | Real)]


def arm_of(name: str) -> dict:
    return experiment_schema()["$defs"]["arm"]["properties"][name]


def run_of_suite(name: str) -> dict:
    return suite_schema()["$defs"]["run"]["properties"][name]


def bounds_of(rules: dict) -> tuple:
    return tuple(rules.get(key) for key in ("minimum", "exclusiveMinimum", "maximum"))


def fits(rules: dict, value: object) -> bool:
    return jsonschema.Draft202012Validator(rules).is_valid(value)


def beyond(option: Option) -> tuple[object, ...]:
    """Values below and above the bounds of a number."""
    return (0, option.most + 1)


def test_every_field_of_a_model_declares_an_option_and_a_name_is_one_option():
    for model in MODELS.values():
        for each in fields(model):
            assert declared_in(each) is OPTIONS[each.name]


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_on_the_command_line_with_its_help_and_bounds(name):
    parser = argparse.ArgumentParser()
    run.add_run_arguments(parser)
    (action,) = [each for each in parser._actions if each.dest == name]
    option = OPTIONS[name]
    assert action.option_strings == [flag_of(name)]
    assert action.help == describe(name).replace("%", "%%")
    assert option.help in describe(name) and option.default in describe(name)
    assert f"{option.range} {option.unit}".strip() in describe(name) or name not in NUMBERS


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_beyond_its_bounds_is_refused_everywhere_by_one_rule(name, capsys):
    option = OPTIONS[name]
    parser = argparse.ArgumentParser()
    add_model_options(parser)
    for value in beyond(option):
        with pytest.raises(SystemExit):
            parser.parse_args([flag_of(name), str(value)])
        assert f"{flag_of(name)}: must be {option.rule}, not" in capsys.readouterr().err
        for rules in (arm_of(name), run_of_suite(name)):
            assert not fits(rules, value)
        model = next(model for model in MODELS.values() if name in options_of(model))
        with pytest.raises(UserError, match=f"{name} must be {option.rule}, not {value}"):
            model(**{name: value})
    most = option.parse(str(option.most))
    assert given_options(parser.parse_args([flag_of(name), str(option.most)]))[name] == most
    assert fits(arm_of(name), option.most) and fits(run_of_suite(name), option.most)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_in_both_schemas_with_its_help_and_bounds(name):
    option, arm = OPTIONS[name], arm_of(name)
    assert run_of_suite(name) == {"description": describe(name), **option.schema}
    assert arm["description"] == describe(name)
    one = [each for each in arm.get("anyOf", [arm]) if each.get("type") == option.schema["type"]]
    assert [bounds_of(each) for each in one] == [bounds_of(option.schema)]


def test_a_profile_and_a_size_take_the_capacity_of_queues_within_its_bounds():
    option = OPTIONS["queue_capacity"]
    of_profile = config_schema()["properties"]["queue_capacity"]
    of_size = experiment_schema()["$defs"]["queue_capacity"]
    for rules in (of_profile, of_size):
        assert fits(rules, option.most) and not any(fits(rules, each) for each in beyond(option))
    assert fits(of_profile, None) and not fits(of_size, None)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_is_in_the_record(name):
    rules = record_schema()
    for step in (OPTIONS[name].recorded_as or name).split("."):
        rules = rules["properties"][step]
        rules = rules.get("items", rules)
    if name in COLUMNS:
        option = OPTIONS[name].schema
        assert set(rules["type"]) == {option["type"], "null"}
        for bound in ("minimum", "exclusiveMinimum"):
            assert rules.get(bound) == option.get(bound)


def test_a_record_has_the_values_of_its_model_and_null_for_what_the_model_lacks():
    given = {"policy": "random", "quantum_ms": 5.0, "replicas": 2}
    asked = run_of("chain", {}, "coroutine", **given)
    record = blank_record(asked, {}, asked.model)
    assert {name: record[name] for name in given} == given
    asked = run_of("chain", {}, "manual")
    record = blank_record(asked, {}, asked.model)
    assert [record[name] for name in COLUMNS] == [None] * len(COLUMNS)


def test_spark_reads_every_column_of_an_option():
    assert set(RECORD.names) >= set(COLUMNS)


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_of_a_run_survives_its_way_to_the_measuring_process(name):
    values = {"queued": "30%", "law": "fixed", "policy": "random", "law_settings": {"a": 1}}
    option = OPTIONS[name]
    value = True if isinstance(option, Flag) else values.get(name, 2)
    model = [model for model in MODELS.values() if name in options_of(model)][-1].name
    elastic = {"elastic": True} if name in ("minimum", "maximum") else {}
    asked = run_of("chain", {}, model, **{name: value}, **elastic)
    assert Run.from_json(asked.to_json()) == asked
    assert name in asked.model.changed


def test_a_drawing_takes_some_of_the_options():
    parser = argparse.ArgumentParser()
    show.add_arguments(parser)
    assert {each.dest for each in parser._actions} >= set(show.DRAWN)
