"""Tables that compare laws: a table for each group of scenarios, with a line for each law, our own
last.

All kinds of curves have the same weight, because the numbers of their scenarios differ: 64 sharp
peaks, and one flat curve.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from harness.bench.accuracy import ACCURATE_SHARE, MAX_QUIET_NOISE
from harness.bench.bench import Row
from harness.bench.goals import FOUND_SHARE, goals
from harness.bench.scenario import OWN_KIND
from harness.elasticity import DEFAULT_LAW

if TYPE_CHECKING:
    import pandas as pd

WIDE_MACHINE_CPUS = 256
REFERENCE = "cstream"
AS_FEW_WITHIN = 1.05  # multiple of the needed threads or replicas up to which they count as no more
# share of the possible useful throughput from which the objective of paced sources is met
MET_SHARE = 0.99
MOST_WINNERS = 3  # laws that a table names as winners of a kind
KINDS = (
    f"**accurate by kind and law** (noise up to {MAX_QUIET_NOISE:.0%}; each kind weighs the "
    "same above)"
)
AS_MUCH = 0.99  # share of the rate of another law from which a law brings as much

Rows = Sequence[Row]
Number = Callable[[Row], float]


@dataclass(frozen=True)
class Report:
    """Layout of a report.

    `groups` of rows, a table each; `columns`: cells of a law's rows; `after`: lines after a table.
    """

    groups: Mapping[str, Callable[[Row], bool]]
    columns: Mapping[str, Callable[[Rows], str]]
    title: Callable[[str, Rows], str]
    explanation: str
    source: str  # of its throughputs
    after: Callable[[Rows], list[str]] = lambda rows: []


def summary(rows: Rows) -> str:
    """Return the tables of these rows, which are of one bench, as Markdown."""
    simulated = any(row.simulated for row in rows)
    report = REPORTS[rows[0].bench] if rows else THREADS
    parts, before = [], []
    for name, belongs in report.groups.items():
        chosen = [row for row in rows if belongs(row)]
        if chosen and chosen != before:  # without any noise two groups may be equal
            title = (
                report.title(name, chosen).replace(")", ", simulated)")
                if simulated
                else report.title(name, chosen)
            )
            parts += [f"{title}\n\n{_table(chosen, report.columns)}", *report.after(chosen)]
        before = chosen if report is QUEUES else []
    if report is THREADS and len(of_kinds := kinds_and_laws(rows)) > 1:
        parts.append(f"{KINDS}\n\n{markdown(of_kinds)}")
    for held_out, where in ((False, "here"), (True, "graphs that only score")):
        aims = goals([row for row in rows if row.held_out is held_out]) if report is QUEUES else []
        if aims:
            lines = [(each.text, each.found, "yes" if each.met else "no") for each in aims]
            parts.append(markdown([(f"goal of {DEFAULT_LAW}, {where}", "found", "met"), *lines]))
    return (
        "\n\n".join(
            [*parts, f"{report.explanation} {OF_SIMULATOR if simulated else report.source}"]
        )
        + "\n"
    )


def as_document(rows: Rows) -> dict[str, object]:
    """Return the rows as JSON, with the goals if our law has any."""
    aims = [asdict(each) for each in goals(rows)] if rows and rows[0].bench == "queues" else None
    return {"results": [asdict(row) for row in rows], **({} if aims is None else {"goals": aims})}


def as_frame(rows: Rows) -> pd.DataFrame:
    """Return the rows as a table without lists, for the figures."""
    import pandas as pd

    return pd.DataFrame(
        [
            {key: value for key, value in asdict(row).items() if not isinstance(value, tuple)}
            for row in rows
        ]
    )


def markdown(cells: Sequence[Sequence[str]]) -> str:
    """Return a table whose first line has the headings; columns after the first one are aligned to
    the right."""
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["| " + " | ".join(_padded(line, widths)) + " |" for line in cells]
    rule = (
        "|"
        + "|".join(
            "-" * (width + 2) if i == 0 else "-" * (width + 1) + ":"
            for i, width in enumerate(widths)
        )
        + "|"
    )
    return "\n".join([lines[0], rule, *lines[1:]])


def kinds_and_laws(rows: Rows) -> list[list[str]]:
    """Return the cells of a table that shows which law wins on each kind of scenario, with noise up
    to `MAX_QUIET_NOISE`; kinds that only score come last."""
    quiet = [row for row in rows if _noise(row) <= MAX_QUIET_NOISE]
    laws = _laws(quiet)
    cells = [["kind", *laws, "won by"]]
    for kind, held_out in sorted(
        {(row.kind, row.held_out) for row in quiet}, key=lambda k: k[::-1]
    ):
        of_kind = [row for row in quiet if (row.kind, row.held_out) == (kind, held_out)]
        shares = {
            law: fmean(row.accuracy >= ACCURATE_SHARE for row in of_kind if row.law == law)
            for law in laws
        }
        best = [law for law in laws if shares[law] == max(shares.values())]
        won = ", ".join(best) if len(best) <= MOST_WINNERS else f"{len(best)} laws"
        name = f"{kind} (held out)" if held_out else kind
        cells.append([name, *(f"{shares[law]:.0%}" for law in laws), won])
    return cells


def by_kind(rows: Rows, number: Number) -> float:
    """Return the mean over kinds of scenarios of the mean of each."""
    kinds: dict[str, list[float]] = {}
    for row in rows:
        kinds.setdefault(row.kind, []).append(float(number(row)))
    return fmean(fmean(numbers) for numbers in kinds.values())


def _padded(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        line[0].ljust(widths[0]),
        *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)),
    ]


def _table(rows: Rows, columns: Mapping[str, Callable[[Rows], str]]) -> str:
    of_law = {law: [row for row in rows if row.law == law] for law in _laws(rows)}
    return markdown(
        [
            ("law", *columns),
            *((law, *(cell(some) for cell in columns.values())) for law, some in of_law.items()),
        ]
    )


def _laws(rows: Rows) -> list[str]:
    """Return the laws as they came, our own last."""
    return sorted(dict.fromkeys(row.law for row in rows), key=lambda law: law == DEFAULT_LAW)


def _count(rows: Rows) -> int:
    return len({row.scenario for row in rows})


def _noise(row: Row) -> float:
    return max(row.noise, row.drift)


# -- cells -----------------------------------------------------------------------------------------


def _share(number: Number) -> Callable[[Rows], str]:
    return lambda rows: f"{fmean(float(number(row)) for row in rows):.1%}"


def _times(number: Number) -> Callable[[Rows], str]:
    return lambda rows: f"{fmean(number(row) for row in rows):.2f} ×"


def _settling(rows: Rows) -> str:
    return f"{median(row.settling for row in rows):g}" if rows else "-"


def _changes(rows: Rows) -> str:
    return f"{fmean(row.changes for row in rows):.2f}"


def _chosen_on(cell: Callable[[Rows], str]) -> Callable[[Rows], str]:
    """Return the cell for the rows that are not held out; if all rows are held out, for all
    rows.
    """
    return lambda rows: cell([row for row in rows if not row.held_out] or rows)


def _held_out(number: Number) -> Callable[[Rows], str]:
    def cell(rows: Rows) -> str:
        held_out = [row for row in rows if row.held_out]
        return f"{by_kind(held_out, number):.1%}" if held_out else "-"

    return cell


def _kinds(number: Number) -> Callable[[Rows], str]:
    return _chosen_on(lambda rows: f"{by_kind(rows, number):.1%}")


def _highest(rows: Rows) -> str:
    overshoots = sorted(row.overshoot for row in rows)
    return f"{overshoots[int(0.99 * (len(overshoots) - 1))]:.1f} ×"


# -- the benches -----------------------------------------------------------------------------------


def _of_curves(name: str, rows: Rows) -> str:
    held_out = _count([row for row in rows if row.held_out])
    return (
        f"**{name}** ({_count(rows)} "
        f"scenarios{f', {held_out} of them held out' if held_out else ''})"
    )


THREADS = Report(
    groups={
        "no noise": lambda row: _noise(row) == 0.0,
        "noise up to 5 %": lambda row: _noise(row) <= MAX_QUIET_NOISE,
        "noise of 10 %": lambda row: _noise(row) > MAX_QUIET_NOISE,
    },
    columns={
        "accurate, held out": _held_out(lambda row: row.accuracy >= ACCURATE_SHARE),
        "regret, held out": _held_out(lambda row: row.regret),
        "accurate": _kinds(lambda row: row.accuracy >= ACCURATE_SHARE),
        "accuracy": _kinds(lambda row: row.accuracy),
        f"settling (≤ {64})": _chosen_on(
            lambda rows: _settling([row for row in rows if row.maximum <= 64])
        ),
        f"settling ({WIDE_MACHINE_CPUS})": _chosen_on(
            lambda rows: _settling([row for row in rows if row.maximum == WIDE_MACHINE_CPUS])
        ),
        "overshoot > 2": _kinds(lambda row: row.overshoot > 2.0),
        "highest": _chosen_on(_highest),
        "changes": _chosen_on(lambda rows: f"{by_kind(rows, lambda row: row.changes):.2f}"),
        "regret": _kinds(lambda row: row.regret),
    },
    title=_of_curves,
    explanation=f"""\
