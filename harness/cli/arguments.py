"""Numbers on the command line: types for argparse, which tell the rule and the value in a line."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable

MAX_DURATION_S = 86400.0


def whole(low: int, high: int) -> Callable[[str], int]:
    """A whole number within a range, in digits."""

    def parse(text: str) -> int:
        if re.fullmatch(r"[0-9]{1,19}", text) and low <= int(text) <= high:
            return int(text)
        raise argparse.ArgumentTypeError(f"must be a whole number from {low} to {high}, not {shown(text)}")

    return parse


def seconds(low: float) -> Callable[[str], float]:
    """Seconds, from `low` to a day."""

    def parse(text: str) -> float:
        try:
            value = float(text) if text.isascii() and "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if not low <= value <= MAX_DURATION_S:  # nan compares false
            raise argparse.ArgumentTypeError(f"must be from {low:g} to {MAX_DURATION_S:g} seconds, not {shown(text)}")
        return value

    return parse


def warmup(text: str) -> float | str:
    """`auto`, or seconds from 0."""
    if text == "auto":
        return text
    try:
        return seconds(0.0)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"must be auto, or {str(error).removeprefix('must be ')}") from None


def shown(text: str) -> str:
    """A text as an error quotes it: not all of it if it is long."""
    return repr(text if len(text) <= 40 else text[:40] + "…")
