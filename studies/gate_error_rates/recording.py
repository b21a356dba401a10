"""The selftest's measurements: `samples.jsonl`, one line for each process, written block by block.
A later sitting reads it and goes on.

Lines are JSON objects. The first describes the recording, one with `wanted` gives the amount of an
arm, one with `failed` says why a block is missing, others are processes:

    round, program, arm, amount   the block of this process, and the work injected into its head
    position, side                its position in the block, 0 to 3, and its side: base or head
    at, seconds                   its start (UTC), and its duration from start to end
    values                        by cell, in the metric's unit
    host, disturbance             its host (a hash), and what others did to its CPUs meanwhile

A block is appended by one write when its four processes are done, so a killed selftest loses at
most one block. An incomplete block at the end of the file is not read, and a later sitting cuts it
off.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import RunFailed, UserError
from harness.files.given import read_given
from harness.gate.notes import disturbances

VERSION = 1
SAMPLES = "samples.jsonl"
BASE, CONTROL = "base", "control"
"""Arms with nothing injected. The control has its own blocks, as in a call, where its program may
also be that of a cell."""


@dataclass(frozen=True)
class WorkAmount:
    """A kind of work in the amount (units in a billion tuples) that makes about the wanted effect.
    Only the measured effect counts."""

    kind: str
    wanted: float  # head over base
    amount: int = 0

    @property
    def name(self) -> str:
        """Name in recordings and tables."""
        return f"{self.kind} {self.wanted:g}"


@dataclass(frozen=True)
class RecordedBlock:
    """Four processes in a row. The index of a process is its position in time; `sides` says whether
    it was base or head. `values` of each are by cell."""

    sides: tuple[str, ...]
    values: tuple[Mapping[str, float], ...]
    seconds: tuple[float, ...]  # of each process, from start to end
    # processes to which others did more than a fit host allows (`measurement.host`)
    disturbed: int = 0

    def of(self, cell: str, side: str) -> list[float]:
        """Return the values of a cell in base or in head, pair by pair."""
        return [
            values[cell] for values, was in zip(self.values, self.sides, strict=True) if was == side
        ]


Check = Callable[[Path, Mapping[str, Any], Mapping[str, Any]], None]

Round = Mapping[tuple[str, str], RecordedBlock]
"""Blocks by program and arm."""


@dataclass(frozen=True)
class Recording:
    """Contents of a file. `whole_bytes`: the length that stays if a later sitting goes on."""

    about: Mapping[str, Any]
    arms: Mapping[str, WorkAmount] = field(default_factory=dict)
    rounds: tuple[Round, ...] = ()
    whole_bytes: int = 0
    failed: int = 0  # blocks in which a process gave no number

    def blocks(self, program: str, arm: str) -> Iterator[RecordedBlock]:
        """Yield the blocks of a program under an arm, in the order of time."""
        return (blocks[program, arm] for blocks in self.rounds if (program, arm) in blocks)


def read(path: Path) -> Recording:
    """Read a recording. Raises UserError naming the line that breaks a rule, and the errors of
    `read_given`."""
    lines = read_given(path).splitlines(keepends=True)
    if lines and not lines[-1].endswith(b"\n"):
        del lines[-1]  # a write that was cut short
    if not lines:
        raise UserError(f"{path}: empty: not a recording of the selftest")
    about, arms, rounds = _about(path, lines[0]), {}, {}
    whole, number, failed = len(lines[0]), 1, 0
    while number < len(lines):
        row = _object(path, number, lines[number])
        if "wanted" in row:
            arm = _checked(path, number, _arm, row)
            arms[arm.name] = arm
            took = 1
        elif "failed" in row:
            failed += 1
            took = 1
        else:
            rows = [
                _object(path, number + i, line) for i, line in enumerate(lines[number : number + 4])
            ]
            took = len(rows)
            if took < 4:
                break  # the block that was in progress when it was killed
            key, block = _checked(path, number, _block, rows)
            rounds.setdefault(key[0], {})[key[1:]] = block
        whole += sum(map(len, lines[number : number + took]))
        number += took
    return Recording(about, arms, tuple(rounds[number] for number in sorted(rounds)), whole, failed)


def next_round(recording: Recording) -> int:
    """Return the number of the round to measure next. One that was cut short stays as it is."""
    return len(recording.rounds)


class Writer:
    """Appends to a recording; creates it if it is missing."""

    def __init__(self, path: Path, about: Mapping[str, Any], check: Check) -> None:
        """`check(path, there, about)` raises if the file is a recording of something else. Raises
        the errors of `read` too."""
        self._path = path
        if path.exists():
            self.recording = read(path)
            check(path, self.recording.about, about)
            self._do(lambda: os.truncate(path, self.recording.whole_bytes))
        else:
            self.recording = Recording({"recording": VERSION, **about})
            self._do(lambda: path.parent.mkdir(parents=True, exist_ok=True))
            self.append([self.recording.about])

    def append(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Append a block, or a line of another kind. Raises RunFailed if the system refuses (a full
        disk)."""
        text = "".join(json.dumps(row, allow_nan=False) + "\n" for row in rows)

        def write() -> None:
            with self._path.open("ab", buffering=0) as file:
                file.write(text.encode())

        self._do(write)

    def add_arm(self, arm: WorkAmount) -> None:
        """Append the amount of an arm, which all of its blocks have."""
        self.append([{"kind": arm.kind, "wanted": arm.wanted, "amount": arm.amount}])

    def _do(self, action: Any) -> None:
        try:
            action()
        except OSError as error:
            raise RunFailed(f"cannot write {self._path}: {error.strerror}") from error


