"""The table of power in the docs: what the code computes, and what normal theory says of it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from harness.gate.sequential import Looks, declare
from studies.gate_error_rates import power

DOCS = Path(__file__).parents[2] / "docs/explanation/gate-statistics.md"


def table_of_the_docs() -> str:
    (shown,) = re.findall(
        r"<!-- python -m studies.gate_error_rates.power -->\n(.*?)\n<!-- end -->",
        DOCS.read_text(),
        re.DOTALL,
    )
    return shown.strip()


def test_the_docs_begin_with_the_row_that_the_code_computes():
    first = next(power.rows(declare(power.CELLS, power.ALPHA)))
    assert table_of_the_docs().splitlines()[2] == "| " + " | ".join(first) + " |"


@pytest.mark.slow
def test_the_docs_show_what_the_code_computes():
    assert table_of_the_docs() == power.table()


@pytest.mark.parametrize(
    ("n", "level"), [(20, 0.05), pytest.param(60, 0.001, marks=pytest.mark.slow)]
)
def test_half_widths_are_nearly_those_of_the_normal_mean(n, level):
    """The signed rank needs pi / 3 as many numbers of normal noise as the mean, for large n."""
    mean = power.shortfalls(n, level, trials=400).mean()
    theory = stats.norm.isf(level) * math.sqrt(math.pi / 3 / n)
    assert mean == pytest.approx(theory, rel=0.15)


def test_the_slowdown_that_is_found_is_the_one_whose_bound_reaches_the_factor():
    short = power.shortfalls(33, 0.001, trials=400)
    slowdown = power.found(1.02, 0.01, float(np.quantile(short, 0.95)))
    reached = math.log(slowdown) - 0.01 * short > math.log(1.02)
    assert reached.mean() == pytest.approx(0.95, abs=0.01)


def test_too_few_blocks_have_no_width():
    assert np.isinf(power.shortfalls(2, 0.01, trials=3)).all()


def test_a_fixed_call_has_one_row():
    assert [row[0] for row in power.rows(Looks.fixed(12))] == ["12"]
