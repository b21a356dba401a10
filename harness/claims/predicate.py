"""Base of all predicates: each looks at the cells of a claim, and gives an outcome for each, or one
for all together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol, TypeVar

from harness.claims.evidence import WantedCell
from harness.claims.quantities import read
from harness.claims.reading import Finding, Missing, RangedNumber

T = TypeVar("T")


@dataclass(frozen=True)
class PredicateOutcome:
    """Result in a cell, or in several: a finding, or what is missing for one.

    `is_existential`: one cell is enough for success, so that missing cells undo no success and may
    undo a failure.
    """

    where: str
    finding: Finding | None = None
    missing: str = ""
    is_existential: bool = False


@dataclass(frozen=True)
class Term:
    """Number of an arm, in the cell that is judged or in the one of that index in the claim's
    list.
    """

    arm: str
    quantity: str = "throughput"
    cell: int | None = None

    def read(self, here: WantedCell, cells: Sequence[WantedCell]) -> RangedNumber:
        """Return the reading. Raises Missing if the tables lack it."""
        return read(here if self.cell is None else cells[self.cell], self.quantity, self.arm)

    def __str__(self) -> str:
        place = "" if self.cell is None else f" in cell {self.cell + 1}"
        return (
            self.arm
            + (f" ({words(self.quantity)})" if self.quantity != "throughput" else "")
            + place
        )


class ClaimKind(StrEnum):
    """Sort of statement: a size may be off by a third where every shape holds."""

    SHAPE = "shape"  # who wins, what rises, where the peak is
    SIZE = "size"  # a ratio or a count


class Predicate(Protocol):
    """Statement about the cells of a claim."""

    @property
    def kind(self) -> ClaimKind:
        """Sort of statement."""
        return ClaimKind.SHAPE

    @property
    def needs_all(self) -> bool:
        """True if nothing can be said while one of the claim's cells is missing."""
        return False

    def judge(self, cells: Sequence[WantedCell], families: float = 1) -> list[PredicateOutcome]:
        """Return the outcomes over the cells that exist, in the claim's order. `families`: number
        of checks like this one of which one that fails refutes the claim, as `reading.every`.
        """

    def __str__(self) -> str:
        """Describe the check in words."""


def in_each(
    cells: Sequence[WantedCell], test: Callable[[WantedCell, float], Finding], families: float = 1
) -> list[PredicateOutcome]:
    """Return an outcome for each cell. The test receives a number of families, as `reading.every`;
    `families`: the number of families that each cell is one of already.

    One cell that fails refutes a claim, and of many one fails by chance. So k of n cells refute it
    that fail with intervals that allow for n / k families (Simes, Biometrika 73(3), 1986: cells are
    independent, as they share no run). Cells that fail by less are open.
    """

    def outcomes(times: float) -> list[PredicateOutcome]:
        return [_tried(cell.name, lambda cell=cell: test(cell, times * families)) for cell in cells]

    def failing(outcomes: Sequence[PredicateOutcome]) -> int:
        return sum(bool(each.finding) and each.finding.throughout is False for each in outcomes)

    found = outcomes(1)
    judged = sum(each.finding is not None for each in found)
    for few in range(failing(found), 0, -1):
        found = outcomes(judged / few)
        if failing(found) >= few:
            break
    return found


def together(
    cells: Sequence[WantedCell],
    read: Callable[[WantedCell], T],
    test: Callable[[list[T]], Finding],
    is_existential: bool = False,
) -> list[PredicateOutcome]:
    """Return one outcome for all cells that can be read, and one for each that cannot."""
    found: list[tuple[str, T]] = []
    missing: list[PredicateOutcome] = []
    for cell in cells:
        try:
            found.append((cell.name, read(cell)))
        except Missing as why:
            missing.append(PredicateOutcome(cell.name, missing=str(why)))
    if not found:
        return missing
    tried = _tried(
        "; ".join(name for name, _ in found), lambda: test([value for _, value in found])
    )
    return [replace(tried, is_existential=is_existential), *missing]


def once(cells: Sequence[WantedCell], test: Callable[[], Finding]) -> list[PredicateOutcome]:
    """Return one outcome, of a test that needs all cells."""
    return [_tried("; ".join(cell.name for cell in cells), test)]


def words(quantity: str) -> str:
    """Return a quantity's name for people."""
    return quantity.replace("_", " ")


def _tried(where: str, test: Callable[[], Finding]) -> PredicateOutcome:
    try:
        return PredicateOutcome(where, test())
    except Missing as missing:
        return PredicateOutcome(where, missing=str(missing))
