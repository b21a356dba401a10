"""Groups of probes in turn, round after round, so that slow drift of the host disturbs all alike;
medians and quartiles.

Visits in a state of the machine other than the most common one are left out: a profile describes
one machine.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from harness.calibration.probes import Group, ProbeSetup, Values
from harness.calibration.state import alike, hand_off_ns, most_common

NOISY_SPREAD = 0.2
"""Constants whose quartiles differ by more than this share of the median are reported as noisy."""


@dataclass(frozen=True)
class MeasuredConstant:
    """A constant: the median of the rounds and the quartiles."""

    value: float
    low: float
    high: float

    @property
    def noisy(self) -> bool:
        """True if the rounds disagree."""
        return self.high - self.low > NOISY_SPREAD * self.value


@dataclass(frozen=True)
class Visit:
    """A group in a round: its values, and the time of a line between two cores right before and
    after it [ns].
    """

    group: str
    values: Values
    hand_offs: tuple[float, ...]


@dataclass(frozen=True)
class CalibratedConstants:
    """The constants, the number of visits, and the number of those left out because the machine was
    in another state.
    """

    constants: dict[str, MeasuredConstant]
    visits: int
    left_out: int
    other_state: tuple[str, ...]  # groups that were visited in other states only


def measure(
    groups: Mapping[str, Group],
    setting: ProbeSetup,
    rounds: int,
    budget_s: float,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> CalibratedConstants:
    """Run `rounds` rounds over the groups, fewer if the time is up, at least one, and return the
    constants.

    Raises OSError if the system refuses a thread, a CPU or memory.
    """
    visits: list[Visit] = []
    end = time.monotonic() + budget_s
    total = rounds * len(groups)
    with pinned(setting.host.numbers[0]), second_thread():
        before = hand_off_ns(setting.host)
        for number in range(rounds):
            for place, (name, group) in enumerate(groups.items()):
                progress(number * len(groups) + place, total, name)
                values = group(setting)
                after = hand_off_ns(setting.host)
                visits.append(
                    Visit(name, values, tuple(ns for ns in (before, after) if ns is not None))
                )
                before = after
            if time.monotonic() > end:
                break
    return found(visits)


def found(visits: Sequence[Visit]) -> CalibratedConstants:
    """Return medians over the visits in the most common state; for a group without any, over all of
    its visits.
    """
    common = most_common([visit.hand_offs for visit in visits])
    usual = [visit for visit in visits if all(alike(ns, common) for ns in visit.hand_offs)]
    known = {visit.group for visit in usual}
    other_state = dict.fromkeys(visit.group for visit in visits if visit.group not in known)
    usual += [visit for visit in visits if visit.group in other_state]
    values: dict[str, list[float]] = {}
    for visit in usual:
        for path, value in visit.values.items():
            values.setdefault(path, []).append(value)
    constants = {path: summary(of_one) for path, of_one in values.items()}
    return CalibratedConstants(constants, len(visits), len(visits) - len(usual), tuple(other_state))


def summary(values: list[float]) -> MeasuredConstant:
    """Return the median and the quartiles, linear between the values."""
    low, median, high = (float(quantile) for quantile in np.quantile(values, (0.25, 0.5, 0.75)))
    return MeasuredConstant(median, low, high)


@contextmanager
def pinned(cpu: int) -> Iterator[None]:
    """Pin the calling thread to one CPU meanwhile. Raise OSError if it may not run there."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def second_thread() -> Iterator[None]:
    """Keep a second, sleeping thread: the C library's locks are cheaper in a process with one
    thread than in a run.
    """
    over = threading.Event()
    thread = threading.Thread(target=over.wait, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
