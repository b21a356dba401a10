"""Model of the throughput of a graph under a placement and a thread level: one formula, and many
hypotheses of its constants.

With the loads of `regions` (the work of the whole graph is 1) and m = own threads + min(level,
queues) threads that find work,

  hop        q (1 + c log2 m) k^g    time of a hop over one of k queues: push and pop, copies,
                                     synchronisation
  region     the most loaded one: work + hop (f pushes + (1 - f) pops + e entries of locks)
  lock       the same, with e (1 + l sqrt(min(contenders, m) - 1)): a lock that many want is handed
             from one CPU to the other
  capacity   m / (1 + a (m - 1)) up to a knee; (m / knee)^-t of that behind it: more threads than
             CPUs, SMT, memory
  threads    (1 + hop (hops + e entries)) / capacity
  throughput (region^p + lock^p + threads^p)^(-1/p)    the slowest of the three; p: how well threads
                                                       are kept busy

If each region has a thread of its own and m is at most the knee, no region waits for a thread: the
third term falls away, and the region takes 1 + a (m - 1) times as long. Measurements give the
common factor. A *hypothesis* is a choice of all constants. q and e are drawn as times, and q is
divided by the time of the graph's work, which the first measurement gives. So the law knows from
the start that a graph with costly operators can afford queues. The formula itself is compiled
(`limits`).

After the roofline's idea that the tightest of a few bounds explains throughput (Williams, Waterman
and Patterson, CACM 52(4), 2009). The odds of the constants come from the bench and from
`config/software`, not from any one machine.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats.qmc import Sobol

from harness.elasticity.queues.regions import Vector

COLUMNS = (
    "hop",
    "sync",
    "footprint",
    "push",
    "single",
    "entry",
    "waiting",
    "serial",
    "knee",
    "tail",
    "sharp",
)
"""Columns of a hypothesis; `push` is f, and `single` is 1 if the runtime moves tuples and not
batches."""

RANDOM_NUMBERS = 10  # random numbers for a hypothesis
SIDES = (0.2, 0.4, 0.6, 0.8)  # f
ENTRIES = (0.015, 60.0)  # e, at least and at most
HOP_NS, HOP_NS_BYTE = 22.0, 0.06  # median time of a hop: a push and a pop, and bytes copied
HOP_SPREAD = 1.3  # standard deviation of its logarithm
ENTRY_NS, ENTRY_SPREAD = 15.0, 0.9  # the same of a lock without contenders
# l: an atomic operation that two contend for takes several times as long
WAITING, WAITING_SPREAD = 1.0, 1.2
HOP = COLUMNS.index("hop")


def draw(
    generator: np.random.Generator,
    count: int,
    cpus: int,
    payload: int,
    work_s: float,
    batch: int = 0,
) -> Vector:
    """Return hypotheses drawn from the prior, one a row.

    `work_s`: time of all work for a tuple of each source. `batch`: tuples that the runtime moves at
    once, 0 if unknown.
    """

    uniform = iter(_even(generator, count, RANDOM_NUMBERS).T)

    def about(median: float, spread: float) -> Vector:
        return median * np.exp(spread * ndtri(next(uniform)))

    hop_s = about(1e-9 * (HOP_NS + HOP_NS_BYTE * payload), HOP_SPREAD)
    # of the CPUs: all in half of the hypotheses, half of them in a quarter, anywhere in the last
    # quarter
    knee = next(uniform)
    anywhere = (2.0 * cpus) ** (4.0 * np.clip(knee - 0.75, 0.0, 0.25))
    knee = np.where(knee < 0.5, float(cpus), np.where(knee < 0.75, 0.5 * cpus, anywhere))
    kinds = len(SIDES) if batch else 2 * len(SIDES)
    side = np.minimum(kinds - 1, (kinds * next(uniform)).astype(int)) + (
        len(SIDES) if batch == 1 else 0
    )
    columns = {
        "hop": hop_s / work_s,
        "sync": about(0.06, 1.3),
        "footprint": 0.15 * np.abs(ndtri(next(uniform))),
        "push": np.take(SIDES, side % len(SIDES)),
        "single": side >= len(SIDES),
        "entry": np.clip(about(1e-9 * ENTRY_NS, ENTRY_SPREAD) / hop_s, *ENTRIES),
        "waiting": about(WAITING, WAITING_SPREAD),
        "serial": about(0.003, 1.5),
        "knee": np.maximum(1.0, knee),
        "tail": 0.25 + 0.5 * ndtri(next(uniform)),
        "sharp": np.maximum(2.0, about(7.0, 0.6)),
    }
    return np.stack([columns[name] for name in COLUMNS], axis=1).astype(float)


def _even(generator: np.random.Generator, count: int, columns: int) -> Vector:
    """Return points that fill the unit cube evenly, one a row; `count` is a power of two.

    They are a scrambled Sobol sequence. Some of as many random points would lie close together
    (Owen, J. Complexity 14(4), 1998).
    """
    points = Sobol(columns, rng=generator).random(count)
    return np.clip(points, 1e-9, 1.0 - 1e-9)
