"""The runs of a comparison: in random order, each by itself, until the best is known or time is up.

Runs come in blocks of two of each arm (`standing`). After each block the arms that are proven
worse than all leaders are not run any more. A simulated arm that does not become stationary has no
rate of its own: it is marked, not run any more, and never the best. At a paced source each arm also
runs at full speed, beside each run at the rate: that shows the highest rate which it sustains.

Before the first block each arm may have a run that is explained. It is not compared: reading what
threads do costs each arm another small share of its speed.
"""

from __future__ import annotations

import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

from harness.compare.standing import SAME, UNKNOWN, ArmRatio, Standing
from harness.gate.order import PAIRS
from harness.graph.schedule import Schedule
from harness.measurement.interval import FEWEST_FOR_INTERVAL, mean_interval
from harness.measurement.latency import BUCKET_WIDTH
from harness.measurement.lock import measuring_clock
from harness.measurement.records import rare_results, rate_of
from harness.measurement.spec import PeerModel, Run

Record = dict[str, Any]
Execute = Callable[[Run, Callable[[str], None]], Record]
"""Does a run and returns its record; the function gets its phases, on any thread."""

KEPT_UP = 0.98  # share of a paced source's rate that must be sent; less is not sustained
SHORT_QUEUE = 64  # tuples; what is in short queues stays in near caches
UNPACED = Schedule(())
ESTIMATED_RUN_S = 5.0  # of a run before there was any: a guess


