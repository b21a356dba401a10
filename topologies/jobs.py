"""Parameters and builder that jobs known from other benchmarks share (docs/applications.md)."""

from __future__ import annotations

from collections.abc import Callable

from harness.graph import Graph
from harness.graph.values import MAX_TUPLES
from topologies import Parameter, Topology, Value

ENDLESS, GENERATED = "endless", "generated"
MOST_RECORDS = 10**7


def job(
    name: str,
    summary: str,
    source: str,
    application: Callable[..., Graph],
    operators: int,
    records: Parameter,
    more: tuple[Parameter, ...] = (),
    file: str = "",
) -> Topology:
    """Return the topology of a job.

    `application(path, records, seed, cycles, **values of more)` builds its graph; it imports what
    is compiled, which other topologies do not need. `file`: what an input file holds, if there may
    be one. `more`: further parameters.
    """

    def build(cycles: Value, input: str = GENERATED, **given: Value) -> Graph:
        times = 0 if cycles == ENDLESS else cycles
        return application(path="" if input == GENERATED else input, cycles=times, **given)

    inputs = [Parameter("input", GENERATED, "", None, None, file, (GENERATED,), path=True)]
    cycles = Parameter(
        "cycles", ENDLESS, "times", 1, MAX_TUPLES, "that the input is gone through", (ENDLESS,)
    )
    return Topology(
        name=name,
        summary=summary,
        source=source,
        takes=(records, *(inputs if file else []), cycles, *more),
        size=lambda **_: operators,
        build=build,
    )


def records(number: int, what: str) -> Parameter:
    """Return the parameter for the number of generated records."""
    return Parameter("records", number, what, 1, MOST_RECORDS, "of the generated input")
