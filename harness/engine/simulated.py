"""The engine of a simulated run: it can also let events pass, and count from a later time."""

from __future__ import annotations

from typing import Any, Protocol

from harness.engine.core import Core
from harness.engine.engine import Engine
from harness.engine.sample import Sample
from harness.errors import UserError


class VirtualCore(Core, Protocol):
    """Runs a graph in virtual time."""

    def let_events_pass(self, events: int) -> None:
        """Let a number of events happen; returns early if the run ends."""

    def begin_here(self) -> None:
        """Count `time_s` from now on."""

    def entry(self) -> dict[str, Any]:
        """Return the entry of a simulated run's record."""


class SimulatedEngine(Engine):
    """Simulates one graph once; its time is virtual."""

    core: VirtualCore

    @property
    def simulation(self) -> dict[str, Any]:
        """Entry of a simulated run's record."""
        return self.core.entry()

    @property
    def phased(self) -> bool:
        """True if the behaviour depends on the time so far: rates change with time, or costs with
        the number of tuples.
        """
        return any(operator.rates or operator.costs for operator in self.layout.operators)

    def sample_events(self, events: int) -> Sample:
        """Sample a period that lasts for a number of events: for runs whose time scale is not known
        beforehand.

        Raises UserError for a number of events that is not above 0.
        """
        if not isinstance(events, int) or isinstance(events, bool) or events < 1:
            raise UserError(f"events must be a whole number above 0, not {events!r}")
        return self._sample("sample_events", lambda: self.core.let_events_pass(events))

    def begin_here(self) -> None:
        """End the warm-up: samples count time from now on."""
        self._check("begin_here")
        with self._alone:
            self.core.begin_here()
            self._before = self.core.read()
