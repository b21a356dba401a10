"""All statements that a claim can make about readings, each with its parameters as data. No text is
evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import ClassVar

from harness.claims.curves import RiseAndFall, Rising
from harness.claims.evidence import WantedCell
from harness.claims.predicate import (
    ClaimKind,
    Predicate,
    PredicateOutcome,
    Term,
    in_each,
    once,
    together,
    words,
)
from harness.claims.quantities import read
from harness.claims.reading import (
    LEAST_DIFFERENCE,
    Check,
    Finding,
    Missing,
    RangedNumber,
    all_of,
    allowing_together,
    every,
    greater,
    some,
    within,
)
from harness.terminal.listed import listed


@dataclass(frozen=True)
class AgainstOthers(Predicate):
    """Claim that compares an arm with each of the others, in each cell."""

    arm: str
    against: tuple[str, ...]
    quantity: str = "throughput"
    least_difference: float = LEAST_DIFFERENCE

    says: ClassVar[str]  # about the numbers of the others
    is_above: ClassVar[bool] = True  # the arm's number, else those of the others
    holds: ClassVar[Callable[[list[Finding], float], Finding]] = every

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        def test(cell: WantedCell, families: float) -> Finding:
            own = read(cell, self.quantity, self.arm)
            others = [read(cell, self.quantity, arm) for arm in self.against]
            pairs = [(own, other) if self.is_above else (other, own) for other in others]
            return type(self).holds(_above(pairs, self.least_difference), families)

        return in_each(cells, test, families)

    def __str__(self) -> str:
        return f"{words(self.quantity)} of {self.arm} is {self.says} {listed(self.against)}"


class Best(AgainstOthers):
    """Claim that the arm has the greatest number in each cell."""

    says = "above that of"


class Worst(AgainstOthers):
    """Claim that the arm has the least number in each cell."""

    says = "below that of"
    is_above = False


class NotWorst(AgainstOthers):
    """Claim that another arm has a smaller number in each cell."""

    says = "above that of one at least of"
    holds = some


@dataclass(frozen=True)
class Order(Predicate):
    """Claim that the numbers of the arms fall in this order in each cell, or those of one arm from
    cell to cell.
    """

    arms: tuple[str, ...]
    quantity: str = "throughput"
    least_difference: float = LEAST_DIFFERENCE

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        if len(self.arms) == 1:
            return together(
                cells,
                lambda cell: read(cell, self.quantity, self.arms[0]),
                lambda readings: self._falling(readings, families),
            )
        return in_each(
            cells,
            lambda cell, families: self._falling(
                [read(cell, self.quantity, arm) for arm in self.arms], families
            ),
            families,
        )

    def _falling(self, readings: Sequence[RangedNumber], families: float = 1) -> Finding:
        return _falling(readings, self.least_difference, families)

    def __str__(self) -> str:
        if len(self.arms) == 1:
            return f"{words(self.quantity)} of {self.arms[0]} falls from cell to cell"
        return f"{words(self.quantity)}: {' > '.join(self.arms)}"


@dataclass(frozen=True)
class Ratio(Predicate):
    """Claim that one number over another is within limits in each cell; once, if a term names its
    cell.

    `somewhere_below`: the ratio is also below this limit in one cell at least.
    """

    over: Term
    under: Term
    at_least: float | None = None
    at_most: float | None = None
    somewhere_below: float | None = None
    least_difference: float = LEAST_DIFFERENCE

    @property
    def kind(self) -> ClaimKind:
        return ClaimKind.SIZE

    @property
    def needs_all(self) -> bool:
        return self.over.cell is not None or self.under.cell is not None

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        def test(cell: WantedCell, families: float) -> Finding:
            ratio = _over(self.over, self.under, cell, cells)
            return every(_inside([ratio], self.at_least, self.at_most), families)

        outcomes = (
            once(cells, lambda: test(cells[0], families))
            if self.needs_all
            else in_each(cells, test, families)
        )
        return (
            outcomes
            if self.somewhere_below is None
            else [*outcomes, *self._below(cells, self.somewhere_below, families)]
        )

    def _below(
        self, cells: Sequence[WantedCell], limit: float, families: float
    ) -> list[PredicateOutcome]:
        """Return the outcome of the limit for one cell, over all cells that can be read."""

        def test(ratios: list[RangedNumber]) -> Finding:
            most = RangedNumber(limit, limit, limit)
            checks = _above([(most, ratio) for ratio in ratios], self.least_difference)
            return some(checks, families)

        outcomes = together(
            cells, lambda cell: _over(self.over, self.under, cell, cells), test, is_existential=True
        )
        return [
            replace(outcome, where=f"below {limit:g} in one cell at least")
            for outcome in outcomes
            if outcome.finding
        ]

    def __str__(self) -> str:
        below = (
            ""
            if self.somewhere_below is None
            else f", and below {self.somewhere_below:g} in one cell at least"
        )
        return f"{self.over} over {self.under} is {_limits(self.at_least, self.at_most)}{below}"


@dataclass(frozen=True)
class Somewhere(Predicate):
    """Claim that one number over another, or a number alone, is within limits in one cell at least.

    A paper says so of what is possible.
    """

    over: Term
    under: Term | None = None
    at_least: float | None = None
    at_most: float | None = None

    @property
    def kind(self) -> ClaimKind:
        return ClaimKind.SIZE

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        def read(cell: WantedCell) -> RangedNumber:
            return (
                self.over.read(cell, cells)
                if self.under is None
                else _over(self.over, self.under, cell, cells)
            )

        def test(readings: list[RangedNumber]) -> Finding:
            return some(_inside(readings, self.at_least, self.at_most), families)

        return together(cells, read, test, is_existential=True)

    def __str__(self) -> str:
        what = str(self.over) if self.under is None else f"{self.over} over {self.under}"
        return f"{what} is {_limits(self.at_least, self.at_most)} in one cell at least"


@dataclass(frozen=True)
class Within(Predicate):
    """Claim that a number of the arms is within limits in each cell; `per_cpu`: divided by the
    machine's logical CPUs.
    """

    arms: tuple[str, ...]
    quantity: str
    at_least: float | None = None
    at_most: float | None = None
    per_cpu: bool = False

    @property
    def kind(self) -> ClaimKind:
        return ClaimKind.SIZE

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        def test(cell: WantedCell, families: float) -> Finding:
            factor = cell.cpus() if self.per_cpu else 1
            limits = [
                None if limit is None else factor * limit for limit in (self.at_least, self.at_most)
            ]
            readings = [read(cell, self.quantity, arm) for arm in self.arms]
            return every(_inside(readings, *limits), families)

        return in_each(cells, test, families)

    def __str__(self) -> str:
        unit = " for each CPU" if self.per_cpu else ""
        return (
            f"{words(self.quantity)}{unit} of {listed(self.arms)} is "
            f"{_limits(self.at_least, self.at_most)}"
        )


@dataclass(frozen=True)
class Trend(Predicate):
    """Claim that one number over another goes up, or down, from cell to cell.

    `at_least`: limit of the ratio in each cell; 1 where a paper speaks of a gain, or of a gap.
    """

    over: Term
    under: Term
    direction: str  # rising, falling
    at_least: float | None = None
    least_difference: float = LEAST_DIFFERENCE

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        def test(ratios: list[RangedNumber]) -> Finding:
            goes = _falling(
                ratios if self.direction == "falling" else ratios[::-1],
                self.least_difference,
                families,
            )
            if self.at_least is None:
                return goes
            return all_of([goes, every(_inside(ratios, self.at_least, None), families)])

        return together(cells, lambda cell: _over(self.over, self.under, cell, cells), test)

    def __str__(self) -> str:
        limit = "" if self.at_least is None else f", and at least {self.at_least:g}"
        return f"{self.over} over {self.under} is {self.direction} from cell to cell{limit}"


@dataclass(frozen=True)
class BestVaries(Predicate):
    """Claim that the arm with the greatest number differs between cells."""

    arms: tuple[str, ...]
    quantity: str = "throughput"
    least_difference: float = LEAST_DIFFERENCE

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        def test(tables: list[dict[str, RangedNumber]]) -> Finding:
            if len(tables) < 2:
                raise Missing("one cell has one best arm")
            at_values = [
                {arm: replace(r, low=r.value, high=r.value) for arm, r in table.items()}
                for table in tables
            ]
            varies = _varies(at_values, self.least_difference) is True
            events = families * sum(map(len, tables))  # in each table an end of each arm
            allowed = [
                dict(zip(table, allowing_together(list(table.values()), events), strict=True))
                for table in tables
            ]
            throughout = _varies(allowed, self.least_difference)
            is_open = any(reading.is_open for table in tables for reading in table.values())
            return Finding(throughout if is_open else varies, throughout)

        return together(
            cells,
            lambda cell: {arm: read(cell, self.quantity, arm) for arm in self.arms},
            test,
            is_existential=True,
        )

    def __str__(self) -> str:
        return (
            f"which of {listed(self.arms)} has the highest {words(self.quantity)} is not the "
            "same in all cells"
        )


@dataclass(frozen=True)
class AllOf(Predicate):
    """Claim that several checks hold, where a trivial run would pass one of them alone.

    An example is a law that gives few operators a queue: one that gives none must not pass. Where
    one check cannot be read, another can refute the claim, and cannot confirm it.
    """

    checks: tuple[Predicate, ...]

    @property
    def kind(self) -> ClaimKind:
        return self.checks[0].kind

    @property
    def needs_all(self) -> bool:
        return any(check.needs_all for check in self.checks)

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        families *= len(self.checks)
        judged = [check.judge(cells, families) for check in self.checks]
        lacking = [
            {place for each in outcomes if each.missing for place in _places(each)}
            for outcomes in judged
        ]
        found = []
        for index, outcomes in enumerate(judged):
            others = set().union(*lacking[:index], *lacking[index + 1 :])
            found += [each for own in outcomes if (each := _without(own, others))]
        return found

    def __str__(self) -> str:
        return "; and ".join(map(str, self.checks))


@dataclass(frozen=True)
class Provided(Predicate):
    """Check of the cells in which a condition holds; the others say nothing of the claim."""

    check: Predicate
    condition: Within

    @property
    def kind(self) -> ClaimKind:
        return self.check.kind

    @property
    def needs_all(self) -> bool:
        return self.check.needs_all

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        unmet = [outcome for cell in cells for outcome in self._unmet(cell)]
        names = {outcome.where for outcome in unmet}
        telling = [cell for cell in cells if cell.name not in names]
        if not telling or (unmet and self.needs_all):
            return unmet
        return [*self.check.judge(telling, families), *unmet]

    def _unmet(self, cell: WantedCell) -> list[PredicateOutcome]:
        """Return what is missing in a cell in which the condition does not hold."""
        (outcome,) = self.condition.judge([cell])
        if outcome.finding is None or outcome.finding.holds is not False:
            return []
        why = f"it is not so in {cell.wanted.name} that {self.condition}; it says nothing there"
        return [PredicateOutcome(cell.name, missing=why)]

    def __str__(self) -> str:
        return f"{self.check}, where {self.condition}"


PREDICATES: dict[str, type[Predicate]] = {
    "best": Best,
    "worst": Worst,
    "not_worst": NotWorst,
    "order": Order,
    "ratio": Ratio,
    "somewhere": Somewhere,
    "within": Within,
    "trend": Trend,
    "rising": Rising,
    "rise_and_fall": RiseAndFall,
    "best_varies": BestVaries,
    "all_of": AllOf,
}


def _places(outcome: PredicateOutcome) -> set[str]:
    """Return the names of the cells of an outcome."""
    return set(outcome.where.split("; "))


def _without(outcome: PredicateOutcome, lacking: set[str]) -> PredicateOutcome | None:
    """Return an outcome if another check lacks numbers in some of its cells: open, or None if it
    lacks them in all. What refutes stays.
    """
    finding, places = outcome.finding, _places(outcome)
    if finding is None or not places & lacking or False in (finding.holds, finding.throughout):
        return outcome
    return None if places <= lacking else replace(outcome, finding=Finding(None, None))


def _over(over: Term, under: Term, here: WantedCell, cells: Sequence[WantedCell]) -> RangedNumber:
    dividend, divisor = over.read(here, cells), under.read(here, cells)
    if divisor.value == 0:
        raise Missing(f"{under} is 0 in {here.wanted.name}")
    ratio = dividend / divisor
    here.show(f"{over} over {under}", "ratio", "", ratio)
    return ratio


def _falling(readings: Sequence[RangedNumber], least: float, families: float = 1) -> Finding:
    if len(readings) < 2:
        raise Missing("one number shows no order")
    return every(_above(list(pairwise(readings)), least), families)


def _above(pairs: Sequence[tuple[RangedNumber, RangedNumber]], least: float) -> list[Check]:
    """Return the checks that the first of each pair is greater than the second."""
    return [Check(partial(greater, least=least), pair) for pair in pairs]


def _inside(
    readings: Sequence[RangedNumber], at_least: float | None, at_most: float | None
) -> list[Check]:
    """Return the checks that each reading is within limits."""
    inside = partial(within, at_least=at_least, at_most=at_most)
    return [Check(inside, (reading,)) for reading in readings]


def _varies(tables: Sequence[dict[str, RangedNumber]], least: float) -> bool | None:
    """Return true if no arm can be the best everywhere, false if one is for certain, else None.

    An arm that is not below another by more than the least difference may be as good.
    """
    able, sure = [], []
    for table in tables:
        steps = {arm: 1 + max(least, reading.resolution) for arm, reading in table.items()}
        floor = max(reading.low for reading in table.values())
        able.append({arm for arm, reading in table.items() if reading.high * steps[arm] >= floor})
        others = {
            arm: max(r.high * steps[other] for other, r in table.items() if other != arm)
            for arm in table
        }
        sure.append({arm for arm, reading in table.items() if reading.low > others[arm]})
    if not set.intersection(*able):
        return True
    return False if set.intersection(*sure) else None


def _limits(at_least: float | None, at_most: float | None) -> str:
    if at_least is None:
        return f"at most {at_most:g}"
    return f"at least {at_least:g}" if at_most is None else f"from {at_least:g} to {at_most:g}"
