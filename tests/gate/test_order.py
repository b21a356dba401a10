"""A block: four processes in mirrored order by a coin, and their logs."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UserError
from harness.gate.cell import GateCell, Metric
from harness.gate.order import BlockValues, block_order, on_scale, sides

TIME = GateCell("pipeline", Metric())
THROUGHPUT = GateCell("pipeline", Metric("tuples_per_s", "tuples/s", lower_is_better=False))
MIRRORED = {("base", "head", "head", "base"), ("head", "base", "base", "head")}

times = st.floats(1e-3, 1e9)


def test_all_six_orders_come_about_equally_often():
    draw = random.Random(3)
    orders = [block_order(draw) for _ in range(1200)]
    assert set(orders) == set(itertools.permutations(("base", "base", "head", "head")))
    assert all(150 < orders.count(order) < 250 for order in set(orders))  # 200 +- 3.9 sd


def test_the_seed_decides_the_order():
    def orders(seed: int) -> list:
        draw = random.Random(seed)
        return [block_order(draw) for _ in range(20)]

    assert orders(1) == orders(1) != orders(2)


def test_values_go_to_their_sides_pair_by_pair():
    assert sides(("base", "head", "head", "base"), [1, 2, 3, 4]) == ((1, 4), (2, 3))
    assert sides(("head", "base", "base", "head"), [1, 2, 3, 4]) == ((2, 3), (1, 4))


def difference(block: BlockValues) -> float:
    return sum(block.head) / 2 - sum(block.base) / 2


def test_a_block_has_the_logs_of_its_two_pairs():
    (block,) = on_scale(TIME, [100, 101], [110, 120])
    assert block.base == pytest.approx((math.log(100), math.log(101)))
    assert block.head == pytest.approx((math.log(110), math.log(120)))


def test_worse_is_more_whatever_the_metrics_direction():
    assert difference(*on_scale(TIME, [100, 100], [110, 110])) > 0
    assert difference(*on_scale(THROUGHPUT, [100, 100], [110, 110])) < 0


def test_pairs_of_half_a_block_are_left_out():
    assert len(on_scale(TIME, [1.0] * 7, [2.0] * 7)) == 3
    assert on_scale(TIME, [1.0], [2.0]) == []


@given(
    st.sampled_from(sorted(MIRRORED)),
    st.floats(-0.1, 0.1),
    st.floats(-0.1, 0.1),
    st.floats(-0.5, 0.5),
)
def test_drift_and_a_slower_second_process_cancel(order, drift, second, effect):
    """Only the effect is left."""
    times = [
        drift * t + second * (t % 2) + effect * (side == "head") for t, side in enumerate(order)
    ]
    base, head = sides(order, [math.exp(time) for time in times])
    assert difference(*on_scale(TIME, base, head)) == pytest.approx(effect, abs=1e-9)


@given(st.lists(times, min_size=4, max_size=4))
def test_had_the_coin_fallen_otherwise_the_sides_would_have_each_others_times(values):
    (one,), (other,) = (on_scale(TIME, *sides(order, values)) for order in sorted(MIRRORED))
    assert (one.base, one.head) == (other.head, other.base)


@pytest.mark.parametrize(
    ("value", "side"), list(itertools.product([0.0, -1.0, math.inf, math.nan], [0, 1]))
)
def test_a_value_without_a_logarithm_is_told_in_one_line(value, side):
    pairs = [[1.0, 1.0], [1.0, 1.0]]
    pairs[side][1] = value
    with pytest.raises(
        UserError, match=r"^cell pipeline: ns_per_hop must be a finite number above 0 .*, not "
    ) as raised:
        on_scale(TIME, *pairs)
    assert "\n" not in str(raised.value)
