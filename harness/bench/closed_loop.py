"""Drives a law through a scenario: its decision is the configuration of the next period."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.bench.scenario import Configuration, Scenario
from harness.elasticity import Decision, Law


@dataclass(frozen=True)
class RunCourse:
    """Course of a run: one entry a period; the configurations are those in which the periods
    passed."""

    configurations: list[Configuration] = field(default_factory=list)
    throughputs: list[float] = field(default_factory=list)  # as measured, with noise [tuples/s]
    decisions: list[Decision] = field(default_factory=list)

    @property
    def levels(self) -> list[int]:
        """Thread levels, one a period."""
        return [each.threads for each in self.configurations]


def run(law: Law, scenario: Scenario, begin: Configuration | None = None) -> RunCourse:
    """Return the course of a run.

    `begin`: the first configuration; None: the law's first level alone.
    """
    configuration, observe, trace = (
        begin or Configuration(law.bounds.start),
        scenario.observer(),
        RunCourse(),
    )
    for period in range(scenario.periods):
        reading = observe(period, configuration)
        trace.configurations.append(configuration)
        trace.throughputs.append(reading.throughput)
        trace.decisions.append(law.step(scenario.told(law, period, reading)))
        configuration = configuration.after(trace.decisions[-1])
    return trace


def trace_of(name: str, scenario: Scenario) -> RunCourse:
    """Return a contestant's run. Raise UserError for an unknown name."""
    law, begin = scenario.contestant(name)
    return run(law, scenario, begin)
