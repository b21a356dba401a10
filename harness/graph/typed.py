"""What a typed operator is made of: the schemas of its ports, and its function, compiled or in Python.

A typed operator may send none, one or many tuples for each that it gets, on any of its output ports. docs/operators.md shows
how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.graph.functions.compiled import NativeFunction, ProcessFunction, StepFunction, is_compiled
from harness.graph.schema import Schema
from harness.graph.values import GraphError

Sent = Iterable[tuple[int, Mapping[str, Any]]]
"""What a Python operator sends: output ports, each with a tuple."""

COMPILED_FLOP = 100
"""What a compiled typed operator is taken to cost a tuple, for the size of batches, if nobody says: unknown (a guess)."""

PYTHON_FLOP = 2000
"""The same of one in Python."""


@dataclass(frozen=True)
class Typed:
    """Of a typed source, operator or sink, or of a loop, whose function is an async one of a context, or compiled.

    `function`: compiled (`harness.graph.functions.compiled`), or a Python callable: of a source `function()`, which returns
    what it sends; of all others `function(port, values)`, which returns what it sends for that tuple, or None. A callable
    that has methods `open` and `close` is called by them when a run begins and when it has stopped. `finish`: what is done
    when the last stream into it has ended; compiled, or `finish()`.
    """

    takes: tuple[Schema, ...]  # by input port
    gives: tuple[Schema, ...]  # by output port
    function: NativeFunction | Callable[..., Sent | None]
    finish: NativeFunction | Callable[[], Sent | None] | None = None

    @property
    def compiled(self) -> bool:
        """Whether no Python is executed for a tuple."""
        return isinstance(self.function, NativeFunction)


def schemas_of(what: str, given: Schema | Sequence[Schema]) -> tuple[Schema, ...]:
    """The schemas by port: one for each, or one for the only port. Raises GraphError for anything else."""
    several = (given,) if isinstance(given, Schema) else tuple(given)
    for schema in several:
        if not isinstance(schema, Schema):
            raise GraphError(f"{what} must be harness.graph.schema.Schema, not {schema!r:.60}")
    return several


def typed_of(
    name: str,
    source: bool,
    takes: tuple[Schema, ...],
    gives: tuple[Schema, ...],
    function: object,
    finish: object,
    state: object,
) -> Typed:
    """Raises GraphError for a function that cannot be called as it must be, or a state without a compiled function."""
    try:
        if is_compiled(function):
            made = (StepFunction if source else ProcessFunction).of(function, state)
            if finish is not None and not is_compiled(finish):
                raise GraphError("finish must be compiled, as function is")
            return Typed(takes, gives, made, None if finish is None else StepFunction.of(finish, state))
        for what, each in (("function", function), ("finish", finish)):
            if each is not None and (not callable(each) or is_compiled(each)):
                raise GraphError(f"{what} must be callable, not {each!r:.60}")
        if state is not None:
            raise GraphError("state is for compiled functions; a Python callable has its own")
    except GraphError as problem:
        raise GraphError(f"operator {name!r}: {problem}") from None
    return Typed(takes, gives, function, finish)
