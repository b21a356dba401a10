"""Described machines for tests that need no profile: `xeon` with 176 CPUs, `power8` with 184,
`local` with 2. Of each of them any number of CPUs may be used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

import harness.machines.place
from harness.errors import UserError
from harness.machines.machine import split_cpus
from harness.machines.place import Place

CPUS = {"local": 2, "xeon": 176, "power8": 184}
SWEEP = {"atomic.fence": (4.0, 9.0), "os.wake_us": (1.0, 5.0)}
SOFTWARE = ("millrace", "streams-4.2")


@dataclass(frozen=True)
class Described:
    """Stand-in for a machine's profile, with what `harness.machines.place` needs of it."""

    name: str
    cpus: int
    uncertain: Mapping[str, tuple[float, float]]
    digest: str = "0123456789ab"

    def get(self, path: str, default: float | None = None) -> float | None:
        """The default: it has no constants."""
        return default

    def __getitem__(self, path: str) -> float:
        """The constants by which a FLOP takes 1 ns."""
        return {"core.fmul_latency_cycles": 4.0}[path]

    def table(self, path: str) -> Mapping[int, float]:
        """The clock [GHz] by which a FLOP takes 1 ns."""
        return {"core.clock_ghz": {1: 4.0, 2: 3.5}}[path]

    def with_constants(self, constants: Mapping[str, float]) -> Described:
        """Itself; refuses what is not uncertain."""
        for path in constants:
            if path not in self.uncertain:
                raise UserError(f"machine {self.name!r} has no constant {path!r}")
        return self


@dataclass(frozen=True)
class DescribedCosts:
    """Stand-in for a software's profile: all constants are the machine's."""

    name: str
    digest: str = "ba9876543210"
    uncertain: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def get(self, path: str, default: object = None) -> object:
        """The default: it has no numbers."""
        return default

    def split(
        self, constants: Mapping[str, float]
    ) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """The machine's, and none."""
        return constants, {}

    def with_constants(self, constants: Mapping[str, float]) -> DescribedCosts:
        """Itself."""
        return self


def describe(monkeypatch: pytest.MonkeyPatch, digest: str = "0123456789ab") -> None:
    """From now on there are these machines, and no other ones."""

    def costs(place: Place) -> DescribedCosts:
        if place.software not in SOFTWARE:
            raise UserError(f"software {place.software!r} is unknown")
        return DescribedCosts(place.software)

    monkeypatch.setattr(harness.machines.place, "machines", lambda: list(CPUS))

    def described(place: Place) -> Described:
        name, cpus = split_cpus(place.machine)
        if cpus is not None and not 1 <= cpus <= CPUS[name]:
            raise UserError(f"cpus must be from 1 to {CPUS[name]}, not {cpus}")
        return Described(
            name if cpus in (None, CPUS[name]) else place.machine, cpus or CPUS[name], SWEEP, digest
        )

    monkeypatch.setattr(Place, "described", described)
    monkeypatch.setattr(Place, "costs", costs)
