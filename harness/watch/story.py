"""Known facts of a run, period by period. A story grows while the run goes on, or is read from a
record.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.engine.open import lay_out
from harness.errors import UserError
from harness.graph import Graph, PortId
from harness.measurement.spec import Run, arm_name
from harness.measurement.subject import build_subject
from harness.models import (
    DEFAULT_LAW,
    Dynamic,
    Model,
    PortQueue,
    Queue,
    begins_queued,
    make_model,
    port_queues,
)

RATES = ("source_tuples_per_s", "submitted_tuples_per_s", "sink_tuples_per_s")
"""Rates of a sample that are 0 if no tuple has moved."""


@dataclass(frozen=True)
class Period:
    """Stretch between two samples. `sample`: as a record has it (docs/reference/records.md)."""

    phase: str  # warming up, adapting, measuring
    sample: Mapping[str, Any]
    queued: frozenset[str]  # ports that had a queue meanwhile; switches of the sample came after it


def most_replicas(period: Period) -> int:
    """Return the replicas of the operator that has the most."""
    return max((period.sample.get("replicas") or {}).values(), default=1)


@dataclass(frozen=True)
class Heading:
    """Heading of a run."""

    title: str  # name of the topology or graph
    parameters: str  # `operators=100 cost=1000`
    arm: str  # model with its threads or law
    law: str  # `law millrace: from 1 to 8 threads, a step every 1 s`; "" without one
    where: str  # `simulated on xeon, in virtual time`
    simulated: bool


@dataclass
class Story:
    """Run that goes on or is over. `ports`: kind of queue of each input port by its name, in the
    graph's order.
    """

    graph: Graph
    heading: Heading
    ports: Mapping[str, Queue]
    queued: frozenset[str]  # ports that have a queue now
    phase: str = "starting"
    periods: list[Period] = field(default_factory=list)
    outcome: str = ""  # how it ended; "" while it goes on
    failed: bool = False

    def enter(self, phase: str) -> None:
        """Enter another phase."""
        if (self.phase, phase) == ("warming up", "adapting"):
            self.periods = []  # a simulated run's queues have filled, and its clock begins anew
        self.phase = phase

    def add(self, sample: Mapping[str, Any], phase: str | None = None) -> bool:
        """Add a period, of the current phase unless another is named; return false if the sample is
        no period.

        A bounded run gives one more sample after its end: that is no period if no time has passed.
        """
        if (
            self.periods
            and sample["time_s"] == self.periods[-1].sample["time_s"]
            and not any(map(sample.get, RATES))
        ):
            return False
        self.periods.append(Period(phase or self.phase, sample, self.queued))
        on, off = sample.get("switched_on") or (), sample.get("switched_off") or ()
        if on or off:
            self.queued = frozenset((self.queued | set(on)) - set(off))
        return True

    def end(self, record: Mapping[str, Any]) -> None:
        """End the story with the run's record. Samples after the record's last one are dropped: no
        tuple moved in them.
        """
        if record["samples"]:
            last_s = record["samples"][-1]["time_s"]
            self.periods = [period for period in self.periods if period.sample["time_s"] <= last_s]
        error = (record["error"] or "").split("\n")[0]
        self.failed = bool(error) or not record["correct"]
        rate = record["sink_tuples_per_s"]
        settled = (
            "ended" if record.get("ended") else "settled" if record["settled"] else "not settled"
        )
        self.outcome = f"failed: {error or 'not correct'}" if self.failed else f"correct, {settled}"
        if rate is not None:
            self.outcome += f"; {rate:,.0f} tuples/s at the sinks over {record['duration_s']:.3g} s"

    def label(self, port: str) -> str:
        """Return a port for people: only its operator's name if that has no other input port."""
        operator = port.rpartition("[")[0]
        return operator if self.graph.operators[operator].inputs == 1 else port

    @property
    def is_doubtful(self) -> bool:
        """True if other ports may have queues than those that are known: the counts of the samples
        differ.

        The names are right if queues come and go; a sample counts its ports before the law steps.
        """
        samples = [period.sample for period in self.periods]
        if any(sample.get("switched_on") or sample.get("switched_off") for sample in samples):
            return False
        return any(
            sample.get("queued_ports", len(self.queued)) != len(self.queued) for sample in samples
        )

    @property
    def has_replicas(self) -> bool:
        """True if any operator has had more than one replica."""
        return any(period.sample.get("replicas") for period in self.periods)

    @property
    def queueable(self) -> int:
        """Number of ports that may have a queue."""
        return sum(kind is not Queue.CALLED for kind in self.ports.values())

    @property
    def switchable(self) -> list[str]:
        """Ports whose queue may come and go."""
        return [port for port, kind in self.ports.items() if kind is Queue.SCHEDULED]


