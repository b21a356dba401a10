"""Values in users' documents: as they must be, or a UserError that names the place, the rule and the value."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

from harness.errors import UserError


def mapping(at: str, entry: object, keys: tuple[str, ...], required: tuple[str, ...]) -> Mapping[str, Any]:
    """The entry, which has the required keys and none but `keys`."""
    if not isinstance(entry, dict):
        raise UserError(f"{at} must be a mapping with the keys {', '.join(keys)}, not {shown(entry)}")
    for key in entry:
        if key not in keys:
            raise UserError(f"{at} has no key {shown(key)}; its keys are: {', '.join(keys)}")
    for key in required:
        if entry.get(key) is None:
            raise UserError(f"{at} must have the key {key!r}")
    return entry


def whole(at: str, value: object, low: int, high: int, default: int | None) -> Any:
    """The whole number, or the default for None."""
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"{at} must be a whole number from {low} to {high}, not {shown(value)}")
    return value


def number(at: str, value: object, low: float, high: float, unit: str) -> float:
    """The number."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:  # nan compares false
        raise UserError(f"{at} must be a number from {low:g} to {high:g} {unit}, not {shown(value)}")
    return float(value)


class _Short(reprlib.Repr):
    """Looks at the beginning only: a file of a few lines can hold lists that would not end, or not fit into memory."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring = 3, 50

    def repr_int(self, value: int, level: int) -> str:
        """Python refuses to print whole numbers of thousands of digits."""
        return repr(value) if abs(value) < 10**40 else "a very large number"


def shown(value: object) -> str:
    """A value in a message: one line, not endless."""
    text = _Short().repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
