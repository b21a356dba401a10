"""The state that the machine is in: how long a cache line takes from one of its cores to another at
the moment.

A hypervisor moves the CPUs of a virtual machine from core to core of its host. Two that share a
cache hand a line over in a fifth of the time that two others take, and all communication between
threads depends on it. So numbers belong together only if they were measured in one state. The
hand-off right before and right after each measurement shows the state.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness.calibration import machine_costs
from harness.calibration.topology import Host

ROUNDS = 2000  # about a millisecond where a line takes its time
TRIES = 3
ALIKE_FACTOR = 1.5
"""Largest ratio of two hand-offs of one state: a guess, between their noise of a tenth and the
states' factor of five.
"""


def hand_off_ns(host: Host) -> float | None:
    """Return one way between the two nearest cores, the shortest of a few tries [ns]; None where
    one core may be used.

    Raises OSError if the system refuses a thread or a CPU.
    """
    near = host.nearest()
    return (
        None if near is None else min(machine_costs.hand_off(near[1], ROUNDS) for _ in range(TRIES))
    )


def hand_off_constant(host: Host) -> str | None:
    """Return the path of the hand-off's constant in a profile; None if only one core may be
    used.
    """
    near = host.nearest()
    return None if near is None else f"transfer.rmw.{near[0]}"


def alike(one_ns: float, other_ns: float) -> bool:
    """Return True if two hand-offs are of one state."""
    return one_ns <= ALIKE_FACTOR * other_ns and other_ns <= ALIKE_FACTOR * one_ns


def most_common(visits: Sequence[Sequence[float]]) -> float | None:
    """Return the shortest hand-off to which all hand-offs of most visits are alike; None if there
    are no visits.
    """

    def count(ns: float) -> int:
        return sum(bool(visit) and all(alike(ns, each) for each in visit) for visit in visits)

    return max(sorted({ns for visit in visits for ns in visit}), key=count, default=None)
