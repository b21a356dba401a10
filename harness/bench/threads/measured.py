"""Measured scalability curves from public data sets: throughput at some numbers of processors,
threads or clients.

Between two points the curve is a straight line. Only the shape counts on the bench.

  sdm91       scripts an hour at 1 to 216 users, SPEC SDM91 on a Sun SPARCcenter 2000 with 16 CPUs
  raytrace    intersections a second at 1 to 64 processors, BRL-CAD on an SGI Origin 2000
              (both: N. J. Gunther, Guerrilla Capacity Planning, 2007; R package usl 3.0.4 by
              S. Möding, data sets `specsdm91` and `raytracer`)
  mysql       queries a second at 1 to 32 threads, MySQL on a Cisco server (B. Schwartz, Practical
              Scalability Analysis with the Universal Scalability Law, 2015; codahale/usl-rs)
  barnes-hut, quicksort, id-raytracer
              seconds at 1 to 16 processors, mean of 30 runs, programs of Manticore on a machine
              with 16 cores (ManticoreProject/benchmark, results/pldi10-final-speedup, 2009-11-18)
"""

from __future__ import annotations

from itertools import pairwise

THROUGHPUTS: dict[str, dict[int, float]] = {
    "sdm91": {1: 64.9, 18: 995.9, 36: 1652.4, 72: 1853.2, 108: 1828.9, 144: 1775.0, 216: 1702.2},
    "raytrace": {1: 20, 4: 78, 8: 130, 12: 170, 16: 190, 20: 200, 24: 210, 28: 230}
    | {32: 260, 48: 280, 64: 310},
    "mysql": {1: 955.16, 2: 1878.91, 3: 2688.01, 4: 3548.68, 5: 4315.54, 6: 5130.43, 7: 5931.37}
    | {8: 6531.08, 9: 7219.8, 10: 7867.61, 11: 8278.71, 12: 8646.7, 13: 9047.84, 14: 9426.55}
    | {15: 9645.37, 16: 9897.24, 17: 10097.6, 18: 10240.5, 19: 10532.39, 20: 10798.52}
    | {21: 11151.43, 22: 11518.63, 23: 11806.0, 24: 12089.37, 25: 12075.41, 26: 12177.29}
    | {27: 12211.41, 28: 12158.93, 29: 12155.27, 30: 12118.04, 31: 12140.4, 32: 12074.39},
}

SECONDS: dict[str, str] = {
    "barnes-hut": "22.565 11.678 8.647 6.402 5.379 4.665 4.165 3.905 3.676 3.571 3.495 3.413 3.404 "
    "3.482 3.516 3.610",
    "quicksort": "41.495 22.755 16.530 12.792 10.924 9.550 8.662 7.786 7.269 6.813 6.573 6.300 "
    "5.790 5.606 5.498 5.340",
    "id-raytracer": "3.691 1.905 1.310 1.015 0.834 0.715 0.634 0.578 0.550 0.802 0.941 1.027 1.099 "
    "1.181 1.255 1.366",
}
"""Times at 1, 2, … processors."""


def curves() -> dict[str, tuple[float, ...]]:
    """Return all curves by name: throughput at levels 1, 2, … up to the last one measured."""
    found = {name: _joined(points) for name, points in THROUGHPUTS.items()}
    return found | {
        name: tuple(1.0 / float(each) for each in of.split()) for name, of in SECONDS.items()
    }


def _joined(points: dict[int, float]) -> tuple[float, ...]:
    levels = sorted(points)
    rates = [points[1]]
    for low, high in pairwise(levels):
        rise = (points[high] - points[low]) / (high - low)
        rates += [points[low] + rise * step for step in range(1, high - low + 1)]
    return tuple(rates)
