"""Runs processes for the gate, one after the other, and ends with each of them all that it has
started.

It is a process of its own for two reasons. Processes that a measured program leaves behind in other
sessions become children of the nearest ancestor that adopts orphans (PR_SET_CHILD_SUBREAPER,
prctl(2)), which finds them. And a gate that is killed with -9 cannot end anything itself: here the
channel ends, and everything is ended as well. A program that the system does not let us kill, such
as one of another user, is left alone after `LONGEST_S`.

    python -m harness.gate.supervisor FD

FD is a stream socket. A request is eight bytes with the length of the body, sent with three file
descriptors (stdin, stdout, stderr), and then the body in JSON: `argv`, `directory`, `environment`.
The answer is a line of JSON: `code` (negative for a signal), `seconds`, the CPU time `user_s` and
`system_s` of the process and all that it has started, and `peak_bytes`, the most memory that one of
them had; or `errno` of a program that could not be started. A byte in between asks to end the
process now.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from typing import Any

from harness.machines.host.descendants import LONGEST_S, adopt_orphans, descendants, end_descendants
from harness.machines.host.parent import end_with

HEADER, OUTPUTS = 8, 3
KILOBYTE = 1024  # unit of ru_maxrss on Linux


def ask(channel: socket.socket, request: dict[str, Any], files: tuple[int, int, int]) -> None:
    """Send a request."""
    body = json.dumps(request).encode()
    socket.send_fds(channel, [len(body).to_bytes(HEADER, "big")], files)
    channel.sendall(body)


def serve(channel: socket.socket) -> None:
    """Answer requests until the other end is closed."""
    adopt_orphans()
    while True:
        header, files, _, _ = socket.recv_fds(channel, HEADER, OUTPUTS)
        if len(header) < HEADER:
            return
        body = bytearray()
        while len(body) < int.from_bytes(header, "big"):
            more = channel.recv(1 << 16)
            if not more:
                return
            body += more
        answer = _run(json.loads(body), files, channel)
        with suppress(BrokenPipeError):  # the caller no longer waits
            channel.sendall(json.dumps(answer).encode() + b"\n")


def _run(request: dict[str, Any], files: list[int], channel: socket.socket) -> dict[str, Any]:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin_s = time.monotonic()
    try:
        process = subprocess.Popen(
            request["argv"],
            cwd=request["directory"],
            env=request["environment"],
            stdin=files[0],
            stdout=files[1],
            stderr=files[2],
            start_new_session=True,
            preexec_fn=partial(end_with, os.getpid()),  # this process has no other thread
        )
    except OSError as error:
        return {"errno": error.errno}
    except ValueError:  # a zero byte in a word
        return {"errno": errno.EINVAL}
    finally:
        for file in files:
            os.close(file)
    ended = os.pidfd_open(process.pid)
    try:
        select.select([ended, channel], [], [])
        seconds = time.monotonic() - begin_s
        code, peak_bytes = _end(process, ended)
    finally:
        os.close(ended)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "code": code,
        "seconds": seconds,
        "user_s": used.ru_utime - before.ru_utime,
        "system_s": used.ru_stime - before.ru_stime,
        "peak_bytes": peak_bytes,
    }


def _end(process: subprocess.Popen[bytes], ended: int) -> tuple[int, int]:
    """End a process if it still runs, and all processes that it has left behind. Return its exit
    code and its peak memory [bytes]. `ended` is a handle of the process."""
    os.kill(process.pid, signal.SIGKILL)  # has no effect on a process that has ended
    code, peak_bytes = -signal.SIGKILL, 0
    if select.select([ended], [], [], LONGEST_S)[0]:
        _, status, usage = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
        peak_bytes = usage.ru_maxrss * KILOBYTE
    give_up_s = time.monotonic() + LONGEST_S
    # some may have started others meanwhile
    while descendants(os.getpid()) and time.monotonic() < give_up_s:
        end_descendants(os.getpid())
    return code, peak_bytes


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as end_of_ours:
        serve(end_of_ours)
