"""Claims x machines -> verdicts.

A claim is judged on each machine that it is about, if the tables hold it, and also on other
machines where the check makes sense. A measured order that the intervals do not separate is
undecided. A simulated one is decided by its nominal values, and `sensitivity` says whether the
answer is the same throughout the band of the varied constants.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from harness.claims.claim import CPUS, Claim
from harness.claims.evidence import Shown, WantedCell, find
from harness.claims.predicate import PredicateOutcome
from harness.claims.reading import Finding, Missing, all_of, variation
from harness.claims.tables import Tables, Venue
from harness.machines.machine import for_people


class ClaimVerdict(StrEnum):
    """Result of the check of a claim on a machine."""

    REPRODUCED = "reproduced"
    SMALLER = "reproduced at a smaller size"  # it holds in all cells, some of another size
    IN_PART = "reproduced in part"  # it holds in all cells that are there, and some are not
    NOT_REPRODUCED = "not reproduced"
    UNDECIDED = "undecided"
    NO_DATA = "no data"
    NOT_TESTABLE = "not testable"


class Sensitivity(StrEnum):
    """Dependence of a verdict on a simulated machine on the constants that were varied."""

    NONE = ""  # measured, or no verdict
    HOLDS = "holds throughout"
    FLIPS = "flips within the band"
    NOT_VARIED = "not varied"


ANSWERS = (
    ClaimVerdict.REPRODUCED,
    ClaimVerdict.SMALLER,
    ClaimVerdict.IN_PART,
    ClaimVerdict.NOT_REPRODUCED,
)
"""Verdicts that say whether a claim holds."""

VARIED = (Sensitivity.HOLDS, Sensitivity.FLIPS)
"""Verdicts on numbers for which constants were varied."""

OF_THROUGHPUT = frozenset(("throughput", "ratio", "best level", "best share"))
"""Quantities whose error follows from that of throughputs, by which the simulator is validated."""


@dataclass(frozen=True)
class Result:
    """Verdict on a claim on one machine, named for people. `beside`: the claim is not about this
    machine.
    """

    claim: Claim
    machine: str
    simulated: bool
    verdict: ClaimVerdict
    beside: bool = False
    sensitivity: Sensitivity = Sensitivity.NONE
    why: str = ""  # the reason, if there is no verdict, or the claim does not hold
    outcomes: Sequence[PredicateOutcome] = ()
    shown: Sequence[Shown] = ()
    points: int = 0  # at which the constants were varied together
    holds_at: int = 0  # of these points the claim holds at so many
    is_smaller: bool = False  # a cell is smaller than the paper's
    # an error of the simulator as large as was asked for could change the answer; None: nothing was
    # asked for, or the answer rests on other numbers than simulated throughputs
    could_change: bool | None = None

    @property
    def is_settled(self) -> bool:
        """True if the verdict rests only on runs that became stationary."""
        return all(each.is_settled for each in self.shown)


def evaluate(
    claims: Iterable[Claim],
    tables: Tables,
    machine: str | None = None,
    simulator_error: float | None = None,
) -> list[Result]:
    """Return the results of each claim in its order, machines of the claim first; only those of
    `machine` if given. `simulator_error`: factor by which the ratio of two simulated throughputs
    may be wrong; results say if that could change them.
    """
    venues = tables.venues()
    return [
        result
        for claim in claims
        for result in _of_claim(claim, tables, venues, machine, simulator_error)
    ]


def _of_claim(
    claim: Claim, tables: Tables, venues: Sequence[Venue], machine: str | None, error: float | None
) -> Iterator[Result]:
    if claim.check is None:
        if machine is None or machine in claim.machines:
            yield Result(claim, "", False, ClaimVerdict.NOT_TESTABLE, why=claim.not_testable)
        return
    if claim.is_joint:
        yield from _of_joint(claim, tables, venues, machine, error)
        return
    venues = [
        venue
        for venue in venues
        if any(tables.holds(experiment, venue) for experiment in claim.experiments)
    ]
    looks = [Look.at(claim, tables, venue) for venue in venues]
    looks = [look for look in looks if machine is None or _is(look.venue, machine)]
    own: list[Look] = []
    for name in claim.machines:
        found = [look for look in looks if _is(look.venue, name)]
        own += found
        for look in found:
            yield _with_reason(judge(claim, look, error=error), [name], look.venue.software)
        if not found and machine in (None, name):
            what = f"any with {CPUS[name]} logical CPUs" if name in CPUS else "simulated"
            yield Result(
                claim,
                f"{for_people(name)} ({what})",
                name not in CPUS,
                ClaimVerdict.NO_DATA,
                why=f"the tables do not hold {name}",
            )
    for look in looks:
        if claim.elsewhere and look not in own and (look.venue.cpus or 0) >= claim.needs_cpus:
            result = judge(claim, look, beside=True, error=error)
            yield _with_reason(result, [look.venue.machine], look.venue.software)


def _of_joint(
    claim: Claim, tables: Tables, venues: Sequence[Venue], machine: str | None, error: float | None
) -> Iterator[Result]:
    """Yield results of a claim that compares machines: one for each software that all of them were
    simulated with.
    """
    names = [cell.machine for cell in claim.cells]
    label = " and ".join(map(for_people, claim.machines))
    if machine is not None:
        return  # one machine is no comparison
    simulated = [venue for venue in venues if venue.simulated]
    found = False
    for software in sorted({venue.software for venue in simulated}):
        of_name = {venue.machine: venue for venue in simulated if venue.software == software}
        if set(names) <= set(of_name):
            found = True
            places = [of_name[name] for name in names]
            look = Look.at(claim, tables, Venue(label, True, software), places)
            yield _with_reason(judge(claim, look, error=error), claim.machines, software)
    if not found:
        yield Result(
            claim,
            f"{label} (simulated)",
            True,
            ClaimVerdict.NO_DATA,
            why=f"the tables do not hold {label}",
        )


def _with_reason(result: Result, machines: Sequence[str], software: str) -> Result:
    """Return a result of a claim that does not hold with the reasons for that, behind what the
    tables lack.
    """
    if result.verdict is not ClaimVerdict.NOT_REPRODUCED:
        return result
    reasons = [result.claim.reasons.get((machine, software), "") for machine in machines]
    return replace(result, why="; ".join(dict.fromkeys(filter(None, [result.why, *reasons]))))


@dataclass(frozen=True, eq=False)
class Look:
    """Cells of a claim that exist on a machine, and those that are missing.

    A measured machine has the CPUs that the cells were measured with.
    """

    venue: Venue
    cells: Sequence[WantedCell]
    missing: Sequence[PredicateOutcome]

    @classmethod
    def at(cls, claim: Claim, tables: Tables, venue: Venue, places: Sequence[Venue] = ()) -> Look:
        """Find the cells of a claim; `places`: the machine of each cell, if they are not all on
        `venue`.
        """
        cells: list[WantedCell] = []
        missing: list[PredicateOutcome] = []
        asked = claim.cells_at(venue.machine)
        for wanted, place in zip(asked, places or [venue] * len(asked), strict=True):
            try:
                cells.append(find(tables, wanted, place))
            except Missing as why:
                missing.append(PredicateOutcome(wanted.name, missing=str(why)))
        if cells and not venue.simulated:
            venue = replace(venue, cpus=max(cell.venue.cpus or 0 for cell in cells) or None)
        return cls(venue, cells, missing)


def judge(claim: Claim, look: Look, beside: bool = False, error: float | None = None) -> Result:
    """Return the verdict on one claim on one machine; `error`: `simulator_error` of `evaluate`."""
    assert claim.check is not None
    venue, cells, missing = look.venue, look.cells, look.missing
    hosts = sorted({host for cell in cells for host in cell.hosts})
    if len(hosts) > 1:
        why = (
            "measured on different machines: "
            f"{', '.join(f'{model} with {cpus} CPUs' for model, cpus in hosts)}"
        )
        return _result(
            claim,
            venue,
            [*missing, *(PredicateOutcome(cell.name, missing=why) for cell in cells)],
            cells,
            beside,
        )
    if not cells or (missing and claim.check.needs_all):
        return _result(claim, venue, missing, cells, beside)
    result = _result(claim, venue, [*claim.check.judge(cells), *missing], cells, beside)
    if result.verdict in ANSWERS:
        result = replace(result, is_smaller=any(cell.is_smaller for cell in cells))
        if result.is_smaller and result.verdict is ClaimVerdict.REPRODUCED:
            result = replace(result, verdict=ClaimVerdict.SMALLER)
        if error is not None and venue.simulated:
            result = replace(result, could_change=_could_change(result, cells, error))
    return _at_points(result, cells) if result.sensitivity in VARIED else result


def _could_change(result: Result, cells: Sequence[WantedCell], error: float) -> bool | None:
    """Return true if the answer is open where the ratio of two throughputs may be wrong by a
    factor; None if it also rests on other numbers.
    """
    check = result.claim.check
    if check is None or any(each.quantity not in OF_THROUGHPUT for each in result.shown):
        return None
    outcomes = check.judge([cell.with_error(error) for cell in cells])
    findings = [each.finding for each in outcomes if each.finding is not None]
    return all_of(findings).throughout is None


def _at_points(result: Result, cells: Sequence[WantedCell]) -> Result:
    """Return a result with the number of points of the design at which its claim holds.

    A constant moves all arms of a point, so that a ratio may be the same at all points although
    both of its terms are not.
    """
    check, points = result.claim.check, max(cell.points for cell in cells)
    if check is None or points == 0:
        return result
    answers = [
        all_of(
            [
                outcome.finding
                for outcome in check.judge([cell.at_point(point) for cell in cells])
                if outcome.finding is not None
            ]
        ).holds
        for point in range(points)
    ]
    nominal = result.verdict is not ClaimVerdict.NOT_REPRODUCED
    same = all(answer is nominal for answer in answers)
    return replace(
        result,
        points=points,
        holds_at=sum(answer is True for answer in answers),
        sensitivity=Sensitivity.HOLDS if same else Sensitivity.FLIPS,
    )


def _result(
    claim: Claim,
    venue: Venue,
    outcomes: Sequence[PredicateOutcome],
    cells: Sequence[WantedCell],
    beside: bool,
) -> Result:
    found = [outcome for outcome in outcomes if outcome.finding is not None]
    missing = list(dict.fromkeys(outcome.missing for outcome in outcomes if outcome.missing))
    shown = [each for cell in cells for each in cell.shown]
    if not found:
        return Result(
            claim,
            venue.name,
            venue.simulated,
            ClaimVerdict.NO_DATA,
            beside,
            why="; ".join(missing),
            outcomes=outcomes,
        )
    finding = all_of([_with_gaps(outcome) if missing else outcome.finding for outcome in found])
    verdict = _verdict(finding, venue.simulated)
    if (
        missing
        and verdict is ClaimVerdict.REPRODUCED
        and not all(outcome.is_existential for outcome in found)
    ):
        verdict = ClaimVerdict.IN_PART
    decided = venue.simulated and finding.holds is not None
    sensitivity = _sensitivity(finding, shown) if decided else Sensitivity.NONE
    if verdict is ClaimVerdict.UNDECIDED:
        missing += dict.fromkeys(
            f"{each.arm}: {each.reading.lacks}"
            for each in shown
            if each.reading.lacks and each.unit
        )
    return Result(
        claim,
        venue.name,
        venue.simulated,
        verdict,
        beside,
        sensitivity,
        "; ".join(missing),
        outcomes,
        shown,
    )


def _with_gaps(outcome: PredicateOutcome) -> Finding:
    """Return the finding of an outcome where cells are missing.

    If one cell is enough for the claim, a missing cell may be that one: a failure in the others is
    then open.
    """
    assert outcome.finding is not None
    holds, throughout = outcome.finding.holds, outcome.finding.throughout
    return Finding(holds or None, throughout or None) if outcome.is_existential else outcome.finding


def _verdict(finding: Finding, simulated: bool) -> ClaimVerdict:
    holds = finding.holds if simulated else finding.throughout
    return (
        ClaimVerdict.UNDECIDED
        if holds is None
        else ClaimVerdict.REPRODUCED
        if holds
        else ClaimVerdict.NOT_REPRODUCED
    )


def _sensitivity(finding: Finding, shown: Sequence[Shown]) -> Sensitivity:
    if not variation([each.reading for each in shown])["is_varied"]:
        return Sensitivity.NOT_VARIED
    return Sensitivity.FLIPS if finding.throughout is None else Sensitivity.HOLDS


def _is(venue: Venue, name: str) -> bool:
    """Return true if a claim's word for a machine means this one. Machines that papers name are
    simulated.
    """
    return venue.cpus == CPUS[name] if name in CPUS else venue.machine == name
