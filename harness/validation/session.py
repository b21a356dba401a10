"""Runs of a validation: measured ones in rounds, predicted ones after them; each in a fresh
process.

A round measures every case once: the cells in a random order, the arms of a cell right after each
other, also in a random order, so that slow drift of the host favours neither a model nor a repeat.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Any

from harness.errors import RunFailed, UserError
from harness.files.given import read_given
from harness.machines.place import LOCAL
from harness.measurement.lock import measuring_lock
from harness.measurement.process import run_in_fresh_process
from harness.measurement.records import read_records, record_line, write_records
from harness.measurement.spec import Run
from harness.validation.cases import EXPERIMENT, Case
from harness.validation.state import SameStateRunner

Record = dict[str, Any]
Announce = Callable[[Run, str], None]
"""Callback with the run that is on and the text of its state. Another thread calls it."""

Key = tuple[str, str, int]
"""Cell, arm and repeat: they identify a measured run."""


def rounds(cases: Sequence[Case], repeats: int, duration_s: float, seed: int) -> list[Run]:
    """Return all measured runs in their order. A round's order depends only on `seed` and the
    round's number, not on the number of rounds.
    """
    order: list[Run] = []
    for repeat in range(repeats):
        draw = random.Random(f"{seed}/{repeat}")
        cells = {
            case.group: [other for other in cases if other.group == case.group] for case in cases
        }
        for group in draw.sample(list(cells), len(cells)):
            order += [
                case.measured(duration_s, repeat)
                for case in draw.sample(cells[group], len(cells[group]))
            ]
    return [replace(run, order_in_block=place) for place, run in enumerate(order)]


def measure(
    specs: Sequence[Run], announce: Announce, notify: Callable[[str], None], state: SameStateRunner
) -> Iterator[Record]:
    """Yield the record of each run as it ends, made in a `state` of the machine.

    `notify` gets a message if another measuring process must be waited for.
    """
    for _, arms in groupby(specs, key=lambda run: (run.cell, run.repeat)):
        with measuring_lock(notify):
            for run in arms:
                tell = partial(announce, run)
                yield state.run(
                    lambda run=run, tell=tell: run_in_fresh_process(run, announce=tell), tell
                )


def predict(specs: Sequence[Run], announce: Announce) -> Iterator[Record]:
    """Yield the record of each run as it ends. It takes no lock, because other measurements do not
    change virtual time.
    """
    for run in specs:
        yield run_in_fresh_process(run, announce=partial(announce, run))


def key(record: Record) -> Key:
    """Return the cell, arm and repeat of a record."""
    return record["cell"], record["arm"], record["repeat"]


def is_measured(record: Record) -> bool:
    """Return True if the record is one of a validation's runs on real threads."""
    return (
        record["experiment"] == EXPERIMENT
        and record["machine"] == LOCAL
        and not record["simulated"]
    )


def kept(records: Sequence[Record], specs: Sequence[Run]) -> list[Record]:
    """Return the records that answer one of `specs`, the first one each. The record of a failed run
    is kept even if fields are missing.
    """
    wanted = {(run.cell, run.arm, run.repeat): run for run in specs}
    found: dict[Key, Record] = {}
    for record in records:
        run = wanted.get(key(record))
        if run is None or not is_measured(record):
            continue
        if (
            record["error"] is not None
            or abs(record["duration_s"] - run.duration_s) < 0.5 * run.duration_s
        ):
            found.setdefault(key(record), record)
    return list(found.values())


def left(specs: Sequence[Run], records: Sequence[Record]) -> list[Run]:
    """Return the specs that no record answers."""
    done = {key(record) for record in records}
    return [run for run in specs if (run.cell, run.arm, run.repeat) not in done]


def read_measured(path: Path, option: str) -> list[Record]:
    """Return the measured runs in a file of records. A last line without its end, left by a killed
    session, is skipped.

    Raises UserError, naming `option`, if the file cannot be read or holds anything but records.
    """
    records, problems = read_records(path)
    lines = read_given(path).split(b"\n")
    # text after the last line end is incomplete
    problems = [problem for problem in problems if problem.line < len(lines)]
    if problems:
        more = f" (and {len(problems) - 1} more such lines)" if len(problems) > 1 else ""
        reason = " ".join(problems[0].reason.split())[:200]
        raise UserError(
            f"{option}: line {problems[0].line} of {path} holds no record: {reason}{more}"
        )
    return [record for record in records if is_measured(record)]


class RecordLog:
    """File of records that grows by a line for each run, so that a killed session loses at most the
    current run.

    Begins with `records` in place of the file's content. Raises RunFailed naming the file if it
    cannot be written.
    """

    def __init__(self, path: Path, records: Sequence[Record] = ()) -> None:
        self._path = path
        write_records(path, records)
        try:
            self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError as error:
            raise RunFailed(f"cannot write {path}: {error.strerror}") from error

    def __enter__(self) -> RecordLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self._handle)

    def append(self, record: Record) -> None:
        """Write one record, whole unless the disk is full."""
        data = (record_line(record) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._handle, data) :]
        except OSError as error:
            raise RunFailed(f"cannot write {self._path}: {error.strerror}") from error
