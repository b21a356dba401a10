"""Places of records and tables: a local directory, or any other file system that Spark can write
(hdfs:, s3a:, …).

Local tables appear complete or not at all: they are written to a staging directory beside their
place and renamed when all of them are written. Elsewhere a rename is not one step, so tables are
overwritten in place.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame

from harness.errors import RunFailed, UserError
from harness.files.lock import take_lock

STAGING = ".staging"
COMPRESSION = "zstd"


def local_path(place: str) -> Path | None:
    """Return the absolute path that `place` means on this machine; None if it is a URL of another
    file system.
    """
    if place.startswith("file:"):
        return Path(unquote(urlsplit(place).path))
    return None if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", place) else Path(place).absolute()


def as_source(place: str) -> str:
    """Return `place` in the form that Spark's reader takes: a local path does not depend on Spark's
    default file system, and none of its characters is a pattern.
    """
    path = local_path(place)
    return place if path is None else "file://" + re.sub(r"([\\*?\[\]{}^])", r"\\\1", str(path))


def check_records(place: str) -> None:
    """Raise UserError unless a local `place` is a readable directory that holds a line of records,
    however deep.
    """
    path = local_path(place)
    if path is None:
        return
    if not path.exists():
        raise UserError(f"--records must be a directory, and there is none at {place!r}")
    if not path.is_dir():
        raise UserError(f"--records must be a directory, not a file: {place!r}")
    if not os.access(path, os.R_OK | os.X_OK):
        raise UserError(f"--records {place!r} may not be read by this user")
    files = [file for file in path.rglob("*.jsonl") if not file.is_dir()]
    if not files:
        raise UserError(f"--records {place!r} holds no file *.jsonl")
    for file in files:
        if not os.access(file, os.R_OK):
            raise UserError(
                f"--records {place!r}: {str(file)!r} is missing or may not be read by this user"
            )
        if any(part.startswith("_") and "=" not in part for part in file.relative_to(path).parts):
            raise UserError(
                f"--records {place!r}: Spark passes over names that begin with _: rename "
                f"{str(file)!r}"
            )
        if ":" in file.name:
            raise UserError(
                f"--records {place!r}: Spark cannot read a name with a colon: rename {str(file)!r}"
            )
    if not any(file.stat().st_size for file in files):
        raise UserError(f"--records {place!r} holds empty files only ({len(files)})")


def bytes_of_records(*places: str) -> int | None:
    """Return the size of all record files in the places [bytes]; None if one of the places is not
    on this machine.
    """
    total = 0
    for place in places:
        if (path := local_path(place)) is None:
            return None
        total += sum(file.stat().st_size for file in path.rglob("*.jsonl"))
    return total


@contextlib.contextmanager
def table_writer(place: str) -> Iterator[TableWriter]:
    """Yield a writer of tables into `place`, which is made if needed. Its tables move to their
    place if the block ends without an exception.

    Raises UserError if the directory cannot be made or written, RunFailed if another aggregation is
    writing there.
    """
    path = local_path(place)
    if path is None:
        yield TableWriter(place.rstrip("/"))
        return
    with _locked(path, place):
        staging = path / STAGING
        shutil.rmtree(staging, ignore_errors=True)  # left by a job that was killed
        try:
            staging.mkdir()
        except OSError as error:
            raise UserError(f"--tables {place!r} cannot be written: {error.strerror}") from error
        try:
            writer = TableWriter(f"file://{staging}")
            yield writer
            try:
                for name in writer.written:
                    _replace(staging / name, path / name)
            except OSError as error:
                raise RunFailed(
                    f"cannot put the tables into {place!r}: {error.strerror}"
                ) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)


class TableWriter:
    """Writer of frames as Parquet directories in one directory."""

    def __init__(self, directory: str) -> None:
        self.directory = directory  # URL
        self.written: list[str] = []  # directories, in order

    def write(self, name: str, frame: DataFrame, by: str | None = None) -> None:
        """Write `frame` as NAME.parquet, its rows in order in few files; with `by`, a directory for
        each value of that column.
        """
        target = f"{name}.parquet"
        to = frame.write.mode("overwrite").option("compression", COMPRESSION)
        (to if by is None else to.partitionBy(by)).parquet(f"{self.directory}/{target}")
        self.written.append(target)


@contextlib.contextmanager
def _locked(directory: Path, place: str) -> Iterator[None]:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"--tables {place!r} cannot be a directory: {error.strerror}") from error
    try:
        try:
            take_lock(handle)
        except BlockingIOError:
            raise RunFailed(f"another aggregation is writing to {place!r}") from None
        except OSError:
            pass  # some network file systems have no locks; the user must then avoid two at once
        yield
    finally:
        os.close(handle)  # this releases the lock; so does the end of a killed process


def _replace(new: Path, old: Path) -> None:
    """Put the directory `new` in the place of `old`. A process killed in between leaves no table,
    never half of one.
    """
    aside = new.with_name(f"old-{new.name}")
    if old.is_dir() and not old.is_symlink():
        old.rename(aside)
    elif old.exists() or old.is_symlink():
        old.unlink()
    new.rename(old)
