"""What typed operators cost and send, as a run on this machine has shown: with that they can be simulated on any other.

The run (harness/measurement/profiling.py) is under the manual model, where one thread does all and nothing waits. The profiler
(M19 §3) says which share of the thread's CPU time each operator took, the functions of the runtime that hand on its tuples
included, and the runtime counts what each sent. On a described machine a tuple takes as much longer as that machine executes
fewer instructions a second.

Means are all that is kept. An operator that sends a lot at once and then nothing sends evenly when it is simulated, whichever
input port its tuples come by. Simulated slots are of one size: the mean over all streams, by their tuples.
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
    """By operator, in the graph's order: what a tuple takes [ns], and how many tuples it sends for it, by output port."""

    cpu: str  # that it ran on
    cost_ns: tuple[float, ...]
    sends: tuple[tuple[float, ...], ...]
    tuples: tuple[int, ...]  # that each operator took meanwhile

    def on(self, machine: Machine) -> Profiled:
        """The same with what a tuple takes on a machine."""
        from harness.machines.machine import load_machine

        here, there = (
            max(each.table("core.clock_ghz").values()) * each["core.ipc"] for each in (load_machine("local"), machine)
        )
        return replace(self, cost_ns=tuple(cost * here / there for cost in self.cost_ns))

    def stride(self, strides: Sequence[Sequence[int]]) -> int:
        """Bytes of a slot: the mean over the streams, by their tuples."""
        weights = [
            (stride, count * sends)
            for outputs, all_sends, count in zip(strides, self.sends, self.tuples, strict=True)
            for stride, sends in zip(outputs, all_sends, strict=True)
        ]
        total = sum(weight for _, weight in weights)
        return max(32, round(sum(stride * weight for stride, weight in weights) / total / 8) * 8) if total > 0 else 64

    @property
    def digest(self) -> str:
        """Of the whole."""
        return hashlib.sha256(json.dumps(asdict(self)).encode()).hexdigest()[:12]

    def summary(self) -> dict[str, Any]:
        """For the record of a run: where it was taken, and what a tuple of a source takes in all its operators [ns]."""
        sources = [count for count, sends in zip(self.tuples, self.sends, strict=True) if count and sum(sends) > 0]
        spent = sum(cost * count for cost, count in zip(self.cost_ns, self.tuples, strict=True))
        return {"cpu": self.cpu, "digest": self.digest, "tuple_ns": spent / sources[0] if sources else 0.0}
