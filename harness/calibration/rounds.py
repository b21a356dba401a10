"""Groups of probes in turn, round after round, so that slow drift of the host disturbs all alike; medians and quartiles."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from harness.calibration.probes import Group, Setting

NOISY = 0.2
"""Quartiles further apart than this share of the median are told."""


@dataclass(frozen=True)
class Measured:
    """A constant: the median of the rounds and the quartiles."""

    value: float
    low: float
    high: float

    @property
    def noisy(self) -> bool:
        """Whether the rounds disagree."""
        return self.high - self.low > NOISY * self.value


def measure(
    groups: Mapping[str, Group],
    setting: Setting,
    rounds: int,
    budget_s: float,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> dict[str, Measured]:
    """By constant: what `rounds` rounds over the groups found, fewer if the time is up; at least one.

    Raises OSError if the system refuses a thread, a CPU or memory.
    """
    found: dict[str, list[float]] = {}
    end = time.monotonic() + budget_s
    total = rounds * len(groups)
    with pinned(setting.host.numbers[0]), second_thread():
        for number in range(rounds):
            for place, (name, group) in enumerate(groups.items()):
                progress(number * len(groups) + place, total, name)
                for path, value in group(setting).items():
                    found.setdefault(path, []).append(value)
            if time.monotonic() > end:
                break
    return {path: summary(values) for path, values in found.items()}


def summary(values: list[float]) -> Measured:
    """Median and quartiles, linear between the values."""
    low, median, high = (float(quantile) for quantile in np.quantile(values, (0.25, 0.5, 0.75)))
    return Measured(median, low, high)


@contextmanager
def pinned(cpu: int) -> Iterator[None]:
    """The calling thread on one CPU meanwhile. Raises OSError if it may not."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def second_thread() -> Iterator[None]:
    """A thread that sleeps: the C library's locks are cheaper in a process of one thread than they ever are in a run."""
    over = threading.Event()
    thread = threading.Thread(target=over.wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
