"""Checks of values in users' documents.

Each raises a UserError that names the place, the rule and the value.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

from harness.errors import UserError


def mapping(
    at: str, entry: object, keys: tuple[str, ...], required: tuple[str, ...]
) -> Mapping[str, Any]:
    """Return the entry, which has the required keys and no keys but `keys`."""
    if not isinstance(entry, dict):
        raise UserError(
            f"{at} must be a mapping with the keys {', '.join(keys)}, not {shown(entry)}"
        )
    for key in entry:
        if key not in keys:
            raise UserError(f"{at} has no key {shown(key)}; its keys are: {', '.join(keys)}")
    for key in required:
        if entry.get(key) is None:
            raise UserError(f"{at} must have the key {key!r}")
    return entry


def whole(at: str, value: object, low: int, high: int, default: int | None) -> Any:
    """Return the whole number, or the default for None."""
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"{at} must be a whole number from {low} to {high}, not {shown(value)}")
    return value


def number(at: str, value: object, low: float, high: float, unit: str) -> float:
    """Return the number."""
    # nan compares false
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(
            f"{at} must be a number from {low:g} to {high:g} {unit}, not {shown(value)}"
        )
    return float(value)


class _Short(reprlib.Repr):
    """Short form of a value from its beginning alone: a small YAML file can hold endless lists, or
    ones too large for memory."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring = 3, 50

    def repr_int(self, value: int, level: int) -> str:
        """Return a short form, because Python refuses to print whole numbers of thousands of
        digits."""
        return repr(value) if abs(value) < 10**40 else "a very large number"


def shown(value: object) -> str:
    """Return a value for a message: one line of limited length."""
    text = _Short().repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
