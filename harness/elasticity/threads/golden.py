"""Golden-section search over the logarithm of the level, which checks its result again.

  search   between the lowest and the highest level: of two levels inside, the end beyond the worse
           one is cut off, until no level is left between them
  check    the best levels are measured `checks` times more, and the best mean wins
  rest     every `pause` periods the check is repeated; two periods in a row that differ by `change`
           from the mean begin a new search

A level is measured for one period. Of equal levels the lower one wins. Source: Kiefer 1953.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from statistics import fmean

from harness.elasticity.law import Decision, Law, Reading, Setting

GOLDEN = (5.0**0.5 - 1.0) / 2.0
"""Part of a range that a step of the golden section keeps."""

CHECKED = 3  # levels


class Golden(Law):
    """Law that cuts the range of levels until one is left."""

    name = "golden"
    summary = "golden section over the logarithm of the level, checked again (Kiefer 1953)"
    SETTINGS = (
        Setting("checks", 2, 0, 1000, "periods", "in which each of the best levels is seen again"),
        Setting("pause", 32, 1, 1_000_000, "periods", "between two checks at rest"),
        Setting("change", 0.2, 0.01, 10.0, "of throughput", "least difference of another load"),
    )

    def begin(self) -> None:
        """Begin a search at the first reading."""
        self._levels = self._course()
        self._wanted = next(self._levels)

    def decide(self, reading: Reading) -> Decision:
        """Return the next level of the search, or the best one at rest."""
        level = self.bounds.clamp(reading.threads)
        if reading.throughput <= 0.0:
            return Decision(level, "no tuples → stay", "idle")
        self._wanted = self._levels.send((level, reading.throughput))
        if self._wanted == level:
            return Decision(level, "at rest → stay", "settled")
        return Decision(self._wanted, "the next level of the section", "searching")

    def _course(self) -> Generator[int, tuple[int, float], None]:
        """Yield levels, and receive the level and throughput of each period, for ever."""
        yield self.bounds.start
        while True:
            seen: dict[int, list[float]] = {}
            low, high = math.log(self.bounds.minimum), math.log(self.bounds.maximum)
            while True:
                inside = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
                pair = [round(math.exp(each)) for each in inside]
                for wanted in pair:
                    if wanted not in seen:
                        _, rate = yield wanted
                        seen.setdefault(wanted, []).append(rate)
                if pair[0] == pair[1]:
                    break
                first, second = (fmean(seen[level]) for level in pair)
                low, high = (low, inside[1]) if first >= second else (inside[0], high)
            while (yield from self._checked(seen)):
                pass

    def _checked(self, seen: dict[int, list[float]]) -> Generator[int, tuple[int, float], bool]:
        """Check the best levels and rest; return False at another load."""
        top = sorted(seen, key=lambda level: (-fmean(seen[level]), level))[:CHECKED]
        for wanted in top * int(self.set["checks"]):
            _, rate = yield wanted
            seen[wanted].append(rate)
        best = max(sorted(top), key=lambda level: fmean(seen[level]))
        odd = 0
        for _ in range(int(self.set["pause"])):
            _, rate = yield best
            mean = fmean(seen[best])
            odd = odd + 1 if abs(rate - mean) > float(self.set["change"]) * mean else 0
            if odd == 2:
                return False
        return True


LAW = Golden
