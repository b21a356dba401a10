"""Copies and sessions: which files count once, and which count as one session.

A file that is given twice, under any name, is one measurement. A host also changes from day to day:
results that were measured one after the other, without the other side in between, share the state
of the host at that time, however many they are. Such a row is a session, and so is a single file. A
session may give the test two values, one side of a block. If it has more, it gives the medians of
its earlier and its later half. If all of base is before all of head, there is one session on each
side, and nothing shows how much two sessions of the same program would differ. The same is supposed
if the files do not show their order: if one contains no time, or both sides have one time. A user
who measured in turns can say so; then the files are taken in the order of the call.
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

VALUES_PER_SESSION = 2  # values of a session in the test: one side of a block

TIME_FIELDS = (
    ("gate", "started_at"),
    ("datetime",),
    ("context", "date"),
    ("metadata", "date"),
    ("benchmarks", 0, "runs", 0, "metadata", "date"),
)
"""Paths to the time in a file: verdicts, pytest-benchmark, Google Benchmark, pyperf with one
benchmark and with several."""


def digest(content: Any) -> str:
    """Return a hash of the content that ignores white space and the order of keys."""
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True)
    return sha256("\n".join(text.split()).encode(errors="replace")).hexdigest()


def measured_at(document: Any) -> datetime | None:
    """Return the time of measurement in a file, taken as UTC if it names no zone; None if there is
    none."""
    for place in TIME_FIELDS:
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
    return (
        document[key] if isinstance(key, int) and isinstance(document, list) and document else None
    )


def without_copies(files: Iterable[Results]) -> tuple[tuple[Results, ...], tuple[str, ...]]:
    """Return the files, each content once, and the paths of those that are left out."""
    kept: dict[str, Results] = {}
    copies = [file.path for file in files if kept.setdefault(file.digest, file) is not file]
    return tuple(kept.values()), tuple(copies)


Groups = Sequence[Sequence[Results]]


def sessions(
    base: Sequence[Results], head: Sequence[Results], in_turns: bool = False
) -> tuple[Groups, Groups]:
    """Return each side's sessions, by time. If the times do not show the order, a side is one
    session, or one for each file if they were measured `in_turns`."""
    ordered = [
        (file.measured_at, is_head, file)
        for is_head, files in ((False, base), (True, head))
        for file in files
    ]
    if any(at is None for at, *_ in ordered) or {file.measured_at for file in base} & {
        file.measured_at for file in head
    }:
        if in_turns:
            return [[file] for file in base], [[file] for file in head]
        return [base], [head]
    ordered.sort(key=lambda each: each[0])
    found: tuple[list[list[Results]], list[list[Results]]] = ([], [])
    for is_head, row in groupby(ordered, key=lambda each: each[1]):
        found[is_head].append([file for *_, file in row])
    return found


def one_say(values: Sequence[float]) -> tuple[float, ...]:
    """Return a session's values in the test: all of them, or the medians of the earlier and the
    later half."""
    if len(values) <= VALUES_PER_SESSION:
        return tuple(values)
    half = len(values) // 2
    return middle_of(values[:half]), middle_of(values[half:])
