"""Tests of what blocks prove of cells: verdicts, the bounds they rest on, closing, floors,
directions, and the control.
"""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UserError
from harness.gate.cell import GateCell, Metric
from harness.gate.decide import Control, Family, limits
from harness.gate.order import on_scale
from harness.gate.sequential import Evidence, Looks, declare
from harness.gate.verdict import Verdict

FACTOR, ALPHA = 1.02, 0.05


def time(name: str = "a", floor: float = 0.0) -> GateCell:
    return GateCell(name, Metric(floor=floor))


def throughput(name: str = "a", floor: float = 0.0) -> GateCell:
    return GateCell(name, Metric("rate", "tuples/s", lower_is_better=False, floor=floor))


def measure(
    family,
    name: str,
    ratio: float,
    blocks: int,
    spread: float = 0.004,
    seed: int = 2,
    base: float = 100.0,
) -> None:
    """Add blocks of a cell whose head's values are `ratio` times base's."""
    draw = random.Random(seed)

    def pair(value: float) -> tuple[float, float]:
        return value * math.exp(draw.gauss(0, spread)), value * math.exp(draw.gauss(0, spread))

    for _ in range(blocks):
        family.add(name, pair(base), pair(base * ratio))


def verdict(cell: GateCell, ratio: float, blocks: int = 12, **how) -> Verdict:
    family = Family([cell], FACTOR, ALPHA, declare(1, ALPHA))
    measure(family, cell.name, ratio, blocks, **how)
    assert family.verdict(cell.name) is family.decision(cell.name).verdict
    return family.verdict(cell.name)


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [
        (1.05, Verdict.REGRESSED),
        (1.0, Verdict.OK),
        (0.995, Verdict.OK),
        (0.9, Verdict.IMPROVED),
        (1.02, Verdict.INCONCLUSIVE),
    ],
)
def test_verdicts_of_times(ratio, expected):
    assert verdict(time(), ratio) is expected


@pytest.mark.parametrize(
    ("ratio", "expected"), [(0.95, Verdict.REGRESSED), (1.0, Verdict.OK), (1.1, Verdict.IMPROVED)]
)
def test_verdicts_of_throughputs_are_the_other_way_round(ratio, expected):
    assert verdict(throughput(), ratio) is expected


def test_too_much_noise_and_too_few_blocks_are_inconclusive():
    assert verdict(time(), 1.0, spread=0.3) is Verdict.INCONCLUSIVE
    assert verdict(time(), 1.4, blocks=11) is Verdict.INCONCLUSIVE
    assert verdict(time(), 1.4, blocks=12) is Verdict.REGRESSED


def test_only_a_head_that_is_far_slower_is_decided_before_the_first_look():
    early = declare(1, ALPHA).early
    assert verdict(time(), 2.0, blocks=early) is Verdict.REGRESSED
    assert verdict(throughput(), 0.5, blocks=early) is Verdict.REGRESSED
    assert verdict(time(), 1.4, blocks=early) is Verdict.INCONCLUSIVE
    assert verdict(time(), 0.5, blocks=11) is Verdict.INCONCLUSIVE
    assert verdict(time(floor=150.0), 2.0, blocks=early) is Verdict.INCONCLUSIVE


def test_a_cell_without_blocks_is_unmeasured():
    family = Family([time("a"), time("b")], FACTOR, ALPHA, declare(2, ALPHA))
    measure(family, "a", 1.0, 12)
    result = family.results()[1]
    assert result.verdict is Verdict.UNMEASURED
    assert (result.decision.low, result.decision.high, result.decision.blocks) == (0.0, math.inf, 0)
    assert math.isnan(result.decision.ratio)
    assert family.open() == ["b"]


def test_a_decided_cell_stays_decided():
    family = Family([time()], FACTOR, ALPHA, declare(1, ALPHA))
    measure(family, "a", 1.2, 12)
    decision = family.decision("a")
    assert (decision.verdict, decision.blocks, family.open()) == (Verdict.REGRESSED, 12, [])
    measure(family, "a", 0.5, 90)
    assert family.decision("a") == decision
    (result,) = family.results()
    assert (len(result.base), len(result.head)) == (
        24,
        24,
    )  # and no value is told that the decision does not rest on


def test_values_are_told_pair_by_pair_in_order():
    family = Family([time("b"), time("a")], FACTOR, ALPHA, declare(2, ALPHA))
    family.add("b", (1.0, 2.0), (3.0, 4.0))
    family.add("b", (5.0, 6.0), (7.0, 8.0))
    first, second = family.results()
    assert (first.cell.name, first.base, first.head) == (
        "b",
        (1.0, 2.0, 5.0, 6.0),
        (3.0, 4.0, 7.0, 8.0),
    )
    assert second.base == ()


