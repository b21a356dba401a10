"""Operators on typed streams with windows and state: aggregates, joins, top-k, frequencies. All are
compiled.

Time is that of tuples (native/event_time.hpp).

    values = {"volume": total("volume")}
    sums = aggregate(graph, "sums", TICK, by_count(4, step=1), values, by="ticker")

Each function adds an operator to a graph and returns it; `operator.typed.gives[0]` is the schema of
its output. With `late`, the tuples that are late are sent to an output port of their own: 1, and
those of a join's right side to 2. Then they are not counted as left out. `clock` is a source of
IDLE, which ends windows while a live stream is idle (`harness.connectors.Ticks`).

The computations are defined in native/windows.hpp, aggregates.hpp, join.hpp and sketches.hpp, and
once more in plain.py, in slow Python.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from harness.graph import Graph, GraphError, Operator
from harness.graph.functions.c_signature import ADD, COMBINE, RESULT, Interface
from harness.graph.functions.compiled import NativeFunction
from harness.graph.schema import Attribute, Schema
from harness.operators import windowed
from harness.operators.compiled import Compiled

MOST_WINDOW = 2**60
"""Longest window: tuples, or nanoseconds (36 years)."""

MOST_PANES = 2**16
"""Most panes of a window: its steps, if one is not a multiple of the other. Each pane has a state.
"""

MOST_STATE = 2**20
"""Most bytes of the state of an aggregate."""

MOST_OVERLAPPING = 2**10
"""Most windows of a top-k that a tuple is in."""

HOUR = 3600 * 10**9  # ns

IDLE = Schema("idle", {"idle": "int64"})
"""Schema of a clock's ticks, which tell for how long a live stream has had no tuple [ns]
(`harness.connectors.Ticks`)."""

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
    """Windows that an aggregate is over; made by `by_count`, `by_time` and `by_session`."""

    length: int  # of sessions: the gap that ends one
    step: int
    on: str | None = None  # the attribute with the time; None: tuples are counted
    lateness: int = 0  # ns
    jump: int = 0  # ns
    session: bool = False

    @property
    def rule(self) -> tuple[int, int]:
        """Return the lateness and the jump [ns]."""
        return self.lateness, self.jump


def by_count(length: int, step: int | None = None) -> Window:
    """Return windows of the last `length` tuples of a partition, one each `step` tuples; without
    `step` they tumble.

    The first sliding windows of a partition have fewer tuples. Tuples left at the end of a run make
    no window. Raises GraphError unless 1 <= step <= length.
    """
    return _window(length, step, None, "tuples")


def by_time(
    length: int,
    step: int | None = None,
    on: str = "time",
    lateness: int = 0,
    jump: int | None = None,
) -> Window:
    """Return windows of `length` nanoseconds, one each `step`; they begin at multiples of the step
    since 1970. Without it they tumble.

    `on`: the attribute that has the time. A window ends when a tuple's time is `lateness`
    nanoseconds past its end, and at the end of a run; empty windows are not sent. A tuple whose
    windows have all ended is late: it is left out and counted. A tuple that is more than `jump`
    nanoseconds ahead of all before it does not end windows, until five in a row are so; without
    `jump`, that is 100 lengths, an hour at most and a length at least. Raises GraphError unless
    1 <= step <= length.
    """
    return _window(length, step, on, "ns", lateness, jump)


def by_session(gap: int, on: str = "time", lateness: int = 0, jump: int | None = None) -> Window:
    """Return sessions of each partition: tuples of which each comes less than `gap` nanoseconds
    after the one before. A session's window ends `gap` after its last tuple.

    A late tuple may join two sessions into one. `lateness` and `jump` are those of `by_time`.
    """
    window = _window(gap, None, on, "ns", lateness, jump)
    return replace(window, session=True)


def _window(
    length: int,
    step: int | None,
    on: str | None,
    unit: str,
    lateness: int = 0,
    jump: int | None = None,
) -> Window:
    _whole("length of a window", length, 1, MOST_WINDOW, unit)
    step = length if step is None else step
    _whole("step of a window", step, 1, length, unit)
    return Window(length, step, on, *_rule("a window", length, lateness, jump))


def _rule(what: str, length: int, lateness: int, jump: int | None) -> tuple[int, int]:
    """Return lateness and jump [ns] of streams whose windows have this length."""
    _whole(f"lateness of {what}", lateness, 0, MOST_WINDOW, "ns")
    if jump is None:
        return lateness, max(length, min(100 * length, HOUR))
    _whole(f"jump of {what}", jump, 0, MOST_WINDOW, "ns")
    return lateness, jump


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
    """Return the minimum: int64, uint64 or float64. -0.0 is less than 0.0, and NaN if one is NaN
    (minimum of IEEE 754-2019).
    """
    return Value("least", attribute)


def greatest(attribute: str) -> Value:
    """Return the maximum: int64, uint64 or float64. 0.0 is greater than -0.0, and NaN if one is NaN
    (maximum of IEEE 754-2019).
    """
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
    AofA 2007. -0.0 and 0.0 are one value, and all NaN are one.
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
    late: bool = False,
    clock: Operator | None = None,
    cost: int | None = None,
) -> Operator:
    """Add an operator that sends a tuple for each window of each partition: the tuples with equal
    attributes `by`. There, -0.0 and 0.0 are equal, and all NaN are.

    `values`: aggregates by the name that each gets. An output tuple has `begin` and `end` of the
    window (by time: as times; by count: numbers of tuples in the partition), then `by`, then the
    values. Or a `Fold`, which makes tuples of the schema `gives`. `cost`: as of `Graph.typed`. At
    most 2^20 keys in a window (by count: in all), else the run fails and says so. Raises GraphError
    for impossible arguments.
    """
    _check(name, "window", window, Window, "made by by_count, by_time or by_session")
    key = _key(name, takes, by)
    if window.on is None and (late or clock is not None):
        raise GraphError(f"operator {name!r}: late and clock are for windows by time")
    panes = window.length // math.gcd(window.length, window.step)
    if panes > MOST_PANES:
        raise GraphError(
            f"operator {name!r}: a window must have at most {MOST_PANES:,} panes, not {panes:,}"
        )
    if isinstance(values, Fold):
        if gives is None:
            raise GraphError(f"operator {name!r}: gives must be the schema of what the fold makes")
        if values.functions[1] is None and (panes > 1 or window.session):
            raise GraphError(
                f"operator {name!r}: combine must be given where windows slide, and for sessions"
            )
        folded = (values.functions, values.state_bytes)
        if window.on is None:
            made = windowed.fold_by_count(key, *folded, window.length, window.step)
        else:
            made = windowed.fold_by_time(
                key, *folded, *_time_of(name, takes, window), window.session
            )
        return _added(graph, name, made, (takes,), gives, cost, late, clock)
    if gives is not None:
        raise GraphError(
            f"operator {name!r}: gives is for a fold; the schema of values follows from them"
        )
    gives = schema_of(name, takes, window, by, values)
    columns = [
        (value.does, *_source(takes, value), gives[out].offset, value.precision)
        for out, value in _columns(by, values)
    ]
    if window.on is None:
        made = windowed.columns_by_count(key, columns, gives.size, window.length, window.step)
    else:
        made = windowed.columns_by_time(
            key, columns, gives.size, *_time_of(name, takes, window), window.session
        )
    return _added(graph, name, made, (takes,), gives, cost, late, clock)


def schema_of(
    name: str, takes: Schema, window: Window, by: str | Sequence[str], values: Mapping[str, Value]
) -> Schema:
    """Return the output schema of an aggregate. Raises GraphError for an aggregate that its
    attribute does not allow.
    """
    types = {}
    for out, value in _columns(by, values):
        _check(name, str(out), value, Value, "an aggregate, such as count()")
        if out in types:
            raise GraphError(f"operator {name!r}: two attributes are named {out!r}")
        types[out] = _type(name, takes, window, value)
    return Schema(_word(name), types)


def _columns(by: str | Sequence[str], values: Mapping[str, Value]) -> list[tuple[str, Value]]:
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

OUTER = ("left", "right", "both")
PRESENT = ("has_left", "has_right")


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
    jump: int | None = None,
    outer: str | None = None,
    late: bool = False,
    clock: Operator | None = None,
    cost: int | None = None,
) -> Operator:
    """Add an operator with two input ports. It sends a tuple for each pair with an equal key and
    near times.

    `within`: the times of a pair are less than so many nanoseconds apart. `by`: attributes that
    must be equal, as pairs: one of each side, of the same type. `times`: the attribute with the
    time, of each side. A tuple that is more than `lateness` nanoseconds behind the time of its port
    is late: it is left out and counted. `jump`: as of `by_time`, by `within` in place of a length.
    `values`: attributes of the output, by name: `left(attribute)`, `right(attribute)`. `outer`:
    "left", "right" or "both" sends the tuples of these sides that are in no pair as well, when no
    partner can come any more. Then the output has the attributes `has_left` and `has_right`, and
    attributes of a side that is not there are zero. Pairs come in any order; the set of pairs does
    not depend on threads. A tuple is kept until the other port's times have passed it, 2^22 of them
    a side, else the run fails and says so. Raises GraphError for impossible arguments.
    """
    _whole(f"operator {name!r}: within", within, 1, MOST_WINDOW, "ns")
    rule = _rule(f"operator {name!r}", within, lateness, jump)
    if outer not in (None, *OUTER):
        raise GraphError(
            f"operator {name!r}: outer must be left, right, both or None, not {outer!r:.60}"
        )
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
    for out, value in values.items():
        _check(name, str(out), value, From, "an attribute of a side, such as left('host')")
        if outer is not None and out in PRESENT:
            raise GraphError(f"operator {name!r}: two attributes are named {out!r}")
    types = {
        out: _attribute(name, takes[value.port], value.attribute).type
        for out, value in values.items()
    }
    gives = Schema(
        _word(name), types if outer is None else types | dict.fromkeys(PRESENT, "boolean")
    )
    sides = [
        (
            _key(name, schema, [pair[side] for pair in by]),
            _time(name, schema, times[side]),
            schema.size,
            outer in ("both", ("left", "right")[side]),
            None if outer is None else gives[PRESENT[side]].offset,
        )
        for side, schema in enumerate(takes)
    ]
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
    made = windowed.join(*sides, copies, gives.size, within, rule)
    return _added(graph, name, made, takes, gives, cost, late, clock)


# -- sketches --------------------------------------------------------------------------------------


def top_k(
    graph: Graph,
    name: str,
    takes: Schema,
    window: Window,
    k: int,
    by: str | Sequence[str],
    counters: int = 1000,
    late: bool = False,
    clock: Operator | None = None,
    cost: int | None = None,
) -> Operator:
    """Add an operator that sends the `k` most frequent keys of each window by time, the most
    frequent first. A window may slide: at most 1,024 overlap.

    A tuple has `begin` and `end` of the window, the attributes `by`, `rank` from 1, `count`, and
    `error`: the greatest possible excess of the count. That is 0 while there are at most as many
    keys as `counters`, and at most the window's tuples / `counters` else (Metwally et al.,
    SpaceSaving, ICDT 2005). Raises GraphError for impossible arguments.
    """
    _whole(f"operator {name!r}: counters", counters, 1, 2**20, "keys")
    _whole(f"operator {name!r}: k", k, 1, counters, "keys")
    at = _time_of(name, takes, _by_time(name, window))
    if window.length > MOST_OVERLAPPING * window.step:
        raise GraphError(
            f"operator {name!r}: at most {MOST_OVERLAPPING:,} windows may overlap, not "
            f"{-(-window.length // window.step):,}"
        )
    key = _key(name, takes, by)
    if not key:
        raise GraphError(f"operator {name!r}: by must name an attribute at least")
    types = {"begin": "time", "end": "time", **{each: takes[each].type for each in _names(by)}}
    gives = Schema(_word(name), types | dict.fromkeys(("rank", "count", "error"), "uint64"))
    to = [gives[each].offset for each in _names(by)]
    places = [gives[each].offset for each in ("begin", "end", "rank", "count", "error")]
    made = windowed.top_keys(key, to, k, counters, *at, (*places, gives.size))
    return _added(graph, name, made, (takes,), gives, cost, late, clock)


def frequencies(
    graph: Graph,
    name: str,
    takes: Schema,
    window: Window,
    by: str | Sequence[str],
    width: int = 1024,
    depth: int = 4,
    late: bool = False,
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
    at = _time_of(name, takes, _by_time(name, window))
    if window.step != window.length:
        raise GraphError(f"operator {name!r}: window must tumble")
    if "frequency" in dict(takes.types):
        raise GraphError(
            f"operator {name!r}: {takes.name} must not have an attribute frequency, which is added"
        )
    gives = Schema(_word(name), dict(takes.types) | {"frequency": "uint64"})
    made = windowed.frequencies(_key(name, takes, by), width, depth, *at[:-1])
    return _added(graph, name, made, (takes,), gives, cost, late)


def _added(
    graph: Graph,
    name: str,
    made: Compiled,
    takes: tuple[Schema, ...],
    gives: Schema,
    cost: int | None,
    late: bool,
    clock: Operator | None = None,
) -> Operator:
    """Add a compiled operator, with an output port for the late tuples of each input port if they
    are wanted, and an input port for a clock's ticks if there is one.
    """
    made.takes = takes[0]
    if late:
        made.send_late(1)
    inputs, outputs = (*takes, *[IDLE] * (clock is not None)), (gives, *takes * late)
    operator = graph.typed(name, made.process, inputs, outputs, finish=made.finish, cost=cost)
    if clock is not None:
        graph.connect(clock, operator.input(len(takes)))
    return operator


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


def _key(name: str, schema: Schema, by: str | Sequence[str]) -> list[tuple[int, int, bool, bool]]:
    """Return offset and bytes of each attribute of a key, and True if it is a string, and if it is
    a float.
    """
    found = [_attribute(name, schema, each) for each in _names(by)]
    return [
        (each.offset, each.bound, each.kind == "string", each.kind.startswith("float"))
        for each in found
    ]


def _time(name: str, schema: Schema, attribute: str) -> int:
    found = _attribute(name, schema, attribute)
    if found.kind not in ("time", "int64"):
        raise GraphError(f"operator {name!r}: {attribute} must be a time, not {found.type}")
    return found.offset


def _time_of(
    name: str, schema: Schema, window: Window
) -> tuple[int, int, tuple[int, int], int, int]:
    """Return the place of the time in a tuple, the size of a tuple, and the window."""
    return _time(name, schema, window.on), schema.size, window.rule, window.length, window.step


def _by_time(name: str, window: Window) -> Window:
    _check(name, "window", window, Window, "made by by_time")
    if window.on is None or window.session:
        raise GraphError(f"operator {name!r}: window must be made by by_time")
    return window


def _word(name: str) -> str:
    """Return the name of an operator as a name of a schema."""
    word = "".join(letter if letter.isalnum() else "_" for letter in str(name))
    return word if word.isidentifier() else f"_{word}"
