"""Typed operators: the schemas of their ports, and their functions, compiled or in Python.

A typed operator may send none, one or many tuples for each that it gets, on any of its output
ports. docs/how-to/operators.md shows how to write one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.graph.functions.compiled import (
    NativeFunction,
    PredicateFunction,
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
    has ended; compiled, or `finish()`. A barrier, a split and a merge have no function: the
    runtime executes them.
    """

    takes: tuple[Schema, ...]  # by input port
    gives: tuple[Schema, ...]  # by output port
    function: NativeFunction | Callable[..., Sent | None] | None = None
    finish: NativeFunction | Callable[[], Sent | None] | None = None
    # attributes of the key by which a split chooses the way, or an operator keeps its state
    by: tuple[str, ...] = ()

    @property
    def compiled(self) -> bool:
        """True if no Python is executed for a tuple."""
        return self.function is None or isinstance(self.function, NativeFunction)


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


# -- filters, splits and barriers ------------------------------------------------------------------


def filter_of(name: str, accepts: object, schema: Schema, state: object) -> Typed:
    """Return the typed part of a filter. Raises GraphError for a function of the wrong kind."""
    try:
        if is_compiled(accepts):
            return Typed((schema,), (schema,), PredicateFunction.of(accepts, state))
        if not callable(accepts):
            raise GraphError(f"accepts must be callable, not {accepts!r:.60}")
        if state is not None:
            raise GraphError("state is for compiled functions; a Python callable has its own")
    except GraphError as problem:
        raise GraphError(f"operator {name!r}: {problem}") from None
    return Typed((schema,), (schema,), partial(_accepted, accepts))


def split_of(name: str, schema: Schema, outputs: int, by: str | Sequence[str]) -> Typed:
    """Return the typed part of a split. Raises GraphError for an attribute that is not there."""
    return Typed((schema,), (schema,) * outputs, by=key_attributes(name, (schema,), by))


def key_attributes(name: str, takes: Sequence[Schema], by: str | Sequence[str]) -> tuple[str, ...]:
    """Return the attributes of an operator's key. Raises GraphError for one that is not there, or a
    key where there is not one input port.
    """
    names = (by,) if isinstance(by, str) else tuple(by)
    if names and len(takes) != 1:
        raise GraphError(f"operator {name!r}: by needs one input port, not {len(takes)}")
    for each in names:
        if each not in dict(takes[0].types):
            known = ", ".join(attribute for attribute, _ in takes[0].types)
            raise GraphError(
                f"by of operator {name!r} must name attributes of {takes[0].name} ({known}), not "
                f"{each!r:.60}"
            )
    return names


def _accepted(accepts: Callable[[Mapping[str, Any]], object], port: int, values: Any) -> Any:
    return ((0, values),) if accepts(values) else ()


def joined(schemas: Sequence[Schema]) -> Schema:
    """Return the schema of what a barrier makes of tuples of `schemas`: all attributes; one that
    several have is that of the first.
    """
    return Schema("_".join(schema.name for schema in schemas), _types_of(schemas))


def _types_of(schemas: Sequence[Schema]) -> dict[str, str]:
    types: dict[str, str] = {}
    for schema in schemas:
        types |= {name: kind for name, kind in schema.types if name not in types}
    return types


def check_joined(name: str, takes: Sequence[Schema], gives: Schema) -> None:
    """Raise GraphError for an attribute of a barrier's output that none of its inputs has."""
    types = _types_of(takes)
    for attribute, kind in gives.types:
        if types.get(attribute) != kind:
            found = f"it is {types[attribute]}" if attribute in types else "none has it"
            raise GraphError(
                f"barrier {name!r}: attribute {attribute} of {gives.name} must be one of its "
                f"inputs, as {kind}, but {found}"
            )


def columns_of(typed: Typed) -> list[tuple[int, int, int, int]]:
    """Return, by input, where each attribute of a barrier's output comes from: input, offset there,
    offset in the output, bytes.
    """
    columns = []
    for to in typed.gives[0].attributes:
        place = next(
            place for place, schema in enumerate(typed.takes) if to.name in dict(schema.types)
        )
        from_ = typed.takes[place][to.name]
        columns.append((place, from_.offset, to.offset, to.end - to.offset))
    return sorted(columns)
