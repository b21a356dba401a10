"""Whole simulated calls: false alarms, misses and power, under every kind of noise.

A rate is held against the binomial distribution of what was promised, at 0.999: a rule that errs
twice as often is found out, and the seeds are fixed.
"""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import numpy as np
import pytest
from scipy import stats

from harness.gate.cell import GateCell, Metric
from harness.gate.decide import Control, Family
from harness.gate.order import block_order, sides
from harness.gate.sequential import Looks, declare
from harness.gate.verdict import CellResult, Verdict
from studies.gate_error_rates.noise import NOISES, Noise
from studies.gate_error_rates.yardsticks import mann_whitney
from tests.gate.kinds_of_noise import KINDS

CELLS = [GateCell(f"cell {i}", Metric()) for i in range(8)]
FACTOR, ALPHA = 1.02, 0.05
BEYOND = 1.05  # a slowdown beyond the factor
CALLS, BLOCKS = 40, 22  # looks at 10, 15 and 22 blocks


def calls(
    noise: Noise,
    ratio: float,
    calls: int = CALLS,
    blocks: int = BLOCKS,
    looks: Looks | None = None,
    seed: int = 7,
):
    """Families of calls stopped after `blocks` rounds, one block of each open cell a round, all in
    one row of time.
    """
    draw, coin = np.random.default_rng(seed), random.Random(seed)
    for disturbance in noise(draw, (calls, blocks * len(CELLS) * 4)):
        family = Family(CELLS, FACTOR, ALPHA, looks or declare(len(CELLS), ALPHA))
        now = iter(disturbance)
        for _ in range(blocks):
            for name in family.open():
                order = block_order(coin)
                values = [
                    100 * np.exp(next(now)) * (ratio if side == "head" else 1.0) for side in order
                ]
                family.add(name, *sides(order, values))
        yield family


def verdicts(family: Family) -> list[Verdict]:
    return [family.verdict(cell.name) for cell in CELLS]


@cache
def slower(kind: str) -> list[CellResult]:
    """Results of all cells of calls with the slowdown beyond the factor."""
    return [result for family in calls(NOISES[kind], BEYOND) for result in family.results()]


def promised(calls: int, alpha: float = ALPHA) -> int:
    """Return how many calls may go wrong if a share alpha does."""
    return int(stats.binom.ppf(0.999, calls, alpha))


@pytest.mark.parametrize("kind", KINDS)
def test_equal_sides_are_hardly_ever_called(kind):
    said = [verdicts(family) for family in calls(NOISES[kind], 1.0)]
    assert (
        sum(Verdict.REGRESSED in call for call in said) <= promised(CALLS) / 2
    )  # the factor is beyond the truth: far fewer
    assert sum(Verdict.IMPROVED in call for call in said) <= promised(CALLS) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_sides_that_differ_by_the_factor_are_called_either_way_as_often_as_promised(kind):
    """The hardest case: the truth is on the edge of both hypotheses."""
    said = [verdicts(family) for family in calls(NOISES[kind], FACTOR)]
    assert sum(Verdict.REGRESSED in call for call in said) <= promised(CALLS)
    assert sum(Verdict.OK in call or Verdict.IMPROVED in call for call in said) <= promised(CALLS)


def test_that_promise_is_used():
    """Else the tests above would pass for a gate that never says anything."""
    said = [
        verdicts(family)
        for family in calls(NOISES["quiet"], FACTOR, calls=300, blocks=11, looks=Looks.fixed(11))
    ]
    assert (
        sum(Verdict.REGRESSED in call for call in said)
        >= stats.binom.ppf(0.001, 300, 8 * 8 / 2.0**11)
        > 0
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_slowdown_beyond_the_factor_is_never_ok(kind):
    said = Counter(result.verdict for result in slower(kind))
    assert said[Verdict.OK] + said[Verdict.IMPROVED] == 0
    assert said[Verdict.REGRESSED] + said[Verdict.INCONCLUSIVE] == CALLS * len(CELLS)


def test_a_slowdown_of_5_percent_is_found_on_a_quiet_host():
    said = Counter(result.verdict for result in slower("quiet"))
    assert said[Verdict.REGRESSED] >= 0.98 * CALLS * len(CELLS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ratio", [0.97, BEYOND])
def test_bounds_hold_the_truth_wherever_a_cell_stopped(kind, ratio):
    """Each bound is at a level of at most alpha, which Holm reaches for the last cell of a
    family.
    """
    if ratio == BEYOND:
        results = slower(kind)
    else:
        faster = calls(NOISES[kind], ratio, calls=40)
        results = [result for family in faster for result in family.results()]
    decisions = [result.decision for result in results]
    assert sum(decision.low > ratio for decision in decisions) <= promised(len(decisions))
    assert sum(decision.high < ratio for decision in decisions) <= promised(len(decisions))


@pytest.mark.parametrize(
    ("kind", "ratio"), [("bimodal", 1.03), ("heavy-tailed", 1.03), ("bursts", 1.024)]
)
def test_power_grows_with_blocks(kind, ratio):
    found = []
    for blocks in (8, 16, 32):
        families = calls(NOISES[kind], ratio, calls=25, blocks=blocks, looks=Looks.fixed(blocks))
        found.append(
            Counter(word for family in families for word in verdicts(family))[Verdict.REGRESSED]
        )
    assert found[0] < found[1] < found[2]


def test_the_control_fails_no_more_often_than_promised():
    draw, coin, failed = np.random.default_rng(3), random.Random(3), 0
    for disturbance in NOISES["drift"](draw, (400, 22 * 4)):
        control = Control(CELLS[0], FACTOR, ALPHA, Looks(10))
        for block in disturbance.reshape(-1, 4):
            control.add(*sides(block_order(coin), list(np.exp(block))))
        failed += control.failed
    assert 0 < failed <= promised(400)


def test_pooled_and_unordered_samples_are_fooled_by_the_same_drift():
    """All of base, then all of head: why the gate orders and pairs. Without any effect, nearly all
    calls are red.
    """
    draw, called = np.random.default_rng(3), 0
    for disturbance in NOISES["drift"](draw, (40, 8 * 40)):
        cells = [(list(row[:20]), list(row[20:])) for row in np.exp(disturbance).reshape(8, 40)]
        called += any(mann_whitney(base, head) for base, head in cells)
    assert called > 30
