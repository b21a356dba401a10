"""Inputs of topologies on real data: generated, or of a file or a pipe; read once as a stream, or
held in memory and gone through several times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.graph.values import MAX_TUPLES
from topologies import Parameter, choice

ENDLESS, ONCE, GENERATED = "endless", "once", "generated"
HAND, NONE = "hand", "none"

CYCLES = Parameter(
    "cycles",
    ENDLESS,
    "times",
    1,
    MAX_TUPLES,
    "that the input is gone through; once: as a stream",
    (ENDLESS, ONCE),
)

PLACEMENT = choice("placement", "of threaded ports", NONE, HAND)


def file_of(meaning: str) -> Parameter:
    """Return the parameter for the input: a file, which may be standard input, or generated."""
    return choice("input", f"{meaning}, may be gzip; -: standard input", GENERATED, path=True)


def given(
    input: str,
    cycles: int | str,
    records: int,
    seed: int,
    input_of: Callable[[int, int, str], tuple[bytes, bool]],
    stream_of: Callable[[str], Any],
) -> tuple[Any, bool, int]:
    """Return an input, True if its end is missing, and the number of cycles; 0: endless."""
    path = "" if input == GENERATED else input
    if path and cycles == ONCE:
        return stream_of(path), False, 1
    data, truncated = input_of(records, seed, path)
    return data, truncated, {ENDLESS: 0, ONCE: 1}.get(cycles, cycles)
