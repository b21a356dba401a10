"""The processes that a bench runs its scenarios in, side by side."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from harness.parent import end_with

THREADS = "OPENBLAS_NUM_THREADS"


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """`count` fresh ones, whose numpy starts no threads: they have all CPUs already, and OpenBLAS's spin while they wait.

    They end with this process, whatever ends it; so the thread that submits the first call must be the one that waits here.
    """
    before = os.environ.get(THREADS)
    os.environ[THREADS] = "1"
    try:
        with ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), end_with, (os.getpid(),)) as pool:
            yield pool
    finally:
        if before is None:
            del os.environ[THREADS]
        else:
            os.environ[THREADS] = before
