"""What a machine and a runtime cost, as far as the surface asks: numbers of their profiles (config/machines, config/software).

A world has as many CPUs as asked for, whatever its machine has: cores like those of the machine, in sockets as large as its.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.machines.machine import Machine, load_machine
from harness.machines.software import Software, load_software
from harness.models import COPY_FLOP, scheduled_capacity, threaded_capacity

Array = npt.NDArray[np.float64]

HEADER = 64  # bytes of a tuple besides its payload: a cache line
OVERSUBSCRIBED = 0.06  # of the CPUs' work lost for each time they are asked for once more: a guess, not tuned
LATE = 0.3  # by how much longer a lock or region lasts for each time the CPUs are asked for once more: a guess, not tuned


@dataclass(frozen=True)
class World:
    """A machine with `cpus` CPUs, `smt` of them a core, and a runtime on it."""

    machine: str = "xeon"
    software: str = "millrace"
    cpus: int = 16
    smt: int = 1
    constants: tuple[tuple[str, float], ...] = ()  # of the machine, by path, in place of its own

    @property
    def cores(self) -> int:
        """Of them, that is."""
        return max(1, self.cpus // self.smt)

    @property
    def batch(self) -> int:
        """Tuples that the runtime moves at once."""
        return int(load_software(self.software)["how.batch"])


class Prices:
    """The numbers of a world [ns, GB/s, bytes]."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.machine, self.software = _profiles(world.machine, world.software, world.constants)
        machine, software = self.machine, self.software
        per_socket = machine.chips_per_socket * machine.cores_per_chip
        self.per_socket = per_socket if machine.sockets > 1 else max(per_socket, world.cores)
        self.sockets = math.ceil(world.cores / self.per_socket)
        clock = machine.table("core.clock_ghz")
        self._clock = np.array(list(clock)), np.array(list(clock.values()))
        self.flop = machine["core.fmul_latency_cycles"] / self._clock[1][0]  # ns, with one core busy
        self.overlap = software["cost.flop_overlap"]
        self.smt_gain = _at(machine.table("core.smt_mixed"), world.smt) - 1.0 if world.smt > 1 else 0.0
        scale = software.scale(self._clock[1][0], machine["core.ipc"])
        self.batch = int(software["how.batch"])
        self.walks = software["how.finds_work"] == "walk"
        self.cost = {name: scale * value for name, value in software.named("cost").items()}
        contended = machine.table("atomic.contended")
        factor = machine.table("atomic.cas_factor")
        threads = np.arange(1025)
        self.contended = np.interp(threads, list(contended), list(contended.values())) * np.interp(
            threads, list(factor), list(factor.values())
        )
        same = machine["transfer.rmw.same_chip"]
        self.transfer = same, machine.get("transfer.rmw.other_socket", same)
        near = machine["copy.bandwidth.modified_same_chip"]
        self.read = near, machine.get("copy.bandwidth.modified_other_socket", near)
        self.switch_ns = 1e3 * machine["os.switch_us"]
        self.wake_ns = 1e3 * machine["os.wake_us"]
        self.memory = machine["copy.socket_dram"] * self.sockets

    def work(self, flop: Array) -> Array:
        """What operators need for a tuple that is called into them [ns], besides calls, queues and locks."""
        return self.cost["call_tuple"] + self.flop * flop / self.overlapped(flop)

    def overlapped(self, flop: Array) -> Array:
        """How many tuples of a batch are worked on at once, as the schema has it."""
        return np.where(flop < COPY_FLOP, self.overlap, 1.0)

    def capacity(self, places: int, stride: int, cheap: bool) -> int:
        """Tuples a scheduled queue holds, as the software has it or by the rule of `models`."""
        return int(self.software["how.queue_capacity"] or scheduled_capacity(max(1, places), stride, cheap))

    def threaded_capacity(self, stride: int) -> int:
        """The same of a queue with a thread of its own."""
        return int(self.software["how.queue_capacity"] or threaded_capacity(stride))

    def clock(self, busy: Array) -> Array:
        """Of a core, relative to one that is busy alone."""
        spread = np.minimum(busy, self.world.cores) / self.sockets
        return np.interp(spread, *self._clock) / self._clock[1][0]

    def power(self, busy: Array, others: float) -> Array:
        """Work of `busy` threads at once, in threads that run alone: cores, then their further hardware threads, then turns."""
        cores, cpus = self.world.cores * (1.0 - others), self.world.cpus * (1.0 - others)
        work = np.minimum(busy, cores) + self.smt_gain * np.clip(busy - cores, 0.0, cpus - cores)
        return work * self.clock(busy) / (1.0 + OVERSUBSCRIBED * np.maximum(0.0, busy / cpus - 1.0))

    def late(self, workers: Array, others: float) -> Array:
        """How much longer anything serial lasts where its thread has to share its CPU."""
        return 1.0 + LATE * np.minimum(2.0, np.maximum(0.0, workers / (self.world.cpus * (1.0 - others)) - 1.0))

    def remote(self, busy: Array) -> Array:
        """Odds that what another thread wrote lies in another socket: threads fill one after the other."""
        used = np.clip(np.ceil(np.minimum(busy, self.world.cores) / self.per_socket), 1, self.sockets)
        return 1.0 - 1.0 / used

    def bandwidth(self, footprint: Array, threads: Array) -> Array:
        """Of a copy into queues of so many bytes all together, `threads` at work on them [bytes/ns]: by where they fit."""
        machine = self.machine
        own = footprint / threads
        third = machine["cache.l3"] * self.sockets
        steps = np.log2([machine["cache.l1d"], machine["cache.l2"], 2 * machine["cache.l2"]])
        near = [machine[f"copy.bandwidth.{name}"] for name in ("own_l1", "own_l2", "l3")]
        cached = np.interp(np.log2(own), steps, near)
        spilt = np.interp(np.log2(footprint), np.log2([0.7 * third, 3.0 * third]), [0.0, 1.0])
        return 1.0 / ((1.0 - spilt) / cached + spilt / machine["copy.bandwidth.dram_local"])


@functools.cache
def _profiles(machine: str, software: str, constants: tuple[tuple[str, float], ...]) -> tuple[Machine, Software]:
    return load_machine(machine).with_constants(dict(constants)), load_software(software)


def _at(table: Mapping[int, float], number: int) -> float:
    return table[number] if number in table else table[max(table)]