def test_a_fixed_call_spends_all_of_alpha_at_its_end_and_nothing_before():
    """Twelve blocks that all say the same have the p-value 6^-12: enough if all of alpha is spent
    on it, not if half is.
    """
    alpha = 1.001 * 6.0**-12
    for looks, expected in (
        (Looks.fixed(12), Verdict.REGRESSED),
        (Looks(12), Verdict.INCONCLUSIVE),
    ):
        family = Family([time()], FACTOR, alpha, looks)
        measure(family, "a", 1.2, 11)
        assert family.decision("a").verdict is Verdict.INCONCLUSIVE
        measure(family, "a", 1.2, 1)
        assert family.decision("a").verdict is expected


def test_after_its_last_look_a_cell_is_not_open():
    family = Family([time()], FACTOR, ALPHA, Looks.fixed(10))
    measure(family, "a", 1.02, 9)
    assert family.open() == ["a"]
    measure(family, "a", 1.02, 1)
    assert (family.decision("a").verdict, family.open()) == (Verdict.INCONCLUSIVE, [])


def test_a_decided_cell_makes_it_easier_for_the_others():
    """Ten blocks that all say the same have p = 6^-10, here 4 * 6^-10 at the first look: more than
    half of alpha, less than all. Two cells of which both have ten are open; once the other is
    decided, by its second look, both are.
    """
    family = Family([time("a"), time("b")], FACTOR, 6.001 * 6.0**-10, Looks(10))
    measure(family, "a", 1.2, 10)
    measure(family, "b", 1.2, 10)
    assert {family.decision(name).verdict for name in "ab"} == {Verdict.INCONCLUSIVE}
    measure(family, "b", 1.2, 5)
    assert [(family.decision(name).verdict, family.decision(name).blocks) for name in "ab"] == [
        (Verdict.REGRESSED, 10),
        (Verdict.REGRESSED, 12),
    ]
    assert family.decision("a").low > FACTOR


def test_bounds_are_at_the_level_that_holm_held_the_verdict_against():
    """The last of four cells has improved: alone in that family, so at alpha / 4, though its being
    ok is at alpha.
    """
    cells = [time(name) for name in "abcd"]
    family, alone = Family(cells, FACTOR, ALPHA, Looks.fixed(20)), Evidence(Looks.fixed(20))
    for seed, name in enumerate("abcd"):
        measure(family, name, 0.9 if name == "d" else 1.0, 20, seed=seed)
    improved = family.results()[3]
    for pair in range(0, 40, 2):
        alone.add(
            *on_scale(cells[3], improved.base[pair : pair + 2], improved.head[pair : pair + 2])
        )
    assert [result.verdict for result in family.results()] == [Verdict.OK] * 3 + [Verdict.IMPROVED]
    assert (
        math.log(improved.decision.high)
        == pytest.approx(alone.high(ALPHA / 4))
        != pytest.approx(alone.high(ALPHA))
    )
    assert math.log(improved.decision.low) == pytest.approx(alone.low(ALPHA / 4))


@pytest.mark.parametrize("ratio", [1.0, 1.01, 1.02, 1.03, 1.1, 0.97])
@pytest.mark.parametrize("spread", [0.002, 0.01, 0.03])
def test_the_verdict_is_what_its_bounds_say(ratio, spread):
    family = Family([time(name) for name in "abcd"], FACTOR, ALPHA, declare(4, ALPHA))
    for seed, name in enumerate("abcd"):
        measure(family, name, ratio, 33, spread=spread, seed=seed)
    for result in family.results():
        decision = result.decision
        assert decision.low < decision.ratio < decision.high
        assert (decision.low > FACTOR) == (decision.verdict is Verdict.REGRESSED)
        assert (decision.high < FACTOR) == (decision.verdict in (Verdict.OK, Verdict.IMPROVED))
        assert decision.verdict is not Verdict.IMPROVED or decision.high < 1 / FACTOR


def test_a_difference_up_to_the_floor_is_never_called():
    """10 to 14 ns is a ratio of 1.4, but 4 ns; and so is 10 to 6."""
    for ratio, without, floored in (
        (1.4, Verdict.REGRESSED, Verdict.OK),
        (0.6, Verdict.IMPROVED, Verdict.OK),
    ):
        assert verdict(time(), ratio, base=10.0) is without
        assert verdict(time(floor=5.0), ratio, base=10.0) is floored
    assert verdict(time(floor=5.0), 1.6, base=10.0) is Verdict.REGRESSED
    assert verdict(time(floor=5.0), 0.4, base=10.0) is Verdict.IMPROVED
    assert verdict(time(floor=5.0), 1.05, base=1000.0) is Verdict.REGRESSED


