"""Machines that a simulated run can run on: profiles in config/machines/, one a file
(docs/reference/machines.md).

  Machine  a profile with its topology

A profile may say more than its topology needs, such as SMT for more hardware threads than a core
has; what it must say follows from the topology and is checked here, as what a schema cannot say.

`NAME:N` is a machine of which a process may use the first N CPUs only, as taskset or a cgroup have
it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.files.checked_yaml import wrong
from harness.files.places import CONFIG
from harness.machines.constants import Profile, above_0, find_profile, profile_names, read_profile

MACHINES = CONFIG / "machines"

LOCAL = "local"
"""The machine at hand: real threads, unless its profile is to be simulated."""

SMT_TABLES = (("core", "smt_fp"), ("core", "smt_mixed"))
"""Throughput of a core by busy hardware threads, relative to one."""

OTHER_TABLES = (("core", "clock_ghz"), ("atomic", "contended"), ("atomic", "cas_factor"))
"""Constants by number of busy cores in a socket, and of threads on a line."""

SHARED_CACHE = "cache.l3"
"""The plain value of the cache that cores share: besides constants, the only number that a run may
replace.
"""

WORKING_SET_KIB = 16
"""Memory of a thread that may be cold after a switch, besides the slots it works on, which are
accounted for as copies: its stack, its code, and the system's data about it [KiB]. A guess: only
its product with `os.refill_us_per_kib` matters."""

MAX_CPUS = 65536


@dataclass(frozen=True)
class Machine(Profile):
    """A described machine. `machine["core.fmul_latency_cycles"]` is a number;
    config/machines/template.yaml has the units.
    """

    sockets: int
    chips_per_socket: int
    cores_per_chip: int
    smt: int
    """Hardware threads of a core."""
    disabled_cores: int

    @property
    def cores(self) -> int:
        """Cores that are switched on."""
        return self.sockets * self.chips_per_socket * self.cores_per_chip - self.disabled_cores

    @property
    def cpus(self) -> int:
        """Number of logical CPUs: the threads that the operating system can run at once."""
        return self.cores * self.smt

    def with_constants(self, replaced: Mapping[str, float]) -> Machine:
        """Return a copy of the machine with other numbers, by path. `cache.l3` may be one of them,
        since a virtual machine's share of it changes.

        Raises UserError as for any profile, and for a shared cache that is smaller than a core's
        own.
        """
        machine = super().with_constants(
            {path: value for path, value in replaced.items() if path != SHARED_CACHE}
        )
        if SHARED_CACHE not in replaced:
            return machine
        size = above_0(SHARED_CACHE, replaced[SHARED_CACHE])
        if size < machine["cache.l2"]:
            raise UserError(
                f"constants: {SHARED_CACHE} must not be smaller than cache.l2, "
                f"{machine['cache.l2']:.0f} bytes, not {size:g}"
            )
        return replace(machine, plain={**machine.plain, SHARED_CACHE: size})

    def restricted(self, cpus: int) -> Machine:
        """Return the part of the machine that a process with `cpus` CPUs can use; for all of them,
        the machine itself.

        Cores come first, socket by socket, with one hardware thread each, so that 16 CPUs are 16
        cores; only with all cores in use come second threads, and so on, of all cores alike. Raises
        UserError for fewer than 1, for more than there are, and for a number that would give some
        cores more threads than others.
        """
        if cpus == self.cpus:
            return self
        if not 1 <= cpus <= self.cpus or (cpus > self.cores and cpus % self.cores):
            more = (
                f", or {self.cores} times a whole number up to {self.smt}" if self.smt > 1 else ""
            )
            raise UserError(
                f"cpus must be from 1 to {self.cores}, the cores of machine {self.name!r}{more}, "
                f"not {cpus}"
            )
        cores = min(cpus, self.cores)
        chips = -(-cores // self.cores_per_chip)
        sockets = -(-chips // self.chips_per_socket)
        chips_per_socket = min(chips, self.chips_per_socket)
        return replace(
            self,
            name=f"{self.name}:{cpus}",
            sockets=sockets,
            chips_per_socket=chips_per_socket,
            disabled_cores=sockets * chips_per_socket * self.cores_per_chip - cores,
            smt=cpus // cores,
        )


def split_cpus(machine: str) -> tuple[str, int | None]:
    """Return the name (or path) of a machine, and how many of its CPUs may be used; None: all."""
    found = re.fullmatch(r"(.+):([0-9]{1,9})", machine)
    return (found[1], int(found[2])) if found else (machine, None)


def for_people(machine: str) -> str:
    """Return a machine's name in words: `xeon`, `xeon with 16 CPUs`."""
    name, cpus = split_cpus(machine)
    return name if cpus is None else f"{name} with {cpus} CPU{'' if cpus == 1 else 's'}"


