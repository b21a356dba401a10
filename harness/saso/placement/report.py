"""The tables that decide: a line a contestant, by noise, and how far our own law meets its goals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, median
from typing import TYPE_CHECKING

from harness.elasticity import DEFAULT_LAW
from harness.saso.placement.bench import Row
from harness.saso.placement.contestants import BASELINES, FIXED
from harness.saso.report import markdown

if TYPE_CHECKING:
    import pandas as pd

NEAR = 0.95  # of the oracle: what counts as having found it
QUIET = 0.05  # noise up to here is in the goals
REFERENCE = "streams"  # settling is compared with it

THRIFT = (
    f"no more threads than the best other law, if within {1 - NEAR:.0%} of its throughput",
    f"no more threads than any law within {1 - NEAR:.0%} of its throughput or above",
)

HEADINGS = (
    "law",
    f"≥ {NEAR:.0%}",
    "accuracy",
    "worst",
    "settling",
    "overshoot > 2",
    "queues > 2",
    "changes",
    "regret",
    "threads",
    "queues",
)

EXPLANATION = """\
≥ 95%: scenarios in which the settled throughput is that share of the oracle's. Accuracy: its mean; worst: its least. Settling:
median of periods until neither threads nor queues change. Overshoot: scenarios in which a law climbed to more than twice the
oracle's threads, and queues. Changes: after settling, in 50 periods. Regret: throughput lost against the oracle, from the first
period on. Threads, queues: mean after settling, over the oracle's."""

OF_SURFACES = "All throughputs are those of surfaces, not of runs."
OF_SIMULATOR = """\
All throughputs are simulated. Noise is by how much they vary from period to period while queues and threads stay. There is no
oracle: the contestant that brings the most in a scenario stands for it. hand-placed is what is best by the surface."""


@dataclass(frozen=True)
class Goal:
    """What our own law is meant to do, what it did, and whether that is enough."""

    text: str
    found: str
    met: bool


def summary(rows: Sequence[Row], simulated: bool = False) -> str:
    """Markdown: a table for each strength of noise, one for changes, and the goals. `simulated`: whether the rows are."""
    groups: dict[str, Callable[[Row], bool]] = {
        "no noise": lambda row: row.noise == 0.0 and not row.event,
        "noise up to 5 %": lambda row: row.noise <= QUIET and not row.event,
        "noise above 5 %": lambda row: row.noise > QUIET and not row.event,
        "phases, noise up to 5 %": lambda row: row.noise <= QUIET and bool(row.event),
    }
    tables, before = [], []
    for title, belongs in groups.items():
        chosen = [row for row in rows if belongs(row)]
        if chosen and chosen != before:  # without any noise two groups are the same
            count = len({row.scenario for row in chosen})
            where = f"{count} scenario{'s' if count > 1 else ''}{', simulated' if simulated else ''}"
            tables.append(f"**{title}** ({where})\n\n" + markdown(_lines(chosen)))
        before = chosen
    aims = goals(rows)
    if aims:
        lines = [(each.text, each.found, "yes" if each.met else "no") for each in aims]
        tables.append(markdown([(f"goal of {DEFAULT_LAW}, here", "found", "met"), *lines]))
    return "\n\n".join([*tables, f"{EXPLANATION} {OF_SIMULATOR if simulated else OF_SURFACES}"]) + "\n"


