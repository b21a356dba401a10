"""A user's own scenarios: a YAML or JSON file with a list of them.

  - name: my-sink
    throughput: min(n, 6) / (1 + 0.1 * max(0, n - 6))     # at level n [tuples/s], or a list: at level 1, 2, …
    noise: 0.03                                           # standard deviation, as a share of throughput
    drift: 0.0                                            # the same, wandering slowly; true: the noise does that
    min: 1
    max: 32
    start: 1
    periods: 100
    seed: 7
    events: [{kind: scale, at: 50, factor: 0.5}]          # see `scenario`; a curve has `throughput`

Only `throughput` must be there, and `max` with an expression. Expressions are arithmetic on n, with comparisons,
`a if condition else b`, and the functions below; nothing else is evaluated.
"""

from __future__ import annotations

import ast
import math
import operator
import reprlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from harness.elasticity import Bounds
from harness.errors import UserError
from harness.graph import MAX_THREADS
from harness.saso.scenario import PERIODS, Curve, Event, Scenario

MAX_PERIODS = 100_000
MAX_SCENARIOS = 10_000
MAX_EXPRESSION = 500  # characters

KEYS = ("name", "throughput", "noise", "drift", "events", "min", "max", "start", "periods", "seed")
EVENTS: dict[str, tuple[str, ...]] = {
    "scale": ("factor",),
    "curve": ("throughput",),
    "burst": ("factor",),
    "idle": (),
    "cpu": ("factor",),
}
FUNCTIONS: dict[str, Callable[..., float]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "sqrt": math.sqrt,
    "log": math.log,
    "log2": math.log2,
    "exp": math.exp,
    "floor": math.floor,
    "ceil": math.ceil,
}
OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda base, power: float(base) ** float(power),  # floats: a power of whole numbers could fill the memory
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def parse_scenarios(document: object) -> list[Scenario]:
    """The scenarios of a document read from YAML or JSON. Raises UserError naming the place, the rule and the value."""
    if not isinstance(document, list) or not 1 <= len(document) <= MAX_SCENARIOS:
        raise UserError(f"curves must be a list of 1 to {MAX_SCENARIOS} scenarios, not {_shown(document)}")
    names: set[str] = set()
    scenarios = []
    for place, entry in enumerate(document):
        scenario = _scenario(f"[{place}]", entry, place)
        if scenario.name in names:
            raise UserError(f"[{place}].name must not be there twice: {_shown(scenario.name)}")
        names.add(scenario.name)
        scenarios.append(scenario)
    return scenarios


def _scenario(at: str, entry: object, place: int) -> Scenario:
    entry = _mapping(at, entry, KEYS, required=("throughput",))
    levels = _whole(f"{at}.max", entry.get("max"), 1, MAX_THREADS, default=None)
    curve = _curve(f"{at}.throughput", entry["throughput"], levels)
    levels = len(curve) if levels is None else levels
    if levels > len(curve):
        raise UserError(f"{at}.max must be at most {len(curve)}, the levels that throughput has, not {levels}")
    minimum = _whole(f"{at}.min", entry.get("min"), 1, MAX_THREADS, default=1)
    start = _whole(f"{at}.start", entry.get("start"), 1, MAX_THREADS, default=minimum)
    try:
        bounds = Bounds(minimum, levels, start)
    except UserError as error:
        raise UserError(f"{at}: {error}") from None
    periods = _whole(f"{at}.periods", entry.get("periods"), 1, MAX_PERIODS, default=PERIODS)
    noise = _number(f"{at}.noise", entry.get("noise", 0.0), 0.0, 1.0, "of throughput")
    drift = entry.get("drift", 0.0)
    if isinstance(drift, bool):
        noise, drift = (0.0, noise) if drift else (noise, 0.0)
    drift = _number(f"{at}.drift", drift, 0.0, 1.0, "of throughput")
    events = [] if entry.get("events") is None else entry["events"]
    if not isinstance(events, list):
        raise UserError(f"{at}.events must be a list, not {_shown(events)}")
    name = entry.get("name", f"curve-{place + 1}")
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise UserError(f"{at}.name must be text on one line, not {_shown(name)}")
    return Scenario(
        name=name,
        curve=curve,
        bounds=bounds,
        noise=noise,
        drift=drift,
        events=tuple(_event(f"{at}.events[{i}]", event, len(curve), periods) for i, event in enumerate(events)),
        periods=periods,
        seed=_whole(f"{at}.seed", entry.get("seed"), 0, 2**63 - 1, default=0),
        shape=name,
    )


