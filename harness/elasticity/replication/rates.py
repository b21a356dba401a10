"""True rates: what each operator can do when it has all that it wants (Kalavri et al., OSDI 2018, DS2).

An operator's true rate is the tuples that it took in over the time in which threads executed it. Its inverse is what a tuple
costs; how often a queue was empty or full does not matter to it. Times the tuples that it gets for each tuple of the sources
it is the operator's *work*: the threads that it needs for each tuple/s of the sources.
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
    """`rate`: tuples/s that the sources sent together; `work`: of each operator [s for each of those tuples]."""

    rate: float
    work: Vector


def rates_of(reading: Reading, layout: Layout) -> Rates | None:
    """What a period shows; None if hardly any tuple was sent, or nobody has measured useful time."""
    if layout.operators == 0 or len(reading.useful_s) != layout.operators or len(reading.tuples) != layout.operators:
        return None
    sent = sum(reading.tuples[source] for source in layout.sources)
    if sent < 1.0:
        return None
    return Rates(sent / reading.elapsed_s, np.array(reading.useful_s, dtype=float) / sent)


def replicas_of(reading: Reading, layout: Layout) -> NDArray[np.int64]:
    """Of each operator, in the period; one if nobody says."""
    known = len(reading.replicas) == layout.operators
    return np.array(reading.replicas, dtype=np.int64) if known else np.ones(layout.operators, dtype=np.int64)
