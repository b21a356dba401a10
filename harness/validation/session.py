"""The runs of a validation: measured ones in rounds, predicted ones after them; each in a fresh process.

In a round every case is measured once: the cells in an order drawn anew, the arms of a cell right after each other, in an order
drawn anew too, so that slow drift of the host favours neither a model nor a repeat.
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
from harness.validation.state import State

Record = dict[str, Any]
Announce = Callable[[Run, str], None]
"""Is told which run is on and what it does. It is called from another thread."""

Key = tuple[str, str, int]
"""Cell, arm and repeat: what makes a measured run another one than those before."""


def rounds(cases: Sequence[Case], repeats: int, duration_s: float, seed: int) -> list[Run]:
    """All measured runs in their order. A round's order depends on `seed` and its number alone, not on how many there are."""
    order: list[Run] = []
    for repeat in range(repeats):
        draw = random.Random(f"{seed}/{repeat}")
        cells = {case.group: [other for other in cases if other.group == case.group] for case in cases}
        for group in draw.sample(list(cells), len(cells)):
            order += [case.measured(duration_s, repeat) for case in draw.sample(cells[group], len(cells[group]))]
    return [replace(run, order_in_block=place) for place, run in enumerate(order)]


def measure(specs: Sequence[Run], announce: Announce, notify: Callable[[str], None], state: State) -> Iterator[Record]:
    """Yield the record of each run as it ends, made in a `state` of the machine.

    `notify` is told if another measuring process must be waited for.
    """
    for _, arms in groupby(specs, key=lambda run: (run.cell, run.repeat)):
        with measuring_lock(notify):
            for run in arms:
                tell = partial(announce, run)
                yield state.run(lambda run=run, tell=tell: run_in_fresh_process(run, announce=tell), tell)


def predict(specs: Sequence[Run], announce: Announce) -> Iterator[Record]:
    """Yield the record of each run as it ends, without the lock: virtual time does not mind who else is measuring."""
    for run in specs:
        yield run_in_fresh_process(run, announce=partial(announce, run))


def key(record: Record) -> Key:
    """What the record is of."""
    return record["cell"], record["arm"], record["repeat"]


def is_measured(record: Record) -> bool:
    """Whether the record is one of a validation's runs on real threads."""
    return record["experiment"] == EXPERIMENT and record["machine"] == LOCAL and not record["simulated"]


def kept(records: Sequence[Record], specs: Sequence[Run]) -> list[Record]:
    """The records that answer one of `specs`, the first one each. A failed run's is kept, whatever it never got to say."""
    wanted = {(run.cell, run.arm, run.repeat): run for run in specs}
    found: dict[Key, Record] = {}
    for record in records:
        run = wanted.get(key(record))
        if run is None or not is_measured(record):
            continue
        if record["error"] is not None or abs(record["duration_s"] - run.duration_s) < 0.5 * run.duration_s:
            found.setdefault(key(record), record)
    return list(found.values())


def left(specs: Sequence[Run], records: Sequence[Record]) -> list[Run]:
    """The specs that no record answers."""
    done = {key(record) for record in records}
    return [run for run in specs if (run.cell, run.arm, run.repeat) not in done]


def read_measured(path: Path, option: str) -> list[Record]:
    """The measured runs in a file of records. A last line without its end, as a killed session leaves it, is passed over.

    Raises UserError, naming `option`, if the file cannot be read or holds anything else than records.
    """
    records, problems = read_records(path)
    lines = read_given(path).split(b"\n")
    problems = [problem for problem in problems if problem.line < len(lines)]  # what follows the last end is torn
    if problems:
        more = f" (and {len(problems) - 1} more such lines)" if len(problems) > 1 else ""
        reason = " ".join(problems[0].reason.split())[:200]
        raise UserError(f"{option}: line {problems[0].line} of {path} holds no record: {reason}{more}")
    return [record for record in records if is_measured(record)]


class RecordLog:
    """A file of records that grows by a line a run, so that a session that is killed loses the run in flight at most.

    Begins with `records` in place of what the file held. Raises RunFailed naming the file if it cannot be written.
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

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        os.close(self._handle)

    def append(self, record: Record) -> None:
        """Write one record, whole unless the disk is full."""
        data = (record_line(record) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._handle, data) :]
        except OSError as error:
            raise RunFailed(f"cannot write {self._path}: {error.strerror}") from error
