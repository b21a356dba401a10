"""A graph whose sinks deliver results besides what they do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.functions.compiled import NativeFunction
from harness.graph.kinds import SINK
from harness.graph.schema import Schema
from harness.jobs.results import FLUSH_S, JobResults, ResultStream
from harness.operators.compiled import Compiled, Tap


class TappedCallable:
    """Sink in Python, whose tuples are results, too."""

    def __init__(self, function: Callable[..., Any], take: Callable[[int, Any], None]) -> None:
        self.function, self.take = function, take

    def __call__(self, port: int, values: Mapping[str, Any]) -> Any:
        self.take(port, values)
        return self.function(port, values)

    def __getattr__(self, name: str) -> Any:  # open, close, left_out, if it has them
        return getattr(self.function, name)


def sinks_of(graph: Graph) -> list[Operator]:
    """Return the sinks of a typed graph. Raises UserError for a graph without types."""
    if not graph.typed_graph:
        raise UserError(
            f"a job needs a graph with typed streams (docs/how-to/operators.md); those of "
            f"{graph.name} are not"
        )
    return [each for each in graph.operators.values() if each.kind is SINK]


def streams_of(sink: Operator) -> list[ResultStream]:
    """Return the stream of results of each input port of a sink."""
    schemas = [_form_of(sink) or each for each in sink.typed.takes]
    alike = len(set(schemas)) == 1
    return [
        ResultStream(sink.name if alike else f"{sink.name}-{port}", schema)
        for port, schema in enumerate(schemas)
    ]


def _compiled_of(sink: Operator) -> Compiled | None:
    owners = getattr(sink.typed.function, "owners", ())
    return next((each for each in owners if isinstance(each, Compiled)), None)


def _form_of(sink: Operator) -> Schema | None:
    """Return the schema of results of a sink that gives tuples another form."""
    compiled = _compiled_of(sink)
    return None if compiled is None else compiled.results


class Taps:
    """The sinks of a graph, each replaced by one that adds what it gets to `results`."""

    def __init__(self, graph: Graph, results: JobResults) -> None:
        self._results = results
        self._taps: list[Tap] = []
        self._over = threading.Event()
        for sink in sinks_of(graph):
            function = self._tapped(sink)
            graph.operators[sink.name] = replace(sink, typed=replace(sink.typed, function=function))

    def _tapped(self, sink: Operator) -> Any:
        streams = streams_of(sink)
        if not isinstance(sink.typed.function, NativeFunction):
            return TappedCallable(sink.typed.function, self._take_one(streams))
        sizes = [each.schema.size for each in streams]
        compiled = _compiled_of(sink)
        tap = Tap(sink.typed.function, compiled, sizes, self._take_many(streams))
        self._taps.append(tap)
        return tap.process

    def _take_one(self, streams: list[ResultStream]) -> Callable[[int, Any], None]:
        def take(port: int, values: Any) -> None:
            if not self._results.add(streams[port], [values]):
                raise OSError("its results could not be written")

        return take

    def _take_many(self, streams: list[ResultStream]) -> Callable[[int, bytes], bool]:
        def take(port: int, content: bytes) -> bool:
            schema = streams[port].schema
            rows = [
                schema.unpack(content[begin : begin + schema.size])
                for begin in range(0, len(content), schema.size)
            ]
            return self._results.add(streams[port], rows)

        return take

    def start(self) -> None:
        """Pass on what has been gathered, from time to time."""
        self._thread = threading.Thread(target=self._flush, name="writes results", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Pass on the rest; the run is over."""
        self._over.set()
        self._thread.join()
        for tap in self._taps:
            tap.flush()
        problem = next((tap.problem for tap in self._taps if tap.problem is not None), None)
        if problem is not None:
            raise problem

    def _flush(self) -> None:
        while not self._over.wait(FLUSH_S):
            for tap in self._taps:
                tap.flush()
            self._results.flush()
