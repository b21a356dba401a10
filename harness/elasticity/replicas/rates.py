"""True rates of operators: the rates that they could do with unlimited input and output (Kalavri et
al., OSDI 2018, DS2).

An operator's true rate is the number of tuples that it took in over the time in which threads
executed it. Its inverse is the cost of a tuple; empty and full queues do not affect it. The cost,
times the tuples that the operator gets for each tuple of the sources, is the operator's *work*: the
threads that it needs for each tuple/s of the sources.

A period may be shorter than the time that tuples need through the graph. Then some operators take
in much more, or less, than the sources send. So the number of tuples that an operator gets for each
tuple of the sources is a ratio of sums over all periods of a load. The rate of a period is the
useful time of all operators over the work of a tuple: the rate that the time allowed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.elasticity.law import Reading
from harness.elasticity.layout import Layout

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """Rates of a period.

    `rate`: tuples/s of all sources together that the useful time was enough for. `work`: work of
    each operator [s for each of those tuples].
    """

    rate: float
    work: Vector


class ObservedFlow:
    """Tuples that each operator got, and their costs, over the periods of a load."""

    def __init__(self, layout: Layout) -> None:
        """Begin without measurements."""
        self._layout = layout
        self._taken: Vector = np.zeros(layout.operators)  # tuples, by operator
        # cost of a tuple in the last period with tuples [s]
        self._cost: Vector = np.zeros(layout.operators)
        # True if the graph says that tuples reach the operator
        self._reached = np.array([tuples > 0.0 for tuples in layout.tuples], dtype=bool)
        self._held = layout.queue_capacity * (layout.inputs + 1)  # tuples that may be on their way

    def see(self, reading: Reading) -> Rates | None:
        """Return the rates of a period; None until each operator has had a tuple, or if useful time
        is unknown.

        Once the sources have sent more than all queues hold, an operator without a tuple counts as
        one that gets none.
        """
        operators = self._layout.operators
        if operators == 0 or len(reading.useful_s) != operators or len(reading.tuples) != operators:
            return None
        useful = np.array(reading.useful_s, dtype=float)
        taken = np.array(reading.tuples, dtype=float)
        self._taken += taken
        self._cost = np.where(taken > 0.0, useful / np.maximum(taken, 1.0), self._cost)
        sent = float(self._taken[list(self._layout.sources)].sum())
        if sent < 1.0 or (sent <= self._held and (self._reached & (self._taken == 0.0)).any()):
            return None
        work = self._cost * self._taken / sent
        total = float(work.sum())
        return Rates(float(useful.sum()) / total / reading.elapsed_s, work) if total > 0.0 else None


def replicas_of(reading: Reading, layout: Layout) -> NDArray[np.int64]:
    """Return the replicas of each operator in the period; one each if they are unknown."""
    known = len(reading.replicas) == layout.operators
    return (
        np.array(reading.replicas, dtype=np.int64)
        if known
        else np.ones(layout.operators, dtype=np.int64)
    )