class By(StrEnum):
    """Quantity by which arms are compared."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"  # its 99 % quantile


class ContestEnd(StrEnum):
    """Reason why a comparison ended."""

    KNOWN = "the best is known"
    BUDGET = "the budget is used up"
    INTERRUPTED = "interrupted"
    FAILED = "fewer than two arms ran correctly"
    UNSETTLED = "fewer than two arms became stationary"


@dataclass
class Contender:
    """An arm with its runs so far. `words`: the arm in a sentence."""

    name: str
    words: str
    run: Run
    # correct ones; the last one of a simulated arm may not be stationary, and is not compared
    records: list[Record] = field(default_factory=list)
    at_full_speed: list[Record] = field(default_factory=list)  # of a paced source
    explained: Record | None = None  # its run with `time_use`; peers have none
    failure: str = ""  # why it is out; "": it is not
    unsettled: str = ""  # simulated: for how long it ran without becoming stationary; "": it did
    unsettled_help: str = ""  # why it did not, or what would help; "": nobody knows
    unsettled_at_full_speed: str = ""  # as `unsettled`, of its runs at full speed
    is_left_out: bool = False  # it seemed worse, and is not run any more (`Contest.narrow`)
    longest_s: float = 0.0  # that a run of it took
    notes: list[str] = field(default_factory=list)  # what a reader should know

    def mean(self, value: Callable[[Record], float | None]) -> float | None:
        """Return the mean of a quantity over its runs; None if no run has it."""
        known = [each for each in map(value, self.records) if each is not None]
        return statistics.fmean(known) if known else None

    @property
    def is_out(self) -> bool:
        """True if it cannot be compared."""
        return bool(self.failure or self.unsettled)

    @property
    def throughput(self) -> tuple[float, float, float] | None:
        """Mean throughput with its 95 % interval [tuples/s]; None for so few runs that it would say
        nothing.
        """
        rates = [rate_of(record) or 0.0 for record in self.records]
        return mean_interval(rates) if len(rates) >= FEWEST_FOR_INTERVAL else None

    @property
    def sustained(self) -> float | None:
        """Highest rate that all sources together sustain [tuples/s]; None if they are not paced, or
        it is not known.
        """
        rates = [_sent_per_s(record) for record in self.at_full_speed]
        return statistics.fmean(rates) if rates and not self.unsettled_at_full_speed else None

    @property
    def settled(self) -> int:
        """Number of its runs that settled."""
        return sum(record["settled"] for record in self.records)


class Audience(Protocol):
    """Receiver of progress."""

    def phase(self, text: str) -> None:
        """Show the phase of the current run. Any thread may call this."""

    def ran(self) -> None:
        """Show that a run has ended."""


@dataclass
class Contest:
    """Comparison of arms on one graph with one set of parameters.

    `budget_s` counts from the first run. `whole_budget_s`: that of the call, of which other things
    had a part; None: it is all of it. `schedule`: that of the graph's sources; those without a rate
    send as fast as they can. `explains`: each arm first has a run that is explained.
    """

    title: str
    parameters: Mapping[str, int | str]
    contenders: Sequence[Contender]
    by: By
    alpha: float
    budget_s: float
    seed: int
    schedule: Schedule = UNPACED
    explains: bool = False
    whole_budget_s: float | None = None
    blocks: int = 0
    ended: ContestEnd | None = None
    started_s: float | None = None
    finished_s: float | None = None
    clock: Callable[[], float] = measuring_clock

    def __post_init__(self) -> None:
        names = [each.name for each in self.contenders]
        latency = self.by is By.LATENCY
        bucket = BUCKET_WIDTH if latency else 0.0
        self.standing = Standing(names, self.alpha, latency, self.simulated, bucket)
        self._draw = random.Random(self.seed)
        self._leaders = names

    @property
    def simulated(self) -> bool:
        """True if the runs are simulated."""
        return self.contenders[0].run.simulated

    @property
    def offered_per_s(self) -> float | None:
        """Mean rate of all sources together [tuples/s]; None if one sends as fast as it can."""
        return self.schedule.mean_per_s

    @property
    def paced(self) -> bool:
        """True if all sources have rates."""
        return self.offered_per_s is not None

    @property
    def elapsed_s(self) -> float:
        """Seconds since the first run began."""
        if self.started_s is None:
            return 0.0
        return (self.finished_s or self.clock()) - self.started_s

    @property
    def asked_s(self) -> float:
        """Budget of the call [s]."""
        return self.budget_s if self.whole_budget_s is None else self.whole_budget_s

    @property
    def running(self) -> list[Contender]:
        """Arms that have not failed, and are not left out."""
        return [each for each in self.contenders if not (each.is_out or each.is_left_out)]

    @property
    def leaders(self) -> list[Contender]:
        """Arms of which one is the best; the one that seems best comes first."""
        by_name = {each.name: each for each in self.contenders if not each.is_out}
        return [by_name[name] for name in self._leaders if name in by_name]

    @property
    def by_part(self) -> bool:
        """True if each part of the graph counts with its own latency. Peers have one histogram,
        and all arms of a contest are compared by the same.
        """
        return not any(isinstance(each.run.model, PeerModel) for each in self.contenders)

    def p99_of(self, record: Record) -> float | None:
        """Return the p99 latency of a run [ns], the longest one of the graph's parts; None if
        nothing arrived in one of them.
        """
        latency = record["latency_ns"] or {}
        parts = latency.get("parts") if self.by_part else None
        found = [each.get("p99") for each in parts or [latency]]
        return None if None in found else max(found)

    def value_of(self, record: Record) -> float | None:
        """Return what a run is compared by; None if it has none above 0."""
        return self._value(record, self.by)

    def _value(self, record: Record, by: By) -> float | None:
        return (self.p99_of(record) if by is By.LATENCY else rate_of(record)) or None

    @property
    def decided(self) -> bool:
        """True if something is proven: an arm is worse than the best."""
        return len(self.leaders) < len(self.running)

    def to_best(self, arm: Contender) -> ArmRatio:
        """Return how many times as good an arm is as the best one, with the ends of the interval.
        The estimate is 1 for the first leader.
        """
        leaders = [each.name for each in self.leaders]
        if not leaders or arm.is_out:
            return UNKNOWN
        if leaders == [arm.name]:
            return SAME
        return self.standing.to_best(arm.name, leaders)

    def compare(self, execute: Execute, audience: Audience) -> None:
        """Run the arms until the best is known or the budget is used up. An interrupt ends it, and
        is raised again.
        """
        with self.timed():
            if self.explains:
                self.explain_arms(execute, audience)
            while self.ended is None:
                self.run_block(execute, audience)

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the time in the `with` block. An interrupt ends the comparison, and goes on."""
        self.started_s = self.clock()
        try:
            yield
        except KeyboardInterrupt:
            self.ended = ContestEnd.INTERRUPTED
            raise
        finally:
            self.finished_s = self.clock()

    def narrow(self, count: int) -> None:
        """Leave out all but so many of the arms that may be the best: those that seem best go
        on.
        """
        leaders = self.leaders
        for arm in leaders[count:]:
            arm.is_left_out = True
        self._leaders = [arm.name for arm in leaders[:count]]

    def explain_arms(self, execute: Execute, audience: Audience) -> None:
        """Do a run of each arm that is explained, in random order."""
        arms = [each for each in self.running if not isinstance(each.run.model, PeerModel)]
        self._draw.shuffle(arms)
        for place, arm in enumerate(arms):
            if not self._has_time_for(arm):
                return
            run = replace(arm.run, explained=True, order_in_block=place)
            record, _ = self._done(arm, run, self.by, "what its threads do", execute, audience)
            arm.explained = None if arm.failure else record
            self._end_if_too_few()
            audience.ran()

    def _has_time_for(self, arm: Contender) -> bool:
        """Return True if the budget has time for a run, and end the comparison otherwise. Nobody
        knows how long the first one takes, so there always is.
        """
        first = all(each.longest_s == 0.0 for each in self.contenders)
        if first or self.elapsed_s + (arm.longest_s or ESTIMATED_RUN_S) <= self.budget_s:
            return True
        self.ended = ContestEnd.BUDGET
        return False

    def run_block(self, execute: Execute, audience: Audience) -> None:
        """Run two of each arm that may be the best, in random order, and look at the results."""
        speeds = (False, True) if self.paced else (False,)
        order = [(each, full) for each in self.leaders for full in speeds for _ in range(PAIRS)]
        self._draw.shuffle(order)
        values: dict[str, list[float]] = defaultdict(list)
        for place, (arm, full) in enumerate(order):
            if arm.is_out or (full and arm.unsettled_at_full_speed):
                continue
            if not self._has_time_for(arm):
                return
            value = self._run(arm, full, place, execute, audience)
            if value is not None and not full:
                values[arm.name].append(value)
            audience.ran()
        whole = {name: tuple(each) for name, each in values.items() if len(each) == PAIRS}
        self.standing.add(whole)
        self.blocks += 1
        self._end_if_too_few()
        self._leaders = self.standing.leaders([each.name for each in self.running])
        if len(self._leaders) == 1 and self.ended is None:
            self.ended = ContestEnd.KNOWN
        audience.ran()

    def _end_if_too_few(self) -> None:
        """End the comparison if fewer than two of its arms can be compared."""
        if len(self.running) < min(2, len(self.contenders)):
            unsettled = any(arm.unsettled for arm in self.contenders)
            self.ended = ContestEnd.UNSETTLED if unsettled else ContestEnd.FAILED

    def _run(
        self, arm: Contender, full: bool, place: int, execute: Execute, audience: Audience
    ) -> float | None:
        """Do one run; return its value, or None if it has none."""
        runs = arm.at_full_speed if full else arm.records
        run = replace(arm.run, full_speed=full, repeat=len(runs), order_in_block=place)
        by = By.THROUGHPUT if full else self.by
        what = "at full speed" if full else ""
        record, value = self._done(arm, run, by, what, execute, audience)
        if not arm.failure:
            runs.append(record)
        return None if arm.is_out else value

    def _done(
        self, arm: Contender, run: Run, by: By, what: str, execute: Execute, audience: Audience
    ) -> tuple[Record, float | None]:
        """Do a run; return its record and its value. A failure is kept with the arm."""
        heading = f"{arm.name} {what}".rstrip()
        began_s = self.clock()
        record = execute(run, lambda phase: audience.phase(f"{heading}: {phase}"))
        arm.longest_s = max(arm.longest_s, self.clock() - began_s)
        value = self._value(record, by)
        if record["error"] is not None or not record["correct"]:
            arm.failure = (record["error"] or "not correct").splitlines()[0]
        elif run.simulated and not record["settled"]:
            if run.full_speed:
                arm.unsettled_at_full_speed = _length_of(run, record)
            else:
                arm.unsettled, arm.unsettled_help = _length_of(run, record), _help_of(run, record)
        elif value is None:
            parts = record["latency_ns"].get("parts", ())
            silent = [part["first"] for part in parts if not part["count"]]
            where = f" in the part of {silent[0]}" if silent else ""
            arm.failure = (
                f"no tuple arrived{where} in the measured window; --duration makes it longer"
            )
        return record, value


