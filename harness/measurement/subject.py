"""The graph of a run, by the word that names it: a topology of this project, or a graph file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import topologies
from harness.errors import UserError
from harness.graph import Graph
from harness.measurement.spec import Run, cell_slug

if TYPE_CHECKING:
    from harness.engine.profiled import Profiled

Value = int | str


@dataclass(frozen=True)
class Subject:
    """`topology`: the name of the topology or of the graph in the file; `parameters` are for
    people, `given` for `Run`.

    `file` and `digest` are empty for a topology. The digest is part of the cell's name: records of
    a file that has changed since are records of another cell.
    """

    topology: str
    given: Mapping[str, Value]
    parameters: Mapping[str, Value]
    cell: str
    file: str = ""
    digest: str = ""
    graph: Graph | None = None  # of a file; a topology's is not built before it is needed


def find_subject(word: str, given: Mapping[str, Value], seed: int) -> Subject:
    """Return what a word names. Raises UserError for a topology, file or parameter that does not
    exist, or a graph that cannot run.
    """
    from harness.graph.files.file import is_graph_file, load_graph_file

    if not is_graph_file(word):
        values = topologies.find(word).values(given)
        return Subject(word, values, values, cell_slug(word, values))
    loaded = load_graph_file(word, given, seed)
    loaded.graph.check()
    name = loaded.graph.name
    cell = cell_slug(name, {"digest": loaded.digest} | loaded.parameters)
    return Subject(name, dict(given), loaded.parameters, cell, word, loaded.digest, loaded.graph)


class BuiltSubject(NamedTuple):
    """The graph of a run, all its parameters, and the profile that its user has given."""

    graph: Graph
    parameters: dict[str, Value]
    profiled: Profiled | None


def build_subject(run: Run) -> BuiltSubject:
    """Return the graph of a run; it has costs of a profile in place of functions if the run is
    simulated with one. Raises UserError if it cannot be made, or its file has changed since.
    """
    graph, parameters = _build(run)
    profiled = None
    if run.simulated and run.profile:
        from harness.measurement.profiling import load_profile  # late: few runs need them
        from harness.measurement.simulable import simulable

        profiled = load_profile(run.profile, graph)
        graph = simulable(graph, profiled, run.place.described())
    if run.full_speed:
        for name, operator in graph.operators.items():
            graph.operators[name] = replace(operator, rate=None, rates=())
    return BuiltSubject(graph, parameters, profiled)


def _build(run: Run) -> tuple[Graph, dict[str, Value]]:
    if not run.graph_file:
        return topologies.build(run.topology, run.parameters, run.seed)
    # imported late: a measuring process must start fast
    from harness.graph.files.file import load_graph_file

    loaded = load_graph_file(run.graph_file, run.parameters, run.seed)
    if run.digest and loaded.digest != run.digest:
        raise UserError(f"{run.graph_file}: the file has changed since the run was asked for")
    return loaded.graph, loaded.parameters


def parameters_of(run: Run) -> dict[str, Value]:
    """Return the parameters of a run whose graph was not built: for a file, those given."""
    return (
        dict(run.parameters)
        if run.graph_file
        else topologies.find(run.topology).values(run.parameters)
    )
