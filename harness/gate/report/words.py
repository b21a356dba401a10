"""Sentences about a comparison, used in every form of the report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from harness.experiments.config import clock
from harness.gate.geometric_mean import geometric_mean
from harness.gate.report.rows import UNKNOWN, between, legend, one_line, ratio, worst_first
from harness.gate.sequential import FIRST_LOOK_BLOCKS
from harness.gate.signed_rank import MAX_EXACT_COUNT
from harness.gate.verdict import INFORMATION, Comparison, Exit, Side, Verdict, exit_code

NAMED = 4  # cells named in a sentence; the others are counted

LONGEST_BUDGET_S = 24 * 3600.0  # that is recommended
TOO_SHORT = (
    "no cell had enough blocks to say anything about it, so --inconclusive pass does not apply "
    "(exit code 3)"
)

SIDES = (
    "base, head: Hodges-Lehmann estimate of the samples, one a process, ± their 95 % interval "
    "(signed rank; from 6 samples on; "
    f"of more than {MAX_EXACT_COUNT} the median, ± that of the sign test)"
)
RATIOS = (
    "ratio: head over base, above 1 is worse; bounds: what the verdict rests on, each "
    "one-sided, after all corrections"
)


def heading(comparison: Comparison) -> str:
    """Return the line that names the suite, with its title, and both sides."""
    title = f" ({one_line(comparison.title)})" if comparison.title else ""
    return (
        f"suite {one_line(comparison.suite)}{title}: head {one_line(comparison.head.label)} "
        f"against {one_line(comparison.base.label)}"
    )


def foot(comparison: Comparison, only_changed: bool = False) -> list[str]:
    """Return lines that explain the table: the marks that occur, and the numbers if there are
    any."""
    shown = worst_first(comparison, only_changed)
    marks = legend(shown)
    lines = [f"marks: {marks}"] if marks else []
    return [*lines, SIDES, RATIOS] if any(result.base or result.head for result in shown) else lines


def reasons(comparison: Comparison) -> list[str]:
    """Return the reasons why cells have no number or no decision, a line each."""
    return [
        f"{one_line(result.cell.name)}: {one_line(result.reason)}"
        for result in worst_first(comparison)
        if result.reason
    ]


def remarks(comparison: Comparison) -> list[str]:
    """Return the lines on improvements, notes, the control, the sides and the terms."""
    improved = _named(comparison, Verdict.IMPROVED)
    lines = [f"improved: {improved}"] if improved else []
    for lead, verdict in (("new in head", Verdict.NEW), ("gone from head", Verdict.REMOVED)):
        if names := _named(comparison, verdict):
            lines.append(f"{lead}, for information: {names}")
    if mean := mean_of_cells(comparison):
        lines.append(f"geometric mean {mean}")
    lines += [f"note: {one_line(note)}" for note in comparison.notes]
    lines.append(f"control: {control(comparison)}")
    lines += [
        f"{name}: {_side(side)}"
        for name, side in (("base", comparison.base), ("head", comparison.head))
    ]
    seed = f", seed {comparison.seed}" if comparison.interleaved else ""
    own = {
        one_line(result.cell.name): result.cell.metric.factor
        for result in comparison.cells
        if result.cell.metric.factor
    }
    others = f" ({', '.join(f'{name}: {factor:g}' for name, factor in own.items())})" if own else ""
    lines.append(
        f"factor {comparison.factor:g}{others}, alpha {comparison.alpha:g}{seed}; took "
        f"{clock(comparison.seconds)}"
    )
    return lines


def mean_of_cells(comparison: Comparison) -> str:
    """Return `1.004 [0.998, 1.010] of 6 cells (95 %, of the first 10 blocks of each)`; "" if fewer
    than two cells have a mean."""
    found = geometric_mean(comparison)
    if found is None:
        return ""
    bounds = between(found.low, found.high)
    interval = f" {bounds}" if bounds != UNKNOWN else ""
    level = "95 %, " if interval else ""
    return (
        f"{ratio(found.ratio)}{interval} of {found.cells} cells ({level}of the first "
        f"{found.blocks} blocks of each)"
    )


def control(comparison: Comparison) -> str:
    """Return what the control has shown."""
    result = comparison.control
    if result is None:
        return "none; that base does not differ from itself was not checked"
    decision = result.decision
    cell = one_line(result.cell.name)
    if result.reason:
        return (
            f"FAILED: base, compared with itself, gave no number of {cell}: "
            f"{one_line(result.reason)}"
        )
    if (
        decision.blocks >= FIRST_LOOK_BLOCKS
        and not (decision.low > 0 and math.isfinite(decision.high))
        and not comparison.control_failed
    ):
        return (
            f"the values of {cell} are too coarse to say whether base differs from itself "
            f"({decision.blocks} blocks)"
        )
    if not decision.blocks:
        return f"there was no time to compare base with itself ({cell})"
    bounds = between(decision.low, decision.high)
    if bounds == UNKNOWN:
        return (
            f"too few blocks to say whether base differs from itself ({decision.blocks} of {cell})"
        )
    found = (
        "FAILED: base differs from itself"
        if comparison.control_failed
        else "base does not differ from itself"
    )
    return f"{found} ({ratio(decision.ratio)} {bounds}, {decision.blocks} blocks of {cell})"


def _side(side: Side) -> str:
    commit = side.commit or "no commit known"
    return (
        f"{one_line(side.label)} "
        f"({commit}{', with changes that are not in it' if side.dirty else ''})"
    )


def conclusion(
    comparison: Comparison, inconclusive: Exit = Exit.INCONCLUSIVE, finished: bool = True
) -> str:
    """Return the verdict, and advice about it."""
    if not finished:
        open_cells = sum(
            result.verdict in (Verdict.INCONCLUSIVE, Verdict.UNMEASURED)
            for result in comparison.cells
        )
        slower = _named(comparison, Verdict.REGRESSED)
        proven = f"; REGRESSED: {slower}" if slower else ""
        return (
            f"INTERRUPTED: {open_cells} of {len(comparison.cells)} cells had no verdict yet{proven}"
        )
    code = exit_code(comparison)
    own = any(result.cell.metric.factor for result in comparison.cells)
    limit = "its factor" if own else f"{100 * (comparison.factor - 1):.3g} %"
    match code:
        case Exit.WRONG_RESULTS:
            return (
                f"WRONG RESULTS of head in {_count(comparison, Verdict.WRONG)}: whatever its "
                "speed, mend that first"
            )
        case Exit.NOTHING_MEASURED if not comparison.cells:
            return "NOTHING MEASURED: there is no cell"
        case Exit.NOTHING_MEASURED:
            broken = _count(comparison, Verdict.FAILED, Verdict.UNMEASURED)
            return (
                f"NOT MEASURED: no number of {broken}, for the reasons above: a cell that was "
                "not measured is no pass"
            )
        case Exit.NO_BASE if all(result.verdict in INFORMATION for result in comparison.cells):
            return "NO BASE: no cell is on both sides, so nothing was compared"
        case Exit.NO_BASE:
            cells = _count(comparison, Verdict.FIXED)
            return (
                f"NO BASE: base has no number of {cells}: take a base that has them, or leave "
                "them out"
            )
        case Exit.HOST_UNSTABLE:
            return (
                f"HOST UNSTABLE: {control_failure(comparison)}, so no other verdict counts: "
                "try again on a quieter host"
            )
        case Exit.REGRESSED:
            besides = "".join(f"; {each}" for each in _besides(comparison))
            return (
                f"REGRESSED: {_count(comparison, Verdict.REGRESSED)} worse by more than "
                f"{limit}{besides}"
            )
        case Exit.INCONCLUSIVE:
            policy = {
                Exit.OK: "; let through undecided (--inconclusive pass)"
                if comparison.is_known
                else f"; {TOO_SHORT}",
                Exit.REGRESSED: "; failed (--inconclusive fail)",
            }
            unknown = _count(comparison, Verdict.INCONCLUSIVE)
            return (
                f"INCONCLUSIVE: cannot tell {unknown}: {_remedy(comparison)}"
                f"{policy.get(inconclusive, '')}"
            )
        case _:
            compared = sum(result.verdict not in INFORMATION for result in comparison.cells)
            return f"OK: none of {compared} cells is worse by more than {limit}"


def _remedy(comparison: Comparison) -> str:
    """Return what would decide the inconclusive cells."""
    if not comparison.interleaved:
        return "give more files a side or a larger --factor"
    needed_s = comparison.needed_s
    if needed_s is None:
        return "give more time (--time-budget) or a larger --factor"
    if needed_s > LONGEST_BUDGET_S:
        return (
            f"by the noise measured, {clock(LONGEST_BUDGET_S)} would not decide them: give another "
            "--factor, or a quieter host"
        )
    step_s = 60 if needed_s > 600 else 10
    rounded_s = max(step_s, step_s * math.ceil(needed_s / step_s))
    return (
        f"by the noise measured, they need about {clock(rounded_s)} (--time-budget {rounded_s}), "
        "or a larger --factor"
    )


def control_failure(comparison: Comparison) -> str:
    """Return the reason why the control failed."""
    crashed = comparison.control is not None and comparison.control.reason
    return "base, compared with itself, gave no number" if crashed else "base differs from itself"


def _besides(comparison: Comparison) -> Iterator[str]:
    """Yield the problems to mention after a regression."""
    for lead, verdicts in (
        ("no number of", (Verdict.FAILED, Verdict.UNMEASURED)),
        ("base has no number of", (Verdict.FIXED,)),
        ("cannot tell of", (Verdict.INCONCLUSIVE,)),
    ):
        if names := _named(comparison, *verdicts):
            yield f"{lead} {names}"
    if comparison.control_failed:
        yield f"and the control failed: {control_failure(comparison)}"


def _count(comparison: Comparison, *verdicts: Verdict) -> str:
    """Return a count with names: `2 of 8 cells (this, that)`."""
    count = sum(result.verdict in verdicts for result in comparison.cells)
    return f"{count} of {len(comparison.cells)} cells ({_named(comparison, *verdicts)})"


def _named(comparison: Comparison, *verdicts: Verdict) -> str:
    names: Sequence[str] = [
        one_line(result.cell.name)
        for result in worst_first(comparison)
        if result.verdict in verdicts
    ]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