def _event(at: str, entry: object, levels: int, periods: int) -> Event:
    kind = entry.get("kind") if isinstance(entry, dict) else None
    if not isinstance(kind, str) or kind not in EVENTS:
        raise UserError(f"{at}.kind must be one of {', '.join(EVENTS)}, not {_shown(kind)}")
    entry = _mapping(at, entry, ("kind", "at", "length", *EVENTS[kind]), required=("at",))
    begin = _whole(f"{at}.at", entry["at"], 0, periods - 1, default=None)
    length = _whole(f"{at}.length", entry.get("length"), 1, MAX_PERIODS, default=1 if kind == "burst" else None)
    factor = _number(f"{at}.factor", entry.get("factor", 0.5 if kind == "cpu" else 1.0), 0.0, 1e6, "of throughput")
    curve: Curve = ()
    if kind == "curve":
        if "throughput" not in entry:
            raise UserError(f"{at} must have the key 'throughput'")
        curve = _curve(f"{at}.throughput", entry["throughput"], levels)
        if len(curve) < levels:
            raise UserError(f"{at}.throughput must be for {levels} levels, not {len(curve)}")
    return Event(kind, begin, length, factor, curve)


def _curve(at: str, value: object, levels: int | None) -> Curve:
    """Throughputs at level 1, 2, …; an expression needs to be told how many."""
    if isinstance(value, str):
        if levels is None:
            raise UserError(f"{at}: an expression needs the key 'max' beside it")
        expression = _parsed(at, value)
        values: list[object] = [_evaluated(at, expression, level) for level in range(1, levels + 1)]
        where = [f"{at} at level {level}" for level in range(1, levels + 1)]
    elif isinstance(value, list) and 1 <= len(value) <= MAX_THREADS:
        values, where = list(value), [f"{at}[{i}]" for i in range(len(value))]
    else:
        raise UserError(f"{at} must be an expression or a list of 1 to {MAX_THREADS} numbers, not {_shown(value)}")
    return tuple(_number(place, each, 0.0, 1e18, "tuples/s") for place, each in zip(where, values, strict=True))


# -- expressions -----------------------------------------------------------------------------------------------------------


def _parsed(at: str, text: str) -> ast.expr:
    if len(text) > MAX_EXPRESSION:
        raise UserError(f"{at} must have at most {MAX_EXPRESSION} characters, not {len(text)}")
    try:
        with warnings.catch_warnings():  # what Python would only warn of, as in 1if, is refused
            warnings.simplefilter("error")
            expression = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UserError(f"{at} must be an expression of n, not {_shown(text)}") from None
    for node in ast.walk(expression):
        if not _allowed(node):
            shown = getattr(node, "id", type(node).__name__)
            names = f"n, numbers, arithmetic, comparisons, if-else and {', '.join(FUNCTIONS)}"
            raise UserError(f"{at} may hold {names} only, not {shown!r}")
    return expression


def _allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (int, float)) and not isinstance(node.value, bool) and abs(node.value) < 1e300
    if isinstance(node, ast.Name):
        return node.id == "n" or node.id in FUNCTIONS
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords and bool(node.args)
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Load)) or type(node) in OPERATORS


def _evaluated(at: str, expression: ast.expr, level: int) -> float:
    try:
        return float(_value(expression, level))
    except (ArithmeticError, ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{at} has no value at level {level}: {error}") from None


def _value(node: ast.expr, n: int) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return n if node.id == "n" else FUNCTIONS[node.id]
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_value(node.left, n), _value(node.right, n))
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](_value(node.operand, n))
    if isinstance(node, ast.Compare):
        return OPERATORS[type(node.ops[0])](_value(node.left, n), _value(node.comparators[0], n))
    if isinstance(node, ast.IfExp):
        return _value(node.body if _value(node.test, n) else node.orelse, n)
    assert isinstance(node, ast.Call)
    return _value(node.func, n)(*(_value(argument, n) for argument in node.args))


# -- values ------------------------------------------------------------------------------------------------------------------


def _mapping(at: str, entry: object, keys: tuple[str, ...], required: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(entry, dict):
        raise UserError(f"{at} must be a mapping with the keys {', '.join(keys)}, not {_shown(entry)}")
    for key in entry:
        if key not in keys:
            raise UserError(f"{at} has no key {_shown(key)}; its keys are: {', '.join(keys)}")
    for key in required:
        if entry.get(key) is None:
            raise UserError(f"{at} must have the key {key!r}")
    return entry


def _whole(at: str, value: object, low: int, high: int, default: int | None) -> Any:
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UserError(f"{at} must be a whole number from {low} to {high}, not {_shown(value)}")
    return value


def _number(at: str, value: object, low: float, high: float, unit: str) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not low <= value <= high:  # nan compares false
        raise UserError(f"{at} must be a number from {low:g} to {high:g} {unit}, not {_shown(value)}")
    return float(value)


class _Short(reprlib.Repr):
    """Looks at the beginning only: a file of a few lines can hold lists that would not end, or not fit into memory."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring = 3, 50

    def repr_int(self, value: int, level: int) -> str:
        """Python refuses to print whole numbers of thousands of digits."""
        return repr(value) if abs(value) < 10**40 else "a very large number"


def _shown(value: object) -> str:
    text = _Short().repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
