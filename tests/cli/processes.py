"""Commands as processes, with a lock of their own, and the process in which they measure."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

ROOT = Path(__file__).resolve().parents[2]


def environment(temp: Path) -> dict[str, str]:
    """Return the environment of a command that waits for no other one."""
    return os.environ | {"MILLRACE_LOCK": str(temp / "millrace.lock")}


def millrace(*words: str, temp: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(
        [sys.executable, "-m", "harness", *words],
        capture_output=True, text=True, cwd=ROOT, env=environment(temp),
    )  # fmt: skip


@contextmanager
def started(*words: str, temp: Path) -> Iterator[subprocess.Popen[str]]:
    """Start a command; it is killed at the end, if it still runs."""
    run = subprocess.Popen(
        [sys.executable, "-m", "harness", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment(temp),
    )  # fmt: skip
    try:
        yield run
    finally:
        run.kill()
        run.wait()


def first_child(run: subprocess.Popen[str]) -> psutil.Process:
    """Return the process that measures, once it is there."""
    end = time.monotonic() + 100
    while time.monotonic() < end and run.poll() is None:
        for child in psutil.Process(run.pid).children():
            if "harness.measurement.child" in child.cmdline():
                return child
        time.sleep(0.02)
    raise AssertionError("no measuring process was started")


def has_ended(process: psutil.Process, within_s: float) -> bool:
    """Return True for a process that ends in time, or is a zombie. One that was still starting when
    its parent ended notices as soon as it has started.
    """
    give_up_s = time.monotonic() + within_s
    with suppress(psutil.NoSuchProcess):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > give_up_s:
                return False
            time.sleep(0.05)
    return True
