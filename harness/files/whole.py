"""Files that are written as a whole or not at all, whatever happens during the writing."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

from harness.errors import RunFailed


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, all or nothing: to a temporary name beside `path`, flushed to the disk, then
    renamed.

    An existing file is replaced; a link is followed; a device or pipe is written to directly.
    Missing directories are made. Raises RunFailed naming `path` if the system refuses (full disk,
    no permission), or if the pipe has no reader.
    """
    target = Path(path).resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if is_special(target):
            _write(target, data, 0)
        else:
            _replace(target, data)
    except OSError as error:
        raise RunFailed(f"cannot write {path}: {error.strerror}") from error


def check_folder(folder: Path) -> None:
    """Make a folder, with those above it, and check that files can be made in it. Raises RunFailed
    naming it if not.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RunFailed(f"cannot write into {folder}: {error.strerror}") from error


def is_special(path: Path) -> bool:
    """Return True if the path exists and is neither a file, which is replaced, nor a directory,
    which cannot be written.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _replace(target: Path, data: bytes) -> None:
    temporary = target.with_name(f".{target.name[:100]}.{os.urandom(6).hex()}.tmp")
    try:
        _write(temporary, data, os.O_CREAT | os.O_EXCL)
        temporary.replace(target)
    except BaseException:
        with suppress(FileNotFoundError):
            temporary.unlink()
        raise
    directory = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def open_for_writing(path: str | os.PathLike[str], flags: int) -> int:
    """Return a handle of a file; `flags` as of `os.open`. A pipe without a reader, which would wait
    for ever, is an OSError.
    """
    handle = os.open(path, flags | os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    os.set_blocking(handle, True)
    return handle


def _write(path: Path, data: bytes, flags: int) -> None:
    handle = open_for_writing(path, flags)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        if stat.S_ISREG(os.fstat(handle).st_mode):  # a device or pipe has nothing to flush
            os.fsync(handle)
    finally:
        os.close(handle)
