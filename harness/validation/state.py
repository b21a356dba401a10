"""State of the machine beside the state that the profile describes: a run in another state says
nothing about the prediction.

The state is the time that a cache line takes from core to core right before and right after the run
(`calibration.state`), compared with the profile's constant for it; never a throughput. The part of
the shared cache that copies find changes as well, with the work of the host's other machines, but
slowly, within minutes: it is measured between runs, and goes into the predictions.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from harness.calibration.probes import GUESSED_CACHES, shared_cache
from harness.calibration.state import alike, hand_off_constant, hand_off_ns
from harness.calibration.topology import Host
from harness.errors import RunFailed
from harness.machines.machine import SHARED_CACHE

if TYPE_CHECKING:
    from harness.machines.machine import Machine

Record = dict[str, Any]

MAX_RUN_ATTEMPTS = 3  # of a run, if the state changes during it
# longest wait for a state not seen yet: the profile may be old, or of another machine
MAX_WAIT_UNSEEN_S = 5.0
STATE_POLL_S = 0.25
MAX_SHARED_CACHE_AGE_S = 10.0  # a measurement of the shared cache takes two seconds


def fits(record: Mapping[str, Any], expected_ns: float | None) -> bool:
    """Return True if a run was made in the profile's state, as far as is known. `expected_ns`: the
    profile's hand-off; None: it has none.
    """
    seen = record["host"].get("hand_offs_ns", ())
    return expected_ns is None or all(alike(ns, expected_ns) for ns in seen)


def constants_beside(records: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Return the constants that were measured between these runs and replace the profile's, by
    their paths; none if none was measured.
    """
    shares = [
        record["host"]["shared_cache_bytes"]
        for record in records
        if "shared_cache_bytes" in record["host"]
    ]
    return {SHARED_CACHE: statistics.median(shares)} if shares else {}


class SameStateRunner:
    """Runner of runs in one state of the machine, within a limit of patience. It also measures the
    part of the shared cache that copies find.

    `expected_ns` is the profile's hand-off between the nearest cores, None if only one core may be
    used. `repeated`: runs that were made again. `unseen_ns`: the hand-off that was found instead if
    the profile's did not appear within `MAX_WAIT_UNSEEN_S`.
    """

    def __init__(self, profile: Machine, patience_s: float) -> None:
        """`patience_s`: limit of the time for waiting and for repeated runs, in all."""
        self._host = Host.here()
        constant = hand_off_constant(self._host)
        self.expected_ns: float | None = profile.get(constant) if constant else None
        self.repeated = 0
        self.unseen_ns: float | None = None
        self._seen = False
        self._patience_s = patience_s
        # the profile counts less as no shared cache
        self._share, self._least_share = 0, profile.get("cache.l2", 0)
        self._looked_s = float("-inf")

    def run(self, run: Callable[[], Record], show: Callable[[str], None]) -> Record:
        """Return the record of `run`, made again if the machine was in another state; the last one
        if it never was in the right one.

        `show` gets a message while it waits. Raises RunFailed if the system refuses a thread or a
        CPU.
        """
        share = self._shared_cache()
        try:
            record = run() if self.expected_ns is None else self._tried(run, show, self.expected_ns)
        except OSError as error:
            raise RunFailed(
                f"the system refuses to measure the hand-off of a cache line: {error.strerror}"
            ) from error
        record["host"] |= {"shared_cache_bytes": share}
        return record

    def _shared_cache(self) -> int:
        """Return the part of the shared cache that copies find [bytes], at most
        `MAX_SHARED_CACHE_AGE_S` old. Raises RunFailed if the system refuses the memory.
        """
        if time.monotonic() - self._looked_s >= MAX_SHARED_CACHE_AGE_S:
            try:
                share = shared_cache(self._host.caches or GUESSED_CACHES)
            except OSError as error:
                raise RunFailed(
                    f"the system refuses to measure what the shared cache holds: {error.strerror}"
                ) from error
            self._share = round(max(share, self._least_share))
            self._looked_s = time.monotonic()
        return self._share

    def _tried(
        self, run: Callable[[], Record], show: Callable[[str], None], expected_ns: float
    ) -> Record:
        for tries in range(1, MAX_RUN_ATTEMPTS + 1):
            before = self._wait(expected_ns, show)
            begun_s = time.monotonic()
            record = run()
            after = hand_off_ns(self._host)
            record["host"] |= {"hand_offs_ns": [ns for ns in (before, after) if ns is not None]}
            if (
                fits(record, expected_ns)
                or record["error"] is not None
                or self._patience_s <= 0
                or tries == MAX_RUN_ATTEMPTS
            ):
                break
            self.repeated += 1
            show("once more: the machine has changed its state")
            self._patience_s -= time.monotonic() - begun_s
        return record

    def _wait(self, expected_ns: float, show: Callable[[str], None]) -> float | None:
        """Wait until the state is right or patience ends; return the hand-off seen last."""
        waited_s = 0.0
        while True:
            seen_ns = hand_off_ns(self._host)
            if seen_ns is None or self._patience_s <= 0:
                return seen_ns
            if alike(seen_ns, expected_ns):
                self._seen = True
                return seen_ns
            if not self._seen and waited_s >= MAX_WAIT_UNSEEN_S:
                self.unseen_ns, self._patience_s = seen_ns, 0.0
                return seen_ns
            show(
                f"waiting: a line takes {seen_ns:.0f} ns from core to core, where the profile says "
                f"{expected_ns:.0f}"
            )
            time.sleep(STATE_POLL_S)
            waited_s += STATE_POLL_S
            self._patience_s -= STATE_POLL_S
