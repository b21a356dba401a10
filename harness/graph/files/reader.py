"""Reader that makes a graph from the values of a graph file. Each error names the file, the line if
it is known, the place in it, and the rule.

The methods of `Graph` check the values themselves; this file checks how they are arranged, as
graph.schema.json does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import UserError
from harness.files.checked_yaml import Place, did_you_mean, dotted
from harness.graph.annotations import Outlets, check_region, in_force, replicate
from harness.graph.builder import Graph
from harness.graph.files.function import load_attribute
from harness.graph.files.text import ParsedFile
from harness.graph.kinds import KINDS
from harness.graph.lines import FileLines
from harness.graph.operator import Operator, PortId, Threading
from harness.graph.values import DEFAULT_THREADED_CAPACITY, MAX_OPERATORS, MAX_PORTS

KEYS: dict[str, tuple[str, ...]] = {
    **{kind.name: tuple(kind.parameters) for kind in KINDS.values() if kind.in_files},
    "threading": ("operators",),
    "parallel": (
        "width",
        "partition_by",
        "ordered",
        "inlet",
        "outlet",
        "operators",
        "streams",
        "threaded",
    ),
}
"""Keys that an entry under `operators` may have besides its kind, by kind."""

NEEDED: dict[str, tuple[str, ...]] = {
    **{kind.name: kind.required for kind in KINDS.values() if kind.in_files},
    "threading": ("operators",),
    "parallel": ("width", "inlet", "outlet", "operators"),
}

TOP_KEYS = ("name", "payload", "operators", "streams", "threaded")
PORT = re.compile(r"(?P<name>.+)\[(?P<port>[0-9]{1,7})\]", re.DOTALL)


@dataclass(frozen=True)
class ParallelRegion:
    """A parallel region: tuples enter by its split and leave by its merge or by its outlets."""

    split: Operator
    outlet: Operator | Outlets


Names = dict[str, Operator | ParallelRegion]
"""Operators and regions by their name in one part of a file: the whole graph, or a region's body in
one replica.
"""


class GraphReader:
    """Makes the graph of one file; `files` are the Python files that it refers to."""

    def __init__(self, path: Path, text: ParsedFile) -> None:
        self.path = path
        self.text = text
        self.files: set[Path] = set()
        self.lines = FileLines(path)

    def graph(self) -> Graph:
        """Return the graph, not checked yet. Raises UserError for an error in the file."""
        values = self.text.values
        if not isinstance(values, dict):
            raise UserError(
                f"{self.path}: must hold keys and values, as in KEY: VALUE; found "
                f"{_kind_of(values)}"
            )
        self._check_keys(values, (), TOP_KEYS, ("operators",))
        with self._place(()):
            graph = Graph(values.get("name", self.path.stem), values.get("payload", 128))
        graph.written = self.lines
        names: Names = {}
        self._operators(graph, values, (), names)
        self._wires(graph, values, (), names)
        return graph

    def _note(self, graph: Graph, place: Place) -> None:
        """Note that what is new in the graph is written at a place."""
        self.lines.add(len(graph.operators), len(graph.streams), self.text.line(place))

    # -- operators ---------------------------------------------------------------------------------

    def _operators(self, graph: Graph, values: dict, place: Place, names: Names) -> None:
        place = (*place, "operators")
        entries = self._list(values["operators"], place)
        if len(entries) > MAX_OPERATORS:
            raise self._wrong(
                place, f"must be at most {MAX_OPERATORS} operators, not {len(entries)}"
            )
        for index, entry in enumerate(entries):
            self._operator(graph, entry, (*place, index), names)
            self._note(graph, (*place, index))

    def _operator(self, graph: Graph, entry: object, place: Place, names: Names) -> None:
        if not isinstance(entry, dict):
            raise self._wrong(
                place, f"must be keys and values, as in {{work: NAME}}, not {_shown(entry)}"
            )
        kinds = [key for key in entry if key in KEYS]
        if len(kinds) != 1:
            unknown = next((key for key in entry if key not in KEYS), "")
            found = (
                f"names {' and '.join(kinds)}"
                if kinds
                else f"has none{did_you_mean(unknown, KEYS)}"
            )
            raise self._wrong(place, f"must name one kind of {', '.join(KEYS)}; it {found}")
        kind = kinds[0]
        self._check_keys(entry, place, (kind, *KEYS[kind]), NEEDED.get(kind, ()))
        options = {key: value for key, value in entry.items() if key != kind}
        if kind == "threading":
            with self._place((*place, kind)):
                annotation = Threading(**self._threading(entry[kind], (*place, kind)))
            with in_force(annotation):
                self._operators(graph, entry, place, names)
            return
        name = entry[kind]
        if not isinstance(name, str):
            raise self._wrong((*place, kind), f"must be a name, not {_shown(name)}")
        if kind == "control":
            self._control(graph, name, (*place, kind), names)
            return
        if name in names:
            raise self._wrong((*place, kind), f"two operators are named {_shown(name)}")
        if kind == "parallel":
            names[name] = self._region(graph, name, entry, place)
            return
        for key in ("preserves", "reentrant", "stateless"):
            if not isinstance(options.get(key, False), bool):
                raise self._wrong(
                    (*place, key), f"must be true or false, not {_shown(options[key])}"
                )
        if "function" in options:
            options["function"] = self._function(options["function"], (*place, "function"))
        with self._place(place):
            names[name] = getattr(graph, kind)(name, **options)

    def _threading(self, value: object, place: Place) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(
                place, f"must be keys and values, as in {{model: dynamic}}, not {_shown(value)}"
            )
        self._check_keys(value, place, ("model", "threads", "elastic"), ("model",))
        return value

    def _control(self, graph: Graph, name: str, place: Place, names: Names) -> None:
        operator = names.get(name)
        if not isinstance(operator, Operator):
            what = (
                "a region cannot have a control port"
                if operator
                else f"no operator before it is named {_shown(name)}"
            )
            raise self._wrong(place, what + did_you_mean(name, names if operator is None else ()))
        with self._place(place):
            names[f"{name}.control"] = graph.operators[graph.control(operator).operator]

    def _function(self, reference: object, place: Place) -> object:
        if not isinstance(reference, str):
            raise self._wrong(
                place, f"must be module:attribute or path.py:attribute, not {_shown(reference)}"
            )
        with self._place(place):
            function, file = load_attribute(reference, self.path.parent)
        if file is not None:
            self.files.add(file)
        return function

    def _region(self, graph: Graph, name: str, entry: dict, place: Place) -> ParallelRegion:
        width, keys, ordered = entry["width"], entry.get("partition_by"), entry.get("ordered", True)
        with self._place(place):
            check_region("parallel", width, keys, ordered)
        placed: list[UserError] = []  # an error that names its place already

        def build(port: PortId) -> Any:
            self._note(graph, place)
            try:
                names: Names = {}
                self._operators(graph, entry, place, names)
                graph.connect(
                    port, self._end(entry["inlet"], (*place, "inlet"), names, entering=True)
                )
                self._note(graph, (*place, "inlet"))
                self._wires(graph, entry, place, names)
                return self._end(entry["outlet"], (*place, "outlet"), names, entering=False)
            except UserError as error:
                placed.append(error)
                raise

        try:
            return ParallelRegion(*replicate(graph, name, build, width, keys, ordered))
        except UserError as error:
            if placed:
                raise
            raise self._wrong(place, str(error)) from error

    # -- streams -----------------------------------------------------------------------------------

    def _wires(self, graph: Graph, values: dict, place: Place, names: Names) -> None:
        """Add the streams and threaded ports of a graph or of the body of a region."""
        for index, stream in enumerate(self._list(values.get("streams", []), (*place, "streams"))):
            where = (*place, "streams", index)
            source, target = self._ends(stream, where)
            output = self._end(source, where, names, entering=False)
            input_ = self._end(target, where, names, entering=True)
            with self._place(where):
                graph.connect(output, input_)
            self._note(graph, where)
        for index, entry in enumerate(self._list(values.get("threaded", []), (*place, "threaded"))):
            where = (*place, "threaded", index)
            port, capacity = entry, DEFAULT_THREADED_CAPACITY
            if isinstance(entry, dict):
                self._check_keys(entry, where, ("port", "capacity"), ("port",))
                port, capacity = entry["port"], entry.get("capacity", capacity)
            found = self._end(port, where, names, entering=True)
            with self._place(where):
                graph.threaded_port(found, capacity)

    def _ends(self, stream: object, place: Place) -> tuple[object, object]:
        if isinstance(stream, str) and stream.count("->") == 1:
            source, _, target = stream.partition("->")
            return source.strip(), target.strip()
        if isinstance(stream, list) and len(stream) == 2:
            return stream[0], stream[1]
        raise self._wrong(place, f"must be A -> B or [A, B], not {_shown(stream)}")

    def _end(self, end: object, place: Place, names: Names, entering: bool) -> PortId | Outlets:
        """Return the port named by `NAME`, `NAME[PORT]` or [NAME, PORT]: an input port if
        `entering`, else an output port.
        """
        port: object = None
        name = end
        if isinstance(end, list) and len(end) == 2:
            name, port = end
        elif isinstance(end, str) and end not in names and (found := PORT.fullmatch(end)):
            name, port = found["name"], int(found["port"])
        if not isinstance(name, str) or isinstance(port, bool) or not isinstance(port, int | None):
            raise self._wrong(
                place, f"a port must be NAME, NAME[PORT] or [NAME, PORT], not {_shown(end)}"
            )
        if port is not None and not 0 <= port <= MAX_PORTS:
            raise self._wrong(
                place, f"a port's number must be from 0 to {MAX_PORTS}, not {_shown(port)}"
            )
        if name not in names:
            raise self._wrong(
                place,
                f"no operator is named {_shown(name)} here{did_you_mean(name[:80], _few(names))}",
            )
        operator = names[name]
        if isinstance(operator, Operator):
            return PortId(operator.name, port or 0)
        if port is not None:
            raise self._wrong(place, f"the region {_shown(name)} has no numbered ports")
        if entering:
            return operator.split.input(0)
        return (
            operator.outlet.output(0) if isinstance(operator.outlet, Operator) else operator.outlet
        )

    # -- what is wrong -----------------------------------------------------------------------------

    def _list(self, value: object, place: Place) -> list:
        if not isinstance(value, list):
            raise self._wrong(place, f"must be a list, not {_shown(value)}")
        return value

    def _check_keys(
        self, values: dict, place: Place, known: tuple[str, ...], needed: tuple[str, ...]
    ) -> None:
        for key in values:
            if key not in known:
                close = did_you_mean(key[:80], known) or f"; keys are: {', '.join(known)}"
                raise self._wrong((*place, key[:80]), f"unknown key{close}")
        for key in needed:
            if key not in values:
                raise self._wrong((*place, key), "missing key")

    @contextmanager
    def _place(self, place: Place) -> Iterator[None]:
        """Add the place to a UserError raised in the `with` block."""
        try:
            yield
        except UserError as error:
            raise self._wrong(place, str(error)) from error

    def _wrong(self, place: Place, problem: str) -> UserError:
        line = self.text.line(place)
        where = f"{self.path}, line {line}" if line else f"{self.path}"
        clean = "".join(letter if letter.isprintable() else "?" for letter in dotted(place))
        return UserError(f"{where}: {clean}: {problem}" if clean else f"{where}: {problem}")


def _few(names: Names) -> list[str]:
    """Return the names to compare with a wrong one; of very many, the first 1000."""
    return list(names)[:1000]


def _kind_of(value: object) -> str:
    return "nothing" if value is None else type(value).__name__


def _shown(value: object) -> str:
    """Return a value in an error message: one line, not endless."""
    if isinstance(value, dict | list) and len(value) > 8:
        return f"a {_kind_of(value)} of {len(value)}"
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a whole number of {value.bit_length()} bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
