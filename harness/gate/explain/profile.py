"""A profile: the cost of each stack of functions, and the functions whose cost grew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Stack = tuple[str, ...]
"""Names of functions, the outermost first."""

SECONDS, INSTRUCTIONS, NS_PER_TUPLE = "s", "instructions", "ns a tuple"


@dataclass(frozen=True)
class StackProfile:
    """Cost of each stack in one process, in `unit`. `places` has the file and line of functions."""

    costs: Mapping[Stack, float]
    unit: str = SECONDS
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> float:
        """Cost of all stacks."""
        return sum(self.costs.values())

    def own(self) -> Counter[str]:
        """Return the cost of each function itself, without those that it calls."""
        found: Counter[str] = Counter()
        for stack, cost in self.costs.items():
            found[stack[-1]] += cost
        return found


@dataclass(frozen=True)
class Growth:
    """A function and its own costs on both sides."""

    name: str
    place: str  # file and line in head, or else in base; "" if unknown
    base: float
    head: float

    @property
    def growth(self) -> float:
        """Cost that head has more than base, of the function itself."""
        return self.head - self.base


def mean(profiles: Iterable[StackProfile]) -> StackProfile:
    """Return the mean of the profiles of several processes."""
    given = list(profiles)
    costs: Counter[Stack] = Counter()
    for profile in given:
        costs.update(profile.costs)
    places = {name: place for profile in given for name, place in profile.places.items()}
    return StackProfile(
        {stack: cost / len(given) for stack, cost in costs.items()}, given[0].unit, places
    )


def grown(base: StackProfile, head: StackProfile, most: int) -> list[Growth]:
    """Return the functions whose own cost grew most, in descending order; at most `most`."""
    before, after = base.own(), head.own()
    found = [
        Growth(name, head.places.get(name) or base.places.get(name, ""), before[name], after[name])
        for name in after
        if after[name] > before[name]
    ]
    return sorted(found, key=lambda each: -each.growth)[:most]
