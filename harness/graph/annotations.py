"""Annotations of composites, as SPL has them (P17 §2.1-2.2). A *composite* is a Python function
that adds operators to a graph.

@threading   how the operators that the composite adds are executed; the innermost annotation wins
@parallel    a region: the composite many times side by side behind a split, and its outputs joined
             again

  @parallel(width=4)
  @threading(model="dynamic", threads=2)
  def parse(graph, inlet):
      words = graph.work("words", cost=100)
      graph.connect(inlet, words)
      return words

  graph.connect(parse(graph, graph.source("lines")), graph.sink("sink"))
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import Any, TypeVar

from harness.graph import Graph, GraphError, Operator, PortId, Threading
from harness.graph.operator import IN_FORCE, SCOPE
from harness.graph.schema import Schema
from harness.graph.values import MAX_KEYS

MAX_WIDTH = 10_000  # replicas of a region

Composite = TypeVar("Composite", bound=Callable[..., Any])
Place = Operator | PortId
Outlets = tuple[PortId, ...]
"""Output ports whose tuples interleave at the port that they feed: `Graph.connect` takes them in
place of one.
"""

_ORDERED_REGION: ContextVar[str] = ContextVar(
    "name of the ordered region that is being built", default=""
)


def threading(
    model: str | None = None, threads: int | None = None, elastic: bool | None = None
) -> Callable[[Composite], Composite]:
    """Annotate a composite: what it adds is executed under `model`, whatever the run's model is.

    `threads` and `elastic` are of the model dynamic; see `Threading`. Raises GraphError, when the
    annotation is read, for anything that makes no sense.
    """
    if model is None or callable(model):
        raise GraphError("threading: model is missing, as in @threading(model='dynamic')")
    annotation = Threading(model, threads, elastic)

    def annotate(composite: Composite) -> Composite:
        _check_composite("threading", composite)
        if hasattr(composite, "threading_annotation"):
            raise GraphError(
                f"threading: composite {composite.__name__!r} has two @threading annotations"
            )

        @functools.wraps(composite)
        def annotated(*words: Any, **named: Any) -> Any:
            with in_force(annotation):
                return composite(*words, **named)

        annotated.threading_annotation = annotation
        return annotated

    return annotate


@contextmanager
def in_force(annotation: Threading) -> Iterator[None]:
    """Give the annotation to operators that are added inside the `with` block."""
    token = IN_FORCE.set(annotation)
    try:
        yield
    finally:
        IN_FORCE.reset(token)


def parallel(
    width: int, partition_by: int | str | Sequence[str] | None = None, ordered: bool = True
) -> Callable[[Composite], Composite]:
    """Annotate a composite `f(graph, inlet, …) -> Operator | PortId`: it is built `width` times
    behind a split.

    `partition_by`: the number of keys, or names of attributes where streams are typed; tuples of
    one key go to the same replica. None: round-robin.
    `ordered`: behind the region tuples have the order in which the split saw them, and the
    composite returns the merge that restores it. Otherwise they interleave, and it returns the
    `Outlets`.

    The region is named after the composite, numbered where the name is taken; its operators are
    `NAME.split`, `NAME.1.OPERATOR`, … and `NAME.merge`. Raises GraphError for arguments out of
    range when the annotation is read, for a composite that does not fit when it is called.
    """
    by = (partition_by,) if isinstance(partition_by, str) else partition_by
    if not isinstance(by, tuple | list):
        check_region("parallel", width, by, ordered)
    elif by and all(isinstance(name, str) for name in by):
        check_region("parallel", width, None, ordered)
    else:
        raise GraphError(f"parallel: partition_by must name attributes, not {partition_by!r:.60}")

    def annotate(composite: Composite) -> Composite:
        _check_composite("parallel", composite)

        @functools.wraps(composite)
        def region(
            graph: Graph, inlet: Place | Outlets, *words: Any, **named: Any
        ) -> Operator | Outlets:
            if not isinstance(graph, Graph):
                raise GraphError(
                    f"parallel {composite.__name__!r}: takes the graph first, not "
                    f"{type(graph).__name__}"
                )
            name = graph.free_name(composite.__name__, ".split")
            split, outlet = replicate(
                graph,
                name,
                lambda port: composite(graph, port, *words, **named),
                width,
                by,
                ordered,
                _schema_of(graph, inlet),
            )
            graph.connect(inlet, split)
            return outlet

        return region

    return annotate


def check_region(what: str, width: object, partition_by: object, ordered: object) -> None:
    """Raise GraphError for arguments of `parallel` that are out of range."""
    for name, value, high in (
        ("width", width, MAX_WIDTH),
        ("partition_by", partition_by, MAX_KEYS),
    ):
        if name == "partition_by" and value is None:
            continue
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= high:
            raise GraphError(
                f"{what}: {name} must be a whole number from 1 to {high}, not {value!r}"
            )
    if not isinstance(ordered, bool):
        raise GraphError(f"{what}: ordered must be True or False, not {ordered!r}")


def replicate(
    graph: Graph,
    name: str,
    build: Callable[[PortId], Any],
    width: int,
    partition_by: int | Sequence[str] | None,
    ordered: bool,
    schema: Schema | None = None,
) -> tuple[Operator, Operator | Outlets]:
    """Add a region: `build` adds a replica that is fed from the given port, and returns where its
    tuples leave it.

    `schema`: of the tuples that the split gets, if streams are typed. Returns the region's split,
    which the caller must still connect, and its merge or outlets.
    """
    what = f"parallel {name!r}"
    if _ORDERED_REGION.get():
        raise GraphError(
            f"{what}: inside the region {_ORDERED_REGION.get()!r}, which restores its order, no "
            "other is possible; "
            f"give that one ordered=False"
        )
    if schema is None and isinstance(partition_by, tuple | list):
        raise GraphError(
            f"{what}: partition_by must be a number of keys, since its tuples have no attributes"
        )
    if schema is None:
        split = graph.split(f"{name}.split", width, keys=partition_by or 0)
    elif isinstance(partition_by, int):
        raise GraphError(
            f"{what}: partition_by must name attributes of {schema.name}, not {partition_by}"
        )
    else:
        split = graph.typed_split(f"{name}.split", width, schema, partition_by or ())
    before = len(graph.operators)
    outlets: list[PortId] = []
    region = _ORDERED_REGION.set(name if ordered else "")
    try:
        for number in range(width):
            scope = SCOPE.set(f"{SCOPE.get()}{name}.{number + 1}.")
            try:
                outlets += _outlets(graph, what, build(split.output(number)))
            finally:
                SCOPE.reset(scope)
            if number == 0 and ordered:
                _check_preserves(graph, what, before)
    finally:
        _ORDERED_REGION.reset(region)
    if not ordered:
        return split, tuple(outlets)
    merge = (
        graph.merge(f"{name}.merge")
        if schema is None
        else graph.typed_merge(f"{name}.merge", _schema_of(graph, outlets[0]))
    )
    graph.connect(tuple(outlets), merge)
    return split, merge


def _schema_of(graph: Graph, place: Place | Outlets) -> Schema | None:
    """Return the schema of the tuples that leave a place; None: streams are not typed."""
    several = isinstance(place, tuple) and not isinstance(place, PortId)
    port = graph.output_port(place[0] if several else place)
    typed = graph.operators[port.operator].typed
    return None if typed is None else typed.gives[port.port]


def _check_composite(what: str, composite: object) -> None:
    """Raise GraphError for what is no function, or one that would not be over when it returns."""
    if not isinstance(composite, FunctionType):
        shown = (
            f"the operator {composite.name!r}"
            if isinstance(composite, Operator)
            else type(composite).__name__
        )
        raise GraphError(
            f"{what}: annotates a composite, which is a function that adds operators to a graph, "
            f"not {shown}"
        )
    if inspect.isgeneratorfunction(composite) or inspect.iscoroutinefunction(composite):
        raise GraphError(
            f"{what}: composite {composite.__name__!r} must be a plain function, neither a "
            "generator nor async"
        )


def _outlets(graph: Graph, what: str, returned: object) -> list[PortId]:
    """Return the output ports that a replica returned."""
    if isinstance(returned, tuple) and not isinstance(returned, PortId) and returned:
        return [port for each in returned for port in _outlets(graph, what, each)]
    if not isinstance(returned, Operator | PortId):
        shown = "nothing" if returned is None else f"{type(returned).__name__}"
        raise GraphError(
            f"{what}: the composite must return the operator or port that its tuples leave by, not "
            f"{shown}"
        )
    try:
        return [graph.output_port(returned)]
    except GraphError as error:
        raise GraphError(
            f"{what}: what the composite returns is no output port: {error}"
        ) from error


def _check_preserves(graph: Graph, what: str, before: int) -> None:
    """Raise GraphError if an operator of the first replica may keep a tuple from the merge, or let
    others overtake it.
    """
    for operator in list(graph.operators.values())[before:]:
        if operator.kind.balances and operator.outputs > 1:
            raise GraphError(
                f"{what}: operator {operator.name!r} sends tuples to whichever buffer has room, "
                "and the region promises to "
                f"restore their order; give the region ordered=False"
            )
        if not operator.preserves:
            raise GraphError(
                f"{what}: operator {operator.name!r} does not promise to pass on every tuple"
                + (" (one_for_one)" if operator.typed is not None else "")
                + ", and the order of what it drops cannot be restored; give the region "
                "ordered=False"
            )