Accurate: scenarios in which the settled throughput is at least {ACCURATE_SHARE:.0%} of the best.
Accuracy: its mean. Settling: median of periods until settled, with up to 64 levels and with
{WIDE_MACHINE_CPUS}. Overshoot: scenarios in which the law climbed to more than twice the best
level, and the highest multiple in 99 of 100. Changes: of level after settling, in 50 periods.
Regret: throughput lost against an oracle, from the first period on. Held out: on kinds of curves
that only score; the other columns are of the kinds that constants of our law were chosen on. Shares
and means weigh kinds of curves the same.""",
    source="All throughputs are those of curves, not of runs.",
)

OF_SIMULATOR = """\
All throughputs are simulated. Noise is by how much they vary from period to period while queues and
threads stay. There is no oracle: the contestant that brings the most in a scenario stands for it.
hand-placed is what is best by the surface."""

QUEUES = Report(
    groups={
        "no noise": lambda row: not row.held_out and row.noise == 0.0 and not row.event,
        "noise up to 5 %": lambda row: (
            not row.held_out and row.noise <= MAX_QUIET_NOISE and not row.event
        ),
        "noise above 5 %": lambda row: (
            not row.held_out and row.noise > MAX_QUIET_NOISE and not row.event
        ),
        "phases, noise up to 5 %": lambda row: (
            not row.held_out and row.noise <= MAX_QUIET_NOISE and bool(row.event)
        ),
        "graphs that only score, noise up to 5 %": lambda row: (
            row.held_out and row.noise <= MAX_QUIET_NOISE
        ),
    },
    columns={
        f"≥ {FOUND_SHARE:.0%}": _share(lambda row: row.accuracy >= FOUND_SHARE),
        "accuracy": _share(lambda row: row.accuracy),
        "worst": lambda rows: f"{min(row.accuracy for row in rows):.1%}",
        "settling": _settling,
        "overshoot > 2": _share(lambda row: row.overshoot > 2.0),
        "queues > 2": _share(lambda row: row.parts_overshoot > 2.0),
        "changes": _changes,
        "regret": _share(lambda row: row.regret),
        "threads": _times(lambda row: row.settled_threads / row.best_threads),
        "queues": _times(lambda row: row.settled_parts / max(1, row.best_parts)),
    },
    title=lambda name, rows: (
        f"**{name}** ({_count(rows)} scenario{'s' if _count(rows) > 1 else ''})"
    ),
    explanation="""\