def _about(path: Path, line: bytes) -> Mapping[str, Any]:
    about = _object(path, 0, line)
    if about.get("recording") != VERSION:
        raise UserError(f"{path}, line 1: not the first line of a recording of version {VERSION}")
    return about


def _object(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise UserError(
            f"{path}, line {number + 1}: not a JSON object: "
            f"{line[:40].decode(errors='replace').strip()!r}"
        )
    return row


def _checked(path: Path, number: int, make: Any, row: Any) -> Any:
    try:
        return make(row)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise UserError(
            f"{path}, line {number + 1}: not a sample of the selftest: {what}"
        ) from error


def _arm(row: Mapping[str, Any]) -> WorkAmount:
    arm = WorkAmount(str(row["kind"]), float(row["wanted"]), int(row["amount"]))
    if not (arm.wanted > 1 and arm.amount > 0):
        raise ValueError(
            f"an arm wants more than 1 of an amount above 0, not {row['wanted']} of {row['amount']}"
        )
    return arm


def _block(rows: Sequence[Mapping[str, Any]]) -> tuple[tuple[int, str, str], RecordedBlock]:
    keys = {(int(row["round"]), str(row["program"]), str(row["arm"])) for row in rows}
    if len(keys) > 1 or [row["position"] for row in rows] != [0, 1, 2, 3]:
        raise ValueError("it begins a block, whose other processes do not follow")
    sides = tuple(str(row["side"]) for row in rows)
    if sorted(sides) != ["base", "base", "head", "head"]:
        raise ValueError(f"a block is two of base and two of head, not {', '.join(sides)}")
    values = tuple(
        {str(cell): float(value) for cell, value in row["values"].items()} for row in rows
    )
    seconds = tuple(float(row["seconds"]) for row in rows)
    if not all(
        0 < value < float("inf")
        for numbers in (seconds, *(each.values() for each in values))
        for value in numbers
    ):
        raise ValueError("values and seconds are numbers above 0")
    if any(of_one.keys() != values[0].keys() for of_one in values):
        raise ValueError("its block's processes answer different cells")
    return keys.pop(), RecordedBlock(
        sides, values, seconds, sum(bool(disturbances(row["disturbance"])) for row in rows)
    )
