"""Signals that end a command from outside, besides Ctrl-C: measurements are written in any case."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGTERM, signal.SIGHUP)  # sent to a job of a CI, or of a terminal that is closed

OF_SIGNALS = 128
"""A command that a signal ended has this plus the signal's number as exit code, as in shells."""

_ended_by = signal.SIGINT


def exit_code() -> int:
    """Return the exit code of a command that was interrupted: 130 by Ctrl-C, 143 by SIGTERM."""
    return OF_SIGNALS + _ended_by


def ended_by(number: signal.Signals) -> None:
    """Keep the signal that interrupted this command, for `exit_code`."""
    global _ended_by
    _ended_by = number


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt, unless they are ignored (nohup): the
    measurements are written, and the measured process, in a session of its own, ends as well.
    """
    ended_by(signal.SIGINT)
    taken = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]
    process = os.getpid()

    def interrupt(number: int, frame: object) -> None:
        if os.getpid() != process:  # a forked child: it has nothing to write
            os._exit(OF_SIGNALS + number)
        for each in taken:
            # `timeout` sends it twice, and the second must not end the writing
            signal.signal(each, signal.SIG_IGN)
        ended_by(signal.Signals(number))
        raise KeyboardInterrupt

    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
