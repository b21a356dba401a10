"""An engine's readings: the sample of one period, and the totals of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PROFILE_WINDOW_S = 5.0
"""Longest window of the profiler of real threads, as in IBM's implementation (whose laws have
periods of 10 s)."""

MAX_NAMED = 3
"""Ports or threads that the line about a failed run names."""


@dataclass(frozen=True)
class Balance:
    """One period of an `elastic_load_balance` operator."""

    active: int  # output ports that get tuples
    ports: int  # output ports
    submitted: int  # tuples submitted on its output ports, by the threads of its buffers
    # fill of the active ports' buffers at the period's end, 0 .. 1: the mean; 1 if the sender waits
    # for room
    congestion: float


@dataclass(frozen=True)
class Sample:
    """One period's reading. Counts are of this period alone; per-operator and per-port entries
    follow the graph's order.
    """

    time_s: float  # since start, at the period's end
    elapsed_s: float  # the period's true length
    source_tuples: int  # sent by the sources
    sink_tuples: int  # arrived at the sinks
    # submitted on all output ports of all operators: the input of P17's and M19's laws
    submitted_tuples: int
    processed: Sequence[int]  # tuples through each operator (a source's own count for sources)
    # tuples queued at each input port over its capacity, at the period's end; 0 without a queue
    queue_fill: Sequence[float]
    # share of pushes to each input port that found its queue full or its producer side taken
    write_blocked: Sequence[float]
    threads_active: int  # scheduler threads that are not suspended
    threads_requested: int  # scheduler threads asked for
    threads_unsuspendable: int  # asked to suspend a period ago and still not asleep (P17 §4.2.3)
    # input ports requested to have a queue: the next tuple sent to a port switches its queue
    queued_ports: int
    cpu_s: float  # CPU time of this process [s]
    # busy share, 0 .. 1, by all processes: of the CPUs that this one may use, or of its cgroup's
    # quota, if more
    system_cpu: float
    context_switches: int  # of this process, voluntary and not
    # sink latency histogram; bucket bounds by `latency_bounds_ns()`
    latency_counts: Sequence[int] = field(repr=False)
    # each operator's share of the work, 0 .. 1, as the profiler saw it; empty without one
    operator_cost: Sequence[float] = ()
    others_cpu: float = 0.0  # as `system_cpu`, of other processes alone
    # share of their time that active scheduler threads executed operators; None without any
    utilisation: float | None = None
    # elastic_load_balance operators by name
    balancers: Mapping[str, Balance] = field(default_factory=dict)
    # time that threads spent executing each operator, all its replicas together [s]; empty: not
    # measured
    useful_s: Sequence[float] = ()
    # share of the period for which each input port's queue was full, 0 .. 1; empty: not measured
    queue_full: Sequence[float] = ()
    # of each operator, at the period's end; empty: under this model operators have none
    replicas: Sequence[int] = ()
    kernel_s: float | None = None  # of `cpu_s`, what the kernel took [s]; None: not known
    # latency histogram of each part of the graph; empty: there is one part, or it is not known
    part_latencies: Sequence[Sequence[int]] = field(default=(), repr=False)

    @property
    def rounded_cost(self) -> list[float]:
        """Costs as laws read them and as a record has them, the same, so that a replay decides as
        the run did.
        """
        return [round(share, 6) for share in self.operator_cost]


@dataclass(frozen=True)
class Totals:
    """Counts of a whole run, with the verdict of its oracle."""

    sent: int  # tuples by the sources
    received: int  # tuples at the sinks
    # left in queues or given up by blocked producers when the run was cut short; 0 after a drain,
    # or if stuck
    in_flight: int
    processed: Sequence[int]  # tuples through each operator, in the graph's order
    drained: bool  # every port saw its final punctuation
    order_violations: int  # tuples that a sink saw after a later one of the same path (ORDER)
    order_checked: bool  # False if somewhere there are too many paths, or no order on them
    checksum_ok: bool  # every tuple unharmed, and exactly those sent (ONCE)
    # operators that got too many or too few tuples, or lost some
    conservation: Sequence[str] = field(default_factory=tuple)
    # sink latency histogram
    latency_counts: Sequence[int] = field(default_factory=tuple, repr=False)
    latency_max_ns: int = 0  # the longest at a sink
    # latency histogram of each part of the graph, as a `Sample` has them
    part_latencies: Sequence[Sequence[int]] = field(default=(), repr=False)
    # threads that did not stop in time, with the operator that holds them
    stuck: Sequence[str] = field(default_factory=tuple)
    error: str | None = None  # the exception of an operator that raised
    # drains, waits, pushes, queue switches and so on: sums
    scheduling: dict[str, int] = field(default_factory=dict)
    # tuples and records that operators left out, by operator and kind: "load: late"
    left_out: dict[str, int] = field(default_factory=dict)
    # the first of them, by the same names: where in the input, and what it says
    left_out_examples: dict[str, str] = field(default_factory=dict)

    @property
    def problem(self) -> str | None:
        """Every broken guarantee of the run in one line, the cause first; None if it was
        correct.
        """
        if self.correct:
            return None
        problems: list[str] = []
        if self.error is not None:
            problems.append(" ".join(self.error.split()))
        if self.stuck:
            problems.append(f"{len(self.stuck)} thread(s) did not stop: {_some(self.stuck)}")
        if self.order_violations:
            problems.append(f"{self.order_violations} tuple(s) reached a sink after a later one")
        if self.conservation:
            problems.append(f"tuples lost or doubled: {_some(self.conservation)}")
        # nothing is added up while a thread may still change it
        if not self.checksum_ok and not self.stuck:
            problems.append("the checksum at the sinks is not that of the tuples sent")
        return "; ".join(problems)

    @property
    def correct(self) -> bool:
        """No tuple lost, doubled, reordered or harmed, and no thread or operator failed."""
        return (
            self.order_violations == 0
            and self.checksum_ok
            and not self.conservation
            and not self.stuck
            and self.error is None
        )


def _some(names: Sequence[str]) -> str:
    more = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {more} more" if more > 0 else "")
