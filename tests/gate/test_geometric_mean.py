"""The geometric mean of cells: what it is of, and how often its interval holds the truth."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

from harness.gate.cell import GateCell, Metric
from harness.gate.decide import Family
from harness.gate.geometric_mean import geometric_mean
from harness.gate.order import block_order, sides
from harness.gate.report.junit import junit
from harness.gate.report.text import text
from harness.gate.sequential import declare
from harness.gate.verdict import CellDecision, CellResult, Verdict
from studies.gate_error_rates.noise import NOISES
from tests.gate.kinds_of_noise import KINDS
from tests.gate.made_comparisons import comparison

RATIOS = (0.9, 1.0, 1.15, 1.3)
TRUTH = math.prod(RATIOS) ** (1 / len(RATIOS))
CALLS = 150


def cell(base, head, metric: Metric | None = None, name: str = "a") -> CellResult:
    return CellResult(
        GateCell(name, metric or Metric()),
        CellDecision(Verdict.OK, 1.0, 0.9, 1.1, 10),
        tuple(base),
        tuple(head),
    )


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.id != "positional"])
def test_the_interval_misses_the_truth_no_more_often_than_it_says(kind):
    """Whole calls, whose cells are measured until each is decided: how many blocks they have
    follows from the numbers.
    """
    draw, coin, missed = np.random.default_rng(5), random.Random(5), 0
    cells = [GateCell(str(ratio), Metric()) for ratio in RATIOS]
    looks = declare(len(cells), 0.05)
    for row in NOISES[kind](draw, (CALLS, 22 * len(cells) * 4)):
        family, now = Family(cells, 1.02, 0.05, looks), iter(row)
        for _ in range(22):
            for name in family.open():
                order = block_order(coin)
                values = [
                    100 * math.exp(next(now)) * (float(name) if side == "head" else 1.0)
                    for side in order
                ]
                family.add(name, *sides(order, values))
        found = geometric_mean(comparison(*family.results()))
        assert (
            found is not None
            and found.cells == len(cells)
            and found.low <= found.ratio <= found.high
        )
        missed += not found.low <= TRUTH <= found.high
    assert missed <= stats.binom.ppf(0.999, CALLS, 0.05)


def test_throughputs_are_turned_and_deterministic_cells_count_with_their_ratio():
    rate = Metric("rate", "/s", lower_is_better=False)
    count = Metric("instructions", "", deterministic=True)
    found = geometric_mean(
        comparison(cell([100.0] * 24, [50.0] * 24, rate), cell([1.0] * 2, [8.0] * 2, count, "b"))
    )
    assert (
        found is not None
        and found.ratio == pytest.approx(4.0)
        and found.low == found.high == pytest.approx(4.0)
    )


def test_cells_without_a_ratio_or_with_few_blocks_do_not_count():
    few = cell([1.0] * 22, [2.0] * 22, name="b")
    zero = cell([0.0] * 24, [2.0] * 24, Metric(may_be_zero=True), "c")
    assert geometric_mean(comparison(cell([1.0] * 24, [2.0] * 24), few, zero)) is None


def test_it_is_in_the_reports_with_an_interval_only_if_sides_were_measured_in_turns():
    draw = random.Random(1)
    pairs = [
        [[100 * draw.lognormvariate(0, 0.01) for _ in range(24)] for _ in "bh"] for _ in range(2)
    ]
    made = comparison(cell(*pairs[0]), cell(*pairs[1], name="b"))
    found = geometric_mean(made)
    told = (
        f"{found.ratio:.3f} [{found.low:.3f}, {found.high:.3f}] of 2 cells (95 %, of the first "
        "12 blocks of each)"
    )
    assert f"geometric mean {told}" in text(made) and told in junit(made)
    apart = comparison(*made.cells, interleaved=False)
    assert f"geometric mean {found.ratio:.3f} of 2 cells (of the first 12 blocks of each)" in text(
        apart
    )