def story_of_run(run: Run) -> Story:
    """Return the story of a run that is about to begin. Raises UserError if its graph or model is
    invalid.
    """
    graph, parameters, _ = build_subject(run)
    model = run.model
    layout = lay_out(graph, model, run.described)
    pool, begins = layout.pool, begins_queued(graph, model, layout.port_queues)
    law = ""
    if pool.elastic:
        name = getattr(model, "law", DEFAULT_LAW)
        law = (
            f"law {name}: from {pool.minimum} to {pool.maximum} threads, a step every "
            f"{run.period_s:g} s"
        )
    heading = Heading(
        title=run.topology,
        parameters=_settings(parameters),
        arm=run.arm or arm_name(model),
        law=law,
        where=_where(run.place.machine, run.simulated, run.place.software),
        simulated=run.simulated,
    )
    return _story(graph, layout.port_queues, begins, heading)


def story_of_record(record: Mapping[str, Any], graph: Graph) -> Story:
    """Return the story of a run that is over. Raises UserError if the record names ports that the
    graph does not have.
    """
    terms = record.get("elastic")  # records from before laws existed have none
    law = ""
    if terms is not None:
        levels = f"from {terms['minimum']} to {terms['maximum']} threads"
        law = f"law {terms['law']}: {levels}, a step every {terms['period_s']:g} s"
    simulation = record.get("simulation")
    software = simulation["software"] if simulation else ""
    heading = Heading(
        title=record["topology"],
        parameters=_settings(record["parameters"]),
        arm=record["arm"],
        law=law,
        where=_where(record["machine"], record["simulated"], software),
        simulated=record["simulated"],
    )
    model = model_of(record)
    queues = port_queues(graph, model)
    try:
        begins = begins_queued(graph, model, queues)
    except UserError:  # the names of ports, as an arm's name has them
        begins = frozenset()
    story = _story(graph, queues, begins, heading)
    for phase, samples in (
        ("adapting", record.get("adaptation") or ()),
        ("measuring", record["samples"]),
    ):
        for sample in samples:
            _check_ports(
                story, (*(sample.get("switched_on") or ()), *(sample.get("switched_off") or ()))
            )
            story.add(sample, phase)
    story.end(record)
    return story


def model_of(record: Mapping[str, Any]) -> Model:
    """Return the model of a record, as far as queues need it. Only the arm's name tells the ports
    if not all have queues.
    """
    if record["model"] != Dynamic.name:
        return make_model(record["model"])
    chosen = record["arm"].partition("-queued-")[2].replace("pct", "%")
    try:
        return make_model(Dynamic.name, threads=record["threads"], queued=chosen or None)
    except UserError:  # another name, given by an experiment
        return make_model(Dynamic.name, threads=record["threads"])


def _story(
    graph: Graph, queues: Sequence[PortQueue], begins: Iterable[PortId], heading: Heading
) -> Story:
    """Return a story without periods. `begins`: the scheduled ports that begin with their queue."""
    kinds = [queue.kind for queue in queues]
    ports = {str(port): kind for port, kind in zip(graph.input_ports(), kinds, strict=True)}
    always = {port for port, kind in ports.items() if kind in (Queue.THREADED, Queue.RESUMED)}
    return Story(graph, heading, ports, frozenset(always.union(map(str, begins))))


def _check_ports(story: Story, ports: Iterable[str]) -> None:
    for port in ports:
        if port not in story.ports:
            raise UserError(
                f"the record switches the queue of port {port!r}, which graph {story.graph.name!r} "
                "does not have"
            )


def _settings(parameters: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in parameters.items())


def _where(machine: str, simulated: bool, software: str) -> str:
    return (
        f"simulated on {machine} with the costs of {software}, in virtual time"
        if simulated
        else "measured"
    )
