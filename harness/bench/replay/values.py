"""Checks of values of a record.

Each raises a UserError that names the key, the rule and the value, in one short line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from harness.errors import UserError


def number(place: str, value: object) -> float:
    """Return a finite number."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            checked = float(value)
        except OverflowError:
            checked = math.inf
        if math.isfinite(checked):
            return checked
    raise UserError(f"{place} must be a number, not {shown(value)}")


def throughput(place: str, value: object) -> float:
    """Return tuples/s, from 0."""
    return _from_zero(place, value, "a number of tuples/s from 0")


def cost(place: str, value: object) -> float:
    """Return the cost of an operator a tuple, from 0, in any unit."""
    return _from_zero(place, value, "a number from 0")


def ratio(place: str, value: object) -> float | None:
    """Return a number from 0; None, which means unknown, stays None."""
    return None if value is None else _from_zero(place, value, "a number from 0")


def _from_zero(place: str, value: object, rule: str) -> float:
    try:
        checked = number(place, value)
    except UserError:
        checked = -1.0
    if checked < 0.0:
        raise UserError(f"{place} must be {rule}, not {shown(value)}")
    return checked


def share(place: str, value: object) -> float | None:
    """Return a number from 0 to 1; None, which means unknown, stays None."""
    if value is None:
        return None
    checked = number(place, value)
    if not 0.0 <= checked <= 1.0:
        raise UserError(f"{place} must be from 0 to 1, not {shown(value)}")
    return checked


def whole(place: str, value: object, least: int, most: int) -> int:
    """Return a whole number within bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UserError(
            f"{place} must be a whole number from {least} to {most}, not {shown(value)}"
        )
    return value


def listed(document: Mapping[str, Any], key: str) -> list[Any]:
    """Return the list of a key, which must exist."""
    if not isinstance(document[key], list):
        raise UserError(f"{key} must be a list, not {shown(document[key])}")
    return document[key]


def given(document: Mapping[str, Any], key: str, default: int) -> object:
    """Return the value of a key; the default without it."""
    value = document.get(key)
    return default if value is None else value


def shown(value: object) -> str:
    """Return a value as JSON, cut short."""
    try:
        text = json.dumps(value)
    except ValueError:  # a whole number of thousands of digits
        text = "a number too long to print"
    return text if len(text) <= 40 else text[:40] + "…"
