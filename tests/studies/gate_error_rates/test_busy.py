"""The disturbing process: it works, and it is gone afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress

import psutil
import pytest

from studies.gate_error_rates import busy

pytestmark = pytest.mark.heavy


def test_it_takes_cpu_time_and_ends_with_the_context() -> None:
    with busy.one_cpu_half_of_the_time() as process:
        seen = psutil.Process(process.pid)
        end_s = time.monotonic() + 100
        while sum(seen.cpu_times()[:2]) < 0.3 and time.monotonic() < end_s:
            time.sleep(0.05)
        assert sum(seen.cpu_times()[:2]) >= 0.3
        assert process.poll() is None
    assert process.poll() is not None


STARTER = """
from studies.gate_error_rates import busy
with busy.one_cpu_half_of_the_time() as process:
    print(process.pid, flush=True)
    process.wait()
"""


def test_it_ends_when_who_started_it_is_killed() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER], stdout=subprocess.PIPE, cwd=busy.PROJECT
    ) as starter:
        process = psutil.Process(int(starter.stdout.readline()))
        starter.kill()
        assert starter.communicate(timeout=100) == (
            b"",
            None,
        )  # returns when the process has closed its end of the pipe
    with suppress(psutil.NoSuchProcess):
        process.wait(timeout=100)


def test_its_life_is_bounded() -> None:
    command = [sys.executable, "-m", busy.MODULE, "0.2", str(os.getpid())]
    with subprocess.Popen(command, cwd=busy.PROJECT) as process:
        assert process.wait(timeout=100) == 0
