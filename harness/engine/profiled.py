"""Measured costs and output rates of users' operators: with these they can be simulated on any
machine.

The run that measures them (harness/measurement/profiling.py) has one thread that executes all
operators. The profiler (M19 §3) gives each operator's share of the thread's CPU time, including the
functions of the runtime that pass on its tuples, and the runtime counts the tuples that each sent.
On a described machine a tuple takes longer in proportion as that machine executes fewer
instructions a second.

Only means are kept. An operator that sends in bursts sends evenly when it is simulated, whichever
input port its tuples come by. Simulated slots have one size: the mean over all streams, weighted by
their tuples.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.machines.machine import Machine


@dataclass(frozen=True)
class Profiled:
    """Cost of a tuple [ns] by operator, in the graph's order, and the tuples sent for it, by output
    port.
    """

    cpu: str  # name of the CPU that it ran on
    cost_ns: tuple[float, ...]
    sends: tuple[tuple[float, ...], ...]
    tuples: tuple[int, ...]  # that each operator took meanwhile
    # the interpreter let one thread at a time execute Python (PEP 703)
    interpreter_lock: bool = True

    def on(self, machine: Machine) -> Profiled:
        """Return a copy with the costs scaled to a machine."""
        from harness.machines.machine import load_machine

        here, there = (
            max(each.table("core.clock_ghz").values()) * each["core.ipc"]
            for each in (load_machine("local"), machine)
        )
        return replace(self, cost_ns=tuple(cost * here / there for cost in self.cost_ns))

    def stride(self, strides: Sequence[Sequence[int]]) -> int:
        """Return the bytes of a slot: the mean over the streams, weighted by their tuples."""
        weights = [
            (stride, count * sends)
            for outputs, all_sends, count in zip(strides, self.sends, self.tuples, strict=True)
            for stride, sends in zip(outputs, all_sends, strict=True)
        ]
        total = sum(weight for _, weight in weights)
        return (
            max(32, round(sum(stride * weight for stride, weight in weights) / total / 8) * 8)
            if total > 0
            else 64
        )

    @property
    def digest(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of all fields."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:12]

    def summary(self) -> dict[str, Any]:
        """Return the entry for a run's record: the CPU, the digest, and the time of a source's
        tuple in all operators [ns].
        """
        sources = [
            count
            for count, sends in zip(self.tuples, self.sends, strict=True)
            if count and sum(sends) > 0
        ]
        spent = sum(cost * count for cost, count in zip(self.cost_ns, self.tuples, strict=True))
        return {
            "cpu": self.cpu,
            "digest": self.digest,
            "tuple_ns": spent / sources[0] if sources else 0.0,
        }