≥ 95%: scenarios in which the settled throughput is that share of the oracle's. Accuracy: its mean;
worst: its least. Settling: median of periods until neither threads nor queues change. Overshoot:
scenarios in which a law climbed to more than twice the oracle's threads, and queues. Changes: after
settling, in 50 periods. Regret: throughput lost against the oracle, from the first period on.
Threads, queues: mean after settling, over the oracle's.""",
    source="All throughputs are those of surfaces, not of runs.",
)


def _of_graphs(name: str, rows: Rows) -> str:
    count = _count(rows)
    kinds = ", ".join(dict.fromkeys(row.kind for row in rows if row.kind != OWN_KIND))
    return f"**{name}** ({count} scenario{'s' if count > 1 else ''}{f': {kinds}' if kinds else ''})"


def _against(rows: Rows) -> list[str]:
    """Return a comparison of our law with C-Stream's, scenario by scenario; nothing unless both
    took part."""
    theirs = {row.scenario: row for row in rows if row.law == REFERENCE}
    pairs = [
        (row, theirs[row.scenario])
        for row in rows
        if row.law == DEFAULT_LAW and row.scenario in theirs
    ]
    if not pairs:
        return []
    rate = fmean(
        all(one >= AS_MUCH * other for one, other in zip(ours.rates, his.rates, strict=True))
        for ours, his in pairs
    )
    half = fmean(ours.settling <= 0.5 * his.settling for ours, his in pairs)
    ratio = median(ours.settling for ours, _ in pairs) / max(
        1e-9, median(his.settling for _, his in pairs)
    )
    return [
        f"{DEFAULT_LAW} over {REFERENCE}: as much throughput (at least {AS_MUCH:.0%} in each "
        f"stretch) in {rate:.1%}; settled "
        f"in at most half of the periods in {half:.1%}; the medians of settling have the ratio "
        f"{ratio:.2f}."
    ]


