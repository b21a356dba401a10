"""Comparisons in formats for other programs and for papers: CSV, JSON, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
import json
import math
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from harness.compare.contest import Contender, Contest
from harness.compare.report import bounds, cpus_used, heading, in_order, notes, sentence, table_of
from harness.experiments.arms import option_of
from harness.explain import explain
from harness.measurement.records import rate_of

Row = dict[str, Any]

LATEX_ESCAPES = {char: f"\\{char}" for char in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "µ": r"$\mu$",
}


def export(contests: Sequence[Contest], kind: str) -> str:
    """Return comparisons in one of `FORMATS`."""
    return FORMATS[kind](contests)


def row_of(contest: Contest, arm: Contender) -> Row:
    """Return the numbers of an arm, unrounded; None where one is not known."""
    ratio = contest.to_best(arm)
    throughput = arm.throughput or (None, None, None)

    return {
        "arm": arm.name,
        "options": shlex.join(option_of(arm.name, arm.run.model)),
        "compared_by": str(contest.by),
        "to_best": _finite(ratio.estimate),
        "to_best_low": _finite(ratio.low) or None,
        "to_best_high": _finite(ratio.high),
        "may_be_best": arm in contest.leaders,
        "tuples_per_s": arm.mean(rate_of),
        "tuples_per_s_low": throughput[1],
        "tuples_per_s_high": throughput[2],
        "p50_latency_s": _seconds(arm.mean(lambda record: record["latency_ns"]["p50"])),
        "p99_latency_s": _seconds(arm.mean(contest.p99_of)),
        "highest_rate_per_s": arm.sustained,
        "cpus_used": arm.mean(cpus_used),
        "threads": arm.records[-1]["threads_total"] if arm.records else None,
        "runs": len(arm.records),
        "settled_runs": arm.settled,
        "failure": arm.failure or None,
        "stationary": not arm.unsettled if contest.simulated else None,
        "bound": None if arm.explained is None else explain(arm.explained).headline,
        "machine": arm.run.place.label or arm.run.place.machine,
        "simulated": contest.simulated,
    }


def as_csv(contests: Sequence[Contest]) -> str:
    """Return one line for each arm, with its parameters. A parameter with the name of another
    column has `parameter_` before it.
    """
    rows = []
    for contest in contests:
        for arm in in_order(contest):
            row = {"graph": contest.title, **row_of(contest, arm)}
            given = {
                f"parameter_{name}" if name in row else name: value
                for name, value in contest.parameters.items()
            }
            rows.append({"graph": contest.title, **given, **row})
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def as_json(contests: Sequence[Contest]) -> str:
    """Return an array with one object for each comparison."""
    data = [
        {
            "graph": contest.title,
            "parameters": dict(contest.parameters),
            "offered_per_s": contest.offered_per_s,
            "alpha": contest.alpha,
            "blocks": contest.blocks,
            "elapsed_s": contest.elapsed_s,
            "ended": None if contest.ended is None else str(contest.ended),
            "sentence": sentence(contest),
            "notes": notes(contest),
            "arms": [row_of(contest, arm) for arm in in_order(contest)],
        }
        for contest in contests
    ]
    return json.dumps(data, indent=2, allow_nan=False) + "\n"


def as_markdown(contests: Sequence[Contest]) -> str:
    """Return a table and a sentence for each comparison."""
    parts = []
    for contest in contests:
        titles, rows = table_of(contest)
        lines = [titles, ["---"] + ["---:"] * (len(titles) - 1), *rows]
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
        remarks = "".join(f"\n* {line}" for line in (*bounds(contest), *notes(contest)))
        parts.append(f"**{heading(contest)}**\n\n{table}\n\n{_whole(sentence(contest))}\n{remarks}")
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def as_latex(contests: Sequence[Contest]) -> str:
    """Return a `tabular` for each comparison, under a comment with its sentence."""
    parts = []
    for contest in contests:
        titles, rows = table_of(contest)
        lines = [" & ".join(map(_latex, cells)) + r" \\" for cells in (titles, *rows)]
        columns = "l" + "r" * (len(titles) - 1)
        parts.append(
            "\n".join(
                [
                    f"% {heading(contest)}",
                    f"% {sentence(contest)}",
                    rf"\begin{{tabular}}{{{columns}}}",
                    r"\hline",
                    lines[0],
                    r"\hline",
                    *lines[1:],
                    r"\hline",
                    r"\end{tabular}",
                ]
            )
        )
    return "\n\n".join(parts) + "\n"


FORMATS: dict[str, Callable[[Sequence[Contest]], str]] = {
    "csv": as_csv,
    "md": as_markdown,
    "json": as_json,
    "latex": as_latex,
}
"""Formats of exports by their names on the command line."""


def _latex(text: str) -> str:
    return "".join(LATEX_ESCAPES.get(char, char) for char in text)


def _whole(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _seconds(ns: float | None) -> float | None:
    return None if ns is None else ns / 1e9


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
