"""Costs of a machine and a runtime that the surface needs, from their profiles (config/machines,
config/software).

A world has its own number of CPUs: cores like those of its machine, in sockets of the same size.
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
# Share of the CPUs' work that is lost for each further thread a CPU: a guess, not tuned.
OVERSUBSCRIBED = 0.06
# Share by which a lock or region lasts longer for each further thread a CPU: a guess, not tuned.
LONGER_PER_THREAD = 0.3


@dataclass(frozen=True)
class QueueWorld:
    """Machine with `cpus` CPUs, `smt` of them a core, and a runtime on it."""

    machine: str = "xeon"
    software: str = "millrace"
    cpus: int = 16
    smt: int = 1
    constants: tuple[tuple[str, float], ...] = ()  # of the machine, by path, in place of its own

    @property
    def cores(self) -> int:
        """Number of cores."""
        return max(1, self.cpus // self.smt)

    @property
    def batch(self) -> int:
        """Most tuples that the runtime moves at once."""
        return int(load_software(self.software)["how.batch"])


class Prices:
    """Costs of a world [ns, GB/s, bytes]."""

    def __init__(self, world: QueueWorld) -> None:
        self.world = world
        self.machine, self.software = _profiles(world.machine, world.software, world.constants)
        machine, software = self.machine, self.software
        per_socket = machine.chips_per_socket * machine.cores_per_chip
        self.per_socket = per_socket if machine.sockets > 1 else max(per_socket, world.cores)
        self.sockets = math.ceil(world.cores / self.per_socket)
        clock = machine.table("core.clock_ghz")
        self._clock = np.array(list(clock)), np.array(list(clock.values()))
        # ns, with one core busy
        self.flop = machine["core.fmul_latency_cycles"] / self._clock[1][0]
        self.overlap = software["cost.flop_overlap"]
        self.smt_gain = (
            _at(machine.table("core.smt_mixed"), world.smt) - 1.0 if world.smt > 1 else 0.0
        )
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
        """Return the time of operators for a tuple that is called into them [ns], without calls,
        queues and locks."""
        return self.cost["call_tuple"] + self.flop * flop / self.overlapped(flop)

    def overlapped(self, flop: Array) -> Array:
        """Return how many tuples of a batch are worked on at once, as the schema defines it."""
        return np.where(flop < COPY_FLOP, self.overlap, 1.0)

    def capacity(self, places: int, stride: int, cheap: bool) -> int:
        """Return the capacity of a scheduled queue [tuples]: that of the software, or by the rule
        of `models`."""
        return int(
            self.software["how.queue_capacity"] or scheduled_capacity(max(1, places), stride, cheap)
        )

    def threaded_capacity(self, stride: int) -> int:
        """Return the capacity of a queue with a thread of its own [tuples]."""
        return int(self.software["how.queue_capacity"] or threaded_capacity(stride))

    def clock(self, busy: Array) -> Array:
        """Return the clock of a core, relative to one that is busy alone."""
        spread = np.minimum(busy, self.world.cores) / self.sockets
        return np.interp(spread, *self._clock) / self._clock[1][0]

    def power(self, busy: Array, others: float) -> Array:
        """Return the power of `busy` threads, in units of a thread that runs alone.

        Threads use cores first, then the further hardware threads of the cores, then they take
        turns.
        """
        cores, cpus = self.world.cores * (1.0 - others), self.world.cpus * (1.0 - others)
        work = np.minimum(busy, cores) + self.smt_gain * np.clip(busy - cores, 0.0, cpus - cores)
        return work * self.clock(busy) / (1.0 + OVERSUBSCRIBED * np.maximum(0.0, busy / cpus - 1.0))

    def late(self, workers: Array, others: float) -> Array:
        """Return the factor by which serial work lasts longer if its thread has to share its
        CPU.
        """
        return 1.0 + LONGER_PER_THREAD * np.minimum(
            2.0, np.maximum(0.0, workers / (self.world.cpus * (1.0 - others)) - 1.0)
        )

    def remote(self, busy: Array) -> Array:
        """Return the odds that data of another thread is in another socket; threads fill one socket
        after the other."""
        used = np.clip(
            np.ceil(np.minimum(busy, self.world.cores) / self.per_socket), 1, self.sockets
        )
        return 1.0 - 1.0 / used

    def bandwidth(self, footprint: Array, threads: Array) -> Array:
        """Return the bandwidth of a copy into queues [bytes/ns], by the cache that they fit into.

        `footprint`: bytes of all queues together, which `threads` threads work on.
        """
        machine = self.machine
        own = footprint / threads
        third = machine["cache.l3"] * self.sockets
        steps = np.log2([machine["cache.l1d"], machine["cache.l2"], 2 * machine["cache.l2"]])
        near = [machine[f"copy.bandwidth.{name}"] for name in ("own_l1", "own_l2", "l3")]
        cached = np.interp(np.log2(own), steps, near)
        spilt = np.interp(np.log2(footprint), np.log2([0.7 * third, 3.0 * third]), [0.0, 1.0])
        return 1.0 / ((1.0 - spilt) / cached + spilt / machine["copy.bandwidth.dram_local"])


@functools.cache
def _profiles(
    machine: str, software: str, constants: tuple[tuple[str, float], ...]
) -> tuple[Machine, Software]:
    return load_machine(machine).with_constants(dict(constants)), load_software(software)


def _at(table: Mapping[int, float], number: int) -> float:
    return table[number] if number in table else table[max(table)]
