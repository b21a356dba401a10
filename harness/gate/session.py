"""A process in a session of its own, which ends with all that it has started: what is left over would disturb the next one."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

TAIL_BYTES = 16_000_000  # of each output that is kept: its end

PATIENCE_S = 5.0  # with processes that do not end although they were killed: one that waits for a broken disk may never do

INTERRUPTING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Ended:
    """How a process ended. `code` as of `subprocess`: negative for a signal."""

    code: int
    timed_out: bool
    output: bytes
    words: bytes  # what it wrote to stderr; nothing if that went to a file
    seconds: float  # from before it was started until it had ended; what it left behind does not count


def run_session(
    argv: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    timeout_s: float,
    stdin: str = "",
    log: IO[bytes] | None = None,
) -> Ended:
    """Run a process to its end, or to `timeout_s`; then kill its whole session. With `log` both outputs go there.

    Outputs are files, not pipes: a process that something else has inherited them from has ended nevertheless. Raises OSError
    if it cannot be started; whatever interrupts the waiting (Ctrl-C reaches us alone) ends the session, too.
    """
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as words:
        question.write(stdin.encode())
        question.seek(0)
        timed_out = threading.Event()

        def give_up() -> None:
            timed_out.set()
            kill_session(process.pid)

        def end() -> None:
            timer.cancel()
            kill_session(process.pid)
            process.wait()

        with ExitStack() as ending:
            with _interrupted_later():
                begin_s = time.monotonic()
                process = subprocess.Popen(
                    list(argv),
                    cwd=directory,
                    env=dict(environment),
                    stdin=question,
                    stdout=log or output,
                    stderr=log or words,
                    start_new_session=True,
                )
                # a timer and a wait without a limit: a wait with one would look every few milliseconds, on the CPUs that are
                # measured
                timer = threading.Timer(timeout_s, give_up)
                timer.daemon = True
                ending.callback(end)
                timer.start()
            process.wait()
            seconds = time.monotonic() - begin_s
        killed = timed_out.is_set() and process.returncode < 0
        return Ended(process.returncode, killed, _tail(output), _tail(words), seconds)


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """What would interrupt us is held back to the end of the context: a process that starts runs before we know of it, and an
    interruption in between would leave it behind. In other threads than the main one nothing interrupts, and nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    # not blocked: a blocked signal is blocked in what is started, too, while a handler of ours is not inherited. One that is
    # ignored stays so (nohup)
    usual = {number: signal.getsignal(number) for number in INTERRUPTING}
    taken = {number: handler for number, handler in usual.items() if handler not in (signal.SIG_IGN, None)}
    for number in taken:
        signal.signal(number, lambda number, frame: held.append(number))
    try:
        yield
    finally:
        for number, handler in taken.items():
            signal.signal(number, handler)
        if held:
            signal.raise_signal(held[0])


def kill_session(leader: int, patience_s: float = PATIENCE_S) -> None:
    """Kill every process of a session, until none is left that still runs. A process that left the session is not found."""
    give_up = time.monotonic() + patience_s
    while (members := _members(leader)) and time.monotonic() < give_up:
        for pid in members:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.001)


def _members(leader: int) -> list[int]:
    """Of a session, but for zombies: they have ended, and whoever waits for them reaps them."""
    import psutil

    found = []
    for pid in psutil.pids():
        with suppress(OSError, psutil.Error):
            if os.getsid(pid) == leader and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
                found.append(pid)
    return found


def _tail(file: IO[bytes]) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    return file.read()
