"""A disturbing load: a process that keeps one CPU busy for 5 s, rests for 5 s, and so on.

`python -m studies.gate_error_rates.busy SECONDS PID`.

It ends after SECONDS, or with process PID, which has started it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.errors import RunFailed
from harness.machines.host.parent import end_with

ON_S = OFF_S = 5.0
LOOK_S = 0.02  # between two checks whether to end
MODULE = "studies.gate_error_rates.busy"
PROJECT = Path(__file__).resolve().parents[2]
LIFETIME_S = 2 * 86400.0


@contextmanager
def one_cpu_half_of_the_time(lifetime_s: float = LIFETIME_S) -> Iterator[subprocess.Popen[bytes]]:
    """Run the load as long as the context is open. Raises RunFailed if it cannot be started."""
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", MODULE, f"{lifetime_s:g}", str(os.getpid())],
            cwd=PROJECT,
            start_new_session=True,
        )
    except OSError as error:
        raise RunFailed(f"the disturbing process could not be started: {error.strerror}") from error
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def alternate(lifetime_s: float) -> None:
    """Alternate between busy and idle until the time is over."""
    began_s = time.monotonic()
    while (passed_s := time.monotonic() - began_s) < lifetime_s:
        if passed_s % (ON_S + OFF_S) >= ON_S:
            time.sleep(LOOK_S)


if __name__ == "__main__":
    end_with(int(sys.argv[2]))
    alternate(float(sys.argv[1]))
