"""Arms from their entries: as an experiment has them, or in words, as `dynamic:threads=2`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

from harness.errors import UserError
from harness.experiments.experiment import Arm
from harness.files.checked_yaml import check_values, did_you_mean
from harness.machines.place import Place
from harness.measurement.laws import check_law
from harness.measurement.spec import PeerModel, arm_name
from harness.models import MODELS, OPTIONS, Model, model_on
from harness.models.option import options_of
from harness.models.schemas import MACHINE


def model_arms(entry: Mapping[str, Any], place: Place, capacity: int | None) -> Iterator[Arm]:
    """Yield the arms of an entry with a known model that fits the schema: one of each combination
    of its lists. `capacity`: of queues unless it says so. Raises UserError for options that do not
    go together.
    """
    model = entry["model"]
    given = {name: entry[name] for name in OPTIONS if name in entry}
    if "queue_capacity" in options_of(MODELS[model]):
        given = {"queue_capacity": capacity, **given}
    choices = [_choices(name, value, place) for name, value in given.items()]
    for values in product(*choices):
        options = dict(zip(given, values, strict=True))
        if options.get("maximum") == MACHINE:
            options["maximum"] = max(place.cpus, options.get("minimum", 1))
        made = model_on(place, model, options)
        check_law(made)
        yield Arm(entry.get("name", arm_name(made)), made, entry.get("duration_s"))


def arms_of_text(text: str, option: str, schema: Mapping[str, Any], place: Place) -> list[Arm]:
    """Return the arms of a word like `dynamic:threads=2,queued=[all,none]`, whose options are those
    of an arm in an experiment. `schema`: that of an experiment.

    Raises UserError, beginning with the command's `option` and the word, for a word that breaks a
    rule.
    """
    model, colon, settings = text.partition(":")
    where = f"{option} {text}"
    if model not in MODELS:
        rule = f"the model must be one of {', '.join(MODELS)}"
        raise UserError(f"{where}: {rule}, not {model!r}{did_you_mean(model, MODELS)}")
    if colon and not settings:
        raise UserError(f"{where}: options must follow the colon, as in {model}:NAME=VALUE")
    entry = {"model": model} | _settings_of(settings, where)
    check_values(where, entry, {"$defs": schema["$defs"], "$ref": "#/$defs/arm"})
    try:
        return list(model_arms(entry, place, None))
    except UserError as error:
        raise UserError(f"{where}: {error}") from error


def text_of_arm(name: str, model: Model) -> str:
    """Return an arm as a word that `arms_of_text` reads. `name`: of the arm."""
    given = {OPTIONS[each].flag_of(each): value for each, value in model.changed.items()}
    if name != arm_name(model):
        given["name"] = name
    parts = [
        each if value is True else f"{each}={_in_yaml(value)}" for each, value in given.items()
    ]
    return f"{model.name}:{','.join(parts)}" if parts else model.name


def option_of(name: str, model: Model | PeerModel) -> list[str]:
    """Return an arm as the two words of an option of the command line."""
    if isinstance(model, PeerModel):
        return ["--peer", model.name]
    return ["--model", text_of_arm(name, model)]


def _in_yaml(value: object) -> str:
    """Return a value as `_settings_of` reads it: a text in quotes if it would be read as another
    value, or be divided.
    """
    import json

    from harness.files.checked_yaml import load_yaml

    if isinstance(value, tuple):
        return json.dumps(dict(value))
    text = f"{value}"
    if isinstance(value, str) and (re.search(r"[^\w.%:/-]", text) or load_yaml(text) != value):
        return json.dumps(value, ensure_ascii=False)
    return text


def peer_arm(name: str) -> Arm:
    """Return the arm of a peer. Raises UserError if it is unknown, or not built here."""
    from harness.peers import find_peer

    return Arm(name, PeerModel(name, find_peer(name).label))


def in_words(arm: Arm) -> str:
    """Return an arm for a sentence: `dynamic with 2 threads`, `coroutine with 2 threads, policy
    random`.
    """
    model = arm.model
    if isinstance(model, PeerModel) or arm.name != arm_name(model):
        return arm.name
    level, changed = arm.threads, {**model.changed}
    parts = []
    if arm.elastic:
        law = f"law {changed.get('law', model.law)}"
        parts.append(law if "law" in changed or model.name != "multilevel" else "")
    elif level is not None:
        parts.append(f"{level} thread{'' if level == 1 else 's'}")
    for name, value in changed.items():
        if name not in ("threads", "elastic", "law"):
            parts.append(f"{OPTIONS[name].flag_of(name)} {_plain(value)}")
    options = ", ".join(filter(None, parts))
    return f"{model.name} with {options}" if options else model.name


def _plain(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(f"{name}={each}" for name, each in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


SEPARATOR = re.compile(r',(?![^\[{]*[\]}])(?=(?:[^"]*"[^"]*")*[^"]*$)')
"""Comma that is in no list, no mapping and no quotes."""


def _settings_of(text: str, where: str) -> dict[str, Any]:
    """Return the options in a text. Raises UserError for a text that has none, or one twice."""
    import yaml

    from harness.files.checked_yaml import load_yaml

    by_flag = {declared.flag_of(name): name for name, declared in OPTIONS.items()}
    found: dict[str, Any] = {}
    for part in SEPARATOR.split(text) if text else []:
        flag, equals, value = part.partition("=")
        name = by_flag.get(flag.strip(), flag.strip().replace("-", "_"))
        if name in found:
            raise UserError(f"{where}: {flag} must be given once")
        try:
            found[name] = load_yaml(value) if equals else True
        except (yaml.YAMLError, ValueError) as error:
            raise UserError(f"{where}: {flag} must be a value or a list, not {value!r}") from error
    return found


def _choices(name: str, given: object, place: Place) -> list[Any]:
    """Return the values of an option that arms have: one, or each of a list."""
    values = given if isinstance(given, list) else [given]
    if name == "threads":
        values = dict.fromkeys(level for each in values for level in _levels(each, place))
    read = OPTIONS[name].read
    return [each if each in (None, MACHINE) else read(each) for each in values]


def _levels(threads: int | str | None, place: Place) -> list[int | None]:
    """Return the levels; for `machine` 1, 2, 4, … below the number of CPUs, and that number."""
    if threads != MACHINE:
        return [threads]
    cpus = place.cpus
    return [2**power for power in range(cpus.bit_length()) if 2**power < cpus] + [cpus]
