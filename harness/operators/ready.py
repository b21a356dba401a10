"""Ready sources, functions and sinks on typed streams, for jobs that are written in Python and run
as compiled code.

    readings = replay(graph, "readings", READING, tuples)
    hot = each(graph, "hot", lambda reading, out: ..., READING, HOT)

docs/how-to/operators.md shows how to write a job with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from harness.graph import Graph, GraphError, Operator
from harness.graph.functions.c_signature import PROCESS
from harness.graph.schema import Schema
from harness.graph.typed import schemas_of
from harness.graph.values import MAX_TUPLES
from harness.operators import compiled

Tuples = Iterable[tuple[int, Mapping[str, Any]]]

MOST_SPAN = 2**60
"""Most nanoseconds by which times go on from one cycle to the next (36 years)."""


def replay(
    graph: Graph,
    name: str,
    gives: Schema | Sequence[Schema],
    tuples: Tuples,
    cycles: int | None = None,
    span: int | None = None,
    cost: int | None = None,
) -> Operator:
    """Add a source that sends tuples from memory, again and again; with `cycles`, so many times in
    all.

    `tuples`: pairs of an output port and a tuple, as a source in Python yields them. Each attribute
    of type time goes on by `span` nanoseconds from one cycle to the next; without it, by as many as
    there are from the least time to the greatest, and one. Raises GraphError for a tuple that does
    not fit its schema.
    """
    source = replayed(name, gives, tuples, cycles, span)
    return graph.typed_source(name, source.step, gives, cost=cost)


def replayed(
    name: str,
    gives: Schema | Sequence[Schema],
    tuples: Tuples,
    cycles: int | None = None,
    span: int | None = None,
) -> compiled.Compiled:
    """Return the source that `replay` adds; it counts what it has sent."""
    schemas = schemas_of(f"gives of operator {name!r}", gives)
    for what, value, least, most in (
        ("cycles", cycles, 1, MAX_TUPLES),
        ("span", span, 0, MOST_SPAN),
    ):
        wrong = not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most
        if value is not None and wrong:
            raise GraphError(
                f"operator {name!r}: {what} must be a whole number from {least:,} to {most:,}, not "
                f"{value!r:.60}"
            )
    packed, times = [], []
    for port, values in tuples:
        if port not in range(len(schemas)):
            raise GraphError(f"operator {name!r} must send to its output ports, not to {port!r}")
        try:
            packed.append((port, schemas[port].pack(values)))
        except ValueError as problem:
            raise GraphError(f"operator {name!r}: {problem}") from None
        times += [values[each.name] for each in schemas[port].attributes if each.kind == "time"]
    if span is None:
        span = max(times) - min(times) + 1 if times else 0
    ports = [
        (schema.size, [each.offset for each in schema.attributes if each.kind == "time"])
        for schema in schemas
    ]
    return compiled.replay(ports, packed, 0 if cycles is None else cycles, span)


def each(
    graph: Graph,
    name: str,
    function: Callable[[Any, Any], bool],
    takes: Schema,
    gives: Schema,
    cost: int | None = None,
) -> Operator:
    """Add an operator that calls `function(tuple, out)` for each tuple, compiled by numba.

    The function writes the attributes of `out`, and returns True to send it, else False. A string
    has a `length` and a `text`, an array of bytes. What it does not write is zero. Raises
    GraphError for a function that numba cannot compile.
    """
    try:
        process = _compiled(function, takes, gives)
    except ValueError as problem:
        raise GraphError(
            f"operator {name!r}: numba cannot compile its function: {problem}"
        ) from None
    return graph.typed(name, process, takes, gives, cost=cost)


@lru_cache(maxsize=256)
def _compiled(function: Callable[[Any, Any], bool], takes: Schema, gives: Schema) -> object:
    """Return the C function of an operator that sends what `function` writes. Raises ValueError,
    with the reason in one line, where numba cannot compile it.
    """
    # late: it takes a third of a second, and most commands need no compiler
    import numba
    import numpy as np

    from harness.runtime.numba_functions import numba_room_and_send

    room, send = numba_room_and_send()
    before, after, bytes_of_tuple = takes.dtype, gives.dtype, gives.size
    compiled_function = numba.njit(function)

    def process(context, port, tuple_, state):
        place = room(context, 0)
        content = numba.carray(place, bytes_of_tuple, np.uint8)
        content[:] = 0  # the room holds old bytes
        out = numba.carray(place, 1, after)
        if compiled_function(numba.carray(tuple_, 1, before)[0], out[0]):
            send(context, 0)
        return 0

    try:
        return numba.cfunc(PROCESS.numba)(process)
    except numba.core.errors.NumbaError as problem:
        raise ValueError(f"{' '.join(str(problem).split()):.300}") from None
    except KeyError as problem:  # numba says no more about an attribute that is not there
        raise ValueError(f"a tuple has no attribute {problem}") from None
