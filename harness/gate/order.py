"""The order of a block's four processes, and their values on the scale on which they are compared.

A block is two pairs of fresh processes in mirrored order: base head head base, or head base base
head, chosen by a coin.

- Mirrored order cancels a drift that is linear over the block, and the slowness of a process that
  is the second of its pair.
- The coin: if base is head, the four times would have been the same if the coin had fallen
  otherwise, but with the names exchanged. That is all that the test of `block_ranks` needs,
  whatever the host did.
- One coin for both pairs: the two pairs of a block share any disturbance. Counted as two they would
  count one disturbance twice.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import NamedTuple

from harness.errors import UserError
from harness.gate.cell import Cell, comparable, rule

BASE, HEAD = "base", "head"
PAIRS = 2  # pairs in a block
Order = tuple[str, str, str, str]
Pair = tuple[float, float]


class Block(NamedTuple):
    """Values of a block's processes, on the metric's scale (`scale`): positive differences are
    worse."""

    base: Pair
    head: Pair


def block_order(draw: random.Random) -> Order:
    """Return the sides of a block's four processes, in the order in which they run. Each side is
    first with the same chance."""
    return (BASE, HEAD, HEAD, BASE) if draw.random() < 0.5 else (HEAD, BASE, BASE, HEAD)


def sides(order: Order, values: Sequence[float]) -> tuple[Pair, Pair]:
    """Return base's and head's values of a block whose processes gave `values` in `order`. Pair 0
    is the first two processes."""
    base = [value for side, value in zip(order, values, strict=True) if side == BASE]
    head = [value for side, value in zip(order, values, strict=True) if side == HEAD]
    return (base[0], base[1]), (head[0], head[1])


def on_scale(cell: Cell, base: Sequence[float], head: Sequence[float]) -> list[Block]:
    """Return each whole block's values, oriented so that more is worse: their logs, or the values
    themselves if the metric may be 0.

    `base[i]` and `head[i]` are pair i, in the metric's unit. Raises UserError if a value cannot be
    compared.
    """
    metric = cell.metric
    for value in (*base, *head):
        if comparable(value, metric) is None:
            raise UserError(
                f"cell {cell.name}: {metric.name} must be {rule(metric)} to be compared, not {value}"
            )
    sign = 1.0 if metric.lower_is_better else -1.0
    place = float if metric.may_be_zero else math.log
    before, after = ([sign * place(value) for value in side] for side in (base, head))
    pairs = list(zip(before, after, strict=True))
    return [
        Block(*zip(*pairs[i : i + PAIRS], strict=True))
        for i in range(0, len(pairs) - PAIRS + 1, PAIRS)
    ]
