"""Entries of JSON schemas for the models' options: in an experiment's arm and a suite's run."""

from __future__ import annotations

from typing import Any

from harness.models.models import OPTIONS, describe
from harness.models.option import Flag, Settings

MACHINE = "machine"
"""Word in an experiment for as many threads as the machine of a run has CPUs."""

OF_THE_MACHINE = ("threads", "maximum")
"""Options that may be this word: of `threads` it is several levels, up to the number of CPUs."""

COLUMNS = tuple(name for name, option in OPTIONS.items() if not option.recorded_as)
"""Options that have a column of their own in a record. It is null for models without the option."""


def entry(name: str) -> dict[str, Any]:
    """Return the rules of an option that has one value."""
    return {"description": describe(name), **OPTIONS[name].schema}


def arm_entry(name: str) -> dict[str, Any]:
    """Return the rules of an option of an arm: a value, or a list of which each makes an arm."""
    option = OPTIONS[name]
    if isinstance(option, (Flag, Settings)):
        return entry(name)
    one, rule = [option.schema], option.rule
    if name in OF_THE_MACHINE:
        one, rule = [{"const": MACHINE}, *one], f"{rule}, the word {MACHINE}"
    several = {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"anyOf": one}}
    return {
        "description": describe(name),
        "anyOf": [*one, several],
        "rule": f"{rule}, or a list of different ones",
    }
