"""Report of a comparison for people: its table, the sentence at its end, and what to know of it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.compare.contest import KEPT_UP, By, Contender, Contest, ContestEnd, keeps_up
from harness.compare.parts import part_notes
from harness.compare.would_help import help_of
from harness.experiments.arms import option_of
from harness.experiments.config import clock
from harness.measurement.period_text import short
from harness.measurement.records import rate_of
from harness.terminal.listed import listed
from harness.terminal.table import aligned_rows

MISSING = "-"


@dataclass(frozen=True)
class ArmColumn:
    """Column of the table: its title, and what it says of an arm. `paced`: only with a paced
    source.
    """

    title: str
    tell: Callable[[Contest, Contender], str]
    paced: bool = False


def _ratio(contest: Contest, arm: Contender) -> str:
    found = contest.to_best(arm).estimate
    unknown = math.isnan(found) or not arm.records or not contest.blocks
    return MISSING if unknown else f"{found:.3g}"


def _interval(contest: Contest, arm: Contender) -> str:
    _, low, high = contest.to_best(arm)
    known = low > 0.0 and high < math.inf and low < high
    return f"[{low:.3g}, {high:.3g}]" if known else MISSING


def _standing(contest: Contest, arm: Contender) -> str:
    if arm.failure:
        return "failed"
    if arm.unsettled:
        return "not stationary"
    if not contest.decided:
        return MISSING
    if arm not in contest.leaders:
        return "worse"
    return "best" if len(contest.leaders) == 1 else "may be best"


def _throughput(contest: Contest, arm: Contender) -> str:
    rate = arm.mean(rate_of)
    return MISSING if rate is None else f"{short(rate)}{_half_width(arm)}"


def _half_width(arm: Contender) -> str:
    found = arm.throughput
    if found is None:
        return ""
    mean, _, high = found
    return f" ±{100 * (high / mean - 1):.0f} %" if mean > 0 else ""


def _p50(contest: Contest, arm: Contender) -> str:
    return time_text(arm.mean(lambda record: record["latency_ns"]["p50"]))


def _p99(contest: Contest, arm: Contender) -> str:
    return time_text(arm.mean(contest.p99_of))


def _cpus(contest: Contest, arm: Contender) -> str:
    used = arm.mean(cpus_used)
    return MISSING if used is None else f"{used:.2f}"


def _threads(contest: Contest, arm: Contender) -> str:
    return f"{arm.records[-1]['threads_total']}" if arm.records else MISSING


def _runs(contest: Contest, arm: Contender) -> str:
    return f"{len(arm.records)}"


def _sustained(contest: Contest, arm: Contender) -> str:
    return MISSING if arm.sustained is None else f"{short(arm.sustained)}/s"


def _keeps_up(contest: Contest, arm: Contender) -> str:
    found = keeps_up(arm, contest.schedule)
    return {None: MISSING, True: "yes", False: "NO"}[found]


COLUMNS = (
    ArmColumn("arm", lambda contest, arm: arm.name),
    ArmColumn("to best", _ratio),
    ArmColumn("interval", _interval),
    ArmColumn("standing", _standing),
    ArmColumn("tuples/s", _throughput),
    ArmColumn("p50 latency", _p50),
    ArmColumn("p99 latency", _p99),
    ArmColumn("keeps up", _keeps_up, paced=True),
    ArmColumn("highest rate", _sustained, paced=True),
    ArmColumn("CPUs", _cpus),
    ArmColumn("threads", _threads),
    ArmColumn("runs", _runs),
)
"""Columns that are shown beside each arm: in the terminal, on the page, in Markdown and LaTeX."""


def table_of(contest: Contest) -> tuple[list[str], list[list[str]]]:
    """Return the titles and the rows of a comparison, the best arm first."""
    columns = [column for column in COLUMNS if contest.paced or not column.paced]
    rows = [[column.tell(contest, arm) for column in columns] for arm in in_order(contest)]
    return [column.title for column in columns], rows


def in_order(contest: Contest) -> list[Contender]:
    """Return the arms, the best one first and those that cannot be compared last."""

    def place(arm: Contender) -> tuple[bool, bool, float]:
        ratio = contest.to_best(arm).estimate
        worth = 0.0 if math.isnan(ratio) else ratio
        return arm.is_out, arm not in contest.leaders, -worth

    return sorted(contest.contenders, key=place)


def table_lines(contest: Contest) -> list[str]:
    """Return the table as lines of text."""
    titles, rows = table_of(contest)
    return aligned_rows([titles, *rows], right=range(1, len(titles)))


def heading(contest: Contest) -> str:
    """Return what is compared, and where."""
    run = contest.contenders[0].run
    where = ""
    if contest.simulated:
        where = f", SIMULATED on {run.place.label or run.place.machine} in virtual time"
    offered = contest.offered_per_s
    rate = "" if offered is None else f", offered {short(offered)} tuples/s"
    if offered is not None and contest.schedule.cycle_s > 0.0:
        rate += " on average, in bursts"
    settings = "".join(f" {name}={value}" for name, value in contest.parameters.items())
    return f"{contest.title}{settings}{rate}{where}"


def progress(contest: Contest, phase: str = "") -> str:
    """Return how far a comparison is."""
    left = contest.standing.blocks_to_look(contest.blocks)
    step = f"next look after {left} more block{'' if left == 1 else 's'}"
    time = f"{clock(contest.elapsed_s)} of at most {clock(contest.budget_s)}"
    return "; ".join(filter(None, (f"block {contest.blocks + 1}", time, step, phase)))


def bounds(contest: Contest) -> list[str]:
    """Return a line for each arm that was explained: what bounds it."""
    from harness.explain import explain

    found = [
        (arm.name, explain(arm.explained).headline)
        for arm in in_order(contest)
        if arm.explained is not None
    ]
    width = max((len(name) for name, _ in found), default=0)
    return [f"{name:<{width}}  {headline}" for name, headline in found]


def sentence(contest: Contest) -> str:
    """Return what a comparison has found, in one sentence."""
    running, leaders = contest.running, contest.leaders
    if contest.ended is ContestEnd.FAILED:
        return "nothing is compared: fewer than two arms ran correctly"
    if contest.ended is ContestEnd.UNSETTLED:
        return f"nothing is compared{_of_unsettled(contest)}{_by_simulation(contest)}"
    if not contest.decided:
        return _undecided(contest)
    best, *others = leaders
    worse = [arm for arm in in_order(contest) if arm in running and arm not in leaders]
    comparisons = [_worse(contest, arm) for arm in worse]
    if contest.by is By.LATENCY:
        found = f"{best.words} has the least p99 latency: {listed(comparisons)}"
    else:
        found = f"{best.words} is {listed(comparisons)}"
    if others:
        found += f"; {listed([arm.words for arm in others])} cannot be distinguished from it"
    return found + _of_unsettled(contest) + _by_simulation(contest)


def _of_unsettled(contest: Contest) -> str:
    """Return the arms that did not become stationary, as the end of a sentence; "" for none."""
    names = [arm.words for arm in contest.contenders if arm.unsettled]
    return f"; {listed(names)} did not become stationary" if names else ""


def _worse(contest: Contest, arm: Contender) -> str:
    estimate, low, high = contest.to_best(arm).inverse
    end = MISSING if math.isinf(high) else f"{high:.3g}"
    if contest.by is By.LATENCY:
        return f"that of {arm.words} is {estimate:.3g} times as long [{low:.3g}, {end}]"
    return f"{estimate:.3g} times as fast as {arm.words} [{low:.3g}, {end}]"


def _undecided(contest: Contest) -> str:
    names = listed([arm.words for arm in contest.running])
    why = {
        ContestEnd.INTERRUPTED: "interrupted",
        ContestEnd.BUDGET: f"the budget of {clock(contest.asked_s)} is used up",
    }.get(contest.ended, "")
    blocks, needed = contest.blocks, contest.standing.looks.first
    reason = f"{why} after {_blocks(contest)}"
    if blocks < needed:
        reason += f", and a first look takes {needed}"
    found = f"{names} cannot be distinguished: {reason}{_of_unsettled(contest)}"
    return found + _by_simulation(contest)


def _blocks(contest: Contest) -> str:
    return f"{contest.blocks} block{'' if contest.blocks == 1 else 's'}"


def _by_simulation(contest: Contest) -> str:
    run = contest.contenders[0].run
    return f" (simulated on {run.place.label or run.place.machine})" if contest.simulated else ""


def notes(contest: Contest) -> list[str]:
    """Return what a reader should know besides, one line each."""
    found = []
    for arm in contest.contenders:
        if arm.failure:
            found.append(f"{arm.name} is left out: {arm.failure}")
        if arm.unsettled:
            found.append(
                f"{arm.name}: not stationary after {arm.unsettled}, so it has no rate to compare"
                + (f"; {arm.unsettled_help}" if arm.unsettled_help else "")
            )
        if arm.unsettled_at_full_speed:
            found.append(
                f"{arm.name}: its highest rate is not known: at full speed it was not stationary "
                f"after {arm.unsettled_at_full_speed}"
            )
        found += [f"{arm.name}: {note}" for note in arm.notes]
        unsettled = len(arm.records) - arm.settled
        if unsettled and not arm.unsettled:
            found.append(
                f"{arm.name}: {unsettled} of {len(arm.records)} runs had not settled when they "
                "were measured"
            )
        ratio = contest.to_best(arm)
        known = ratio.estimate == ratio.estimate  # not nan
        if known and ratio.low < ratio.high and not ratio.low <= ratio.estimate <= ratio.high:
            found.append(
                f"{arm.name}: its ratio to the best changed while it was measured, so its interval "
                "is of other conditions than its estimate; repeat this on a quiet machine"
            )
    found += _paced_notes(contest) if contest.paced else []
    if contest.paced and len(contest.schedule.sources) > 1:
        found.append(
            "the highest rate is that of all sources together when each sends all it can, in "
            "whatever proportion that is"
        )
    found += part_notes(contest)
    records = [record for arm in contest.contenders for record in arm.records]
    disturbed = sum(not record["host"].get("host_fit", True) for record in records)
    if disturbed:
        found.append(
            f"host: {disturbed} of {len(records)} runs were disturbed; millrace doctor says by what"
        )
    return found


def _paced_notes(contest: Contest) -> list[str]:
    """Return what a reader might misread where sources have rates."""
    found = []
    kept = [arm for arm in contest.running if keeps_up(arm, contest.schedule)]
    if contest.by is By.THROUGHPUT and len(kept) == len(contest.running) > 1:
        found.append(
            "all arms keep up, so their throughput is the rate offered and says nothing about "
            "them: compare latencies (--by latency) and highest rates"
        )
    for arm in kept:
        if arm.sustained is not None and arm.sustained < KEPT_UP * (contest.offered_per_s or 0.0):
            found.append(
                f"{arm.name}: it keeps up with a rate above its highest one: at full speed sources "
                "take CPU time from the operators behind them, or something disturbed these runs"
            )
    return found


def arm_lines(arms: Sequence[Contender]) -> list[str]:
    """Return a line for each arm whose name does not say all: its options, to paste."""
    rows = [
        [arm.name, shlex.join(option_of(arm.name, arm.run.model))]
        for arm in arms
        if arm.name != arm.run.model.name
    ]
    return ["arms as options of millrace compare:", *aligned_rows(rows, indent=2)] if rows else []


def lines_of(contests: Sequence[Contest]) -> list[str]:
    """Return all that a call says at its end: each table with its notes, the sentences, and what
    would help where nothing was decided.
    """
    parts = []
    for contest in contests:
        took = f"{_blocks(contest)} in {clock(contest.elapsed_s)}"
        parts += [heading(contest), "", *table_lines(contest), ""]
        if bounded := bounds(contest):
            parts += [*bounded, ""]
        if options := arm_lines(in_order(contest)):
            parts += [*options, ""]
        parts += [took, *notes(contest), ""]
    helps = help_of(contests, contests[0].asked_s)
    would_help = ["what would help:", *(f"* {line}" for line in helps)] if helps else []
    if len(contests) == 1:
        return [*parts, sentence(contests[0]), *would_help]
    found = [f"{_varied_text(contests, each)}: {sentence(each)}" for each in contests]
    return [*parts, "ratio to the best:", *overview(contests), "", *found, *would_help]


def _varied(contests: Sequence[Contest]) -> list[str]:
    """Return the parameters whose values differ."""
    return [
        name
        for name in contests[0].parameters
        if len({str(contest.parameters[name]) for contest in contests}) > 1
    ]


def _varied_text(contests: Sequence[Contest], contest: Contest) -> str:
    return " ".join(f"{name}={contest.parameters[name]}" for name in _varied(contests))


def overview(contests: Sequence[Contest]) -> list[str]:
    """Return a table over the parameters: each arm's ratio to the best, and the best arm."""
    varied = _varied(contests)
    arms = list(dict.fromkeys(arm.name for each in contests for arm in each.contenders))
    rows = [[*varied, *arms, "best"]]
    for contest in contests:
        by_name = {arm.name: arm for arm in contest.contenders}
        cells = [_ratio(contest, by_name[name]) if name in by_name else MISSING for name in arms]
        best = ", ".join(arm.name for arm in contest.leaders) if contest.decided else "?"
        rows.append([*(str(contest.parameters[name]) for name in varied), *cells, best])
    return aligned_rows(rows, right=range(len(rows[0])))


def cpus_used(record: dict[str, object]) -> float | None:
    """Return the CPUs that a run kept busy while it was measured."""
    duration_s = record["duration_s"]
    return record["cpu_seconds"] / duration_s if duration_s else None


def time_text(ns: float | None) -> str:
    """Return a time for people: 1.25 ms."""
    if ns is None:
        return MISSING
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"
