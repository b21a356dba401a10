"""Who may climb: a limit on the use of the CPUs that this process may use, by all processes (P17 §4.2.3).

A law asks once for each level that it wants to climb to, and stays where it is if the answer is no.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class CpuLimit(Protocol):
    """Sees every period, and answers requests to climb."""

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """Take note of a period; shares are of the CPUs that the process may use, None if not known."""

    def acceptable(self) -> bool:
        """Whether a request to climb is granted now."""


class LastPeriod:
    """P17: granted while the CPUs were busy for at most `limit` of the last period. What is not known is no objection."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._busy = 0.0

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """Keeps the last period."""
        self._busy = 0.0 if system_cpu is None else system_cpu

    def acceptable(self) -> bool:
        """By the last period alone."""
        return self._busy <= self._limit


class SinceLastRequest:
    """IBM Streams: by the mean since the last request; the first one is always refused, and so is one without a reading."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._first = True
        self._elapsed_s = 0.0
        self._busy_s: float | None = 0.0

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """Adds the period to those since the last request."""
        self._elapsed_s += elapsed_s
        if system_cpu is None or self._busy_s is None:
            self._busy_s = None
        else:
            self._busy_s += elapsed_s * system_cpu

    def acceptable(self) -> bool:
        """Answers, and begins anew."""
        known = not self._first and self._busy_s is not None and self._elapsed_s > 0.0
        granted = known and self._busy_s / self._elapsed_s <= self._limit
        self._first, self._elapsed_s, self._busy_s = False, 0.0, 0.0
        return granted


def crowded(limit: float, system_cpu: float | None, others_cpu: float | None) -> bool:
    """Whether the CPUs are busier than `limit` and others have a part in it: more than `1 - limit` of the CPUs.

    Where one of the two is not known it is taken for the worst; where none is there is no crowd.
    """
    if system_cpu is None and others_cpu is None:
        return False
    return (system_cpu is None or system_cpu > limit) and (others_cpu is None or others_cpu > 1.0 - limit)


class LeaveToOthers:
    """Refused while it is crowded.

    P17's limit is there so that processes on one host do not press each other (§4.2.3). One that has the machine to itself may
    use it whole.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._granted = True

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """Keeps the last period."""
        self._granted = not crowded(self._limit, system_cpu, others_cpu)

    def acceptable(self) -> bool:
        """By the last period alone."""
        return self._granted


class Answers:
    """Recorded answers, one a request; beyond the last one requests are granted."""

    def __init__(self, answers: Iterable[bool]) -> None:
        self._answers = iter(answers)

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """The answers are given already."""

    def acceptable(self) -> bool:
        """The next answer."""
        return next(self._answers, True)
