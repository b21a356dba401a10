"""Numbers that may be 0, numbers without chance, factors of their own, and numbers at the ends of
what a float can hold.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import warnings

import pytest

from harness.gate.cell import GateCell, Metric, comparable
from harness.gate.decide import Control, Family
from harness.gate.report.junit import junit
from harness.gate.report.markdown import markdown
from harness.gate.report.table import table
from harness.gate.report.text import text
from harness.gate.results.verdict_file import VerdictFile, as_json, verdict_of
from harness.gate.scale import as_ratio, limits
from harness.gate.sequential import declare
from harness.gate.verdict import CellResult, Verdict
from tests.gate.made_comparisons import comparison

DROPS = Metric("drops", "tuples", may_be_zero=True)
COUNT = Metric("instructions", "", deterministic=True)


def judged(
    metric: Metric, base: list[float], head: list[float], factor: float = 1.02
) -> CellResult:
    """Return what a call says of a cell that gave these values, in their order."""
    family = Family([GateCell("a", metric)], factor, 0.01, declare(1, 0.01))
    for at in range(0, len(base), 2):
        family.add("a", tuple(base[at : at + 2]), tuple(head[at : at + 2]))
    (result,) = family.results()
    return result


def poisson(mean: float, seed: int, count: int = 44) -> list[float]:
    draw = random.Random(seed)
    return [float(sum(draw.random() < mean / 50 for _ in range(50))) for _ in range(count)]


def test_nothing_on_both_sides_is_ok():
    result = judged(DROPS, [0.0] * 24, [0.0] * 24)
    assert (result.verdict, result.decision.ratio, result.reason) == (Verdict.OK, 1.0, "")
    assert (
        judged(DROPS, [0.0] * 18, [0.0] * 18).verdict is Verdict.INCONCLUSIVE
    )  # fewer blocks than a look takes
    assert judged(DROPS, [5.0] * 24, [5.0] * 24).verdict is Verdict.OK


@pytest.mark.parametrize("head", [[3.0] * 24, poisson(4.0, seed=1)])
def test_nothing_to_something_is_a_regression_of_infinite_ratio(head):
    result = judged(DROPS, [0.0] * len(head), head)
    assert result.verdict is Verdict.REGRESSED
    assert result.decision.ratio == math.inf
    assert judged(DROPS, head, [0.0] * len(head)).verdict is Verdict.IMPROVED


def test_a_difference_within_the_floor_is_nothing():
    floored = Metric("drops", "tuples", may_be_zero=True, floor=5.0)
    assert judged(floored, [0.0] * 24, [3.0] * 24).verdict is Verdict.OK
    assert judged(floored, [0.0] * 24, [9.0] * 24).verdict is Verdict.REGRESSED
    told = judged(DROPS, poisson(0.3, 1), poisson(0.3, 2))
    assert (told.verdict, told.reason) == (
        Verdict.INCONCLUSIVE,
        "base is mostly 0, so every difference counts: give the metric a floor",
    )


def test_a_count_far_from_0_is_judged_by_the_factor_of_its_middle():
    base, head = poisson(20.0, 1), [value + 12 for value in poisson(20.0, 2)]
    result = judged(DROPS, base, head, factor=1.05)
    assert result.verdict is Verdict.REGRESSED
    assert result.decision.ratio == pytest.approx(32 / 20, abs=0.1)
    assert 1.0 < result.decision.low < result.decision.ratio < result.decision.high < math.inf


def test_of_a_rate_that_may_be_0_less_is_worse():
    rate = Metric("hits", "", lower_is_better=False, may_be_zero=True)
    assert judged(rate, [4.0] * 24, [0.0] * 24).verdict is Verdict.REGRESSED
    assert judged(rate, [0.0] * 24, [4.0] * 24).verdict is Verdict.IMPROVED
    assert as_ratio(rate, 2.0, 4.0) == 2.0 and as_ratio(rate, 4.0, 4.0) == math.inf


def test_equal_rates_of_drops_are_hardly_ever_called():
    said = [
        judged(DROPS, poisson(2.0, seed), poisson(2.0, seed + 1000)).verdict for seed in range(150)
    ]
    assert (
        said.count(Verdict.REGRESSED) + said.count(Verdict.IMPROVED) <= 5
    )  # 1.5 of 150 is what was promised; 5 is its 0.999


@pytest.mark.parametrize(
    ("head", "verdict"),
    [
        (1_000_000, Verdict.OK),
        (1_020_000, Verdict.OK),
        (1_030_000, Verdict.REGRESSED),
        (900_000, Verdict.IMPROVED),
    ],
)
def test_what_has_no_chance_is_decided_by_one_block(head, verdict):
    result = judged(COUNT, [1e6] * 2, [float(head)] * 2)
    assert (result.verdict, result.decision.blocks) == (verdict, 1)
    assert (
        result.decision.low
        == result.decision.high
        == result.decision.ratio
        == pytest.approx(head / 1e6)
    )


def test_a_metric_that_was_said_to_have_no_chance_and_has_is_not_decided():
    result = judged(COUNT, [100.0, 101.0], [150.0, 150.0])
    assert (result.verdict, result.reason) == (
        Verdict.INCONCLUSIVE,
        "said to be deterministic, but base gave 100 and 101",
    )


def test_of_drops_without_chance_one_block_tells_nothing_from_something():
    both = Metric("drops", "", may_be_zero=True, deterministic=True)
    assert judged(both, [0.0] * 2, [0.0] * 2).verdict is Verdict.OK
    assert judged(both, [0.0] * 2, [1.0] * 2).verdict is Verdict.REGRESSED


def test_a_control_without_chance_must_be_the_same():
    for again, failed in ((7.0, False), (8.0, True)):
        control = Control(GateCell("a", COUNT), 1.02, 0.01, declare(1, 0.01))
        control.add((7.0, 7.0), (again, again))
        assert control.failed is failed
        assert (control.result().verdict is Verdict.OK) is not failed


def test_a_cell_has_the_factor_that_it_asks_for():
    draw = random.Random(3)
    base, head = (
        [level * math.exp(draw.gauss(0, 0.004)) for _ in range(44)] for level in (100.0, 105.0)
    )
    assert judged(Metric(), base, head).verdict is Verdict.REGRESSED
    assert judged(Metric(factor=1.2), base, head).verdict is Verdict.OK


def test_limits_of_differences_are_the_factor_of_base_or_the_floor():
    assert limits(DROPS, 1.5, 10.0) == (-5.0, 5.0)
    assert limits(Metric(may_be_zero=True, floor=8.0), 1.5, 10.0) == (-8.0, 8.0)
    assert limits(DROPS, 1.5, 0.0) == (0.0, 0.0)


def test_only_a_metric_that_may_be_0_takes_0():
    assert comparable(0, Metric()) is None and comparable(0, DROPS) == 0.0
    assert str(comparable(-0.0, DROPS)) == "0.0"
    assert [comparable(value, DROPS) for value in (-1, math.nan, math.inf, 1e301, True, "0")] == [
        None
    ] * 6


ENDS = [5e-324, 1e-308, 1.0, 1e308, 1.7e308]


@pytest.mark.parametrize("lower_is_better", [True, False])
@pytest.mark.parametrize("unit", ["ns", "bytes"])
def test_numbers_at_the_ends_of_floats_have_verdicts_and_reports(unit, lower_is_better):
    metric = Metric("x", unit, lower_is_better)
    for before, after in itertools.product(ENDS, ENDS):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = judged(metric, [before] * 24, [after] * 24)
            made = comparison(result, control=result)
            assert all(report(made) for report in (text, markdown, table, junit))
            document = json.loads(as_json(VerdictFile(made, 0)))
        again = verdict_of(document, "it").comparison.cells[0]
        assert again.base == result.base and again.verdict is result.verdict
        worse = (after > before) is lower_is_better
        assert result.verdict is (
            Verdict.INCONCLUSIVE
            if before == after
            else Verdict.REGRESSED
            if worse
            else Verdict.IMPROVED
        )
