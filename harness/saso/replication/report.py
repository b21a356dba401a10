"""The tables of the bench of replicas: graphs that only score, and those that our law's numbers were chosen on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from statistics import fmean, median
from typing import TYPE_CHECKING

from harness.elasticity import DEFAULT_LAW
from harness.saso.replication.bench import Row
from harness.saso.report import ACCURATE, markdown

if TYPE_CHECKING:
    import pandas as pd

REFERENCE = "cstream"
SPARE = 1.05  # times what is needed that counts as no more
AS_MUCH = 0.99  # of the rate of another law

HEADINGS = (
    "law",
    "accurate",
    "accuracy",
    "settling",
    "threads ≤ 1.05",
    "replicas ≤ 1.05",
    "threads",
    "replicas",
    "changes",
    "regret",
)

EXPLANATION = """\
Accurate: scenarios in which the settled rate is at least 97 % of the oracle's. Settling: periods until neither threads nor
replicas change, median. Threads and replicas: those after settling over the least with which the sources could send 5 % more
than they do: scenarios with at most 5 % more than that, and the mean. Changes: after settling, in 50 periods. Regret: what was
lost against the oracle, from the first period on. All rates are those of a computed world, not of runs."""


def summary(rows: Sequence[Row]) -> str:
    """Markdown: a table of held-out kinds, one of those that numbers were chosen on; below each our law beside C-Stream's."""
    parts = []
    for title, held_out in (("graphs that only score", True), ("graphs that our law's numbers were chosen on", False)):
        chosen = [row for row in rows if row.held_out is held_out]
        if chosen:
            kinds = ", ".join(dict.fromkeys(row.kind for row in chosen))
            parts.append(f"**{title}** ({len({row.scenario for row in chosen})} scenarios: {kinds})\n\n{_table(chosen)}")
            parts += _against(chosen)
    return "\n\n".join([*parts, EXPLANATION]) + "\n"


def as_document(rows: Sequence[Row]) -> dict[str, object]:
    """The rows as JSON."""
    return {"results": [asdict(row) for row in rows]}


def as_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """The rows as a table, without what is a list."""
    import pandas as pd

    return pd.DataFrame([{key: value for key, value in asdict(row).items() if not isinstance(value, tuple)} for row in rows])


def _table(rows: Sequence[Row]) -> str:
    laws = sorted(dict.fromkeys(row.law for row in rows), key=lambda law: law == DEFAULT_LAW)
    return markdown([HEADINGS, *(_line(law, [row for row in rows if row.law == law]) for law in laws)])


def _line(law: str, rows: Sequence[Row]) -> tuple[str, ...]:
    return (
        law,
        f"{fmean(row.accuracy >= ACCURATE for row in rows):.1%}",
        f"{fmean(row.accuracy for row in rows):.1%}",
        f"{median(row.settling for row in rows):g}",
        f"{fmean(row.threads <= SPARE for row in rows):.1%}",
        f"{fmean(row.replicas <= SPARE for row in rows):.1%}",
        f"{fmean(row.threads for row in rows):.2f} ×",
        f"{fmean(row.replicas for row in rows):.2f} ×",
        f"{fmean(row.changes for row in rows):.2f}",
        f"{fmean(row.regret for row in rows):.1%}",
    )


def _against(rows: Sequence[Row]) -> list[str]:
    """Our law beside C-Stream's, scenario by scenario; nothing unless both took part."""
    theirs = {row.scenario: row for row in rows if row.law == REFERENCE}
    pairs = [(row, theirs[row.scenario]) for row in rows if row.law == DEFAULT_LAW and row.scenario in theirs]
    if not pairs:
        return []
    rate = fmean(all(one >= AS_MUCH * other for one, other in zip(ours.rates, his.rates, strict=True)) for ours, his in pairs)
    half = fmean(ours.settling <= 0.5 * his.settling for ours, his in pairs)
    ratio = median(ours.settling for ours, _ in pairs) / max(1e-9, median(his.settling for _, his in pairs))
    return [
        f"{DEFAULT_LAW} over {REFERENCE}: as much throughput (at least {AS_MUCH:.0%} in each stretch) in {rate:.1%}; settled "
        f"in at most half of the periods in {half:.1%}; the medians of settling have the ratio {ratio:.2f}."
    ]
