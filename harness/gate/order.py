"""The order of a block's four processes, and their values on the scale on which they are compared.

A block is two fresh processes of each side, in an order that is drawn anew for each block, from the
six that there are. If base is head, the four times would have been the same in any other order, but
with other names. That is all that the test of `block_ranks` needs, whatever the host did: drift,
bursts, and the slowness of a process that runs second are the same for all six.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from harness.errors import UserError
from harness.gate.cell import GateCell, comparable, rule

BASE, HEAD = "base", "head"
PAIRS = 2  # pairs in a block
ORDERS = (
    (BASE, BASE, HEAD, HEAD),
    (BASE, HEAD, BASE, HEAD),
    (BASE, HEAD, HEAD, BASE),
    (HEAD, BASE, BASE, HEAD),
    (HEAD, BASE, HEAD, BASE),
    (HEAD, HEAD, BASE, BASE),
)
Order = tuple[str, str, str, str]
Pair = tuple[float, float]


class BlockValues(NamedTuple):
    """Values of a block's processes, on the metric's scale (`scale`): positive differences are
    worse."""

    base: Pair
    head: Pair


def block_order(draw: random.Random) -> Order:
    """Return the sides of a block's four processes, in the order in which they run. Each order has
    the same chance."""
    return draw.choice(ORDERS)


def sides(order: Order, values: Sequence[float]) -> tuple[Pair, Pair]:
    """Return base's and head's values of a block whose processes gave `values` in `order`. Pair 0
    is the first process of each side."""
    base = [value for side, value in zip(order, values, strict=True) if side == BASE]
    head = [value for side, value in zip(order, values, strict=True) if side == HEAD]
    return (base[0], base[1]), (head[0], head[1])


def on_scale(cell: GateCell, base: Sequence[float], head: Sequence[float]) -> list[BlockValues]:
    """Return each whole block's values, oriented so that more is worse: their logs, or the values
    themselves if the metric may be 0.

    `base[i]` and `head[i]` are pair i, in the metric's unit. Raises UserError if a value cannot be
    compared.
    """
    metric = cell.metric
    for value in (*base, *head):
        if comparable(value, metric) is None:
            raise UserError(
                f"cell {cell.name}: {metric.name} must be {rule(metric)} to be compared, not "
                f"{value}"
            )
    sign = 1.0 if metric.lower_is_better else -1.0
    place = float if metric.may_be_zero else math.log
    before, after = ([sign * place(value) for value in side] for side in (base, head))
    pairs = list(zip(before, after, strict=True))
    return [
        BlockValues(*zip(*pairs[i : i + PAIRS], strict=True))
        for i in range(0, len(pairs) - PAIRS + 1, PAIRS)
    ]
