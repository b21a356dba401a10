"""What ends a command from outside besides Ctrl-C: what was measured is written all the same."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGTERM, signal.SIGHUP)  # what ends a job of a CI, or of a terminal that is closed


@contextmanager
def ended_like_ctrl_c() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt, unless ignored (nohup): what was measured is written, and the process
    that is being measured, in a session of its own, ends as well.
    """
    taken = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def interrupt(number: int, frame: object) -> None:
        for each in taken:
            signal.signal(each, signal.SIG_IGN)  # `timeout` sends it twice, and the second must not end the writing
        raise KeyboardInterrupt

    for number in taken:
        signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
