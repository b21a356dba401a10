"""Software costs of simulated runs: profiles in config/software/, one a file
(docs/reference/machines.md).

Software  what each step of a runtime costs, and which algorithms it has; apart from the machine, so
          that either may be changed
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.files.places import CONFIG
from harness.machines.constants import Profile, find_profile, profile_names, read_profile

SOFTWARE = CONFIG / "software"

DEFAULT_SOFTWARE = "millrace"
"""The software costs of a simulated run, unless others are asked for."""

BACK_OFF = ("back_off_first_ns", "back_off_factor", "back_off_most_ms")
"""Constants that a runtime must have if its idle threads wait for a while and look again."""


@dataclass(frozen=True)
class Software(Profile):
    """A described runtime. `software["cost.push_batch"]` is in ns on the reference core; the schema
    describes each.
    """

    def split(self, constants: Mapping[str, float]) -> tuple[dict[str, float], dict[str, float]]:
        """Split numbers by path: those of a machine, and those of this profile."""
        mine = {path: value for path, value in constants.items() if path in self.constants}
        return {path: value for path, value in constants.items() if path not in mine}, mine

    def scale(self, clock_ghz: float, ipc: float) -> float:
        """Return the duration of a step on a core of that clock [GHz] and instructions in a cycle,
        relative to Broadwell.
        """
        return self["reference.clock_ghz"] * self["reference.ipc"] / (clock_ghz * ipc)


def software_names() -> list[str]:
    """Return the profiles in config/software, in order of the alphabet."""
    return profile_names(SOFTWARE)


def load_software(name_or_path: str | Path) -> Software:
    """Return a profile by name, or from a file.

    Raises UserError, in one line, for an unknown name and for a file that cannot be read or breaks
    a rule.
    """
    path = find_profile("software", SOFTWARE, name_or_path)
    values, shared = read_profile(path, "software", SOFTWARE)
    if values["how"]["idle"] == "back_off":
        for key in BACK_OFF:
            if key not in values["how"]:
                raise UserError(f"{path}: how.{key}: missing key: idle threads back off")
    return Software(**shared)
