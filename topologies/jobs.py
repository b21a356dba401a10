"""Parameters and builder that jobs known from other benchmarks share.

docs/how-to/applications.md has their tables.
"""

from __future__ import annotations

from collections.abc import Callable

from harness.graph import Graph
from topologies import Parameter, Topology, Value, choice
from topologies.inputs import CYCLES, ENDLESS, GENERATED, ONCE

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

    `application(path, records, seed, cycles, **values of more)` builds its graph (cycles: 0 for
    ever, None once as a stream); it imports what is compiled, which other topologies do not need.
    `file`: what an input file holds, if there may be one. `more`: further parameters.
    """

    def build(cycles: Value, input: str = GENERATED, **given: Value) -> Graph:
        times = {ENDLESS: 0, ONCE: None}.get(cycles, cycles)
        return application(path="" if input == GENERATED else input, cycles=times, **given)

    inputs = [choice("input", file, GENERATED, path=True)]
    return Topology(
        name=name,
        summary=summary,
        source=source,
        takes=(records, *(inputs if file else []), CYCLES, *more),
        size=lambda **_: operators,
        build=build,
    )


def records(number: int, what: str) -> Parameter:
    """Return the parameter for the number of generated records."""
    return Parameter("records", number, what, 1, MOST_RECORDS, "of the generated input")
