"""True rates: what each operator can do when it has all that it wants (Kalavri et al., OSDI 2018, DS2).

An operator's true rate is the tuples that it took in over the time in which threads executed it. Its inverse is what a tuple
costs; how often a queue was empty or full does not matter to it. Times the tuples that it gets for each tuple of the sources
it is the operator's *work*: the threads that it needs for each tuple/s of the sources.

A period may be shorter than the time that tuples need through the graph: then some operators took in much more, or less, than
the sources sent. So how many tuples an operator gets for each of the sources' is a ratio of sums over all periods of a load.
The rate of a period is the useful time of all operators over the work of a tuple: what that time was enough for.
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
    """`rate`: tuples/s of the sources together that the useful time was enough for; `work`: of each operator [s for each of
    those tuples]."""

    rate: float
    work: Vector


class Flow:
    """What the periods of a load have shown of the tuples that each operator gets, and of what they cost."""

    def __init__(self, layout: Layout) -> None:
        """Nothing is known yet."""
        self._layout = layout
        self._taken: Vector = np.zeros(layout.operators)  # tuples, by operator
        self._cost: Vector = np.zeros(layout.operators)  # a tuple when the operator last took some [s]
        self._reached = np.array([tuples > 0.0 for tuples in layout.tuples], dtype=bool)  # by tuples, as far as the graph says
        self._held = layout.queue_capacity * (layout.inputs + 1)  # tuples that may be on their way

    def see(self, reading: Reading) -> Rates | None:
        """What a period shows; None until each operator has had a tuple, or if nobody has measured useful time.

        Once the sources have sent more than all queues hold, an operator without a tuple is one that gets none.
        """
        operators = self._layout.operators
        if operators == 0 or len(reading.useful_s) != operators or len(reading.tuples) != operators:
            return None
        useful, taken = np.array(reading.useful_s, dtype=float), np.array(reading.tuples, dtype=float)
        self._taken += taken
        self._cost = np.where(taken > 0.0, useful / np.maximum(taken, 1.0), self._cost)
        sent = float(self._taken[list(self._layout.sources)].sum())
        if sent < 1.0 or (sent <= self._held and (self._reached & (self._taken == 0.0)).any()):
            return None
        work = self._cost * self._taken / sent
        total = float(work.sum())
        return Rates(float(useful.sum()) / total / reading.elapsed_s, work) if total > 0.0 else None


def replicas_of(reading: Reading, layout: Layout) -> NDArray[np.int64]:
    """Of each operator, in the period; one if nobody says."""
    known = len(reading.replicas) == layout.operators
    return np.array(reading.replicas, dtype=np.int64) if known else np.ones(layout.operators, dtype=np.int64)
