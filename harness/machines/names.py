"""Names of machines, and of software whose costs a simulated machine has."""

from __future__ import annotations

LOCAL = "local"
"""The machine at hand: real threads, unless its profile is to be simulated."""

DEFAULT_SOFTWARE = "millrace"
"""The software costs of a simulated run, unless others are asked for (config/software/)."""


def machines() -> list[str]:
    """Return the machines to run on: this one, and those described in config/machines."""
    from harness.machines.machine import machine_names

    return [LOCAL, *(name for name in machine_names() if name != LOCAL)]
