"""What a run executes, by the word that names it: a topology of this project, or a graph file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import topologies
from harness.errors import UserError
from harness.graph import Graph
from harness.measurement.spec import RunSpec, cell_slug

Value = int | str


@dataclass(frozen=True)
class Subject:
    """`topology`: the name of the topology or of the graph in the file; `parameters` are for people, `given` for `RunSpec`.

    `file` and `digest` are empty for a topology. The digest is part of the cell's name: records of a file that has changed
    since are records of another cell.
    """

    topology: str
    given: Mapping[str, Value]
    parameters: Mapping[str, Value]
    cell: str
    file: str = ""
    digest: str = ""
    graph: Graph | None = None  # of a file; a topology's is not built before it is needed


def find_subject(word: str, given: Mapping[str, Value], seed: int) -> Subject:
    """What a word means. Raises UserError for a topology, file or parameter that is not there, or a graph that cannot run."""
    from harness.graph.files.file import is_graph_file, load_graph_file

    if not is_graph_file(word):
        values = topologies.find(word).values(given)
        return Subject(word, values, values, cell_slug(word, values))
    loaded = load_graph_file(word, given, seed)
    loaded.graph.check()
    name = loaded.graph.name
    cell = cell_slug(name, {"digest": loaded.digest} | loaded.parameters)
    return Subject(name, dict(given), loaded.parameters, cell, word, loaded.digest, loaded.graph)


def build_subject(spec: RunSpec) -> tuple[Graph, dict[str, Value]]:
    """The graph of a run, and all its parameters. Raises UserError if it cannot be made, or its file has changed since."""
    if not spec.graph_file:
        return topologies.build(spec.topology, spec.parameters, spec.seed)
    from harness.graph.files.file import load_graph_file  # not for those without a file: a measuring process must start fast

    loaded = load_graph_file(spec.graph_file, spec.parameters, spec.seed)
    if spec.digest and loaded.digest != spec.digest:
        raise UserError(f"{spec.graph_file}: the file has changed since the run was asked for")
    return loaded.graph, loaded.parameters


def parameters_of(spec: RunSpec) -> dict[str, Value]:
    """The parameters of a run whose graph was not built: for a file, those given."""
    return dict(spec.parameters) if spec.graph_file else topologies.find(spec.topology).values(spec.parameters)
