"""Jobs that other benchmarks know: a source, the steps of the job, and a sink that counts and keeps
results.

The input is generated, or a file. It is gone through again and again from memory, or once from a
file as it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.applications.given_input import read_input
from harness.connectors import FileSource, StandardInput
from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.schema import Schema
from harness.operators.compiled import collect, kept
from harness.operators.ready import replayed

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Generated:
    """Tuples that a program makes: pairs of an output port and a tuple. Times go on by `span`
    nanoseconds from one cycle to the next.
    """

    gives: tuple[Schema, ...]
    tuples: Iterable[tuple[int, Values]]
    span: int | None


@dataclass(frozen=True)
class FileOfLines:
    """A file of lines. `parse` returns the values of a tuple, and raises ValueError for a broken
    line.
    """

    gives: Schema
    path: str
    parse: Callable[[bytes], Values]
    span: int | None


class BenchmarkJob:
    """The graph of a job: `steps(graph, source)` adds its operators and returns the last one.

    The sink keeps the first `keep` results. `cycles`: how often the input is gone through, in
    memory; 0: again and again; None: once, and a file as a stream.
    """

    def __init__(
        self,
        name: str,
        given: Generated | FileOfLines,
        steps: Callable[[Graph, Operator], Operator],
        cycles: int | None,
        keep: int = 0,
    ) -> None:
        self.graph = Graph(name, payload=0)
        self.graph.counts = self.counts
        self.broken, self.truncated = 0, False
        source = self._source(given, cycles)
        last = steps(self.graph, source)
        (self.schema,) = last.typed.gives
        self.sink = collect(self.schema, keep)
        sink = self.graph.typed_sink("results", self.sink.process, self.schema)
        self.graph.connect(last, sink)

    def _source(self, given: Generated | FileOfLines, cycles: int | None) -> Operator:
        if isinstance(given, FileOfLines) and cycles is None:
            self.read = (
                StandardInput(given.gives, given.parse)
                if given.path == "-"
                else FileSource(given.path, given.gives, given.parse)
            )
            return self.graph.typed_source("source", self.read, given.gives)
        self.read = None
        times = 1 if cycles is None else cycles or None
        tuples = given.tuples if isinstance(given, Generated) else list(self._tuples(given))
        if not tuples:
            raise UserError(f"{given.path}: none of its lines can be read")
        self.sent = replayed("source", given.gives, tuples, times, given.span)
        return self.graph.typed_source("source", self.sent.step, given.gives)

    def _tuples(self, lines: FileOfLines) -> Iterator[tuple[int, Values]]:
        content = read_input(lines.path)
        self.truncated = content.truncated
        for line in content.data.removesuffix(b"\n").split(b"\n") if content.data else ():
            try:
                yield 0, lines.parse(line.removesuffix(b"\r"))
            except ValueError:
                self.broken += 1

    def counts(self) -> dict[str, int]:
        """Return the number of records, of broken ones among them, and of results. Exact when the
        run is over.
        """
        if self.read is not None:
            read = self.read.counts()
        else:
            read = {"records": self.sent.counted() + self.broken, "broken": self.broken}
        truncated = read.get("truncated", int(self.truncated))
        return read | {"truncated": truncated, "results": self.sink.counted()}

    def results(self) -> list[dict[str, Any]]:
        """Return the results that the sink has kept, in the order of arrival."""
        return kept(self.sink, self.schema)
