"""A process that ends together with all that it has started, in whatever session: processes left
behind would disturb the next one.

It is started by a supervisor, a process that goes on to the next request and ends everything if we
are killed.
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
from harness.files.places import CODE
from harness.gate.supervisor import ask

TAIL_BYTES = 16_000_000  # kept from the end of each output

# wait for a supervisor that was asked to end its process: longer than the supervisor's own limit
SUPERVISOR_TIMEOUT_S = 15.0


@dataclass(frozen=True)
class Ended:
    """The end of a process. `code` is as in `subprocess`: negative for a signal."""

    code: int
    timed_out: bool
    output: bytes
    words: bytes  # its stderr; empty if that went to a file
    # from before its start until its end; the end of processes left behind does not count
    seconds: float
    user_s: float = 0.0  # CPU time of the process and all that it has started
    system_s: float = 0.0
    peak_bytes: int = 0  # most memory that one of them had

    @property
    def used(self) -> dict[str, float]:
        """Resources that the process took: the metrics of every program."""
        return {
            "wall_s": self.seconds,
            "cpu_s": self.user_s + self.system_s,
            "user_s": self.user_s,
            "system_s": self.system_s,
            "peak_bytes": self.peak_bytes,
        }


def run_session(
    argv: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    timeout_s: float,
    stdin: str = "",
    log: IO[bytes] | None = None,
) -> Ended:
    """Run a process to its end or to `timeout_s`; then kill all that it has started. With `log`,
    both outputs go there.

    It gets a session of its own, so that Ctrl-C reaches only us. Outputs are files, not pipes: the
    process counts as ended even if another process has inherited its outputs. Raises OSError if it
    cannot be started. Anything that interrupts the waiting also ends the process and all that it
    has started.
    """
    with (
        tempfile.TemporaryFile() as question,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as words,
    ):
        question.write(stdin.encode())
        question.seek(0)
        files = (question.fileno(), (log or output).fileno(), (log or words).fileno())
        request = {
            "argv": list(argv),
            "directory": str(directory),
            "environment": dict(environment),
        }
        timed_out = threading.Event()
        supervisor = _idle() or _Supervisor()
        try:
            # A timer, and a wait without a limit: a wait with a limit would poll every few
            # milliseconds and disturb the measurement.
            timer = threading.Timer(timeout_s, lambda: (timed_out.set(), supervisor.give_up()))
            timer.daemon = True
            timer.start()
            try:
                ask(supervisor.channel, request, files)
                answer = json.loads(supervisor.answers.readline() or "{}")
            finally:
                timer.cancel()
        except BaseException:
            supervisor.end()
            raise
        if timed_out.is_set() or not answer:
            # a request to end that comes too late would be read before the next request
            supervisor.end()
        else:
            _IDLE.append(supervisor)
        if not answer:
            raise RunFailed(f"the process that supervises {argv[0]} has ended")
        if "errno" in answer:
            raise OSError(answer["errno"], os.strerror(answer["errno"]), argv[0])
        killed = timed_out.is_set() and answer["code"] < 0
        used = (answer["seconds"], answer["user_s"], answer["system_s"], answer["peak_bytes"])
        return Ended(answer["code"], killed, _tail(output), _tail(words), *used)


class _Supervisor:
    """Our end of a supervisor."""

    def __init__(self) -> None:
        self.channel, theirs = socket.socketpair()
        with theirs:
            path = os.pathsep.join(filter(None, (str(CODE), os.environ.get("PYTHONPATH"))))
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
        """End it, its process, and all that the process has started."""
        with suppress(OSError):
            self.channel.shutdown(socket.SHUT_RDWR)
        self.answers.close()
        self.channel.close()
        try:
            self.process.wait(SUPERVISOR_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


_IDLE: list[_Supervisor] = []
"""Supervisors that wait for the next process: one, unless there are threads."""


def _idle() -> _Supervisor | None:
    """Return an idle supervisor that still runs; None if there is none."""
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
