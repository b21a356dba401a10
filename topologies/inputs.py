"""Inputs of topologies on real data: generated, or of a file or a pipe; read once as a stream, or
held in memory and gone through several times.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.graph.values import MAX_TUPLES
from topologies import Parameter

ENDLESS, ONCE, GENERATED = "endless", "once", "generated"

CYCLES = Parameter(
    "cycles",
    ENDLESS,
    "times",
    1,
    MAX_TUPLES,
    "that the input is gone through; once: as a stream",
    (ENDLESS, ONCE),
)


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
