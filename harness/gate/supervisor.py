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
The answer is a line of JSON: `code` (negative for a signal) and `seconds`, or `errno` of a program
that could not be started. A byte in between asks to end the process now.
"""

from __future__ import annotations

import errno
import json
import os
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
    finally:
        os.close(ended)
    seconds = time.monotonic() - begin_s
    return {"code": _end(process), "seconds": seconds}


def _end(process: subprocess.Popen[bytes]) -> int:
    """End a process if it still runs, and all processes that it has left behind; return its exit
    code."""
    process.poll()
    process.kill()  # has no effect on a process that has ended
    try:
        code = process.wait(LONGEST_S)
    except subprocess.TimeoutExpired:
        code = -signal.SIGKILL
    give_up_s = time.monotonic() + LONGEST_S
    # some may have started others meanwhile
    while descendants(os.getpid()) and time.monotonic() < give_up_s:
        end_descendants(os.getpid())
    return code


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as end_of_ours:
        serve(end_of_ours)
