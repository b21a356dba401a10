"""Predicates about throughput over the fixed levels of the dynamic model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

from harness.claims.evidence import WantedCell
from harness.claims.levels import lacking
from harness.claims.predicate import Predicate, PredicateOutcome, in_each
from harness.claims.quantities import read
from harness.claims.reading import (
    LEAST_DIFFERENCE,
    Check,
    Finding,
    Missing,
    RangedNumber,
    all_of,
    any_of,
    every,
    greater,
    not_below,
)


@dataclass(frozen=True)
class Rising(Predicate):
    """Claim that each fixed level up to `up_to` threads has at least the throughput of all levels
    below it.

    A machine with fewer CPUs limits the levels. The last level has more throughput than the first
    one. A level of 1, 2, 4, … threads that is missing is reported.
    """

    up_to: int
    tolerance: float = 0.0
    least_difference: float = LEAST_DIFFERENCE

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        def test(cell: WantedCell, families: float) -> Finding:
            most = self._most(cell)
            readings = [reading for level, reading in _levels(cell) if level <= most]
            if len(readings) < 2:
                raise Missing(
                    f"fewer than two fixed levels up to {most} threads in {cell.wanted.name}"
                )
            more = partial(greater, least=self.least_difference)
            ends = Check(more, (readings[-1], readings[0]))
            return every([*_never_falling(readings, self.tolerance), ends], families)

        outcomes = in_each(cells, test, families)
        judged = [cell for cell, outcome in zip(cells, outcomes, strict=True) if outcome.finding]
        return [
            *outcomes,
            *(
                PredicateOutcome(cell.name, missing=gap)
                for cell in judged
                if (gap := self._gap(cell))
            ),
        ]

    def _most(self, cell: WantedCell) -> int:
        return min(self.up_to, cell.venue.cpus or self.up_to)

    def _gap(self, cell: WantedCell) -> str:
        """Name the levels that the cell lacks; "" if none."""
        here = set(cell.static()["threads"])
        lacking = [
            2**power for power in range(self._most(cell).bit_length()) if 2**power not in here
        ]
        return (
            f"no fixed level of {', '.join(map(str, lacking))} threads in {cell.wanted.name}"
            if lacking
            else ""
        )

    def __str__(self) -> str:
        dips = f" by more than {self.tolerance:.0%}" if self.tolerance else ""
        ends = (
            ""
            if self.least_difference == LEAST_DIFFERENCE
            else f", and ends above {1 + self.least_difference:g} times its first value"
        )
        return (
            f"throughput of dynamic rises and never falls{dips} from level to level, up to "
            f"{self.up_to} threads{ends}"
        )


@dataclass(frozen=True)
class RiseAndFall(Predicate):
    """Claim that throughput over the fixed levels rises to one peak, and then stays or falls.

    Losses before the peak, and gains after it, are within the tolerance altogether. At the values
    the peak is the greatest one; throughout the ranges it may be at any level. If levels beside the
    peak are missing, there may be another peak: a claim that holds is then open. Levels that all
    bring the same, within the tolerance, say nothing.
    """

    tolerance: float

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        def test(cell: WantedCell, families: float) -> Finding:
            levels, readings = zip(*_levels(cell), strict=True)
            if len(readings) < 3:
                raise Missing(f"fewer than three fixed levels in {cell.wanted.name}")
            values = [reading.value for reading in readings]
            if min(values) >= (1 - self.tolerance) * max(values):
                raise Missing(f"all fixed levels bring the same in {cell.wanted.name}")
            peak = values.index(max(values))
            peaks = [
                every(self._around(readings, index), families) for index in range(len(readings))
            ]
            found = Finding(peaks[peak].holds, any_of(peaks).throughout)
            lacks = lacking(levels, levels[peak], max(cell.venue.cpus or 0, *levels))
            return all_of([found, Finding(None, None)]) if lacks else found

        return in_each(cells, test, families)

    def _around(self, readings: Sequence[RangedNumber], peak: int) -> list[Check]:
        """Return the checks that throughput rises to the level of that index, and then falls."""
        rise, fall = readings[: peak + 1], readings[peak:][::-1]
        return _never_falling(rise, self.tolerance) + _never_falling(fall, self.tolerance)

    def __str__(self) -> str:
        return (
            "over the fixed levels throughput has one peak, dips of up to "
            f"{self.tolerance:.0%} apart"
        )


def _never_falling(readings: Sequence[RangedNumber], tolerance: float) -> list[Check]:
    """Return the checks that no reading is below any before it, so that small dips add up."""
    kept = partial(not_below, factor=1 - tolerance)
    return [Check(kept, (after, before)) for before, after in combinations(readings, 2)]


def _levels(cell: WantedCell) -> list[tuple[int, RangedNumber]]:
    levels = [int(threads) for threads in cell.static()["threads"]]
    return [(level, read(cell, "throughput", f"static-{level}")) for level in levels]
