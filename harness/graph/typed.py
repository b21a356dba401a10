"""Typed operators: the schemas of their ports, and their functions, compiled or in Python.

A typed operator may send none, one or many tuples for each that it gets, on any of its output
ports. docs/operators.md shows how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.graph.functions.compiled import (
    NativeFunction,
    ProcessFunction,
    StepFunction,
    is_compiled,
)
from harness.graph.schema import Schema
from harness.graph.values import GraphError

Sent = Iterable[tuple[int, Mapping[str, Any]]]
"""Tuples that a Python operator sends, each with its output port."""

COMPILED_FLOP = 100
"""Cost of a tuple in a compiled typed operator [FLOP], for the size of batches, if none is given (a
guess, not tuned).
"""

PYTHON_FLOP = 2000
"""Cost of a tuple in a typed operator in Python [FLOP], likewise."""


@dataclass(frozen=True)
class Typed:
    """The schemas and functions of a typed source, operator or sink, or of a loop.

    `function`: compiled (`harness.graph.functions.compiled`), or a Python callable: of a source
    `function()`, which returns the tuples to send; of all others `function(port, values)`, which
    returns the tuples to send for that one, or None. The function of a loop is compiled, or an
    async function of a context. If a callable has methods `open` and `close`, they are called when
    a run begins and when it has stopped. `finish`: called when the last stream into the operator
    has ended; compiled, or `finish()`.
    """

    takes: tuple[Schema, ...]  # by input port
    gives: tuple[Schema, ...]  # by output port
    function: NativeFunction | Callable[..., Sent | None]
    finish: NativeFunction | Callable[[], Sent | None] | None = None

    @property
    def compiled(self) -> bool:
        """True if no Python is executed for a tuple."""
        return isinstance(self.function, NativeFunction)


def schemas_of(what: str, given: Schema | Sequence[Schema]) -> tuple[Schema, ...]:
    """Return the schemas by port, from one for each or one for the only port. Raises GraphError for
    anything else.
    """
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
    """Return the typed part of an operator.

    Raises GraphError for a function of the wrong kind, or for a state without a compiled function.
    """
    try:
        if is_compiled(function):
            made = (StepFunction if source else ProcessFunction).of(function, state)
            if finish is not None and not is_compiled(finish):
                raise GraphError("finish must be compiled, as function is")
            return Typed(
                takes, gives, made, None if finish is None else StepFunction.of(finish, state)
            )
        for what, each in (("function", function), ("finish", finish)):
            if each is not None and (not callable(each) or is_compiled(each)):
                raise GraphError(f"{what} must be callable, not {each!r:.60}")
        if state is not None:
            raise GraphError("state is for compiled functions; a Python callable has its own")
    except GraphError as problem:
        raise GraphError(f"operator {name!r}: {problem}") from None
    return Typed(takes, gives, function, finish)
