"""A peer's program as an engine: the code that measures our own runs measures it too, by the same
rules.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from harness.engine import Sample, Totals
from harness.engine.conservation import of_tuples
from harness.errors import RunFailed
from harness.graph import Graph
from harness.graph.kinds import SINK, SOURCE, SPLIT
from harness.machines.host.cpu import CpuCounters, allowed_cpu_numbers, others_share, system_share
from harness.measurement.cpu_use import Disturbance
from harness.peers.counts import Counts, Ending
from harness.peers.peer import Peer
from harness.peers.program import ANSWER_S, START_S, PeerProgram
from harness.runtime.protocol import latency_bounds_ns

LOOK_S = 0.02  # between two samples of a bounded run; they show when it ended
CUT_S = 20.0  # for operators to count tuples not executed, after the time for draining
MASK = 2**64 - 1


class PeerEngine:
    """Engine that runs one graph once, in a peer's program. It has no scheduler threads and no
    queues to switch.
    """

    minimum_threads = 1

    def __init__(
        self,
        graph: Graph,
        peer: Peer,
        command: Sequence[str],
        tuples: int | None,
        capacity: int | None,
    ) -> None:
        """Prepare the run. Raises UserError for a graph that peers do not run."""
        self.queue_capacity = capacity or peer.capacity(graph)
        self.batch = peer.batch_for(graph)
        self.threads = 0  # until it has started
        self.out_of_order = 0
        self.ns_per_flop: float | None = None
        self.settling_s = peer.warmup_s if tuples is None else 0.0
        self._graph = graph
        self._peer = peer
        self._command = command
        self._operators = list(graph.operators.values())
        self._plan = peer.plan(graph, self.queue_capacity, tuples)
        self._bounded = tuples is not None
        self._buckets = len(latency_bounds_ns())
        self._failure: RunFailed | None = None
        self._readings: list[CpuCounters] = []  # before the start, and after each sample

    def start(self) -> None:
        """Start the program and the graph in it, and wait while it compiles code at run time.
        Raises RunFailed.
        """
        # as in our runtime, where sources with a rate ask for it
        sharp = any(operator.rate is not None for operator in self._operators)
        self._program = PeerProgram(self._peer.name, self._command, self._plan.text, sharp)
        try:
            ready = self._program.ask("", "ready", START_S)
            self.threads = _count_or(ready, "threads", 0)
            self.queue_capacity = _count_or(ready, "capacity", self.queue_capacity)
            self.batch = _count_or(ready, "batch", self.batch)
            self._process = psutil.Process(self._program.pid)
            self._counts = replace(
                Counts.none(len(self._plan.places), self._buckets),
                switches=_switches(self._process.pid),
            )
            self._read_cpu()
            self._readings.append(self._cpu)
            self._program.ask("start", "started", START_S)
            if self.settling_s > 0.0:
                self._program.pass_time(self.settling_s)
                self._look()
        except (psutil.Error, OSError) as error:
            self._program.close()
            raise RunFailed(f"peer {self._peer.name} is gone: {error}") from error
        except BaseException:
            self._program.close()
            raise

    def sample(self, period_s: float) -> Sample:
        """See `Engine`. Raises RunFailed if the program has failed."""
        before, since = self._counts, self._cpu
        try:
            self._pass_period(period_s)
        except RunFailed as failure:
            self._failure = failure
            raise
        now = self._counts
        executed = [b - a for a, b in zip(before.executed, now.executed, strict=True)]
        processed = self._plan.by_place(executed)
        kinds = [operator.kind for operator in self._operators]
        return Sample(
            time_s=now.ns / 1e9,
            elapsed_s=(now.ns - before.ns) / 1e9,
            source_tuples=sum(
                count for kind, count in zip(kinds, processed, strict=True) if kind is SOURCE
            ),
            sink_tuples=sum(
                count for kind, count in zip(kinds, processed, strict=True) if kind is SINK
            ),
            submitted_tuples=sum(
                count for kind, count in zip(kinds, processed, strict=True) if kind is not SINK
            ),
            processed=processed,
            queue_fill=(),
            write_blocked=(),
            threads_active=0,
            threads_requested=0,
            threads_unsuspendable=0,
            queued_ports=sum(
                operator.inputs for operator in self._operators if operator.kind is not SPLIT
            ),
            cpu_s=max(0.0, self._cpu.own_s - since.own_s),
            system_cpu=system_share(since, self._cpu),
            context_switches=max(0, now.switches - before.switches),
            latency_counts=[b - a for a, b in zip(before.latency, now.latency, strict=True)],
            others_cpu=others_share(since, self._cpu),
        )

    def finished(self) -> bool:
        """See `Engine`."""
        return self._counts.finished

    def stop(self, drain: bool, timeout_s: float) -> Totals:
        """See `Engine`. Raises RunFailed if the program reports no totals, or has failed before.
        The program has ended after this.
        """
        try:
            if self._failure is not None:
                raise self._failure
            answer = self._program.ask(
                f"stop {round(1000 * timeout_s) if drain else 0}", "totals", timeout_s + CUT_S
            )
            ending = Ending.read(self._peer.name, answer, len(self._plan.places))
            counts = Counts.read(self._peer.name, answer, len(self._plan.places), self._buckets)
            counts.check_after(self._peer.name, self._counts)
            self._program.finish()
        finally:
            self._program.close()
        return self._totals(counts, ending)

    def disturbance(self, samples: int) -> Disturbance:
        """Return the activity of other processes during the last so many samples."""
        first = self._readings[max(0, len(self._readings) - 1 - samples)]
        return Disturbance.between(first, self._readings[-1], len(allowed_cpu_numbers()))

    def _pass_period(self, period_s: float) -> None:
        if not self._bounded:
            self._program.pass_time(period_s)
            self._look()
            return
        end = time.monotonic() + period_s
        while not self._counts.finished and (left_s := end - time.monotonic()) > 0.0:
            self._program.pass_time(min(LOOK_S, left_s))
            self._look(keep=False)
        self._readings.append(self._cpu)

    def _look(self, keep: bool = True) -> None:
        """Read the program's counters, and those of the system for its process."""
        counts = Counts.read(
            self._peer.name,
            self._program.ask("sample", "sample", ANSWER_S),
            len(self._plan.places),
            self._buckets,
        )
        counts.check_after(self._peer.name, self._counts)
        try:
            self._read_cpu()
            switches = _switches(self._process.pid) if counts.switches is None else counts.switches
        except (psutil.Error, OSError) as error:
            raise RunFailed(f"peer {self._peer.name} is gone: {error}") from error
        self._counts = replace(counts, switches=switches)
        if keep:
            self._readings.append(self._cpu)

    def _read_cpu(self) -> None:
        times, reading = self._process.cpu_times(), CpuCounters.now()
        self._cpu = replace(reading, own_s=reading.own_s + times.user + times.system)

    def _totals(self, counts: Counts, ending: Ending) -> Totals:
        """Return the totals of the run, checked as our own runs are."""
        by_place = dict(
            zip(
                self._plan.places,
                zip(counts.executed, ending.left, ending.sums, strict=True),
                strict=True,
            )
        )
        processed = self._plan.by_place(counts.executed)
        left = [
            by_place[place][1] if place in by_place else 0 for place in range(len(self._operators))
        ]
        names = list(self._graph.operators)
        copies_from = self._graph.flow().copies_from
        sent = received = 0
        for place, (_, _, total) in by_place.items():
            copies = copies_from[names[place]]
            if self._operators[place].is_source:
                sent += total * (copies or 0)
            elif self._operators[place].kind is SINK:
                received += total
            else:
                received += total * (copies or 0)
        self.out_of_order, self.ns_per_flop = ending.out_of_order, ending.ns_per_flop
        checked = self._peer.ordered and self._plan.ordered
        complaints = of_tuples(
            self._operators,
            self._plan.streams,
            processed,
            {},
            {},
            left,
            [0] * len(self._operators),
            {},
        )
        return Totals(
            sent=sum(
                processed[i] for i, operator in enumerate(self._operators) if operator.is_source
            ),
            received=sum(
                processed[i] for i, operator in enumerate(self._operators) if operator.kind is SINK
            ),
            in_flight=sum(left),
            processed=processed,
            drained=ending.drained,
            order_violations=ending.out_of_order if checked else 0,
            order_checked=checked,
            checksum_ok=ending.harmed == 0 and (sent - received) & MASK == 0,
            conservation=complaints,
            latency_counts=counts.latency,
            latency_max_ns=counts.longest_ns,
        )


def _count_or(ready: Mapping[str, Any], key: str, default: int) -> int:
    """Return a count that the program may have answered, else the default."""
    return ready[key] if type(ready.get(key)) is int and ready[key] >= 0 else default


def _switches(pid: int) -> int:
    """Return the context switches of all threads that a process has now; those of ended threads are
    lost. Takes 10 µs a thread.
    """
    total = 0
    for status in Path(f"/proc/{pid}/task").glob("*/status"):
        try:
            lines = status.read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            continue  # a thread that has ended
        total += sum(int(line.split()[1]) for line in lines[-2:] if "ctxt_switches" in line)
    return total
