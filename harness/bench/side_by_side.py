"""Processes that run the scenarios of a bench side by side."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import InvalidStateError, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import active_children
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import TypeVar

from harness.machines.host.cpu import allowed_cpus
from harness.machines.host.parent import end_with

Scenario = TypeVar("Scenario")
Row = TypeVar("Row")
THREADS_VARIABLE = "OPENBLAS_NUM_THREADS"
SCENARIOS_PER_TASK = 4  # scenarios


class _Uninterrupted(SpawnContext):
    """Context that starts processes with Ctrl-C blocked from their first instruction on, because
    they inherit the block."""

    class Process(SpawnProcess):
        def start(self) -> None:
            """Start the process, as `multiprocessing.Process` does."""
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                super().start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _unless_cancelled(
    hook: Callable[[threading.ExceptHookArgs], object], args: threading.ExceptHookArgs
) -> None:
    """Call the hook, except for the error that the pool's own thread raises over cancelled calls of
    killed processes."""
    if args.exc_type is not InvalidStateError:
        hook(args)


@contextmanager
def processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Return a context with `count` fresh processes.

    Their numpy starts no threads: the processes use all CPUs already, and waiting threads of
    OpenBLAS spin. They end when this process ends for any reason, so the thread that submits the
    first call must be the one that waits here. They are killed if an exception, such as that of
    Ctrl-C, leaves the block.
    """
    others, hook = set(active_children()), threading.excepthook
    before = os.environ.get(THREADS_VARIABLE)
    os.environ[THREADS_VARIABLE] = "1"
    try:
        with ProcessPoolExecutor(count, _Uninterrupted(), end_with, (os.getpid(),)) as pool:
            try:
                yield pool
            except BaseException:
                threading.excepthook = partial(_unless_cancelled, hook)
                for child in set(active_children()) - others:
                    child.kill()
                pool.shutdown()  # while its thread may fail in silence
                raise
    finally:
        threading.excepthook = hook
        if before is None:
            del os.environ[THREADS_VARIABLE]
        else:
            os.environ[THREADS_VARIABLE] = before


def each_of(
    rows_of: Callable[[Sequence[str], Scenario], list[Row]],
    laws: Sequence[str],
    scenarios: Sequence[Scenario],
    jobs: int | None,
) -> Iterator[list[Row]]:
    """Yield the result of `rows_of` for each scenario, in their order.

    The results do not depend on the number of processes. `jobs`: most processes; None: one for each
    CPU allowed. A process takes `SCENARIOS_PER_TASK` scenarios at once, because neighbours may
    differ by noise alone and have the same oracle.
    """
    workers = min(jobs or allowed_cpus(), -(-len(scenarios) // SCENARIOS_PER_TASK))
    if workers <= 1:
        yield from (rows_of(laws, scenario) for scenario in scenarios)
        return
    with processes(workers) as pool:
        yield from pool.map(
            rows_of, [laws] * len(scenarios), scenarios, chunksize=SCENARIOS_PER_TASK
        )
