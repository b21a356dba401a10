"""`millrace topologies` and `millrace models` tell everything that can be chosen; `--set` is read
strictly.
"""

from __future__ import annotations

import argparse
import json

import pytest

import topologies
from harness.cli import main
from harness.cli import topologies as topologies_command
from harness.cli.model_options import flag_of
from harness.cli.settings import add_settings_argument, parse_settings
from harness.errors import UserError
from harness.models import MODELS
from harness.models.option import options_of


def test_every_topology_is_listed_with_its_parameters(capsys):
    assert main(["topologies"]) == 0
    parts = capsys.readouterr().out.split("\n\n")
    assert len(parts) == len(topologies.TOPOLOGIES)
    for part, topology in zip(parts, topologies.TOPOLOGIES.values(), strict=True):
        head, _, *rows = part.strip().splitlines()
        assert head == f"{topology.name}: {topology.summary} ({topology.source})"
        for row, parameter in zip(rows, topology.takes, strict=True):
            assert row.split()[:2] == [parameter.name, str(parameter.default)]
            assert parameter.unit in row
            assert (f"{parameter.low} .. {parameter.high}" in row) != (parameter.low is None)
            assert all(word in row for word in parameter.words)
            assert ("a URL" in row) == parameter.url and ("a file" in row) >= parameter.path
            assert row.endswith(parameter.meaning)


def test_a_line_of_the_listing_fits_a_wide_terminal(capsys):
    main(["topologies"])
    main(["models"])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 140


def test_the_listing_as_json_has_the_same(capsys):
    assert main(["topologies", "--json"]) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert list(listed) == list(topologies.TOPOLOGIES)
    assert listed["mix"]["parameters"][2] == {
        "name": "cost",
        "default": 100,
        "unit": "FLOP a tuple",
        "low": 0,
        "high": 10**9,
        "words": ["skewed"],
        "path": False,
        "url": False,
        "meaning": topologies.TOPOLOGIES["mix"].parameters["cost"].meaning,
    }


def test_every_model_is_listed_with_its_options(capsys):
    assert main(["models"]) == 0
    output = capsys.readouterr().out
    parts = dict(
        part.split(": ", 1) for part in output.split("\n\n") if ": " in part.splitlines()[0]
    )
    for name, model in MODELS.items():
        options = {flag_of(name) for name in options_of(model)}
        assert {word for word in parts[name].split() if word.startswith("--")} == options


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        ([], {}),
        (["width=3", "cost=skewed"], {"width": "3", "cost": "skewed"}),
        (["name=a=b"], {"name": "a=b"}),
        (["width="], {"width": ""}),
    ],
)
def test_settings_are_split_at_the_first_equals_sign(settings, values):
    assert parse_settings(settings) == values


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        (["width"], "--set takes NAME=VALUE, not 'width'"),
        ([""], "--set takes NAME=VALUE, not ''"),
        (["=3"], "--set takes NAME=VALUE, not '=3'"),
        (["width=3", "depth=1", "width=3"], "--set gives 'width' twice: '3' and '3'"),
    ],
)
def test_settings_that_are_none_are_refused(settings, told):
    with pytest.raises(UserError) as caught:
        parse_settings(settings)
    assert str(caught.value) == told


def test_the_option_may_be_repeated_and_starts_empty_each_time():
    parser = argparse.ArgumentParser()
    add_settings_argument(parser)
    assert parser.parse_args(["--set", "a=1", "--set", "b=2"]).set == ["a=1", "b=2"]
    assert parser.parse_args([]).set == []


def test_the_listing_says_which_parameter_may_be_a_file():
    assert "generated, a file" in topologies_command.as_text()
    (login,) = (each for each in topologies_command.as_data() if each["name"] == "login-failures")
    assert [each["name"] for each in login["parameters"] if each["path"]] == ["input"]
