"""Topology of the CPUs that this process may use: their sockets, chips, cores and caches, from
sysfs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from harness.machines.host.cgroup import ROOT, read_text
from harness.machines.host.cpu import allowed_cpu_numbers

SAME_CORE = "same_core"
SAME_CHIP = "same_chip"
SAME_MODULE = "same_module"
OTHER_SOCKET = "other_socket"

PLAUSIBLE = {
    "line": (16, 1024),
    "l1d": (4 << 10, 1 << 20),
    "l2": (64 << 10, 64 << 20),
    "l3": (256 << 10, 4 << 30),
}
"""Sizes of caches that we believe [bytes]: hypervisors tell what they like."""


@dataclass(frozen=True)
class Cpu:
    """A logical CPU and where it is."""

    number: int
    socket: int
    chip: int
    core: int


@dataclass(frozen=True)
class Caches:
    """Sizes [bytes], and the CPUs that share a third-level cache: those of a chip, socket or
    machine.
    """

    line: int
    l1d: int
    l2: int
    l3: int
    l3_shared_by: str


@dataclass(frozen=True)
class Host:
    """The CPUs that this process may use, by number, and their caches: None if the system reports
    none, or implausible ones.
    """

    cpus: tuple[Cpu, ...]
    caches: Caches | None

    @classmethod
    def here(cls, root: Path = ROOT) -> Host:
        """Read the topology of this host."""
        numbers = sorted(allowed_cpu_numbers())
        return cls(tuple(_cpu(root, number) for number in numbers), _caches(root, numbers[0]))

    @property
    def cores(self) -> list[list[Cpu]]:
        """The CPUs of each core."""
        cores: dict[tuple[int, int, int], list[Cpu]] = {}
        for cpu in self.cpus:
            cores.setdefault((cpu.socket, cpu.chip, cpu.core), []).append(cpu)
        return list(cores.values())

    @property
    def numbers(self) -> list[int]:
        """All CPUs, one of each core before the second of any."""
        cores = self.cores
        rows = (
            [core[place].number for core in cores if place < len(core)]
            for place in range(max(map(len, cores)))
        )
        return [number for row in rows for number in row]

    def topology(self) -> dict[str, int]:
        """Return the topology as a machine profile has it. Cores that only some chips have count as
        disabled in the others.
        """
        chips = Counter((core[0].socket, core[0].chip) for core in self.cores)
        sockets = Counter(socket for socket, _ in chips)
        built = len(sockets) * max(sockets.values()) * max(chips.values())
        return {
            "sockets": len(sockets),
            "chips_per_socket": max(sockets.values()),
            "cores_per_chip": max(chips.values()),
            "smt": max(map(len, self.cores)),
            "disabled_cores": built - len(self.cores),
        }

    def pairs(self) -> dict[str, list[int]]:
        """Return two CPUs for each distance that occurs between two of them."""
        found: dict[str, list[int]] = {}
        for one, other in combinations(self.cpus, 2):
            found.setdefault(distance(one, other), [one.number, other.number])
        return found

    def nearest(self) -> tuple[str, list[int]] | None:
        """Return the shortest distance between two cores, and two CPUs that far apart; None where
        there is one core.
        """
        pairs = self.pairs()
        return next(
            ((far, pairs[far]) for far in (SAME_CHIP, SAME_MODULE, OTHER_SOCKET) if far in pairs),
            None,
        )


def distance(one: Cpu, other: Cpu) -> str:
    """Return the distance between two CPUs: the smallest unit that they share."""
    if one.socket != other.socket:
        return OTHER_SOCKET
    if one.chip != other.chip:
        return SAME_MODULE
    return SAME_CHIP if one.core != other.core else SAME_CORE


def _cpu(root: Path, number: int) -> Cpu:
    """Return a CPU with its place. If the system reports none, every CPU is a core of one chip. A
    part of a die with its own third-level cache is a chip.
    """
    cpu = root / f"sys/devices/system/cpu/cpu{number}"
    place = cpu / "topology"
    # the system writes -1 for what it does not know
    socket, chip = (max(0, _whole(place / name, 0)) for name in ("physical_package_id", "die_id"))
    sharers = _l3_sharers(cpu)
    if number in sharers and sharers < (_die(cpu) or _package(cpu)):
        chip = min(sharers)
    return Cpu(number, socket, chip, _whole(place / "core_id", number))


def _caches(root: Path, number: int) -> Caches | None:
    cpu = root / f"sys/devices/system/cpu/cpu{number}"
    sizes: dict[str, int] = {}
    for cache in sorted((cpu / "cache").glob("index*")):
        kind, level = read_text(cache / "type"), _whole(cache / "level", 0)
        if kind == "Instruction" or level not in (1, 2, 3):
            continue
        name = "l1d" if level == 1 else f"l{level}"
        sizes[name] = _bytes(read_text(cache / "size"))
        sizes["line"] = _whole(cache / "coherency_line_size", 0)
    if not all(low <= sizes.get(name, 0) <= high for name, (low, high) in PLAUSIBLE.items()):
        return None
    if not sizes["line"] <= sizes["l1d"] <= sizes["l2"] <= sizes["l3"]:
        return None
    sharers, die, package = _l3_sharers(cpu), _die(cpu), _package(cpu)
    of_a_chip = sharers <= die if die else sharers < package
    return Caches(
        **sizes,
        l3_shared_by="chip"
        if of_a_chip
        else "socket"
        if package and sharers <= package
        else "machine",
    )


def _l3_sharers(cpu: Path) -> set[int]:
    """Return the CPUs that share a CPU's third-level cache; empty if the system does not report
    them.
    """
    lists = [
        read_text(cache / "shared_cpu_list")
        for cache in (cpu / "cache").glob("index*")
        if _whole(cache / "level", 0) == 3
    ]
    return cpu_list(lists[0] or "") if lists else set()


def _die(cpu: Path) -> set[int]:
    return cpu_list(read_text(cpu / "topology/die_cpus_list") or "")


def _package(cpu: Path) -> set[int]:
    """Return the CPUs of its socket, under the file's name of today or of old."""
    return cpu_list(
        read_text(cpu / "topology/package_cpus_list")
        or read_text(cpu / "topology/core_siblings_list")
        or ""
    )


def cpu_list(text: str) -> set[int]:
    """Return the numbers in a list such as `0-3,8`."""
    numbers: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def _whole(path: Path, unknown: int) -> int:
    text = read_text(path)
    return int(text) if text is not None and text.removeprefix("-").isdecimal() else unknown


def _bytes(text: str | None) -> int:
    """Return the bytes in a text such as `48K`; 0 if there is none."""
    units: Sequence[tuple[str, int]] = (("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30))
    for unit, size in units:
        if text is not None and text.endswith(unit) and text[:-1].isdecimal():
            return int(text[:-1]) * size
    return int(text) if text is not None and text.isdecimal() else 0
