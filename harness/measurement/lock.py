"""One measuring process at a time on a machine: two would measure each other.

The lock is a file that all users of the machine can open, in the folder that systems have for such
files, else in /tmp. Only where that is no place for all users each has a file of his own in the
temporary directory, and waits for his own runs alone. The variable MILLRACE_LOCK names another
file: of those who share a part of a machine, say.

`measuring_clock` stands still while this process waits for the lock: a budget does not count that.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from harness.errors import RunFailed
from harness.files.lock import sign, signer, take_lock

SHARED_FOLDERS = (Path("/run/lock"), Path("/tmp"))  # not $TMPDIR, which differs from user to user
NAME = "millrace.lock"
VARIABLE = "MILLRACE_LOCK"
MOST_SHOWN = 80  # characters of the command of the process that holds the lock
WAITING = "waiting until "
"""Beginning of the notice that this process waits."""


def lock_path() -> Path:
    """Return the path of the lock of all users; if there is no folder for that, of this user
    alone.
    """
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    return next((folder / NAME for folder in SHARED_FOLDERS if _is_for_all(folder)), own_path())


def own_path() -> Path:
    """Return the path of the lock of this user alone."""
    return Path(tempfile.gettempdir(), f"millrace-{os.getuid()}.lock")


class _Waits:
    """Time for which this process has waited for the lock; only one thread of it measures."""

    def __init__(self) -> None:
        self.total_s = 0.0
        self._since_s: float | None = None

    def now_s(self) -> float:
        """Time that this process has waited until now."""
        return self.total_s + (0.0 if self._since_s is None else time.monotonic() - self._since_s)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the time in the `with` block."""
        self._since_s = time.monotonic()
        try:
            yield
        finally:
            self.total_s, self._since_s = self.now_s(), None


_WAITS = _Waits()


def measuring_clock() -> float:
    """Return a time [s] that passes as `time.monotonic` does, but not while this process waits for
    the lock.
    """
    return time.monotonic() - _WAITS.now_s()


def say_on_stderr(notice: str) -> None:
    """Print a notice on stderr: the default for a caller that waits."""
    print(notice, file=sys.stderr, flush=True)


@contextmanager
def measuring_lock(
    notify: Callable[[str], None] = say_on_stderr, path: Path | None = None
) -> Iterator[None]:
    """Hold the lock; if another process has it, say so once through `notify` and wait.

    If the file of all users cannot be opened, that is said and the user's own is taken. Raises
    RunFailed if neither can, or not the one at `path`. Not re-entrant: a process that holds it
    would wait for itself.
    """
    handle = _hold(path or lock_path(), notify, path is None and VARIABLE not in os.environ)
    try:
        yield
    finally:
        os.close(handle)  # and with it the lock


def _hold(path: Path, notify: Callable[[str], None], may_be_own: bool) -> int:
    """Return the handle of the lock at `path`, which is held; or of the user's own one."""
    while True:
        try:
            handle = _open(path)
        except FileExistsError:  # somebody has made it in between
            continue
        except OSError as error:
            problem = f"cannot open the lock file {path}: {error.strerror or error}"
            if not may_be_own or path == own_path():
                raise RunFailed(problem) from error
            notify(f"{problem}; so runs of other users are not waited for")
            return _hold(own_path(), notify, False)
        try:
            with _WAITS.counted():
                take_lock(handle, partial(_tell, notify, path, handle))
            if _is_still_there(path, handle):
                sign(handle)
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(
            handle
            # it was removed while we waited, as temporary files are: others have another one
        )


def _tell(notify: Callable[[str], None], path: Path, handle: int) -> None:
    number = signer(handle)
    command = _command_of(number)
    known = f"process {number}" if number.isdecimal() else "another process"
    holder = f"{known} ({command})" if command else known
    notify(
        f"{WAITING}{holder} has finished measuring (lock {path}); Ctrl-C ends this command, and "
        f"{VARIABLE}=FILE takes another lock: both then measure at once, and disturb each other"
    )


def _command_of(number: str) -> str:
    """Return the command line of a process, shortened, without its interpreter and folders; "" if
    it cannot be read.
    """
    if not number.isdecimal():
        return ""
    try:
        words = Path("/proc", number, "cmdline").read_text("utf-8", "replace").split("\0")
    except OSError:
        return ""
    words = [word for word in words if word]
    if len(words) > 1 and Path(words[0]).name.startswith("python"):
        words = words[1:]
    if words[:2] == ["-m", "harness"]:
        words = ["millrace", *words[2:]]
    if words and "/" in words[0]:
        words[0] = Path(words[0]).name
    text = " ".join(words)
    shown = "".join(each if each.isprintable() else "?" for each in text)
    return shown if len(shown) <= MOST_SHOWN else f"{shown[: MOST_SHOWN - 3]}..."


def _open(path: Path) -> int:
    """Open the lock file, readable for all users; no link is followed, and no other file is taken.

    An existing file is opened without O_CREAT: many systems refuse that flag for a file of another
    user in a folder such as /tmp.
    """
    flags = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle = os.open(path, os.O_RDWR | flags)
    except FileNotFoundError:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | flags, 0o666)
        os.fchmod(handle, 0o666)  # whatever the umask takes away
    except PermissionError:
        handle = os.open(path, os.O_RDONLY | flags)  # enough for a lock
    what = os.fstat(handle)
    if not stat.S_ISREG(what.st_mode) or what.st_nlink > 1:
        os.close(handle)
        raise OSError("it is no file of its own")
    return handle


def _is_still_there(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _is_for_all(folder: Path) -> bool:
    """Return True if every user may make files there, and may not remove those of others."""
    try:
        what = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(what.st_mode) and what.st_uid == 0 and what.st_mode & 0o1002 == 0o1002
