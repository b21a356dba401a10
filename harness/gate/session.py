"""A process that ends with all that it has started, whatever session that is in: what is left over would disturb the next one.

It is started by a supervisor, a process that goes on to the next one and ends everything if we are killed.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from harness.errors import RunFailed
from harness.gate.supervisor import ask

TAIL_BYTES = 16_000_000  # of each output that is kept: its end

PATIENCE_S = 15.0  # with a supervisor that was asked to end its process: more than it has itself

ROOT = Path(__file__).resolve().parents[2]


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
    """Run a process to its end, or to `timeout_s`; then kill all that it has started. With `log` both outputs go there.

    It is in a session of its own: Ctrl-C reaches us alone. Outputs are files, not pipes: a process that something else has
    inherited them from has ended nevertheless. Raises OSError if it cannot be started; whatever interrupts the waiting ends it
    and its like, too.
    """
    with tempfile.TemporaryFile() as question, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as words:
        question.write(stdin.encode())
        question.seek(0)
        files = (question.fileno(), (log or output).fileno(), (log or words).fileno())
        request = {"argv": list(argv), "directory": str(directory), "environment": dict(environment)}
        timed_out = threading.Event()
        supervisor = _idle() or _Supervisor()
        try:
            # a timer, and a wait without a limit: one with a limit would look every few milliseconds, beside what is measured
            timer = threading.Timer(timeout_s, lambda: (timed_out.set(), supervisor.give_up()))
            timer.daemon = True
            timer.start()
            try:
                ask(supervisor.channel, request, files)
                told = json.loads(supervisor.answers.readline() or "{}")
            finally:
                timer.cancel()
        except BaseException:
            supervisor.end()
            raise
        if timed_out.is_set() or not told:
            supervisor.end()  # what was asked too late would be read before the next request
        else:
            _IDLE.append(supervisor)
        if not told:
            raise RunFailed(f"the process that supervises {argv[0]} has ended")
        if "errno" in told:
            raise OSError(told["errno"], os.strerror(told["errno"]), argv[0])
        killed = timed_out.is_set() and told["code"] < 0
        return Ended(told["code"], killed, _tail(output), _tail(words), told["seconds"])


class _Supervisor:
    """Our end of one."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair()
        with theirs:
            path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "harness.gate.supervisor", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env=os.environ | {"PYTHONPATH": path},
                start_new_session=True,
            )
        self.answers = self.channel.makefile(encoding="utf-8")

    def give_up(self) -> None:
        """Ask it to end its process now; it answers as usual."""
        with suppress(OSError):
            self.channel.send(b"x")

    def end(self) -> None:
        """End it, and its process, and what that has started."""
        with suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)
        self.answers.close()
        self.channel.close()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


_IDLE: list[_Supervisor] = []
"""Supervisors that wait for the next process: one, unless there are threads."""


def _idle() -> _Supervisor | None:
    """One that waits, and has not been killed meanwhile."""
    while _IDLE:
        supervisor = _IDLE.pop()
        if supervisor.process.poll() is None:
            return supervisor
        supervisor.end()
    return None


@atexit.register
def _end_idle() -> None:
    while _IDLE:
        _IDLE.pop().end()


def _tail(file: IO[bytes]) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - TAIL_BYTES))
    return file.read()
