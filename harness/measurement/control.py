"""Elasticity while a run goes on: samples of an engine become readings of laws, what the laws
decide is done.

The pool's law steps once a period (P17 §4.2); beside it every elastic `elastic_load_balance`
operator has a law of its own, whose levels are ports. A period is one sample or several; its
throughput is what was submitted in it over its true length, but for the time in which the pool's
law was thinking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.elasticity import Decides, Decision, Law, Reading
from harness.engine import Engine, Sample
from harness.errors import RunFailed, UserError
from harness.graph import Graph
from harness.graph.kinds import ELASTIC_LOAD_BALANCE
from harness.graph.schedule import Schedule
from harness.machines.host.cpu import SHORTEST_S
from harness.measurement.laws import balancer_law

Names = tuple[str, ...]

NOT_COUNTED = frozenset(("idle", "crowded", "noise", "waiting"))
"""States of a law that has learnt nothing from a period: it stays, but has not settled."""

RESTARTED = "load changed"
"""State of a law that begins its search anew: for how long it has stayed counts no more."""

UNSETTLED = frozenset(("learning", "searching", "noise", "waiting", RESTARTED))
"""States of a law that stays and may go elsewhere with the next period."""

RECORDED = ("utilisation", "useful_s", "tuples", "full", "replicas", "target", "done", "latency_s")
"""Fields of a reading that a record keeps for a law that goes by them, so that a replay reads what
the law has read. Besides, it keeps the shares of CPUs of a period of several samples, as each
sample has its own alone.
"""

SETTLED_PERIODS = 8
"""Periods for which a law must have kept its level to count as settled (a guess: longer than a look
up and down takes).
"""


class ControlFailed(RunFailed):
    """A law failed, or wants what cannot be. The message names the law."""


@dataclass(frozen=True)
class Step:
    """Decisions at the end of a sample: none unless the sample ended a period."""

    state: str | None = None  # of the pool's law
    reason: str | None = None
    throughput: float | None = None  # that it went by [tuples/s submitted]
    elapsed_s: float | None = None  # time of that throughput: the period, but for the law's step
    arrived: float | None = None  # tuples at the sinks over those submitted, of the whole period
    # other fields of its reading that the law needs
    read: Mapping[str, Any] = field(default_factory=dict)
    balancers: Mapping[str, str] = field(default_factory=dict)  # by operator: the reason
    switched_on: Sequence[str] = ()  # ports that got their queue, `operator[port]`
    switched_off: Sequence[str] = ()  # ports that lost their queue
    # number of replicas of each operator that got another number
    replicas: Mapping[str, int] = field(default_factory=dict)


class Controller:
    """The laws of one run. `sample_s`: how long its samples should be, so that each period is made
    of whole ones.
    """

    def __init__(
        self,
        engine: Engine,
        graph: Graph,
        law: Law | None,
        period_s: float,
        shortest_s: float = SHORTEST_S,
    ) -> None:
        """Prepare the laws of a graph that an engine executes. `law`: that of its pool."""
        self._engine = engine
        self._graph = graph
        self._schedule = Schedule.of(graph)
        self.period_s = period_s
        self.pool = (
            None
            if law is None
            else Loop(law, period_s, graph.flow().copies if self._schedule.is_paced else None)
        )
        self.balancers = {
            operator.name: Loop(balancer_law(operator), operator.measure_period)
            for operator in graph.operators.values()
            if operator.kind is ELASTIC_LOAD_BALANCE and operator.elastic
        }
        periods = [loop.period_s for loop in self._loops()]
        self.sample_s = max(shortest_s, min(periods, default=period_s))
        self.steps: dict[float, Step] = {}  # by the time of the sample that they follow
        self.terms = None if law is None else terms_of(law, period_s, list(graph.operators))
        self._unsuspendable = 0
        self._active: int | None = None
        # seconds and tuples from the last sample until the laws had stepped
        self._thinking: tuple[float, int] = (0.0, 0)

    def _loops(self) -> list[Loop]:
        return ([self.pool] if self.pool else []) + list(self.balancers.values())

    @property
    def controls(self) -> bool:
        """True if anything is elastic."""
        return bool(self._loops())

    @property
    def kept(self) -> int:
        """Periods in a row after which every law has left its level as it was, but for those
        `NOT_COUNTED`.
        """
        return min((loop.kept for loop in self._loops()), default=0)

    @property
    def settled(self) -> bool:
        """True if every law has kept its level for `SETTLED_PERIODS`, and none says that it may
        still search.
        """
        return self.kept >= SETTLED_PERIODS and all(
            loop.state not in UNSETTLED for loop in self._loops()
        )

    def see(self, sample: Sample) -> Step:
        """Take the next sample; where it ends a period, let the law step and do what it decides.
        Raises ControlFailed.

        A period of the pool's begins when that is done: what the law computes it computes on the
        CPUs that it reads.
        """
        state = reason = throughput = elapsed_s = arrived = None
        changes: dict[str, Any] = {}
        if self.pool is not None:
            thought_s, tuples = self._thinking
            shares = {
                "system_cpu": sample.system_cpu,
                "others_cpu": sample.others_cpu,
                "utilisation": sample.utilisation,
            }
            self.pool.add_stretch(
                max(0.0, sample.elapsed_s - thought_s),
                max(0, sample.submitted_tuples - tuples),
                shares,
            )
            self.pool.add_sample(sample)
            if self.pool.is_due(self.sample_s):
                throughput = self.pool.throughput
                elapsed_s = self.pool.elapsed_s
                arrived = self.pool.arrived
                state, reason, changes = self._step_pool(self.pool, sample)
        reasons: dict[str, str] = {}
        for name, loop in self.balancers.items():
            balance = sample.balancers[name]
            loop.add_stretch(sample.elapsed_s, balance.submitted, {})
            if loop.is_due(self.sample_s):
                decision = loop.decide(sample.time_s, congestion=balance.congestion)
                reasons[name] = decision.reason
                if decision.threads != balance.active:
                    self._engine.set_active_ports(name, decision.threads)
        self._thinking = (0.0, 0) if state is None else self._engine.since_sample()
        step = self.steps[sample.time_s] = Step(
            state, reason, throughput, elapsed_s, arrived, balancers=reasons, **changes
        )
        return step

    def step_after(self, sample: Sample) -> Step:
        """Return the decisions after a sample that `see` has taken."""
        return self.steps.get(sample.time_s, Step())

    def _step_pool(self, pool: Loop, sample: Sample) -> tuple[str, str, dict[str, Any]]:
        """Return the state, the reason, and the other fields of a `Step`."""
        hindrance = self._hindrance(sample)
        if hindrance:
            pool.begin()
            return "waiting", f"put off: {hindrance}", {}
        before, replicas = pool.queued, sample.replicas
        target = self._schedule.per_s(sample.time_s - pool.whole_s, sample.time_s)
        decision = pool.decide(
            sample.time_s, costs=sample.rounded_cost, replicas=sample.replicas, target=target
        )
        if decision.threads != sample.threads_requested:
            self._engine.set_threads(decision.threads)
        on, off = self._switch(before, pool.queued)
        changed = self._replicate(replicas, decision.replicas)
        return (
            decision.state,
            decision.reason,
            {"read": pool.read, "switched_on": on, "switched_off": off, "replicas": changed},
        )

    def _switch(self, before: frozenset[int], after: frozenset[int]) -> tuple[Names, Names]:
        """Switch queues; returns the ports that got theirs, and that lost it. On comes first."""
        if self.pool is None or before == after:
            return (), ()
        ports = self.pool.law.layout.ports
        names: list[Names] = []
        for chosen, queued in ((after - before, True), (before - after, False)):
            if chosen:
                self._engine.set_queued([ports[place] for place in sorted(chosen)], queued)
            names.append(tuple(str(ports[place]) for place in sorted(chosen)))
        return names[0], names[1]

    def _replicate(self, before: Sequence[int], after: Sequence[int] | None) -> dict[str, int]:
        """Give operators replicas, or take them away; returns those that have changed, by name."""
        if after is None or tuple(before) == tuple(after):
            return {}
        names = list(self._graph.operators)
        changed = {
            names[i]: count
            for i, count in enumerate(after)
            if i >= len(before) or before[i] != count
        }
        for name, count in changed.items():
            self._engine.set_replicas(name, count)
        return changed

    def _hindrance(self, sample: Sample) -> str | None:
        """Return why the period says nothing about its level: a thread did not suspend (P17
        §4.2.3).

        A thread that an operator never releases does not stop the law: once the same threads run
        for a while, the law goes on.
        """
        excess = sample.threads_active - sample.threads_requested
        more_unsuspendable = sample.threads_unsuspendable > self._unsuspendable
        moved = sample.threads_active != self._active
        self._unsuspendable, self._active = sample.threads_unsuspendable, sample.threads_active
        if more_unsuspendable or (excess > 0 and moved):
            return f"{max(sample.threads_unsuspendable, excess)} thread(s) would not suspend"
        return f"{-excess} thread(s) did not wake" if excess < 0 and moved else None


def terms_of(law: Law, period_s: float, names: Sequence[str]) -> dict[str, Any]:
    """Return a pool's law and what it was given, as a record has it. `names`: of the operators."""
    places = [str(port) for port in law.layout.ports] if law.decides is Decides.QUEUES else None
    able = law.layout.replicable if law.decides is Decides.REPLICAS else None
    return {
        "law": law.name,
        "settings": dict(law.set),
        "period_s": period_s,
        "minimum": law.bounds.minimum,
        "maximum": law.bounds.maximum,
        "start": law.bounds.start,
        "places": places,
        "replicable": None if able is None else [names[index] for index in able],
    }


