"""Place of a run: this machine's threads, or a described machine in virtual time.

A described machine has a profile in config/machines/ and is always simulated. `local` is both: this
machine's real threads, or, if asked for, a simulation of its calibrated profile. Of a simulated
machine a run may be allowed some CPUs only: `xeon:16`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.graph.values import MAX_THREADS
from harness.machines.host.cpu import allowed_cpus
from harness.machines.machine import LOCAL, machines, split_cpus
from harness.machines.software import DEFAULT_SOFTWARE

if TYPE_CHECKING:
    from harness.machines.machine import Machine
    from harness.machines.software import Software


@dataclass(frozen=True)
class Place:
    """A machine, and the software costs of a simulated one. `software` is "" for real threads."""

    machine: str = LOCAL
    simulated: bool = False
    software: str = ""

    @property
    def label(self) -> str:
        """Label of the place in names of files, without a colon (Hadoop takes it for the end of a
        protocol): "" for real threads, else `xeon`, `xeon+16-cpus`, `xeon+streams-4.2`,
        `local+simulated`.
        """
        if not self.simulated:
            return ""
        name, cpus = split_cpus(self.machine)
        parts = [
            name,
            *(["simulated"] if name == LOCAL else []),
            *([f"{cpus}-cpus"] if cpus else []),
        ]
        return "+".join([*parts, *([self.software] if self.software != DEFAULT_SOFTWARE else [])])

    @property
    def cpus(self) -> int:
        """CPUs that a run can use: those that this process may use, or all of the described
        machine.
        """
        return min(self.described().cpus, MAX_THREADS) if self.simulated else allowed_cpus()

    @property
    def digests(self) -> tuple[str, str]:
        """Digests of the machine's profile and of the software's: simulated results with other
        digests are out of date.
        """
        return (self.described().digest, self.costs().digest) if self.simulated else ("", "")

    @property
    def uncertain(self) -> Mapping[str, tuple[float, float]]:
        """Constants of machine and software that a sensitivity study varies, with the ends of their
        ranges: those that are not measured there, and those of the sweeps. Empty for real threads.
        """
        if not self.simulated:
            return {}
        return self.described().uncertain | self.costs().uncertain

    def described(self) -> Machine:
        """Return the profile of a simulated place's machine. Raises UserError for one that cannot
        be read.
        """
        return _machine(self.machine)

    def costs(self) -> Software:
        """Return the profile of a simulated place's software. Raises UserError as above."""
        return _software(self.software)

    def check_levels(self, threads: int | None, maximum: int | None) -> None:
        """Raise UserError for more scheduler threads than a simulated machine has CPUs: it is
        described up to these only.
        """
        for name, level in (("threads", threads), ("maximum", maximum)):
            if self.simulated and level is not None and level > self.cpus:
                raise UserError(
                    f"{name} must be at most {self.cpus}, the CPUs of machine {self.machine!r}, "
                    f"not {level}"
                )

    def check_constants(self, constants: Mapping[str, float]) -> None:
        """Raise UserError for constants that neither machine nor software has, or cannot have
        so.
        """
        if constants and not self.simulated:
            raise UserError(
                "constants apply to simulated machines only, not to real threads: "
                f"{', '.join(constants)}"
            )
        if constants:
            of_machine, of_software = self.costs().split(constants)
            self.described().with_constants(of_machine)
            self.costs().with_constants(of_software)


def check_name(name: str) -> None:
    """Raise UserError for a text that cannot name a real machine in records and folders."""
    if name in machines():
        raise UserError(f"a machine is described under the name {name!r}; choose another one")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{0,39}", name):
        raise UserError(
            "the name of a machine must have 1 to 40 letters, digits, dots and hyphens, not "
            f"{name[:60]!r}"
        )


def find_place(
    machine: str = LOCAL, simulated: bool = False, software: str = "", cpus: int | None = None
) -> Place:
    """Return the place that these words name; `cpus`: use this many CPUs of a simulated machine, as
    `xeon:16` does.

    Raises UserError for an unknown machine or software, for CPUs that it does not have, and for
    either of real threads.
    """
    simulated = simulated or machine != LOCAL
    if not simulated:
        if software:
            raise UserError(
                f"software applies to simulated machines only, not to real threads: {software!r}"
            )
        if cpus is not None:
            raise UserError(
                "cpus applies to simulated machines only, not to real threads, which taskset "
                f"restricts: {cpus}"
            )
        return Place()
    name, said = split_cpus(machine)
    known = machines()
    if name not in known:
        raise UserError(
            f"machine {machine!r} is unknown{did_you_mean(machine, known)}; machines are: "
            f"{', '.join(known)}"
        )
    if None not in (said, cpus):
        raise UserError(
            f"machine {machine!r} says already how many CPUs it has, so that cpus must not say it "
            f"too: {cpus}"
        )
    asked = cpus if said is None else said
    place = Place(name if asked is None else f"{name}:{asked}", True, software or DEFAULT_SOFTWARE)
    place.costs()
    # with all its CPUs it is the machine itself
    return replace(place, machine=place.described().name)


@lru_cache
def _machine(name: str) -> Machine:
    from harness.machines.machine import load_machine

    return load_machine(name)


@lru_cache
def _software(name: str) -> Software:
    from harness.machines.software import load_software

    return load_software(name)
