"""Operators on typed streams with windows and state: aggregates, joins, top-k, frequencies. All are
compiled.

    values = {"volume": total("volume")}
    sums = aggregate(graph, "sums", TICK, by_count(4, step=1), values, by="ticker")

Each function adds an operator to a graph and returns it; `operator.typed.gives[0]` is the schema of
its output. The computations are defined in native/windows.hpp, aggregates.hpp, join.hpp and
sketches.hpp, and once more in plain.py, in slow Python.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from harness.graph import Graph, GraphError, Operator
from harness.graph.functions.c_signature import ADD, COMBINE, RESULT, Interface
from harness.graph.functions.compiled import NativeFunction
from harness.graph.schema import Attribute, Schema
from harness.operators import windowed

MOST_WINDOW = 2**60
"""Longest window: tuples, or nanoseconds (36 years)."""

MOST_PANES = 2**16
"""Most panes of a window: its steps, if one is not a multiple of the other. Each pane has a state.
"""

MOST_STATE = 2**20
"""Most bytes of the state of an aggregate."""

INTEGER_TYPES = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "time",
    "boolean",
)
NUMBER_TYPES = (*INTEGER_TYPES, "float32", "float64")


# -- windows ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """Windows that an aggregate is over; made by `by_count` and `by_time`."""

    length: int
    step: int
    on: str | None = None  # the attribute with the time; None: tuples are counted
    lateness: int = 0  # ns


def by_count(length: int, step: int | None = None) -> Window:
    """Return windows of the last `length` tuples of a partition, one each `step` tuples; without
    `step` they tumble.

    The first sliding windows of a partition have fewer tuples. Tuples left at the end of a run make
    no window. Raises GraphError unless 1 <= step <= length.
    """
    return _window(length, step, None, 0, "tuples")


def by_time(length: int, step: int | None = None, on: str = "time", lateness: int = 0) -> Window:
    """Return windows of `length` nanoseconds, one each `step`; they begin at multiples of the step
    since 1970. Without it they tumble.

    `on`: the attribute that has the time. A window ends when a tuple's time is `lateness`
    nanoseconds past its end, and at the end of a run; empty windows are not sent. A tuple whose
    windows have all ended is late: it is left out. Raises GraphError unless 1 <= step <= length.
    """
    _whole("lateness of a window", lateness, 0, MOST_WINDOW, "ns")
    return _window(length, step, on, lateness, "ns")


def _window(length: int, step: int | None, on: str | None, lateness: int, unit: str) -> Window:
    _whole("length of a window", length, 1, MOST_WINDOW, unit)
    step = length if step is None else step
    _whole("step of a window", step, 1, length, unit)
    return Window(length, step, on, lateness)


def _whole(what: str, value: object, least: int, most: int, unit: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise GraphError(
            f"{what} must be a whole number from {least:,} to {most:,} {unit}, not {value!r:.60}"
        )


# -- aggregates ------------------------------------------------------------------------------------


class Value(NamedTuple):
    """Aggregate of an attribute over a window."""

    does: str
    attribute: str = ""
    precision: int = 0


def count() -> Value:
    """Return the number of tuples: uint64."""
    return Value("count")


def total(attribute: str) -> Value:
    """Return the sum: int64 or uint64 of whole numbers, which wraps; float64 of others."""
    return Value("total", attribute)


def mean(attribute: str) -> Value:
    """Return the arithmetic mean: float64."""
    return Value("mean", attribute)


def least(attribute: str) -> Value:
    """Return the minimum: int64, uint64 or float64."""
    return Value("least", attribute)


def greatest(attribute: str) -> Value:
    """Return the maximum: int64, uint64 or float64."""
    return Value("greatest", attribute)


def first(attribute: str) -> Value:
    """Return the attribute of the first tuple, with its own type."""
    return Value("first", attribute)


def last(attribute: str) -> Value:
    """Return the attribute of the last tuple, with its own type."""
    return Value("last", attribute)


def distinct(attribute: str, precision: int = 10) -> Value:
    """Return about the number of different values, by HyperLogLog: uint64. The standard error is
    1.04 / sqrt(2^precision).

    `precision` is from 4 to 16; the state takes 2^precision bytes. Flajolet et al., HyperLogLog,
    AofA 2007.
    """
    _whole("precision of distinct", precision, 4, 16, "bits")
    return Value("distinct", attribute, precision)


class Fold:
    """User-defined aggregate: three compiled functions, as millrace.h declares them, and the bytes
    of their state.

    `add(state, tuple, count)`, `combine(state, later)` (None: for windows that tumble only),
    `result(state, window, out)`: each is a numba cfunc
    (`harness.graph.functions.c_signature.ADD.numba` and so on), a ctypes function, or a capsule of
    a Cython module. Raises GraphError for a function of another signature.
    """

    def __init__(self, add: object, combine: object, result: object, state_bytes: int) -> None:
        _whole("state_bytes of a fold", state_bytes, 1, MOST_STATE, "bytes")
        self.state_bytes = state_bytes
        self.functions = tuple(
            None if given is None and kind is CombineFunction else kind.of(given)
            for kind, given in (
                (AddFunction, add),
                (CombineFunction, combine),
                (ResultFunction, result),
            )
        )


class AddFunction(NativeFunction):
    """Function that adds a tuple to a state."""

    interface: Interface = ADD


class CombineFunction(NativeFunction):
    """Function that adds a state to the state of the tuples before."""

    interface: Interface = COMBINE


class ResultFunction(NativeFunction):
    """Function that makes a tuple of the state of a window."""

    interface: Interface = RESULT


def aggregate(
    graph: Graph,
    name: str,
    takes: Schema,
    window: Window,
    values: Mapping[str, Value] | Fold,
    by: str | Sequence[str] = (),
    gives: Schema | None = None,
    cost: int | None = None,
) -> Operator:
    """Add an operator that sends a tuple for each window of each partition: the tuples with equal
    attributes `by`.

    `values`: aggregates by the name that each gets. An output tuple has `begin` and `end` of the
    window (by time: as times; by count: numbers of tuples in the partition), then `by`, then the
    values. Or a `Fold`, which makes tuples of the schema `gives`. `cost`: as of `Graph.typed`. At
    most 2^20 keys in a window (by count: in all), else the run fails with error -28. Raises
    GraphError for impossible arguments.
    """
    _check(name, "window", window, Window, "made by by_count or by_time")
    key = _key(name, takes, by)
    panes = window.length // math.gcd(window.length, window.step)
    if panes > MOST_PANES:
        raise GraphError(
            f"operator {name!r}: a window must have at most {MOST_PANES:,} panes, not {panes:,}"
        )
    if isinstance(values, Fold):
        if gives is None:
            raise GraphError(f"operator {name!r}: gives must be the schema of what the fold makes")
        if values.functions[1] is None and panes > 1:
            raise GraphError(f"operator {name!r}: combine must be given where windows slide")
        folded = (values.functions, values.state_bytes)
        if window.on is None:
            made = windowed.fold_by_count(key, *folded, window.length, window.step)
        else:
            made = windowed.fold_by_time(key, *folded, *_time_of(name, takes, window))
        return graph.typed(name, made.process, takes, gives, finish=made.finish, cost=cost)
    if gives is not None:
        raise GraphError(
            f"operator {name!r}: gives is for a fold; the schema of values follows from them"
        )
    gives = schema_of(name, takes, window, by, values)
    columns = [
        (value.does, *_source(takes, value), gives[out].offset, value.precision)
        for out, value in _columns(window, by, values)
    ]
    if window.on is None:
        made = windowed.columns_by_count(key, columns, gives.size, window.length, window.step)
    else:
        made = windowed.columns_by_time(key, columns, gives.size, *_time_of(name, takes, window))
    return graph.typed(name, made.process, takes, gives, finish=made.finish, cost=cost)


def schema_of(
    name: str, takes: Schema, window: Window, by: str | Sequence[str], values: Mapping[str, Value]
) -> Schema:
    """Return the output schema of an aggregate. Raises GraphError for an aggregate that its
    attribute does not allow.
    """
    types = {}
    for out, value in _columns(window, by, values):
        _check(name, str(out), value, Value, "an aggregate, such as count()")
        if out in types:
            raise GraphError(f"operator {name!r}: two attributes are named {out!r}")
        types[out] = _type(name, takes, window, value)
    return Schema(_word(name), types)


def _columns(
    window: Window, by: str | Sequence[str], values: Mapping[str, Value]
) -> list[tuple[str, Value]]:
    keys = [(each, first(each)) for each in _names(by)]
    return [("begin", Value("begin")), ("end", Value("end")), *keys, *values.items()]


def _type(name: str, takes: Schema, window: Window, value: Value) -> str:
    if value.does in ("begin", "end"):
        return "int64" if window.on is None else "time"
    if value.does in ("count", "distinct"):
        if value.attribute:
            _attribute(name, takes, value.attribute)
        return "uint64"
    attribute = _attribute(name, takes, value.attribute)
    if value.does in ("first", "last"):
        return attribute.type
    if attribute.kind not in NUMBER_TYPES:
        raise GraphError(
            f"operator {name!r}: {value.does} must be of a number, not of {attribute.name} "
            f"({attribute.type})"
        )
    if value.does == "mean" or attribute.kind.startswith("float"):
        return "float64"
    return "uint64" if attribute.kind.startswith("u") or attribute.kind == "boolean" else "int64"


def _source(takes: Schema, value: Value) -> tuple[str, int, int]:
    """Return type, offset and bytes of the attribute that a value is of."""
    if not value.attribute:
        return "int64", 0, 0
    attribute = takes[value.attribute]
    kind = {"time": "int64", "boolean": "uint8"}.get(attribute.kind, attribute.kind)
    return kind, attribute.offset, attribute.bound + (4 if kind == "string" else 0)


# -- joins -----------------------------------------------------------------------------------------


class From(NamedTuple):
    """Attribute of one side of a join."""

    port: int
    attribute: str


def left(attribute: str) -> From:
    """Return an attribute of the tuple at input port 0."""
    return From(0, attribute)


def right(attribute: str) -> From:
    """Return an attribute of the tuple at input port 1."""
    return From(1, attribute)


def join(
    graph: Graph,
    name: str,
    takes: tuple[Schema, Schema],
    within: int,
    values: Mapping[str, From],
    by: Sequence[tuple[str, str]],
    times: tuple[str, str] = ("time", "time"),
    lateness: int = 0,
    cost: int | None = None,
) -> Operator:
    """Add an operator with two input ports. It sends a tuple for each pair with an equal key and
    near times.

    `within`: the times of a pair are less than so many nanoseconds apart. `by`: attributes that
    must be equal, as pairs: one of each side, of the same type. `times`: the attribute with the
    time, of each side; times of a port go back by `lateness` at most. `values`: attributes of the
    output, by name: `left(attribute)`, `right(attribute)`. Pairs come in any order; the set of
    pairs does not depend on threads. A tuple is kept until the other port's times have passed it,
    2^22 of them a side, else the run fails with error -28. Raises GraphError for impossible
    arguments.
    """
    _whole(f"operator {name!r}: within", within, 1, MOST_WINDOW, "ns")
    _whole(f"operator {name!r}: lateness", lateness, 0, MOST_WINDOW, "ns")
    if len(takes) != 2:
        raise GraphError(f"operator {name!r}: takes must be two schemas, not {len(takes)}")
    for pair in by:
        if isinstance(pair, str) or len(pair) != 2:
            raise GraphError(
                f"operator {name!r}: by must be pairs of attributes, one of each side, not "
                f"{pair!r:.60}"
            )
        one, other = pair
        kinds = _attribute(name, takes[0], one).kind, _attribute(name, takes[1], other).kind
        sizes = takes[0][one].bound, takes[1][other].bound
        if kinds[0] != kinds[1] or (kinds[0] != "string" and sizes[0] != sizes[1]):
            raise GraphError(
                f"operator {name!r}: {one} and {other} must have one type, not "
                f"{takes[0][one].type} and {takes[1][other].type}"
            )
    sides = [
        (
            _key(name, schema, [pair[side] for pair in by]),
            _time(name, schema, times[side]),
            schema.size,
        )
        for side, schema in enumerate(takes)
    ]
    for out, value in values.items():
        _check(name, str(out), value, From, "an attribute of a side, such as left('host')")
    gives = Schema(
        _word(name),
        {
            out: _attribute(name, takes[value.port], value.attribute).type
            for out, value in values.items()
        },
    )
    copies = []
    for out, value in values.items():
        attribute = takes[value.port][value.attribute]
        copies.append(
            (
                value.port,
                attribute.offset,
                gives[out].offset,
                attribute.bound + (4 if attribute.kind == "string" else 0),
            )
        )
    made = windowed.join(*sides, copies, gives.size, within, lateness)
    return graph.typed(name, made.process, list(takes), gives, cost=cost)


# -- sketches --------------------------------------------------------------------------------------


def top_k(
    graph: Graph,
    name: str,
    takes: Schema,
    window: Window,
    k: int,
    by: str | Sequence[str],
    counters: int = 1000,
    cost: int | None = None,
) -> Operator:
    """Add an operator that sends the `k` most frequent keys of each tumbling window by time, the
    most frequent first.

    A tuple has `begin` and `end` of the window, the attributes `by`, `rank` from 1, `count`, and
    `error`: the greatest possible excess of the count. That is 0 while there are at most as many
    keys as `counters`, and at most the window's tuples / `counters` else (Metwally et al.,
    SpaceSaving, ICDT 2005). Raises GraphError for impossible arguments.
    """
    _whole(f"operator {name!r}: counters", counters, 1, 2**20, "keys")
    _whole(f"operator {name!r}: k", k, 1, counters, "keys")
    offset, length = _tumbling(name, takes, window)
    key = _key(name, takes, by)
    if not key:
        raise GraphError(f"operator {name!r}: by must name an attribute at least")
    types = {"begin": "time", "end": "time", **{each: takes[each].type for each in _names(by)}}
    gives = Schema(_word(name), types | dict.fromkeys(("rank", "count", "error"), "uint64"))
    to = [gives[each].offset for each in _names(by)]
    places = [gives[each].offset for each in ("begin", "end", "rank", "count", "error")]
    made = windowed.top_keys(key, to, k, counters, offset, length, (*places, gives.size))
    return graph.typed(name, made.process, takes, gives, finish=made.finish, cost=cost)


def frequencies(
    graph: Graph,
    name: str,
    takes: Schema,
    window: Window,
    by: str | Sequence[str],
    width: int = 1024,
    depth: int = 4,
    cost: int | None = None,
) -> Operator:
    """Add an operator that passes each tuple on with `frequency`: the number of tuples with its key
    so far in its tumbling window by time.

    It uses Count-Min, with `depth` rows of `width` counters: the number may be too high, by more
    than 2 / `width` of all tuples for one key in 2^`depth`; it is never too low (Cormode and
    Muthukrishnan, J. Algorithms 2005). Raises GraphError for impossible arguments.
    """
    _whole(f"operator {name!r}: width", width, 1, 2**24, "counters")
    _whole(f"operator {name!r}: depth", depth, 1, 64, "rows")
    offset, length = _tumbling(name, takes, window)
    if "frequency" in dict(takes.types):
        raise GraphError(
            f"operator {name!r}: {takes.name} must not have an attribute frequency, which is added"
        )
    gives = Schema(_word(name), dict(takes.types) | {"frequency": "uint64"})
    made = windowed.frequencies(_key(name, takes, by), takes.size, width, depth, offset, length)
    return graph.typed(name, made.process, takes, gives, cost=cost)


# -- attributes ------------------------------------------------------------------------------------


def _check(name: str, what: str, value: object, kind: type, rule: str) -> None:
    if not isinstance(value, kind):
        raise GraphError(f"operator {name!r}: {what} must be {rule}, not {value!r:.60}")


def _names(by: str | Sequence[str]) -> tuple[str, ...]:
    return (by,) if isinstance(by, str) else tuple(by)


def _attribute(name: str, schema: Schema, attribute: str) -> Attribute:
    _check(name, "takes", schema, Schema, "a Schema")
    if attribute not in dict(schema.types):
        raise GraphError(
            f"operator {name!r}: {schema.name} must have an attribute {attribute!r:.60}"
        )
    return schema[attribute]


def _key(name: str, schema: Schema, by: str | Sequence[str]) -> list[tuple[int, int, bool]]:
    """Return offset and bytes of each attribute of a key, and True if it is a string."""
    found = [_attribute(name, schema, each) for each in _names(by)]
    return [(each.offset, each.bound, each.kind == "string") for each in found]


def _time(name: str, schema: Schema, attribute: str) -> int:
    found = _attribute(name, schema, attribute)
    if found.kind not in ("time", "int64"):
        raise GraphError(f"operator {name!r}: {attribute} must be a time, not {found.type}")
    return found.offset


def _time_of(name: str, schema: Schema, window: Window) -> tuple[int, int, int, int]:
    return _time(name, schema, window.on), window.length, window.step, window.lateness


def _tumbling(name: str, schema: Schema, window: Window) -> tuple[int, int]:
    _check(name, "window", window, Window, "made by by_count or by_time")
    if window.on is None or window.step != window.length or window.lateness:
        raise GraphError(f"operator {name!r}: window must be by time, tumble, and have no lateness")
    return _time(name, schema, window.on), window.length


def _word(name: str) -> str:
    """Return the name of an operator as a name of a schema."""
    word = "".join(letter if letter.isalnum() else "_" for letter in str(name))
    return word if word.isidentifier() else f"_{word}"
