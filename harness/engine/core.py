"""Interface of the compiled code that runs a graph: the part in which engines differ.

`harness.engine.engine.Engine` checks each call, takes turns, and makes samples of counters. A core
obeys it. Operators, queues and threads of the pool are named by their index.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from harness.engine.account import Account
from harness.engine.counters import Counters
from harness.engine.time_use import TimeUse

if TYPE_CHECKING:
    from harness.models.layout import RunLayout


class Core(Protocol):
    """Runs the graph of a layout once."""

    layout: RunLayout
    process: int  # that started the run; 0: none has
    # The run goes on between calls, and any thread may call. If not, only calls let time pass, and
    # they take turns.
    goes_on: bool
    over: bool
    tick_s: float
    most_threads: int  # highest level of the pool
    machine_name: str  # in messages; "" for this host
    requested: int  # level of the pool that was asked for
    active: int  # threads of the pool that are not suspended

    def prepare(self) -> None:
        """Get ready to begin. The first period counts from here."""

    def begin(self) -> None:
        """Start the threads. See `Engine.start`."""

    def let_pass(self, period_s: float) -> None:
        """Wait for a time, or let virtual time pass; returns early if the run ends."""

    def time_s(self) -> float:
        """Return the time since the start."""

    def processed(self) -> list[int]:
        """See `Counters`."""

    def emitted(self) -> list[int]:
        """See `Counters`."""

    def read(self) -> Counters:
        """Return all counts since the start."""

    def cpu_shares(self, before: Counters, now: Counters) -> tuple[float, float]:
        """Return `Sample.system_cpu` and `Sample.others_cpu` of a period."""

    def looks(self) -> list[int]:
        """Return the looks of the profiler's window that found a thread in each operator; empty
        without a profiler. Called once a sample.
        """

    def time_use(self) -> TimeUse | None:
        """Return what the threads have spent their time on; None if it was not asked to look."""

    def unsuspendable(self) -> int:
        """Return the threads that were asked to suspend a period ago and are not asleep. Called
        once a sample.
        """

    def fills(self) -> list[float]:
        """Return the fill of each queue, 0 .. 1."""

    def called(self) -> list[bool]:
        """Return, by queue, True if it is to be off: its port is called."""

    def switch(self, queues: Sequence[int], on: bool) -> None:
        """Switch queues on or off."""

    def set_level(self, level: int) -> None:
        """Set the level of the pool, not below `layout.minimum_threads`."""

    def balance(self, operator: int) -> tuple[int, bool]:
        """Return the active output ports of a load balance, and if its sender waits for room."""

    def activate(self, operator: int, ports: int) -> None:
        """Set the number of active output ports of a load balance."""

    def replicas(self, operator: int) -> int:
        """Return the number of replicas that an operator is to have."""

    def living_replicas(self, operator: int) -> int:
        """Return the number of its replicas, with those about to leave."""

    def set_replicas(self, operator: int, number: int) -> None:
        """Set the number of replicas of an operator."""

    def is_called_by_operator(self) -> bool:
        """Return True if the caller is an operator of the run, which must not wait for its end."""

    def request_end(self, drain: bool) -> None:
        """Ask for the end of the run and do not wait for it."""

    def add_terms(self, drain: bool, timeout_s: float) -> None:
        """Add the terms of a call of `Engine.stop`, also while another call lets time pass or ends
        the run: the run ends by the strictest terms.
        """

    def end(self) -> Account:
        """End the run by the terms that were added, and return where its tuples are."""