def machine_names() -> list[str]:
    """Return the machines in config/machines, in order of the alphabet."""
    return profile_names(MACHINES)


def load_machine(name_or_path: str | Path) -> Machine:
    """Return a machine by name, or from a file; `xeon:16` is the xeon with its first 16 CPUs
    (`Machine.restricted`).

    Raises UserError, in one line, for an unknown name, for a file that cannot be read or breaks a
    rule, and for CPUs that a machine does not have.
    """
    if isinstance(name_or_path, str):
        name_or_path, cpus = split_cpus(name_or_path)
        if cpus is not None:
            return load_machine(name_or_path).restricted(cpus)
    path = find_profile("machine", MACHINES, name_or_path)
    values, shared = read_profile(path, "machine", MACHINES)
    topology = {key: int(value) for key, value in values["topology"].items()}
    machine = Machine(**shared, **topology)
    _check_topology(machine)
    _check_distances(machine)
    _check_tables(machine, values)
    _check_caches(machine, values["cache"])
    _check_idle(machine, values["os"])
    return machine


def _check_topology(machine: Machine) -> None:
    if machine.cores < 1:
        rule = f"must be below {machine.cores + machine.disabled_cores}, the number of cores"
        raise wrong(machine.path, ("topology", "disabled_cores"), rule, machine.disabled_cores)
    if machine.cpus > MAX_CPUS:
        raise wrong(
            machine.path, ("topology",), f"must make at most {MAX_CPUS} logical CPUs", machine.cpus
        )


def _check_distances(machine: Machine) -> None:
    """Raise UserError if a machine with several chips or sockets lacks a constant for the distance
    between them.
    """
    needed: dict[str, str] = {}
    if machine.chips_per_socket > 1:
        module = (
            "transfer.load.same_module",
            "transfer.rmw.same_module",
            "copy.bandwidth.modified_same_module",
        )
        needed |= dict.fromkeys(module, f"{machine.chips_per_socket} chips a socket")
    if machine.sockets > 1:
        between = "transfer.load.other_socket", "transfer.rmw.other_socket"
        copied = "copy.bandwidth.modified_other_socket", "copy.bandwidth.dram_remote"
        needed |= dict.fromkeys(between + copied, f"{machine.sockets} sockets")
    for path, why in needed.items():
        if path not in machine.constants:
            raise UserError(f"{machine.path}: {path}: missing key: the machine has {why}")


def _check_tables(machine: Machine, values: Mapping[str, Any]) -> None:
    """Raise UserError for a wrong table: each begins with 1; those of hardware threads have all
    threads of a core, and the clock's has no more cores than a socket.
    """
    for room, key in (*OTHER_TABLES, *SMT_TABLES):
        if "1" not in values[room][key]:
            raise wrong(
                machine.path,
                (room, key),
                "must begin with 1",
                [int(step) for step in values[room][key]],
            )
    for room, key in SMT_TABLES:
        table = machine.table(f"{room}.{key}")
        if not table.keys() >= set(range(1, machine.smt + 1)):
            raise wrong(
                machine.path,
                (room, key),
                f"must have each of 1 to {machine.smt} hardware threads",
                list(table),
            )
        if table[1] != 1:
            raise wrong(
                machine.path,
                (room, key, "1", "value"),
                "must be 1, as all others are relative to it",
                table[1],
            )
    cores = machine.chips_per_socket * machine.cores_per_chip
    most = max(machine.table("core.clock_ghz"))
    if most > cores:
        raise wrong(
            machine.path,
            ("core", "clock_ghz"),
            f"must be of 1 to {cores} busy cores, those of a socket",
            most,
        )


def _check_caches(machine: Machine, cache: Mapping[str, Any]) -> None:
    line = int(cache["line"])
    if line & (line - 1):
        raise wrong(machine.path, ("cache", "line"), "must be a power of two", line)
    for inner, outer in (("line", "l1d"), ("l1d", "l2"), ("l2", "l3")):
        if cache[outer] < cache[inner]:
            rule = f"must not be smaller than {inner}, {cache[inner]} bytes"
            raise wrong(machine.path, ("cache", outer), rule, cache[outer])


def _check_idle(machine: Machine, system: Mapping[str, Any]) -> None:
    """Check that each idle state has an exit time and a residency."""
    for one, other in (
        ("idle_exit_us", "idle_residency_us"),
        ("idle_residency_us", "idle_exit_us"),
    ):
        for state in system[one]:
            if state not in system[other]:
                raise UserError(f"{machine.path}: os.{other}.{state}: missing key: os.{one} has it")


def machines() -> list[str]:
    """Return the machines to run on: this one, and those described in config/machines."""
    return [LOCAL, *(name for name in machine_names() if name != LOCAL)]
