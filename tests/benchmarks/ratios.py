"""Medians of ratios to the in-place C++ chain, all arms interleaved: `python -m tests.benchmarks.ratios [ROUNDS]`."""

from __future__ import annotations

import random
import statistics
import sys

from tests.benchmarks.arms import ARMS

CELLS = [(10, 1), (100, 1), (1000, 1), (100, 100), (100, 1000)]
YARDSTICK = "C++ chain, in place"


def main(rounds: int) -> None:
    order = random.Random(1)
    print("| operators | cost | " + " | ".join(ARMS) + " |")
    print("|---|---|" + "---|" * len(ARMS))
    for operators, cost in CELLS:
        samples: dict[str, list[float]] = {arm: [] for arm in ARMS}
        for _ in range(rounds):
            for arm in order.sample(list(ARMS), len(ARMS)):
                samples[arm].append(ARMS[arm](operators, cost))
        cells = []
        for values in samples.values():
            ratios = [value / base for value, base in zip(values, samples[YARDSTICK], strict=True)]
            cells.append(f"{statistics.median(values):.1f} ns, {statistics.median(ratios):.2f} ×")
        print(f"| {operators} | {cost} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
