"""How far our law that places queues meets its goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from harness.bench.bench import Row
from harness.bench.queues.contestants import BASELINES, FIXED
from harness.elasticity import DEFAULT_LAW

NEAR = 0.95  # of the oracle: what counts as having found it
QUIET = 0.05  # noise up to here counts
REFERENCE = "streams"  # settling is compared with it

THRIFT = (
    f"no more threads than the best other law, if within {1 - NEAR:.0%} of its throughput",
    f"no more threads than any law within {1 - NEAR:.0%} of its throughput or above",
)


@dataclass(frozen=True)
class Goal:
    """What our own law is meant to do, what it did, and whether that is enough."""

    text: str
    found: str
    met: bool


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