@given(
    st.booleans(),
    st.floats(0.0, 50.0),
    st.floats(1.0, 100.0),
    st.floats(1.001, 2.0),
    st.floats(0.1, 300.0),
)
def test_limits_are_the_wider_of_factor_and_floor(lower_is_better, floor, base, factor, head):
    """Whatever head is: beyond a limit exactly if its ratio is beyond the factor and its difference
    beyond the floor.
    """
    better, worse = limits(Metric(lower_is_better=lower_is_better, floor=floor), factor, base)
    loss, ratio = (head - base, head / base) if lower_is_better else (base - head, base / head)
    edges = [worse, better, math.log(factor), -math.log(factor)]
    if min(abs(math.log(ratio) - edge) for edge in edges) < 1e-9 or abs(abs(loss) - floor) < 1e-9:
        return
    assert (math.log(ratio) > worse) == (ratio > factor and loss > floor)
    assert (math.log(ratio) < better) == (ratio < 1 / factor and -loss > floor)


def test_a_bad_value_is_told_and_counts_nowhere():
    family = Family([time()], FACTOR, ALPHA, declare(1, ALPHA))
    with pytest.raises(UserError, match="cell a: ns_per_hop must be"):
        family.add("a", (1.0, 1.0), (1.0, 0.0))
    assert family.results()[0].verdict is Verdict.UNMEASURED


def control(ratio: float, spread: float, blocks: int = 33, alpha: float = ALPHA) -> Control:
    tested = Control(time(), FACTOR, alpha, Looks(10))
    draw = random.Random(4)
    for _ in range(blocks):
        first, *others = (100 * math.exp(draw.gauss(0, spread)) for _ in range(4))
        tested.add((first, others[0]), (others[1] * ratio, others[2] * ratio))
    return tested


@pytest.mark.parametrize(
    ("ratio", "spread", "failed", "expected"),
    [
        (1.0, 0.004, False, Verdict.OK),
        (1.0, 0.1, False, Verdict.INCONCLUSIVE),  # wide, which is not a failure
        (1.01, 0.002, True, Verdict.REGRESSED),  # within the factor, but base is not itself
        (0.99, 0.002, True, Verdict.IMPROVED),
    ],
)
def test_the_control_fails_if_base_differs_from_itself(ratio, spread, failed, expected):
    tested = control(ratio, spread)
    assert (tested.failed, tested.result().verdict) == (failed, expected)
    assert (
        tested.result().decision.low
        < tested.result().decision.ratio
        < tested.result().decision.high
    )


def test_the_control_is_two_sided_and_pays_for_it():
    """Ten blocks that say the same have a two-sided p of 2 * 6^-10, and the first look gets a
    quarter of alpha.
    """
    assert control(1.1, 0.001, blocks=10, alpha=8.01 * 6.0**-10).failed
    assert not control(1.1, 0.001, blocks=10, alpha=7.9 * 6.0**-10).failed


@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize("alpha", [0.1, 0.01, 0.004])
def test_the_control_can_fail_at_the_first_look_that_is_declared(cells, alpha):
    fixed = next(pairs for pairs in range(2, 100, 2) if is_declared(cells, alpha, pairs))
    for looks in (declare(cells, alpha), declare(cells, alpha, fixed)):
        tested = Control(time(), FACTOR, alpha, looks)
        for _ in range(looks.first):
            tested.add((100.0, 101.0), (150.0, 151.0))
        assert tested.failed


def is_declared(cells: int, alpha: float, pairs: int) -> bool:
    try:
        declare(cells, alpha, pairs)
    except UserError:
        return False
    return True


def test_a_failed_control_stays_failed():
    tested = control(1.1, 0.001, blocks=10)
    assert tested.failed
    for _ in range(200):
        tested.add((100.0, 101.0), (101.0, 100.0))
    assert tested.failed


def test_an_unmeasured_control_has_not_failed():
    tested = Control(time(), FACTOR, ALPHA, Looks(10))
    assert (tested.failed, tested.result().verdict) == (False, Verdict.UNMEASURED)


def test_deterministic_counts_may_differ_by_a_little_within_a_side():
    cell = GateCell("a", Metric("instructions", "", deterministic=True))

    def said(base, head):
        family = Family([cell], FACTOR, ALPHA, declare(1, ALPHA))
        family.add("a", base, head)
        return family.results()[0]

    base = (1_000_000.0, 1_000_060.0)
    assert said(base, (1_000_010.0, 1_000_070.0)).verdict is Verdict.OK
    assert said(base, (1_030_000.0, 1_030_050.0)).verdict is Verdict.REGRESSED
    assert said(base, (1_020_010.0, 1_020_050.0)).verdict is Verdict.INCONCLUSIVE
    apart = said(base, (1_030_000.0, 1_040_000.0))
    assert apart.verdict is Verdict.INCONCLUSIVE and "head gave 1.03e+06" in apart.reason
