"""A disturbing load: a process that keeps one CPU busy for 5 s, rests for 5 s, and so on: `python -m harness.gate.selftest.busy
SECONDS`.

It ends after SECONDS, or as soon as its stdin closes: it cannot outlive who started it.
"""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import RunFailed

ON_S = OFF_S = 5.0
LOOK_S = 0.02  # between two looks whether to end
MODULE = "harness.gate.selftest.busy"
PROJECT = Path(__file__).resolve().parents[3]
LIFETIME_S = 2 * 86400.0


@contextmanager
def one_cpu_half_of_the_time(lifetime_s: float = LIFETIME_S) -> Iterator[subprocess.Popen[bytes]]:
    """Such a process, as long as the context is open. Raises RunFailed if it cannot be started."""
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", MODULE, f"{lifetime_s:g}"], stdin=subprocess.PIPE, cwd=PROJECT, start_new_session=True
        )
    except OSError as error:
        raise RunFailed(f"the disturbing process could not be started: {error.strerror}") from error
    try:
        yield process
    finally:
        process.kill()
        process.stdin.close()
        process.wait()


def alternate(lifetime_s: float) -> None:
    """Busy, then not, until the time is over or stdin is closed."""
    began_s = time.monotonic()
    while (passed_s := time.monotonic() - began_s) < lifetime_s:
        works = passed_s % (ON_S + OFF_S) < ON_S
        if _closed(0.0 if works else LOOK_S):
            return
        until_s = time.monotonic() + (LOOK_S if works else 0.0)
        while time.monotonic() < until_s:
            pass


def _closed(wait_s: float) -> bool:
    return bool(select.select([sys.stdin], [], [], wait_s)[0])


if __name__ == "__main__":
    alternate(float(sys.argv[1]))
