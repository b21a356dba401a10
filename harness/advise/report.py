"""Report of an advice for people."""

from __future__ import annotations

from collections.abc import Sequence

from harness.advise.advice import Advice, certainty, gain_text
from harness.advise.costs import GraphCosts
from harness.compare.report import arm_lines, heading, notes
from harness.explain.report import time_ns
from harness.measurement.period_text import short

MOST_ROWS = 12


def lines_of(advice: Advice, words: Sequence[str], bound: str | None, why: str) -> list[str]:
    """Return all lines. `words`: what to do in another runtime; `bound`: what bounds the arm;
    `why`: the reason for it.
    """
    final = advice.final
    return [
        heading(final),
        "",
        *_costs(advice.costs),
        "",
        *_tried(advice),
        *arm_lines([trial.arm for trial in advice.tried]),
        "",
        f"advice: {advice.arm.words}",
        f"  {advice.command}",
        f"why: {why}",
        "",
        f"gain: {_gain(advice)}",
        f"certainty: {certainty(advice)}",
        *([f"what bounds it: {bound}"] if bound else []),
        "",
        "in a runtime of your own:",
        *[f"* {line}" for line in words],
        "",
        "this rests on:",
        *[f"* {line}" for line in (*advice.rests_on, *notes(final))],
        *(["", f"what would help: {advice.would_help}"] if advice.would_help else []),
    ]


def lines_so_far(advice: Advice) -> list[str]:
    """Return the lines of an advice that was interrupted: the arms that were run, and which seems
    best.
    """
    arms = [trial.arm for trial in advice.tried]
    best = advice.arm if advice.final.blocks else arms[0]
    return [
        heading(advice.screenings[0].contest),
        "",
        *_costs(advice.costs),
        "",
        *_tried(advice),
        *arm_lines(arms),
        "",
        f"interrupted: {best.words} seems best so far; the last arms were not compared to the end",
    ]


def _gain(advice: Advice) -> str:
    gain = advice.gain
    if gain is None:
        return f"none: the advice is {advice.baseline}, with which others are compared"
    if gain.estimate != gain.estimate:  # nan
        return f"unknown: it was not compared with {advice.baseline}"
    keep = f"; it may be none, so keep {advice.baseline} if you have it" if gain.low <= 1.0 else ""
    return f"{gain_text(advice, gain)}{keep}"


def _costs(costs: GraphCosts) -> list[str]:
    rows = sorted(costs.operators.values(), key=lambda each: -each.load_ns)
    total = costs.total_ns or 1.0
    lines = [f"{'operator':<24} {'ns a tuple':>10} {'share of the work':>18}"]
    lines += [
        f"{each.name[:24]:<24} {time_ns(each.tuple_ns, each.least_ns):>10} "
        f"{100 * each.load_ns / total:>16.1f} %"
        for each in rows[:MOST_ROWS]
    ]
    if len(rows) > MOST_ROWS:
        rest = sum(each.load_ns for each in rows[MOST_ROWS:])
        name = f"{len(rows) - MOST_ROWS} more"
        lines.append(f"{name:<24} {'':>10} {100 * rest / total:>16.1f} %")
    hops = ", ".join(
        f"{name} {time_ns(ns)} ns" for name, ns in costs.hop_ns.items() if name != "manual"
    )
    return [*lines, f"moving a tuple through a queue: {hops}"] if hops else lines


def _tried(advice: Advice) -> list[str]:
    finalists = {arm.name for arm in advice.final.contenders if advice.final.blocks}
    bounds = {each.arm.name: each.bound_per_s for each in advice.ranked}
    rows = [["arm", "bound/s", "to best", "runs", ""]]
    for trial in advice.tried:
        name, round_ = trial.arm.name, trial.left_out_in_round
        state = (
            "failed"
            if trial.arm.failure
            else "not stationary"
            if trial.arm.unsettled
            else "compared to the end"
            if name in finalists
            else f"left out in round {round_}"
            if round_
            else ""
        )
        rows.append(
            [
                name,
                short(bounds[name]) if name in bounds else "-",
                f"{trial.to_best:.3g}" if trial.to_best > 0.0 else "-",
                f"{trial.runs}",
                state,
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    untried = len(advice.ranked) - len(advice.tried)
    more = [f"{untried} more arms were not run"] if untried > 0 else []
    return [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(cell.rjust(width) for cell, width in zip(row[1:4], widths[1:], strict=True)),
                row[4],
            ]
        ).rstrip()
        for row in rows
    ] + more
