"""Checks of a model's numbers. An error is one line that names the option, the rule and the
value.
"""

from __future__ import annotations

from harness.errors import UserError
from harness.graph.values import MAX_QUEUE_CAPACITY


def check_capacity(capacity: int | None) -> None:
    if capacity is not None:
        check_whole("queue_capacity", capacity, MAX_QUEUE_CAPACITY, " tuples")


def check_whole(what: str, value: object, high: int, unit: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= high:
        raise UserError(f"{what} must be from 1 to {high}{unit}, not {value!r}")
