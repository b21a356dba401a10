"""A curve as an expression of the level: arithmetic, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bench.expression import FUNCTIONS
from harness.errors import UserError
from tests.bench.user_documents import curve, parses_or_is_refused, refusal


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("n", (1, 2, 3, 4)),
        (" 7 ", (7, 7, 7, 7)),
        ("min(n, 3) / (1 + 0.5 * max(0, n - 3))", (1, 2, 3, 2)),
        ("n if n <= 2 else 5 - n", (1, 2, 2, 1)),
        ("abs(n - 3) + 1", (3, 2, 1, 2)),
        ("ceil(n / 2) + floor(n / 2)", (1, 2, 3, 4)),
        ("sqrt(n) ** 2 + log(exp(0)) + log2(1)", (1, 2, 3, 4)),
        ("10 % n + n // 2 + +n", (1, 3, 5, 8)),
        ("2 * (n > 2) + (n == 1) + (n != 1) + (n >= 9) + (n < 0)", (1, 1, 3, 3)),
        ("-1 * -n", (1, 2, 3, 4)),
    ],
)
def test_expressions_are_arithmetic_on_the_level(text, values):
    assert curve(text) == pytest.approx(values)


EXPRESSIONS = [
    ("", "must be an expression of n, not ''"),
    ("n +", "must be an expression of n, not 'n +'"),
    ("n = 3", "must be an expression of n, not 'n = 3'"),
    ("n; n", "must be an expression of n, not 'n; n'"),
    ("import os", "must be an expression of n, not 'import os'"),
    ("n\x00", "must be an expression of n, not 'n\\x00'"),
    ("\ud800", "must be an expression of n, not '\\ud800'"),
    ("(" * 240 + "n" + ")" * 240, "must be an expression of n, not '(((("),
    ("1if n < 3 else 2", "must be an expression of n, not '1if n < 3 else 2'"),
    ("n" + "+ n" * 200, "must have at most 500 characters, not 601"),
    ("m", "only, not 'm'"),
    ("N", "only, not 'N'"),
    ("True", "only, not 'Constant'"),
    ("'9'", "only, not 'Constant'"),
    ("b'9'", "only, not 'Constant'"),
    ("f'{n}'", "only, not 'JoinedStr'"),
    ("None", "only, not 'Constant'"),
    ("...", "only, not 'Constant'"),
    ("2j", "only, not 'Constant'"),
    ("1e999", "only, not 'Constant'"),
    ("n.real", "only, not 'Attribute'"),
    ("n.__class__", "only, not 'Attribute'"),
    ("min.__self__", "only, not 'Attribute'"),
    ("().__class__.__bases__[0]", "only, not "),
    ("open('/etc/passwd')", "only, not "),
    ("eval('n')", "only, not "),
    ("__import__('os')", "only, not "),
    ("pow(n, 2)", "only, not "),
    ("min(n, 1)(n)", "only, not 'Call'"),
    ("(min if n else max)(n, 1)", "only, not 'Call'"),
    ("max(n, 1, key=abs)", "only, not "),
    ("max(*[n])", "only, not "),
    ("max()", "only, not 'Call'"),
    ("(lambda: n)()", "only, not "),
    ("[n for n in (1, 2)]", "only, not "),
    ("max(n for n in (1, 2))", "only, not "),
    ("[n][0]", "only, not "),
    ("{n}", "only, not 'Set'"),
    ("(n, n)", "only, not 'Tuple'"),
    ("(m := n)", "only, not 'NamedExpr'"),
    ("not n", "only, not "),
    ("n and 1", "only, not "),
    ("~n", "only, not "),
    ("n << 99", "only, not "),
    ("n @ n", "only, not "),
    ("n in n", "only, not "),
    ("n is n", "only, not "),
    ("0 < n < 3", "only, not 'Compare'"),
    ("await n", "only, not 'Await'"),
    ("(yield n)", "only, not 'Yield'"),
    ("9**9**9", "has no value at level 1: "),
    ("9.9**9**9**9", "has no value at level 1: "),
    ("exp(9999)", "has no value at level 1: "),
    ("1 / (n - 3)", "has no value at level 3: "),
    ("5 // (n - 1)", "has no value at level 1: "),
    ("5 % (n - 1)", "has no value at level 1: "),
    ("log(n - 1)", "has no value at level 1: "),
    ("sqrt(2 - n)", "has no value at level 3: "),
    ("(1 - n) ** 0.5", "has no value at level 2: "),
    ("max(n)", "has no value at level 1: "),
    ("abs(n, n)", "has no value at level 1: "),
    ("min", "has no value at level 1: "),
    ("min < max", "has no value at level 1: "),
    ("n * max", "has no value at level 1: "),
    ("1 - n", "at level 2 must be a number from 0 to 1e+18 tuples/s, not -1"),
    ("1e200 * 1e200 * n", "at level 1 must be a number from 0 to 1e+18 tuples/s, not inf"),
    (
        "1e200 * 1e200 - 1e200 * 1e200",
        "at level 1 must be a number from 0 to 1e+18 tuples/s, not nan",
    ),
]


@pytest.mark.parametrize(
    ("text", "said"),
    EXPRESSIONS,
    ids=[text[:30].encode("ascii", "replace") for text, _ in EXPRESSIONS],
)
def test_an_expression_that_is_more_than_arithmetic_is_refused(text, said, recwarn):
    line = refusal([{"throughput": text, "max": 4}])
    assert line.startswith("[0].throughput ")
    assert said in line
    assert not recwarn.list, "a second line on stderr"


def test_an_expression_of_many_operators_in_each_other_has_a_value_or_is_refused():
    for text in ("-" * 498 + "n", "1+(" * 100 + "n" + ")" * 100, "abs(" * 90 + "n" + ")" * 90):
        try:
            assert curve(text)[0] in (1.0, 101.0)
        except UserError as error:
            assert "throughput" in str(error)


GRAMMAR = st.recursive(
    st.sampled_from(["n", "2", "0.5", "0", "1e300", "max", "None"]),
    lambda inner: (
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "/", "**", "%", "//", "<", "=="]), inner
        ).map(lambda t: f"({' '.join(t)})")
        | st.tuples(st.sampled_from([*FUNCTIONS, "int"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        )
        | st.tuples(st.sampled_from([*FUNCTIONS, "int"]), inner).map(lambda t: f"{t[0]}({t[1]})")
        | st.tuples(inner, inner, inner).map(lambda t: f"({t[0]} if {t[1]} else {t[2]})")
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(text=GRAMMAR | st.text(max_size=30) | st.text("n()*+-/.0123456789<>=, ", max_size=30))
def test_any_expression_has_a_value_at_every_level_or_is_refused_in_one_line(text):
    parses_or_is_refused([{"throughput": text, "max": 3}])
