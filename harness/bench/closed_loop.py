"""Closed loop of a law and a scenario: each decision is the configuration of the next period."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.bench.scenario import Configuration, Scenario
from harness.elasticity import Decision, Law


@dataclass(frozen=True)
class RunCourse:
    """Course of a run, with one entry for each period."""

    configurations: list[Configuration] = field(default_factory=list)  # during the period
    throughputs: list[float] = field(default_factory=list)  # as measured, with noise [tuples/s]
    decisions: list[Decision] = field(default_factory=list)  # at the end of the period

    @property
    def levels(self) -> list[int]:
        """Thread levels, one for each period."""
        return [each.threads for each in self.configurations]


def run(law: Law, scenario: Scenario, begin: Configuration | None = None) -> RunCourse:
    """Return the course of a run.

    `begin`: the first configuration; None: the first level of the law, without queues or replicas.
    """
    configuration = begin or Configuration(law.bounds.start)
    observe = scenario.observer()
    course = RunCourse()
    for period in range(scenario.periods):
        reading = observe(period, configuration)
        decision = law.step(scenario.completed(law, period, reading))
        course.configurations.append(configuration)
        course.throughputs.append(reading.throughput)
        course.decisions.append(decision)
        configuration = configuration.after(decision)
    return course


def trace_of(name: str, scenario: Scenario) -> RunCourse:
    """Return the course of a contestant's run. Raise UserError for an unknown name."""
    law, begin = scenario.contestant(name)
    return run(law, scenario, begin)
