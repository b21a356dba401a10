"""Signals that end a command from outside, besides Ctrl-C: measurements are written in any case."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGTERM, signal.SIGHUP)  # sent to a job of a CI, or of a terminal that is closed


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt, unless they are ignored (nohup): the
    measurements are written, and the measured process, in a session of its own, ends as well.
    """
    taken = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def interrupt(number: int, frame: object) -> None:
        for each in taken:
            # `timeout` sends it twice, and the second must not end the writing
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