def _length_of(run: Run, record: Record) -> str:
    """Return how long a simulated run was, at most, for a sentence."""
    if run.events is not None and not getattr(run.model, "elastic", False):
        return f"{run.events:,} events"
    return f"{record['warmup_s'] + record['duration_s']:.3g} s of virtual time"


def _help_of(run: Run, record: Record) -> str:
    """Return why a simulated run was not stationary, or what may help; "" if nobody knows."""
    if rare := rare_results(record):
        return rare
    if getattr(run.model, "elastic", False):
        return "a longer --duration gives its law more time"
    capacity = getattr(run.model, "queue_capacity", 0)  # None: as long as the runtime has them
    if capacity is None or capacity > SHORT_QUEUE:
        return f"shorter queues (queue_capacity={SHORT_QUEUE}) become stationary sooner"
    return ""


def keeps_up(arm: Contender, schedule: Schedule) -> bool | None:
    """Return True if an arm's sources sent as many tuples as they should; None if nothing is
    known.
    """
    sent = arm.mean(_sent_per_s)
    due = arm.mean(lambda record: _due_per_s(record, schedule))
    return None if sent is None or due is None else sent >= KEPT_UP * due


def _sent_per_s(record: Record) -> float:
    """Return the rate at which all sources sent tuples in the window [tuples/s]."""
    samples = record["samples"]
    elapsed_s = sum(sample["elapsed_s"] for sample in samples)
    sent = sum(sample["source_tuples_per_s"] * sample["elapsed_s"] for sample in samples)
    return sent / elapsed_s if elapsed_s > 0 else 0.0


def _due_per_s(record: Record, schedule: Schedule) -> float | None:
    """Return the rate at which sources had to send in the window [tuples/s]; None: all they can."""
    samples = record["samples"]
    if not samples:
        return None
    return schedule.per_s(samples[0]["time_s"] - samples[0]["elapsed_s"], samples[-1]["time_s"])
