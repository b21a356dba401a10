"""The simplest search: double while it pays, then golden section. No law should be worse.

  double   from the start, twice the level while that brings more by `gain`; if the first doubling
           does not, half of it
  narrow   the best level lies between its two neighbours among those tried: golden section, in
           whole levels, until none is left
  rest     at the best level; two periods in a row that differ by `change` from what it brought
           begin the search anew

Every level is measured for one period. Source: Kiefer 1953 for the golden section.
"""

from __future__ import annotations

from collections.abc import Generator

from harness.elasticity.law import Decision, Law, Reading, Setting
from harness.elasticity.threads.golden import GOLDEN


class PlainSearch(Law):
    """Law that searches, and then rests."""

    name = "plain_search"
    summary = (
        "doubles while it pays, then golden section: the plain search that no law should be "
        "worse than"
    )
    SETTINGS = (
        Setting("gain", 0.02, 0.0, 1.0, "of throughput", "what twice the level must bring"),
        Setting(
            "change",
            0.2,
            0.01,
            10.0,
            "of throughput",
            "least difference that counts as another load",
        ),
    )

    def begin(self) -> None:
        """Begin a search."""
        self._search = self._levels_to_try()
        self._wanted = next(self._search)
        self._rest: tuple[int, float] | None = None  # level and what it brought
        self._odd = 0

    def decide(self, reading: Reading) -> Decision:
        """Return the next level of the search, or the best one at rest."""
        level = self.bounds.clamp(reading.threads)
        if reading.throughput <= 0.0:
            return Decision(level, "no tuples → stay", "idle")
        if self._rest is not None:
            expected = self._rest[1]
            self._odd = (
                self._odd + 1
                if abs(reading.throughput - expected) > float(self.set["change"]) * expected
                else 0
            )
            if self._odd < 2:
                return Decision(level, "at rest → stay", "settled")
            self._search, self._rest, self._odd = self._levels_to_try(level), None, 0
            next(self._search)
        try:
            self._wanted = self._search.send((level, reading.throughput))
        except StopIteration as end:
            self._rest = end.value
            best = self._rest[0]
            return Decision(
                best,
                "nothing is left to try → the best",
                "settled" if best == level else "descending",
            )
        return Decision(self._wanted, "tries the next level", "searching")

    def _levels_to_try(
        self, start: int = 0
    ) -> Generator[int, tuple[int, float], tuple[int, float]]:
        """Yield levels, receive the level and throughput of each period, and return the best."""
        level, brought = yield (start or self.bounds.start)
        seen = {level: brought}
        best = level
        for factor in (2.0, 0.5):
            while True:
                further = self.bounds.clamp(int(best * factor))
                if further in seen:
                    break
                level, brought = yield further
                seen[level] = brought
                needed = (
                    1.0 + float(self.set["gain"])
                    if factor > 1.0
                    else 1.0 / (1.0 + float(self.set["gain"]))
                )
                if brought <= seen[best] * needed:
                    break
                best = level
            if best != (start or self.bounds.start):
                break
        while True:
            tried = sorted(seen)
            at = tried.index(best)
            low, high = tried[max(0, at - 1)], tried[min(len(tried) - 1, at + 1)]
            if high - best <= 1 and best - low <= 1:
                return best, seen[best]
            up = high - best >= best - low
            inside = (
                round(best + (1.0 - GOLDEN) * (high - best))
                if up
                else round(best - (1.0 - GOLDEN) * (best - low))
            )
            inside = (
                max(best + 1, min(high - 1, inside)) if up else min(best - 1, max(low + 1, inside))
            )
            level, brought = yield inside
            # the engine did not take the level: the search ends
            if level in seen and level != inside:
                return best, seen[best]
            seen[level] = brought
            if brought > seen[best]:
                best = level


LAW = PlainSearch