REPLICAS = Report(
    groups={
        "graphs that only score": lambda row: row.held_out,
        "graphs that our law's numbers were chosen on": lambda row: not row.held_out,
    },
    columns={
        "accurate": _share(lambda row: row.accuracy >= ACCURATE_SHARE),
        "accuracy": _share(lambda row: row.accuracy),
        "settling": _settling,
        "threads ≤ 1.05": _share(lambda row: row.threads <= AS_FEW_WITHIN),
        "replicas ≤ 1.05": _share(lambda row: row.parts <= AS_FEW_WITHIN),
        "threads": _times(lambda row: row.threads),
        "replicas": _times(lambda row: row.parts),
        "changes": _changes,
        "regret": _share(lambda row: row.regret),
    },
    title=_of_graphs,
    after=_against,
    explanation="""\
Accurate: scenarios in which the settled rate is at least 97 % of the oracle's. Settling: periods
until neither threads nor replicas change, median. Threads and replicas: those after settling over
the least with which the sources could send 5 % more than they do: scenarios with at most 5 % more
than that, and the mean. Changes: after settling, in 50 periods. Regret: what was lost against the
oracle, from the first period on.""",
    source="All rates are those of a computed world, not of runs.",
)

PACED = Report(
    groups={
        "curves that only score": lambda row: row.held_out,
        "the other curves": lambda row: not row.held_out and row.kind != OWN_KIND,
        "your curves": lambda row: row.kind == OWN_KIND,
    },
    columns={
        "met": _share(lambda row: row.accuracy >= MET_SHARE),
        "accuracy": _share(lambda row: row.accuracy),
        "settling": _settling,
        "threads ≤ 1.05": _share(lambda row: row.threads <= AS_FEW_WITHIN),
        "met with ≤ 1.05": _share(
            lambda row: row.accuracy >= MET_SHARE and row.threads <= AS_FEW_WITHIN
        ),
        "threads": _times(lambda row: row.threads),
        "changes": _changes,
        "regret": _share(lambda row: row.regret),
    },
    title=_of_graphs,
    explanation=f"""\
Useful: tuples that are late by a factor count that much less. Met: scenarios in which at least
{MET_SHARE:.0%} of the useful throughput that is possible is there after settling: the source's
rate, within the bound on latency. Settling: periods until the level does not change, median.
Threads: after settling, over the fewest that meet both: scenarios with at most 5 % more, and the
mean. Changes: after settling, in 50 periods. Regret: useful throughput lost, from the first period
on.""",
    source="All throughputs are computed, not of runs.",
)

REPORTS = {"threads": THREADS, "paced": PACED, "queues": QUEUES, "replicas": REPLICAS}
