"""Limits on how busy all processes together may make the CPUs before a law stops climbing (P17
§4.2.3).

The CPUs are those that this process may use. A law asks once for each level that it wants to climb
to, and stays at its level if the answer is no.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class CpuLimit(Protocol):
    """Limit that sees every period and answers requests to climb."""

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """Record a period. Shares are of the CPUs that the process may use; None if unknown."""

    def acceptable(self) -> bool:
        """Return True if a request to climb is granted now."""


class LastPeriod:
    """P17's limit: grant a request if the CPUs were busy for at most `limit` of the last period, or
    if that is unknown."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._busy = 0.0

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """Keep the busy share of the last period."""
        self._busy = 0.0 if system_cpu is None else system_cpu

    def acceptable(self) -> bool:
        """Return True if the last period was within the limit."""
        return self._busy <= self._limit


class SinceLastRequest:
    """Limit of IBM Streams: grant a request if the mean busy share since the last request is within
    `limit`.

    It always refuses the first request, and a request after a period without a reading.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._first = True
        self._elapsed_s = 0.0
        self._busy_s: float | None = 0.0

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """Add the period to those since the last request."""
        self._elapsed_s += elapsed_s
        if system_cpu is None or self._busy_s is None:
            self._busy_s = None
        else:
            self._busy_s += elapsed_s * system_cpu

    def acceptable(self) -> bool:
        """Return True if the mean is within the limit, and start a new mean."""
        known = not self._first and self._busy_s is not None and self._elapsed_s > 0.0
        granted = known and self._busy_s / self._elapsed_s <= self._limit
        self._first, self._elapsed_s, self._busy_s = False, 0.0, 0.0
        return granted


def crowded(limit: float, system_cpu: float | None, others_cpu: float | None) -> bool:
    """Return True if the CPUs are busier than `limit` and other processes use more than `1 - limit`
    of them.

    If one of the two shares is unknown, assume the worst for it. If both are unknown, return False.
    """
    if system_cpu is None and others_cpu is None:
        return False
    return (system_cpu is None or system_cpu > limit) and (
        others_cpu is None or others_cpu > 1.0 - limit
    )


def left_by_others(
    limit: float, cpus: int, system_cpu: float | None, others_cpu: float | None
) -> tuple[int, str]:
    """Return the CPUs that other processes leave, and the reason; all of them, and "", unless it is
    known that they are `crowded`."""
    if others_cpu is None or not crowded(limit, system_cpu, others_cpu):
        return cpus, ""
    left = max(1, int(cpus * (1.0 - min(others_cpu, 1.0)) + 1e-9))
    leaves = f"{left} thread{'' if left == 1 else 's'}"
    return left, f"others have {others_cpu:.0%} of the CPUs, which leaves {leaves}"


class LeaveToOthers:
    """Limit that refuses requests while the CPUs are `crowded`.

    P17's limit keeps processes on one host from hindering each other (§4.2.3). A process that has
    the machine to itself may use all of it.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._granted = True

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """Keep the answer for the last period."""
        self._granted = not crowded(self._limit, system_cpu, others_cpu)

    def acceptable(self) -> bool:
        """Return True unless the last period was crowded."""
        return self._granted


class Answers:
    """Recorded answers, one for each request. It grants requests beyond the last answer."""

    def __init__(self, answers: Iterable[bool]) -> None:
        self._answers = iter(answers)

    def see(self, elapsed_s: float, system_cpu: float | None, others_cpu: float | None) -> None:
        """Ignore the period: the answers are recorded."""

    def acceptable(self) -> bool:
        """Return the next answer."""
        return next(self._answers, True)