class Loop:
    """A law with its level, and what was seen since its last step."""

    def __init__(self, law: Law, period_s: float, copies: int | None = None) -> None:
        """`copies` as in `graph_flow.Flow`."""
        self.law = law
        self.period_s = period_s
        self._copies = copies
        self.level = law.bounds.start
        self.queued: frozenset[int] = frozenset()  # places, of a law that has any
        self.kept = 0  # periods in a row that have changed neither, but for those that say nothing
        self.state = ""  # of the law, after its last step
        self.read: Mapping[str, Any] = {}  # what else it went by then
        self._replicas: Sequence[int] = ()  # that it wanted
        self.begin()

    def begin(self) -> None:
        """Begin a new period, and forget what was seen."""
        self.elapsed_s = 0.0
        self._tuples = 0
        self.whole_s = 0.0  # its length, be it that the law was thinking in it
        self._sent = self._submitted = self._at_sinks = 0
        self._sums: dict[
            str, list[float]
        ] = {}  # over the period, of what a sample has for each operator or port
        self._latencies: list[int] = []
        self._shares: dict[str, float | None] = {}
        self._last_shares: Mapping[
            str, float | None
        ] = {}  # of the last stretch alone, as its sample has them

    def add_stretch(
        self, elapsed_s: float, tuples: int, shares: Mapping[str, float | None]
    ) -> None:
        """Add a stretch of time: its length, the tuples submitted in it, and shares, of which the
        period has the mean.
        """
        before_s, self.elapsed_s = self.elapsed_s, self.elapsed_s + elapsed_s
        self._tuples += tuples
        self._last_shares = shares
        for name, share in shares.items():
            mean = self._shares.get(name, 0.0)
            known = share is not None and mean is not None and self.elapsed_s > 0.0
            mixed = (mean * before_s + share * elapsed_s) / self.elapsed_s if known else None
            self._shares[name] = mixed if before_s > 0.0 else share

    def add_sample(self, sample: Sample) -> None:
        """Add what a whole sample counted, be it that the law was thinking in it."""
        self.whole_s += sample.elapsed_s
        self._sent += sample.source_tuples
        self._submitted += sample.submitted_tuples
        self._at_sinks += sample.sink_tuples
        full_s = [share * sample.elapsed_s for share in sample.queue_full]
        useful_s = sample.useful_s or pool_time_s(sample, self.law.layout.sources)
        for name, values in (
            ("useful_s", useful_s),
            ("tuples", sample.processed),
            ("full", full_s),
        ):
            self._sums[name] = _added(self._sums.get(name, ()), values)
        self._latencies = _added(self._latencies, sample.latency_counts)

    def is_due(self, sample_s: float) -> bool:
        """Return True if a period is over, as nearly as samples of `sample_s` allow."""
        return self.elapsed_s > self.period_s - sample_s / 2

    @property
    def throughput(self) -> float:
        """Tuples a second of the period so far."""
        return self._tuples / self.elapsed_s

    @property
    def arrived(self) -> float | None:
        """Tuples at the sinks over those submitted, of the period so far; None if none were."""
        return self._at_sinks / self._submitted if self._submitted else None

    def decide(self, time_s: float, **more: Any) -> Decision:
        """End the period; return what the law decides. `more`: fields of its reading. Raises
        ControlFailed whatever the law raises.
        """
        try:
            goes_by = (
                self.law.NEEDS if more.get("target") is None else self.law.NEEDS | self.law.USES
            )
            seen = {
                "queued": self.queued,
                "arrived": self.arrived,
                **self._shares,
                **self._counted(goes_by),
                **more,
            }
            decision = self.law.step(
                Reading(time_s, self.elapsed_s, self.level, self.throughput, **seen)
            )
            means = {
                name: mean for name, mean in self._shares.items() if mean != self._last_shares[name]
            }
            self.read = means | {
                name: seen[name] for name in RECORDED if name in goes_by and name in seen
            }
            bounds = self.law.bounds
            if not bounds.minimum <= decision.threads <= bounds.maximum:
                raise UserError(
                    f"level must be from {bounds.minimum} to {bounds.maximum}, not "
                    f"{decision.threads!r}"
                )
            queued = self.queued if decision.queued is None else self._places(decision.queued)
        except UserError as error:
            raise ControlFailed(f"law {self.law.name}: {error}") from error
        except Exception as error:
            raise ControlFailed(f"law {self.law.name}: {type(error).__name__}: {error}") from error
        self.begin()
        replicas = self._replicas if decision.replicas is None else tuple(decision.replicas)
        moved = (decision.threads, queued, replicas) != (self.level, self.queued, self._replicas)
        if moved or decision.state == RESTARTED:
            self.kept = 0
        elif decision.state not in NOT_COUNTED:
            self.kept += 1
        self.level = decision.threads
        self.queued = queued
        self._replicas = replicas
        self.state = decision.state
        return decision

    def _counted(self, needed: frozenset[str]) -> dict[str, Any]:
        """Return the counts of operators, ports and sinks that a law needs; empty for other
        laws.
        """
        counted: dict[str, Any] = {
            name: tuple(sums) for name, sums in self._sums.items() if name in needed and sums
        }
        if "full" in counted:
            counted["full"] = tuple(min(1.0, full_s / self.whole_s) for full_s in counted["full"])
        if "latency_s" in needed:
            counted["latency_s"] = mean_latency_s(self._latencies)
        if "done" in needed:
            counted["done"] = (
                self._at_sinks / self._copies if self._copies else self._sent
            ) / self.whole_s
        return counted

    def _places(self, queued: frozenset[int]) -> frozenset[int]:
        """Return the places. Raise UserError for a number that is none."""
        places = len(self.law.layout.ports)
        for place in queued:
            if not 0 <= place < places:
                raise UserError(f"queued must hold places from 0 to {places - 1}, not {place!r}")
        return queued


