"""Records of a block that is being measured: written run by run beside the block's file, which is
there whole or not at all.

Who measures a block again after an interruption goes on behind the last run that is there. That is
right only if all is as it was: the runs asked for, their order, and the program. So the first line
of the file tells what the records are of.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import RunFailed
from harness.files.whole import is_special
from harness.measurement.records import RecordError, record_line, validate_record
from harness.measurement.source import CHECKOUT, commit
from harness.measurement.spec import Run

SUFFIX = ".unfinished"


class Unfinished:
    """The finished runs of a block whose records will be in the file `path`.

    Parameters
    ----------
    path : Path
        Of the block. A device or pipe has nothing beside it: then nothing is kept.
    order : list of Run
        The block's runs, in their order.
    digests : sequence of str
        Of the profiles that simulated runs have.
    later : function, optional
        Returns the runs that follow, from the records of those in `order`.
    """

    def __init__(
        self,
        path: Path,
        order: Sequence[Run],
        digests: Sequence[str] = (),
        later: Callable[[Sequence[Mapping[str, Any]]], Sequence[Run]] | None = None,
    ) -> None:
        self._block, self._order, self._later = path, order, later
        self._path = None if is_special(path.resolve()) else path.with_name(path.name + SUFFIX)
        self._of = _digest([run.to_json() for run in order], digests)

    def records(self) -> list[dict[str, Any]]:
        """Return the records of the first runs, as far as they are there. What is of other runs, or
        damaged, is taken away.
        """
        if self._path is None:
            return []
        records = self._read()
        if not records:
            self._write(json.dumps({"of": self._of}) + "\n", os.O_TRUNC)
        return records

    def add(self, record: dict[str, Any]) -> None:
        """Write the record of the next run. Raises RunFailed if the system refuses."""
        if self._path is not None:
            self._write(record_line(record) + "\n", os.O_APPEND)

    def remove(self) -> None:
        """Remove the file, once that of the block is there."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _read(self) -> list[dict[str, Any]]:
        try:
            data = self._path.read_bytes()
            if (
                self._block.exists()
                and self._block.stat().st_mtime_ns >= self._path.stat().st_mtime_ns
            ):
                return []  # it was interrupted between the end of its last run and its own
        except OSError:
            return []
        head, *lines = data.split(b"\n")
        if head != json.dumps({"of": self._of}).encode():
            return []
        records: list[dict[str, Any]] = []
        end = len(head) + 1
        # what follows the last line break is no line
        for line, run in zip(lines[:-1], self._runs(records), strict=False):
            try:
                record = json.loads(line)
                validate_record(record)
            except (ValueError, RecordError):
                break
            if [record[name] for name in ("arm", "repeat", "order_in_block")] != [
                run.arm,
                run.repeat,
                run.order_in_block,
            ]:
                break
            records.append(record)
            end += len(line) + 1
        os.truncate(self._path, end)
        return records

    def _runs(self, records: Sequence[Mapping[str, Any]]) -> Iterator[Run]:
        """Yield the runs in their order; `records` grows meanwhile, by that of each run."""
        yield from self._order
        if self._later is not None:
            yield from self._later(records)

    def _write(self, text: str, flags: int) -> None:
        try:
            handle = os.open(self._path, flags | os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o666)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise RunFailed(f"cannot write {self._path}: {error.strerror}") from error


def _digest(runs: Sequence[str], digests: Sequence[str]) -> str:
    """Return a digest of the runs, and of the program and the machine that make them."""
    program = [
        (str(path.relative_to(CHECKOUT)), path.stat().st_mtime_ns)
        for folder in ("harness", "topologies")
        for path in sorted(CHECKOUT.joinpath(folder).rglob("*"))
        if path.suffix in (".py", ".so")
    ]
    return hashlib.sha256(
        json.dumps([runs, list(digests), platform.node(), commit(), program]).encode()
    ).hexdigest()
