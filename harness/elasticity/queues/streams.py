"""The law of queues and threads that IBM Streams really has: two laws that take turns. It is the
baseline to beat.

`streams_ports` adds and removes queues, and `threads.streams` sets the thread level; both keep
their faults. This law is their coordination. T is the throughput of the period, N the level. A
counter c, at first 0, grows by one a period:

  ports that were switched off are draining still      nothing
  they have drained by now                             c := 0, nothing
  c <= 0                                               nothing
  else                                                 a step of the phase; one that switches any
                                                       port sets c := 0

So a step that adds queues costs one period, and one that removes any costs two. The first phase is
*ports*, a round UP:

  ports     validate, N grew from N', T / T(N') > max(1.05, 0.6 N / N')
                N is not searched; the record's T is raised to T, if that is more; phase threads,
                c := 0
            otherwise
                N is searched; a step of the round; if it is over:
    changed, a record, T at most the record's      the round is undone; N joins the explored; *
    changed, otherwise                             the level's first throughput is T; UP: levels
                                                   above are untrusted; record := (N, T),
                                                   T(N) := T; *
    no change, a record                            the record's T is raised to T, if that is more;
                                                   N joins the explored; *
    no change, none                                record := (N, T), without a change; *
                                                   * = phase threads, c := -1
  threads   T(N) := T; a step of the thread law; N is the level that it wants
    it says that the load has changed              no record, nothing searched, no queue;
                                                   phase ports, a round UP, c := 0
    N as before, and searched                      nothing
    N is not the record's, its explored allow N    phase ports, a round UP if N is above the
                                                   record's, else DOWN; validate unless N is the
                                                   maximum; c := -1
    otherwise                                      nothing

A record with a change allows N if all its explored levels are lower (going UP; DOWN: higher); one
without, if N is not explored. A finished round has the T of the queues that it leaves, or 0 if it
has confirmed all operators. There is always a record in the phase of threads, because the first
round leaves one.

The first row raises the record's T, too: in ScheduledQueue.cpp both ways out of a phase of ports do
so. In this runtime the next sender drains a queue, so queues are empty by the next period. The row
of draining ports is for traces and for engines that report draining.

Left out: the engine handles threads that do not come back from an operator. The profiler's windows
here are whole, while those of IBM Streams were empty now and then. A law that begins at half of its
maximum or above keeps its level until a round has changed something, because the maximum is trusted
to bring nothing.

Source: IBM Streams as opened (github.com/IBMStreams/OSStreams), ScheduledQueue; the coordination is
M19 §3.2 and §3.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.elasticity.cpu_limit import CpuLimit, SinceLastRequest
from harness.elasticity.law import Decides, Decision, Law, Reading
from harness.elasticity.queues.groups import places, places_of_operators
from harness.elasticity.queues.streams_ports import Finish, PortSearch
from harness.elasticity.threads.streams import CPU_LIMIT, Streams

SATISFACTION = 0.6
LEAST_GAIN = 1.05


@dataclass(slots=True)
class AdjustmentRecord:
    """Record of the last round that changed something, or of the first one if none has."""

    level: int
    throughput: float  # tuples/s
    changed: bool
    # levels at which nothing was found to be changed
    explored: set[int] = field(default_factory=set)

    def allows(self, level: int) -> bool:
        """Return True if a round at another level may bring something."""
        if not self.changed:
            return level not in self.explored
        if level > self.level:
            return all(known < level for known in self.explored)
        return all(known > level for known in self.explored)


class StreamsOfPortsAndThreads(Law):
    """Law of IBM Streams, fault for fault. It has no settings, because they are constants there."""

    name = "streams"
    summary = (
        "what IBM Streams really does: queues by groups of cost, threads by doubling, in "
        "turn, faults included (OSStreams)"
    )
    decides = Decides.QUEUES
    NEEDS = frozenset(("layout", "costs"))

    def begin(self) -> None:
        """Begin without queues."""
        self._places = places_of_operators(self.layout)
        self._ports = PortSearch(self._places)
        self._threads = Streams(self.bounds, self.cpu)
        self._level = self.bounds.start
        self._queued: frozenset[int] = frozenset()
        self._count = 0
        # True if the last step removed queues: the next period does not count
        self._removed = False
        self._draining: frozenset[int] = frozenset()
        self._in_ports = True
        self._validate = False
        # at which the last step of the thread law was taken; 0: none since the load changed
        self._level_before = 0
        self._throughputs: dict[int, float] = {}
        self._searched: dict[int, bool] = {}
        self._record: AdjustmentRecord | None = None

    def cpu_limit(self) -> CpuLimit:
        """Return the limit of IBM Streams, which uses the mean since the last request and refuses
        the first one."""
        return SinceLastRequest(CPU_LIMIT)

    def decide(self, reading: Reading) -> Decision:
        """Return the decision of a step of the phase, unless the period does not count."""
        self._count += 1
        if self._draining & reading.queued:
            return self._now("ports are draining → wait", "waiting")
        self._draining = frozenset()
        if self._removed:
            self._removed, self._count = False, 0
            return self._now("ports have drained → another period", "waiting")
        if self._count <= 0:
            return self._now("between two searches → another period", "waiting")
        return self._step_ports(reading) if self._in_ports else self._step_threads(reading)

    # -- ports -------------------------------------------------------------------------------------

    def _step_ports(self, reading: Reading) -> Decision:
        if self._validate and self._satisfied(reading.throughput):
            self._searched[self._level] = False
            if self._record is not None:
                self._record.throughput = max(self._record.throughput, reading.throughput)
            self._in_ports, self._count = False, 0
            return self._now(f"{self._level} threads alone bring enough → no search", "satisfied")
        self._validate = False
        self._searched[self._level] = True
        self._count = 0
        finish = self._ports.step(reading.throughput, reading.costs)
        reason = self._ports.reason
        if finish is not None:
            reason = f"{reason}: {self._finish(finish)}"
        self._removed = self._ports.removed
        return self._now(reason, "placing" if self._ports.up else "removing")

    def _satisfied(self, throughput: float) -> bool:
        before = self._level_before
        if not 0 < before < self._level:
            return False
        needed = max(LEAST_GAIN, SATISFACTION * self._level / before)
        reached = self._throughputs[before]
        return throughput / reached > needed if reached > 0.0 else throughput > 0.0

    def _finish(self, finish: Finish) -> str:
        self._in_ports, self._count = False, -1
        record = self._record
        if finish.changed and record is not None and finish.throughput <= record.throughput:
            self._ports.undo()
            record.explored.add(self._level)
            return f"no better than with {record.level} threads → undone"
        if finish.changed:
            self._threads.rebase(finish.throughput)
            if self._ports.up:
                self._threads.untrust_above()
            self._record = AdjustmentRecord(self._level, finish.throughput, changed=True)
            self._throughputs[self._level] = finish.throughput
            return f"the queues for {self._level} threads are found"
        if record is None:
            self._record = AdjustmentRecord(self._level, finish.throughput, changed=False)
        else:
            record.throughput = max(record.throughput, finish.throughput)
            record.explored.add(self._level)
        return "no change"

    # -- threads -----------------------------------------------------------------------------------

    def _step_threads(self, reading: Reading) -> Decision:
        self._throughputs[self._level] = reading.throughput
        self._level_before = self._level
        decision = self._threads.decide(reading)
        self._level = decision.threads
        if decision.state == "load changed":
            self._record, self._level_before = None, 0
            self._throughputs, self._searched = {}, {}
            self._ports.clear()
            self._removed = self._ports.removed
            self._in_ports, self._validate, self._count = True, False, 0
            return self._now(f"{decision.reason}, queues anew", decision.state)
        if self._level_before == self._level and self._searched.get(self._level, False):
            return self._now(decision.reason, decision.state)
        record = self._record
        if record is not None and record.level != self._level and record.allows(self._level):
            up = self._level > record.level
            self._ports.begin(up)
            self._in_ports = True
            self._validate = self._level != self.bounds.maximum
            self._count = -1
            return self._now(
                f"{decision.reason}; then {'more' if up else 'fewer'} queues", decision.state
            )
        return self._now(decision.reason, decision.state)

    def _now(self, reason: str, state: str) -> Decision:
        queued = places(self._places, self._ports.queued)
        self._draining = (self._draining | (self._queued - queued)) - queued
        self._queued = queued
        return Decision(self._level, reason, state, queued)


LAW = StreamsOfPortsAndThreads