def pool_time_s(sample: Sample, sources: Sequence[int]) -> Sequence[float]:
    """Time that scheduler threads spent executing each operator [s], as far as a profile and the
    threads' utilisation tell.

    What sources' own threads did is not in it. Empty without a profile: `Sample.useful_s` is what
    an engine has measured.
    """
    if not sample.operator_cost or sample.utilisation is None:
        return ()
    pooled = [0.0 if index in sources else cost for index, cost in enumerate(sample.operator_cost)]
    total, busy_s = sum(pooled), sample.utilisation * sample.threads_active * sample.elapsed_s
    return [busy_s * cost / total for cost in pooled] if total > 0.0 else ()


def _added(sums: Sequence[float], values: Sequence[float]) -> list[float]:
    """Entry by entry."""
    return [one + other for one, other in zip(sums, values, strict=True)] if sums else list(values)


def mean_latency_s(counts: Sequence[int]) -> float | None:
    """Return the mean latency [s] of a histogram, by the middles of its buckets
    (`latency_bounds_ns`).

    None if the histogram is empty.
    """
    total = sum(counts)
    if total == 0:
        return None
    from harness.runtime.protocol import latency_bounds_ns  # compiled; see `open_engine`

    middles, low = [], 0
    for bound in latency_bounds_ns():
        middles.append((low + bound) / 2)
        low = bound
    middles += [float(low)] * (len(counts) - len(middles))  # beyond the last bound
    return sum(count * middle for count, middle in zip(counts, middles, strict=False)) / total / 1e9
