"""Arithmetic expressions of users' curves.

They consist of the level `n`, numbers, operators, comparisons, `a if condition else b` and the
functions below. Nothing else is evaluated.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable
from typing import Any

from harness.bench.checks import shown
from harness.errors import UserError

MAX_CHARACTERS = 500

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
    # floats, since a power of large integers could fill the memory
    ast.Pow: lambda base, power: float(base) ** float(power),
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class Expression:
    """Function of the level, from a text.

    Raise UserError if the text is no such expression. `at`: name of its place in the user's file,
    with which messages begin.
    """

    def __init__(self, at: str, text: str) -> None:
        self._at = at
        if len(text) > MAX_CHARACTERS:
            raise UserError(f"{at} must have at most {MAX_CHARACTERS} characters, not {len(text)}")
        try:
            with warnings.catch_warnings():  # also refuse what Python only warns of, such as 1if
                warnings.simplefilter("error")
                self._body = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise UserError(f"{at} must be an expression of n, not {shown(text)}") from None
        for node in ast.walk(self._body):
            if not _is_allowed(node):
                what = getattr(node, "id", type(node).__name__)
                words = f"n, numbers, arithmetic, comparisons, if-else and {', '.join(FUNCTIONS)}"
                raise UserError(f"{at} may hold {words} only, not {what!r}")

    def __call__(self, level: int) -> float:
        """Return the value at a level. Raise UserError if it has none, as 1 / 0."""
        try:
            return float(_value(self._body, level))
        except (ArithmeticError, ValueError, TypeError, RecursionError) as error:
            raise UserError(f"{self._at} has no value at level {level}: {error}") from None


def _is_allowed(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return (
            isinstance(node.value, (int, float))
            and not isinstance(node.value, bool)
            and abs(node.value) < 1e300
        )
    if isinstance(node, ast.Name):
        return node.id == "n" or node.id in FUNCTIONS
    if isinstance(node, ast.Call):
        return (
            isinstance(node.func, ast.Name)
            and node.func.id in FUNCTIONS
            and not node.keywords
            and bool(node.args)
        )
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1
    return (
        isinstance(node, (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Load)) or type(node) in OPERATORS
    )


def _value(node: ast.expr, level: int) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return level if node.id == "n" else FUNCTIONS[node.id]
    if isinstance(node, ast.BinOp):
        return OPERATORS[type(node.op)](_value(node.left, level), _value(node.right, level))
    if isinstance(node, ast.UnaryOp):
        return OPERATORS[type(node.op)](_value(node.operand, level))
    if isinstance(node, ast.Compare):
        return OPERATORS[type(node.ops[0])](
            _value(node.left, level), _value(node.comparators[0], level)
        )
    if isinstance(node, ast.IfExp):
        return _value(node.body if _value(node.test, level) else node.orelse, level)
    assert isinstance(node, ast.Call)
    return _value(node.func, level)(*(_value(argument, level) for argument in node.args))