def goals(rows: Sequence[Row], law: str = DEFAULT_LAW) -> list[Goal]:
    """How far `law` meets its goals in these rows, with noise up to 5 %; empty where it did not take part.

    A scenario meets a goal if each of its phases does. A goal that nobody is there to be compared with is left out.
    """
    quiet = [row for row in rows if row.noise <= QUIET]
    ours = {row.scenario: row for row in quiet if row.law == law}
    if not ours:
        return []
    others: dict[str, list[Row]] = {name: [] for name in ours}
    for row in quiet:
        if row.law != law and row.scenario in others:
            others[row.scenario].append(row)
    found = []
    if any(others.values()) or not any(row.simulated for row in quiet):  # simulated, the best contestant is the oracle
        near = fmean(all(accuracy >= NEAR for accuracy, _ in row.phases) for row in ours.values())
        found.append(Goal(f"within {1 - NEAR:.0%} of the oracle in ≥ 95%", f"{near:.1%}", near >= 0.95))
    behind = [
        min(_behind(ours[name], [row for row in some if row.law in BASELINES]))
        for name, some in others.items()
        if any(row.law in BASELINES for row in some)
    ]
    if behind:
        count = sum(each < NEAR for each in behind)
        *first, last = [name for name in BASELINES if any(row.law == name for row in quiet)]
        text = f"at most {1 - NEAR:.0%} below {', '.join(first)}{' and ' if first else ''}{last}"
        found.append(Goal(text, f"{count} of {len(behind)}, worst {min(behind):.1%}", count == 0))
    shorter = [
        ours[name].settling / max(1.0, row.settling) for name, some in others.items() for row in some if row.law == REFERENCE
    ]
    if shorter:
        text = f"settling at most half of {REFERENCE}' on the same scenario (median)"
        found.append(Goal(text, f"{median(shorter):.2f} ×", median(shorter) <= 0.5))
    frugal = [_frugal(ours[name], [row for row in some if row.law not in FIXED]) for name, some in others.items()]
    judged = [each for each in frugal if each]
    if judged:
        for place, text in enumerate(THRIFT):
            more = sum(not all(phase[place] for phase in each) for each in judged)
            found.append(Goal(text, f"{more} of {len(frugal)} with more", more == 0))
    return found


def _behind(ours: Row, baselines: Sequence[Row]) -> list[float]:
    """Throughput over that of the best baseline, phase by phase."""
    best = [max(accuracy for accuracy, _ in of_phase) for of_phase in zip(*(row.phases for row in baselines), strict=True)]
    return [accuracy / most for (accuracy, _), most in zip(ours.phases, best, strict=True)]


def _frugal(ours: Row, laws: Sequence[Row]) -> list[tuple[bool, bool]]:
    """Phase by phase, where a law brings as much: no more threads than the best of other laws, and than any that does so."""
    judged = []
    for mine, theirs in zip(ours.phases, zip(*(row.phases for row in laws), strict=True), strict=False):
        equal = [each for each in theirs if each[0] >= NEAR * mine[0]]
        if equal:
            accuracy, fewest = max(equal, key=lambda each: (each[0], -each[1]))
            better = mine[0] < NEAR * accuracy  # that law has more throughput, and may have more threads
            judged.append((better or _no_more(mine[1], fewest), all(_no_more(mine[1], threads) for _, threads in equal)))
    return judged


def _no_more(ours: float, theirs: float) -> bool:
    """Threads: the same, or half a thread or 5 % more."""
    return ours <= max(1.05 * theirs, theirs + 0.5)


def as_document(rows: Sequence[Row]) -> dict[str, object]:
    """The rows as JSON."""
    return {"results": [asdict(row) for row in rows], "goals": [asdict(each) for each in goals(rows)]}


def as_frame(rows: Sequence[Row]) -> pd.DataFrame:
    """The rows as a table, without periods and phases: what the figure is drawn from."""
    import pandas as pd

    series = ("levels", "queues", "phases")
    return pd.DataFrame([{key: value for key, value in asdict(row).items() if key not in series} for row in rows])


def _lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    laws = sorted(dict.fromkeys(row.law for row in rows), key=lambda law: law == DEFAULT_LAW)
    return [HEADINGS, *(_line(law, [row for row in rows if row.law == law]) for law in laws)]


def _line(law: str, rows: Sequence[Row]) -> tuple[str, ...]:
    return (
        law,
        f"{fmean(row.accuracy >= NEAR for row in rows):.1%}",
        f"{fmean(row.accuracy for row in rows):.1%}",
        f"{min(row.accuracy for row in rows):.1%}",
        f"{median(row.settling for row in rows):g}",
        f"{fmean(row.overshoot > 2.0 for row in rows):.1%}",
        f"{fmean(row.queue_overshoot > 2.0 for row in rows):.1%}",
        f"{fmean(row.changes for row in rows):.2f}",
        f"{fmean(row.regret for row in rows):.1%}",
        f"{fmean(row.settled_threads / row.best_threads for row in rows):.2f} ×",
        f"{fmean(row.settled_queues / max(1, row.best_queues) for row in rows):.2f} ×",
    )
