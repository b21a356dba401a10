"""A process that ends when the one that started it is gone, whatever has ended that.

Without this, what is killed with -9 would leave its processes running, beside whatever is measured
next. The system kills them (PR_SET_PDEATHSIG, prctl(2)): that takes no interpreter, and no turn on
a CPU for which thousands of threads wait. It does so when the *thread* ends that started the
process, so start one from a thread that waits for it. A process's own children have to ask for it
again.

This file is a program, too: it makes another one end likewise (`ending_with_us`), and sleep as
exactly as the threads of our sources do, if asked to.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PR_SET_TIMERSLACK = 29
LEAST_SLACK_NS = 1  # Linux lets timed waits end 50 µs late otherwise
CANNOT_EXECUTE = 126  # exit code of shells for a command that is there and cannot be executed


def end_with(parent: int, message: str = "") -> None:
    """Have this process killed when the thread of process `parent` that started it ends.

    If that has ended already, this process ends here, with exit code 1 and the `message` on stderr.
    """
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if os.getppid() != parent:  # it has ended before the call
        if message:
            print(message, file=sys.stderr, flush=True)
        os._exit(1)


def sharpen_timers() -> None:
    """Let timed waits of this thread end within microseconds, and those of the threads that it
    starts, also after `exec`.
    """
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, LEAST_SLACK_NS, 0, 0, 0)


def ending_with_us(argv: Sequence[str], sharp: bool = False) -> list[str]:
    """Return the words of a command that executes `argv` in the same process, and ends with the
    thread that starts it. `sharp`: all its threads sleep exactly (`sharpen_timers`).
    """
    timers = "sharp" if sharp else "usual"
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), timers, *argv]


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    if sys.argv[2] == "sharp":
        sharpen_timers()
    words = sys.argv[3:]
    try:
        os.execvp(words[0], words)
    except OSError as error:
        print(f"{words[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(CANNOT_EXECUTE)
