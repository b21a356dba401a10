"""When files were measured: what counts once, and what counts as one session.

A file that is given twice, under whatever name, is one measurement. And a host is not the same tomorrow: results that were
measured one after the other, with none of the other side in between, share what the host was like then, however many they are.
Such a row is a session, and so is a file. Two values of it may be a side of a block; of more there are two left, the medians of
its earlier and its later half, so that a session has one say. If all of base is before all of head, there is one session a
side, and nothing that tells how far two sessions of the same program would be apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby
from typing import Any

from harness.gate.results.side import Results
from harness.measurement.rank_interval import middle_of

SAY = 2  # values that a session may have in the test: a side of a block

TIMES = (
    ("gate", "started_at"),
    ("datetime",),
    ("context", "date"),
    ("metadata", "date"),
    ("benchmarks", 0, "runs", 0, "metadata", "date"),
)
"""Where files have their time: verdicts, pytest-benchmark, Google Benchmark, pyperf of one run and of several."""


def digest(content: Any) -> str:
    """The same for the same content, however it is spaced and ordered."""
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True)
    return sha256("\n".join(text.split()).encode(errors="replace")).hexdigest()


def measured_at(document: Any) -> datetime | None:
    """When a file says that it was measured, taken for UTC if it names no zone; None if it does not say."""
    for place in TIMES:
        found = document
        for key in place:
            found = _within(found, key)
        if isinstance(found, str):
            try:
                time = datetime.fromisoformat(found)
            except ValueError:
                continue
            return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    return None


def _within(document: Any, key: str | int) -> Any:
    if isinstance(document, dict):
        return document.get(key)
    return document[key] if isinstance(key, int) and isinstance(document, list) and document else None


def without_copies(files: Iterable[Results]) -> tuple[tuple[Results, ...], tuple[str, ...]]:
    """The files, each content once, and the paths of those that are left out."""
    kept: dict[str, Results] = {}
    copies = [file.path for file in files if kept.setdefault(file.digest, file) is not file]
    return tuple(kept.values()), tuple(copies)


Groups = Sequence[Sequence[Results]]


def sessions(base: Sequence[Results], head: Sequence[Results]) -> tuple[Groups, Groups] | None:
    """Each side's sessions, by time; None if a file does not say when it was measured, or two sides say the same time."""
    told = [(file.measured_at, is_head, file) for is_head, files in ((False, base), (True, head)) for file in files]
    if any(at is None for at, *_ in told) or {file.measured_at for file in base} & {file.measured_at for file in head}:
        return None
    told.sort(key=lambda each: each[0])
    found: tuple[list[list[Results]], list[list[Results]]] = ([], [])
    for is_head, row in groupby(told, key=lambda each: each[1]):
        found[is_head].append([file for *_, file in row])
    return found


def one_say(values: Sequence[float]) -> tuple[float, ...]:
    """A session's values in the test: themselves, or the medians of the earlier and the later half."""
    if len(values) <= SAY:
        return tuple(values)
    half = len(values) // 2
    return middle_of(values[:half]), middle_of(values[half:])
