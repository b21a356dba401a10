"""Verdicts for people, as Markdown, and for programs, as JSON. `page` writes them as HTML."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.claims.claim import Claim, papers
from harness.claims.evaluate import ANSWERS, ClaimVerdict, Result, Sensitivity
from harness.claims.evidence import Shown
from harness.claims.predicate import ClaimKind, PredicateOutcome
from harness.claims.reading import RangedNumber
from harness.machines.machine import for_people
from harness.terminal.table import aligned_rows

TITLE = "What the papers claim, and what the tables say"

INTRODUCTION = """\
Each claim is a sentence of a paper in our words, with a check that is data (harness/claims/*.yaml).
Most checks were written before their numbers were seen. Some were made stricter or added by people
who had seen a table, and so was the choice of the arm that is P17's and M19's elastic
(docs/appendices/claims.md). A claim that fails stays here as failed; no constant of a simulated
machine was fitted to one."""

LEGEND = {
    ClaimVerdict.REPRODUCED: "the check holds in every cell.",
    ClaimVerdict.SMALLER: "it holds in every cell, but a cell is smaller than the paper's.",
    ClaimVerdict.IN_PART: "it holds in every cell that the tables have, but they lack some, or "
    "levels of some.",
    ClaimVerdict.NOT_REPRODUCED: "it fails in one cell at least.",
    ClaimVerdict.UNDECIDED: "the intervals leave it open, or there is one run only, a run ended "
    "before it had settled, latencies are within half a bucket of each other, it is about the best "
    "level and levels beside that are missing, or the one cell that is enough may be missing.",
    ClaimVerdict.NO_DATA: "the tables hold no such machine, cell or arm, or all its runs failed, "
    "or a simulated one never settled, or what it compares was measured on different CPUs.",
    ClaimVerdict.NOT_TESTABLE: "no experiment can check it; the reason is given.",
}

EXPLANATION = """\
Ranges of means over runs are 95 % intervals, and so are those of how far runs differ; of counts of
context switches, and of the kernel's CPU time over the other, it is a factor of two, of average
latencies the 95 % interval of the mean. A claim about several arms, levels or cells is refuted only
by wider intervals, which allow for all of them. One run has no interval, so a claim that rests on
it is open, unless it is simulated: then the value decides. Ranges of simulated throughputs are the
band: least and greatest mean over the constants of machine and software, which were varied
together, at some points of a design. The verdict tells at how many of these points the claim holds.
*Flips within the band*: not at all of them the answer is that of the nominal values. *Not varied*:
no band for these numbers, as no constant was varied for them, or none that was varied matters to
any of them. One number is above another if they differ by more than 2 %, or what a claim says
instead. Latencies that differ by no more than half a bucket of their histogram, 3.1 %, leave
it open. *How far off*: in claims about a size, the number over the limit that it is beyond."""

HEADINGS = ("shapes reproduced", "sizes reproduced", "flips within the band", "never settled")
"""Headings of the last columns of the summary."""

HOW_FAR = "how far off"
"""Heading of the column with a number over the limit that it is beyond."""

COLUMNS = (
    ClaimVerdict.REPRODUCED,
    ClaimVerdict.SMALLER,
    ClaimVerdict.IN_PART,
    ClaimVerdict.NOT_REPRODUCED,
    ClaimVerdict.UNDECIDED,
    ClaimVerdict.NO_DATA,
)


@dataclass(frozen=True)
class Line:
    """Line of the summary: the claims of a paper on a machine."""

    paper: str
    machine: str
    claims: int
    verdicts: Counter[ClaimVerdict]
    varied: int | None  # verdicts on numbers that constants were varied for; None: measured
    flips: int | None  # of them
    unsettled: int  # verdicts that rest on runs that never settled
    shapes: tuple[int, int]  # claims of shape that are reproduced, of those with an answer
    sizes: tuple[int, int]  # likewise of size


def summary(results: Iterable[Result]) -> list[Line]:
    """Return the counts by paper and machine: the claims' own machines first, in the order in which
    claims name them.
    """
    groups: dict[tuple[str, bool, str], list[Result]] = {}
    for result in results:
        if result.verdict is not ClaimVerdict.NOT_TESTABLE:
            groups.setdefault((result.claim.paper, result.beside, result.machine), []).append(
                result
            )
    order = {name: place for place, name in enumerate(papers())}
    return [
        Line(
            paper,
            f"{machine}, beside" if beside else machine,
            len(rows),
            Counter(row.verdict for row in rows),
            sum(row.sensitivity in (Sensitivity.FLIPS, Sensitivity.HOLDS) for row in rows)
            if rows[0].simulated
            else None,
            sum(row.sensitivity is Sensitivity.FLIPS for row in rows)
            if rows[0].simulated
            else None,
            sum(not row.is_settled for row in rows),
            _reproduced(rows, ClaimKind.SHAPE),
            _reproduced(rows, ClaimKind.SIZE),
        )
        for (paper, beside, machine), rows in sorted(
            groups.items(), key=lambda item: (order[item[0][0]], item[0][1])
        )
    ]


def _reproduced(rows: Sequence[Result], kind: ClaimKind) -> tuple[int, int]:
    """Return how many results of a kind say reproduced, also in part, of those that have an
    answer.
    """
    verdicts = Counter(row.verdict for row in rows if row.claim.kind is kind)
    answered = sum(verdicts[verdict] for verdict in ANSWERS)
    return answered - verdicts[ClaimVerdict.NOT_REPRODUCED], answered


def summary_row(line: Line) -> list[str]:
    """Return the cells of a line of the summary, for a table."""
    counts = [line.claims, *(line.verdicts[verdict] for verdict in COLUMNS)]
    kinds = (f"{good} of {total}" for good, total in (line.shapes, line.sizes))
    return [line.paper, line.machine, *map(str, counts), *kinds, _flips(line), str(line.unsettled)]


def _flips(line: Line) -> str:
    """Return how many verdicts flip, of those for which a constant was varied; "" for measured
    ones.
    """
    if line.flips is None:
        return ""
    return f"{line.flips} of {line.varied}" if line.varied else "not varied"


def by_claim(results: Iterable[Result]) -> list[tuple[Claim, list[Result]]]:
    """Return the results of each claim together."""
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.claim.id, []).append(result)
    return [(rows[0].claim, rows) for rows in groups.values()]


def of_error(results: Iterable[Result]) -> str:
    """Return how many verdicts the simulator's error could change, in a sentence; "" if no error
    was given.
    """
    asked = [each.could_change for each in results if each.could_change is not None]
    if not asked:
        return ""
    return (
        f"The simulator's error (--simulator-error) could change {sum(asked)} of the {len(asked)} "
        "verdicts that rest on simulated throughputs alone. Of other simulated numbers the error "
        "is not known."
    )


def markdown(results: Sequence[Result]) -> str:
    """Return the whole report."""
    parts = [f"# {TITLE}", INTRODUCTION, _summary_table(results)]
    parts += [*filter(None, [of_error(results)]), _legend(), EXPLANATION]
    for paper in papers().values():
        groups = [group for group in by_claim(results) if group[0].paper == paper.name]
        if not groups:
            continue
        parts += [f"## {paper.name}", f"*{paper.title}*"]
        if paper.inconsistencies:
            parts += [
                "Where its text is at odds with itself:",
                "\n".join(f"- {text}" for text in paper.inconsistencies),
            ]
        tested = [group for group in groups if group[0].check is not None]
        parts += [_claim_text(claim, rows) for claim, rows in tested]
        others = [claim for claim, _ in groups if claim.check is None]
        if others:
            parts += [
                f"### {paper.name}: not testable ({len(others)})",
                _not_testable_table(others),
            ]
    return "\n\n".join(parts) + "\n"


def document(results: Sequence[Result]) -> dict[str, object]:
    """Return the report as JSON: `summary`, and `results`, one object for each claim and
    machine.
    """
    lines = [
        {"paper": line.paper, "machine": line.machine, "claims": line.claims}
        | {"varied": line.varied, "flips": line.flips, "unsettled": line.unsettled}
        | {verdict.value: line.verdicts[verdict] for verdict in COLUMNS}
        for line in summary(results)
    ]
    return {"summary": lines, "results": [_as_object(result) for result in results]}


def listing(claims: Sequence[Claim]) -> str:
    """Return the claims for a terminal, one a line: id, section, machines, statement."""
    rows = [(claim.id, place(claim), _about(claim), claim.statement) for claim in claims]
    untested = sum(claim.check is None for claim in claims)
    counts = f"{len(claims)} claims, {untested} of them not testable"
    return "\n".join([*aligned_rows(rows), counts])


def number(value: float) -> str:
    """Return a number for people, to three digits: `1.23 M`, `0.0451`, `176`."""
    if not math.isfinite(value):
        return "∞"
    for factor, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= 0.9995 * factor:
            return f"{value / factor:.3g}{unit}"
    return f"{value:.3g}"


def range_of(reading: RangedNumber) -> str:
    """Return the range of a reading for people; what is not known is said."""
    if reading.is_open:
        return (
            f"{number(reading.low)} … {number(reading.high)}: "
            f"{reading.lacks or 'a run ended too soon'}"
        )
    if math.isinf(reading.high):
        return "one run: no interval"
    if reading.is_unreached:
        return "not varied"
    if reading.low == reading.high and not reading.is_varied:
        return "no band"
    return f"{number(reading.low)} … {number(reading.high)}"


def said(outcome: PredicateOutcome) -> str:
    """Return the result in a cell, in a word or two, or why there is none."""
    if outcome.finding is None:
        return outcome.missing
    if outcome.finding.holds is None:
        return "open"
    holds = "holds" if outcome.finding.holds else "fails"
    return (
        f"{holds} at these values, open within the ranges"
        if outcome.finding.throughout is None
        else holds
    )


def place(claim: Claim) -> str:
    """Return the place of a claim in its paper: `P17 §5.1`, `ELB, Cheap Tuples`."""
    return (
        f"{claim.paper} §{claim.section}"
        if claim.section[0].isdigit()
        else f"{claim.paper}, {claim.section}"
    )


def headline(result: Result) -> str:
    """Return a verdict with what qualifies it.

    An example is `reproduced (holds at 9 of 10 points of the band)`.
    """
    remarks = [result.sensitivity.value] if result.sensitivity else []
    if result.points:
        remarks = [f"holds at {result.holds_at} of {result.points} points of the band"]
    says_size = result.verdict is ClaimVerdict.SMALLER
    remarks += ["at a smaller size than the paper's"] if result.is_smaller and not says_size else []
    remarks += [] if result.is_settled else ["rests on runs that never settled"]
    remarks += ["the simulator's error could change it"] if result.could_change else []
    return result.verdict.value + (f" ({'; '.join(remarks)})" if remarks else "")


def _as_object(result: Result) -> dict[str, object]:
    claim = result.claim
    return {
        "id": claim.id,
        "paper": claim.paper,
        "section": claim.section,
        "statement": claim.statement,
        "check": str(claim.check) if claim.check else None,
        "machine": result.machine or None,
        "beside": result.beside,
        "simulated": result.simulated,
        "verdict": result.verdict.value,
        "sensitivity": result.sensitivity.value or None,
        "points": result.points,
        "holds_at_points": result.holds_at,
        "smaller": result.is_smaller,
        "about": result.claim.kind,
        "settled": result.is_settled,
        "could_change": result.could_change,
        "why": result.why or None,
        "cells": [
            {
                "cell": each.where,
                "holds": each.finding.holds,
                "throughout": each.finding.throughout,
                "missing": None,
            }
            if each.finding
            else {"cell": each.where, "holds": None, "throughout": None, "missing": each.missing}
            for each in result.outcomes
        ],
        "numbers": [_number_object(claim, each) for each in result.shown],
    }


def _number_object(claim: Claim, shown: Shown) -> dict[str, object]:
    reading = shown.reading
    far = beyond(claim, shown) if claim.kind is ClaimKind.SIZE else None
    return {
        "cell": shown.cell,
        "arm": shown.arm,
        "quantity": shown.quantity,
        "unit": shown.unit or None,
        "value": None if reading.is_open and not reading.lacks else reading.value,
        "low": reading.low,
        "high": reading.high if math.isfinite(reading.high) else None,
        "runs": reading.runs,
        "times_the_limit": far.times if far and math.isfinite(far.times) else None,
    }


def _summary_table(results: Sequence[Result]) -> str:
    head = ["paper", "machine", "claims", *COLUMNS, *HEADINGS]
    rows = [summary_row(line) for line in summary(results)]
    untested = Counter(
        result.claim.paper for result in results if result.verdict is ClaimVerdict.NOT_TESTABLE
    )
    names = ", ".join(f"{count} of {paper}" for paper, count in untested.items())
    table = _table(head, rows, numbers_from=2) if rows else ""
    return "\n\n".join(
        part for part in (table, f"Not testable at all: {names}." if names else "") if part
    )


def _legend() -> str:
    return "\n".join(f"- **{verdict}**: {meaning}" for verdict, meaning in LEGEND.items())


def _about(claim: Claim) -> str:
    return ", ".join(map(for_people, claim.machines))


def _claim_text(claim: Claim, rows: Sequence[Result]) -> str:
    parts = [f"### {claim.id}", f"**{place(claim)}** ({_about(claim)}). {claim.statement}"]
    parts += [f"*Read as:* {claim.reading}"] if claim.reading else []
    parts += [f"*Note:* {claim.note}"] if claim.note else []
    parts.append(f"*Check:* {claim.check}.")
    parts += [_verdict_text(result) for result in rows]
    return "\n\n".join(parts)


def _verdict_text(result: Result) -> str:
    beside = "beside: " if result.beside else ""
    parts = [
        f"- {beside}**{result.machine}: {headline(result)}**"
        + (f": {result.why}" if result.why else "")
    ]
    parts += [
        f"  - {outcome.where}: {said(outcome)}" for outcome in result.outcomes if outcome.finding
    ]
    text = "\n".join(parts)
    if not result.shown:
        return text
    table = _table(*number_table(result), numbers_from=3)
    return text + "\n\n" + "\n".join(f"  {line}" for line in table.splitlines())


def number_table(result: Result) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table of a verdict's numbers. Claims about a size have a column
    that says how far off each number is.
    """
    head = ["cell", "arm", "quantity", "value", "range", "runs"]
    rows = [_number_row(shown) for shown in result.shown]
    if result.claim.kind is not ClaimKind.SIZE:
        return head, rows
    limits = [beyond(result.claim, shown) for shown in result.shown]
    return [*head, HOW_FAR], [
        [*row, _how_far(each)] for row, each in zip(rows, limits, strict=True)
    ]


@dataclass(frozen=True)
class Beyond:
    """Limit that a number is beyond, and the number over it: of several runs the one that is
    farthest off. Within the limits there is no limit, and `times` is 1.
    """

    limit: float | None
    times: float


def beyond(claim: Claim, shown: Shown) -> Beyond | None:
    """Return how far a number of a claim about a size is beyond its limits. None if they are not
    limits of this number, or are for each CPU, or the number is not known.
    """
    least, most = (getattr(claim.check, name, None) for name in ("at_least", "at_most"))
    is_judged = shown.quantity == "ratio" or getattr(claim.check, "under", None) is None
    per_cpu = getattr(claim.check, "per_cpu", False)
    ends = [part.value for part in shown.reading.parts] or [shown.reading.value]
    if not is_judged or per_cpu or shown.reading.is_open or not all(map(math.isfinite, ends)):
        return None
    found = [Beyond(least, min(ends) / least)] if least and min(ends) < least else []
    if most is not None and max(ends) > most:
        found.append(Beyond(most, max(ends) / most if most else math.inf))
    return max(found, key=_factor, default=Beyond(None, 1.0))


def _factor(each: Beyond) -> float:
    """Return the factor by which a number is off, up or down."""
    return each.times if each.times > 1 else 1 / each.times if each.times else math.inf


def _how_far(found: Beyond | None) -> str:
    if found is None:
        return ""
    if found.limit is None:
        return "within"
    return f"{number(found.times)} times {number(found.limit)}"


def _number_row(shown: Shown) -> list[str]:
    """Return a number with its cell, arm, unit and range, for a table."""
    named = shown.quantity + (f" [{shown.unit}]" if shown.unit else "")
    reading = shown.reading
    value = "not known" if reading.is_open and not reading.lacks else number(reading.value)
    return [shown.cell, shown.arm, named, value, range_of(reading), str(reading.runs)]


def _not_testable_table(claims: Sequence[Claim]) -> str:
    return _table(
        ["claim", "§", "statement", "why not"],
        [[c.id, c.section, c.statement, c.not_testable] for c in claims],
        9,
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers_from: int) -> str:
    """Return a Markdown table; columns from `numbers_from` on are aligned right."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    rule = ["---:" if column >= numbers_from else "---" for column in range(len(head))]
    return "\n".join("| " + " | ".join(row) + " |" for row in (cells[0], rule, *cells[1:]))
