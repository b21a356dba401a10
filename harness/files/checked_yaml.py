"""YAML files checked against a JSON Schema of config/schemas. An error is one line: file, key,
rule, value.

A schema may describe a rule in its own words, under the key `rule` beside the rule. Beside a
pattern it has `examples` of values that fit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import UserError
from harness.files.given import read_given_text
from harness.files.places import CONFIG

if TYPE_CHECKING:
    from jsonschema import ValidationError

SCHEMAS = CONFIG / "schemas"

MAX_DEPTH = 100  # of lists and mappings in one another

Place = Sequence[str | int]
"""Path of a value in a file: keys and indexes from the top."""

TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list",
    "object": "keys and values",
}


def load_schema(name: str) -> dict[str, Any]:
    """Return the schema of that name."""
    return json.loads(_schema_file(name).read_text(encoding="utf-8"))


def _schema_file(name: str) -> Path:
    return SCHEMAS / f"{name}.schema.json"


def read_checked(
    path: Path, schema: str | Mapping[str, Any], *, numbered: bool = False
) -> dict[str, Any]:
    """Return the mapping in a YAML file that fits a schema, or the schema of that name. Raises
    UserError for anything else.

    `numbered`: keys may be whole numbers, and are texts in the result: `1: 7.3` is {"1": 7.3}.
    """
    if isinstance(schema, str):
        rules = _schema_file(schema).read_text(encoding="utf-8")
    else:
        rules = json.dumps(schema)
    # the caller may change its values
    return deepcopy(_checked(path, read_given_text(path), rules, numbered))


@lru_cache(maxsize=64)
def _checked(path: Path, text: str, rules: str, numbered: bool) -> dict[str, Any]:
    """Return the mapping in a text that fits a schema. To parse and check a machine takes a tenth
    of a second, and a process asks for the same one many times.
    """
    return check_values(path, _mapping(path, text, numbered), json.loads(rules))


def read_mapping(path: Path, *, numbered: bool = False) -> dict[str, Any]:
    """Return the mapping in a YAML file, unchecked. `numbered`: as of `read_checked`. Raises
    UserError for anything else.
    """
    return deepcopy(_mapping(path, read_given_text(path), numbered))


@lru_cache(maxsize=64)
def _mapping(path: Path, text: str, numbered: bool) -> dict[str, Any]:
    values = _parsed(path, text, numbered)
    if not isinstance(values, dict):
        found = "nothing" if values is None else type(values).__name__
        raise UserError(f"{path}: must hold keys and values, as in KEY: VALUE; found {found}")
    return values


def check_values(
    path: Path | str, values: dict[str, Any], rules: Mapping[str, Any]
) -> dict[str, Any]:
    """Return values that fit a schema; `path` says where they are from. Raises UserError if they do
    not fit.
    """
    import jsonschema

    problems = sorted(
        jsonschema.Draft202012Validator(rules).iter_errors(values), key=_most_telling_first
    )
    if problems:
        raise _explain(path, problems[0])
    for place, number in _fractions(values, ()):
        if not math.isfinite(number):
            raise wrong(path, place, "must be a finite number", number)
    return values


def wrong(
    path: Path | str, place: Place, rule: str, value: object, known: Iterable[str] = ()
) -> UserError:
    """Return the error for a value that breaks a rule; `known`: values that the user may have
    meant.
    """
    return UserError(
        f"{path}: {dotted(place)}: {rule}, not {_shown(value)}{did_you_mean(value, known)}"
    )


def dotted(place: Place) -> str:
    """Return a place for people: `sizes.quick.sweeps[0]`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).lstrip(
        "."
    )


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` if a known word is close, else nothing. It stands right behind
    the wrong word, or at the end of the sentence.
    """
    import difflib  # needed on mistakes only; a measuring process must start fast

    close = difflib.get_close_matches(str(word), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def load_yaml(text: str, numbered: bool = False) -> Any:
    """Return the values in a YAML text whose keys are texts, none given twice. Raises YAMLError or
    ValueError.
    """
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > MAX_DEPTH:  # libyaml would overflow the stack on it
            raise yaml.YAMLError(f"nested more than {MAX_DEPTH} deep")
    try:
        return yaml.load(text, Loader=_loader(numbered))
    except (LookupError, AttributeError) as error:
        # raised by tags: `!!bool maybe`, `!!timestamp x`
        raise yaml.YAMLError("a tag does not fit its value") from error


def _parsed(path: Path, text: str, numbered: bool) -> Any:
    import yaml

    try:
        return load_yaml(text, numbered)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}" if mark else ""
        raise UserError(f"{path}{place}: not YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: an impossible date or number
        raise UserError(f"{path}: not YAML: {' '.join(str(error).split())}") from error


def _loader(numbered: bool) -> type:
    """Return a YAML loader that refuses a key given twice, which YAML itself accepts in silence,
    and a key that is no text.
    """
    import yaml

    # libyaml's loader takes a tenth of the time
    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
            seen: set[str] = set()
            for key, _ in node.value:
                if numbered and key.tag == "tag:yaml.org,2002:int":
                    key.tag = "tag:yaml.org,2002:str"
                if key.tag not in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"):
                    shown = key.value if isinstance(key, yaml.ScalarNode) else key.id
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {shown!r} is no text", key.start_mark
                    )
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        None, None, f"key {key.value!r} is given twice", key.start_mark
                    )
                seen.add(key.value)
            return super().construct_mapping(node, deep)

    return Loader


def _most_telling_first(error: ValidationError) -> tuple:
    """Return the sort key of an error. An unknown key comes first: it is often the reason why
    another one is missing.
    """
    return error.validator != "additionalProperties", [str(step) for step in error.absolute_path]


def _explain(path: Path | str, error: ValidationError) -> UserError:
    """Return the error for a broken schema rule, in one line."""
    place, value, rule = tuple(error.absolute_path), error.instance, error.validator_value
    match error.validator:
        case "pattern":
            words = f"be {error.schema['rule']}" if "rule" in error.schema else f"match {rule}"
            shown = " or ".join(repr(each) for each in error.schema.get("examples", ()))
            example = f"; valid is, for example, {shown}" if shown else ""
            return UserError(f"{wrong(path, place, f'must {words}', value)}{example}")
        case "additionalProperties":
            known = error.schema["properties"]
            word = next(key for key in value if key not in known)
            close = did_you_mean(word, known) or f"; keys are: {', '.join(known)}"
            return UserError(f"{path}: {dotted((*place, word))}: unknown key{close}")
        case "required":
            missing = next(key for key in rule if key not in value)
            return UserError(f"{path}: {dotted((*place, missing))}: missing key")
        case _ if "rule" in error.schema:
            return wrong(path, place, f"must be {error.schema['rule']}", value)
        case "type":
            kinds = [rule] if isinstance(rule, str) else rule
            return wrong(
                path, place, f"must be {' or '.join(TYPES[kind] for kind in kinds)}", value
            )
        case "minimum":
            return wrong(path, place, f"must be {rule} or more", value)
        case "maximum":
            return wrong(path, place, f"must be {rule} or less", value)
        case "minItems" | "minLength" | "minProperties":
            return wrong(path, place, "must not be empty", value)
        case "uniqueItems":
            return wrong(path, place, "must not name anything twice", value)
    return wrong(path, place, f"must obey the schema's {error.validator}", value)


def _shown(value: object) -> str:
    """Return a value about as it was written: one line, shortened."""
    try:
        text = repr(value) if isinstance(value, str) else json.dumps(value, default=str)
    except ValueError:  # a list that contains itself
        text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


def _fractions(value: object, place: Place) -> Iterator[tuple[Place, float]]:
    """Yield the floating-point numbers in a value, with their places."""
    if isinstance(value, float):
        yield place, value
    elif isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _fractions(inner, (*place, step))
