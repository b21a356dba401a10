"""Graphs in files: .yaml, .yml and .json describe one, .py makes one (`graph()`, or the function
named in `path.py:function`), and .csv has what the operators of a program elsewhere cost (`costs`).

The format of the first three is `config/schemas/graph.schema.json`; docs/how-to/graphs.md shows it
with examples. A file's *digest* changes with its text and with that of the Python files that it
names. So it shows which records are of other graphs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.files.given import read_given
from harness.graph.balance import outer_port
from harness.graph.builder import Graph
from harness.graph.files.costs import graph_of_costs
from harness.graph.files.function import Value, graph_of_function
from harness.graph.files.reader import GraphReader
from harness.graph.files.text import read_text
from harness.graph.kinds import CONTROL
from harness.graph.operator import Operator, PortId
from harness.graph.values import GraphError

WORD = re.compile(
    r"(?P<path>.*\.(yaml|yml|json|csv|py))|(?P<python>.*\.py):(?P<function>[^:]*)", re.DOTALL
)
MAX_NAME = 100  # characters of a graph's name: records' files are named after it


@dataclass(frozen=True)
class LoadedGraph:
    """A graph from a file; `parameters`: those of the function that made it, defaults filled in;
    `digest`: of its files.
    """

    graph: Graph
    parameters: dict[str, Value]
    digest: str


def is_graph_file(word: str) -> bool:
    """Return True if a word names a graph file, and not a topology."""
    return WORD.fullmatch(word) is not None


def load_graph(path: str | Path) -> Graph:
    """Return the graph in a file, not checked yet. Raises UserError, in one line, if the file has
    none.
    """
    return load_graph_file(str(path)).graph


def load_graph_file(
    word: str, given: Mapping[str, Value] | None = None, seed: int = 0
) -> LoadedGraph:
    """Return the graph that a word names; `given`: values of a function's parameters, `seed`: its
    random seed.
    """
    path, name = _parts(word)
    if path.suffix == ".py":
        graph, parameters = graph_of_function(
            path, "graph" if name is None else name, given or {}, seed
        )
        files = [path]
    else:
        if given:
            raise UserError(
                f"{path}: a graph in a {path.suffix} file has no parameters; {next(iter(given))!r} "
                "cannot be set"
            )
        if path.suffix == ".csv":
            graph, parameters, files = graph_of_costs(path), {}, [path]
        else:
            reader = GraphReader(path, read_text(path))
            graph, parameters = reader.graph(), {}
            files = [path, *sorted(reader.files)]
    _check_name(path, graph.name)
    return LoadedGraph(graph, parameters, _digest(files))


def file_of(word: str) -> Path:
    """Return the file that a word names, without the function."""
    return _parts(word)[0]


def _parts(word: str) -> tuple[Path, str | None]:
    """Return the file and the function that a word names."""
    found = WORD.fullmatch(word)
    if found is None:
        raise UserError(
            "a graph file must end in .yaml, .yml, .json, .csv, .py or .py:FUNCTION, not be "
            f"{word[:60]!r}"
        )
    return Path(found["python"] or found["path"]), found["function"]


def dump_graph(graph: Graph) -> dict[str, Any]:
    """Return the graph as a graph file has it, in JSON values. Raises GraphError if an operator has
    a function.
    """
    operators: list[dict[str, Any]] = []
    for annotation, run in groupby(
        graph.operators.values(), key=lambda operator: operator.threading
    ):
        entries = [_entry(graph, operator) for operator in run if not operator.buffers]
        if annotation is None:
            operators += entries
        else:
            wish = {
                "model": annotation.model,
                "threads": annotation.threads,
                "elastic": annotation.elastic,
            }
            given = {key: value for key, value in wish.items() if value is not None}
            operators.append({"threading": given, "operators": entries})
    values: dict[str, Any] = {"name": graph.name, "payload": graph.payload, "operators": operators}
    streams = [
        stream for stream in graph.streams if not graph.operators[stream.target.operator].buffers
    ]
    if streams:
        values["streams"] = [
            _stream(graph, outer_port(graph, stream.source), stream.target) for stream in streams
        ]
    threaded = {
        port: capacity
        for port, capacity in graph.threaded.items()
        if not graph.operators[port.operator].buffers
    }
    if threaded:
        values["threaded"] = [
            {"port": _port(graph, port), "capacity": capacity}
            for port, capacity in threaded.items()
        ]
    return values


def _entry(graph: Graph, operator: Operator) -> dict[str, Any]:
    if operator.users:
        raise GraphError(
            f"graph {graph.name!r}: the function of operator {operator.name!r} cannot be written "
            "to a file"
        )
    if operator.kind is CONTROL:
        return {"control": operator.controls}
    entry: dict[str, Any] = {operator.kind.name: operator.name}
    for parameter, default in operator.kind.parameters.items():
        value = getattr(operator, parameter)
        if value != default:
            entry[parameter] = (
                [list(burst) for burst in value] if isinstance(value, tuple) else value
            )
    return entry


def _stream(graph: Graph, source: PortId, target: PortId) -> str | list[Any]:
    ends = [_port(graph, source), _port(graph, target)]
    return (
        " -> ".join(ends) if all(isinstance(end, str) and "->" not in end for end in ends) else ends
    )


def _port(graph: Graph, port: PortId) -> str | list[Any]:
    """Return a port as text, or as name and number if the text could be read as something else."""
    name = port.operator
    text = name if port.port == 0 else f"{name}[{port.port}]"
    if (
        name.endswith("]")
        or name != name.strip()
        or "->" in name
        or (text != name and text in graph.operators)
    ):
        return list(port)
    return text


def _check_name(path: Path, name: object) -> None:
    good = (
        isinstance(name, str)
        and 0 < len(name) <= MAX_NAME
        and name.isprintable()
        and not set(name) & set("/\\")
    )
    if not good:
        shown = repr(name if not isinstance(name, str) or len(name) <= 60 else name[:57] + "...")
        raise UserError(
            f"{path}: a graph's name must be 1 to {MAX_NAME} printable characters without slashes "
            "(files are named after it), "
            f"not {shown}"
        )


def _digest(files: list[Path]) -> str:
    """Return 12 characters that change with the content of the files."""
    total = sha256()
    for file in files:
        total.update(sha256(read_given(file)).digest())
    return total.hexdigest()[:12]
