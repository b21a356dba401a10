"""Patterns of texts in schemas: each has an example, and an error shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UserError
from harness.files.checked_yaml import SCHEMAS, check_values, load_schema

FILES = sorted(path for path in SCHEMAS.glob("*.schema.json"))


def with_patterns(schema: Any) -> Iterator[dict]:
    if isinstance(schema, dict) and isinstance(schema.get("pattern"), str):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema:
        if isinstance(inner, dict | list):
            yield from with_patterns(inner)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_pattern_has_an_example_that_fits_it(file: Path):
    for schema in with_patterns(json.loads(file.read_text(encoding="utf-8"))):
        assert schema.get("examples"), schema["pattern"]
        for each in schema["examples"]:
            assert re.search(schema["pattern"], each)


def refusal(values, schema):
    with pytest.raises(UserError) as error:
        check_values("my.yaml", values, schema)
    return str(error.value)


def test_a_text_that_breaks_a_pattern_is_answered_with_the_rule_and_an_example():
    size = {"sweeps": [{"topology": "mix", "parameters": {}}], "repeats": 1, "duration_s": 1}
    size |= {"arms": [{"model": "manual", "name": "2 threads"}]}
    assert refusal({"sizes": {"quick": size}}, load_schema("experiment")) == (
        "my.yaml: sizes.quick.arms[0].name: must be a letter, then at most 63 letters, digits and "
        "characters of _.,%-, not '2 threads'; valid is, for example, 'two-threads'"
    )


def test_a_pattern_without_words_is_shown_itself():
    schema = {"properties": {"port": {"type": "string", "pattern": "^[a-z]+$"}}}
    assert refusal({"port": "A"}, schema) == "my.yaml: port: must match ^[a-z]+$, not 'A'"
