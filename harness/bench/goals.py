"""Goals of our law that places queues, and their check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from harness.bench.bench import Row
from harness.bench.queues.contestants import BASELINES, FIXED
from harness.elasticity import DEFAULT_LAW

FOUND_SHARE = 0.95  # share of the oracle's throughput from which a law has found it
MAX_COUNTED_NOISE = 0.05  # highest noise of the scenarios that count
REFERENCE = "streams"  # law whose settling time ours is compared with

FEWEST_THREADS_GOALS = (
    f"no more threads than the best other law, if within {1 - FOUND_SHARE:.0%} of its throughput",
    f"no more threads than any law within {1 - FOUND_SHARE:.0%} of its throughput or above",
)


@dataclass(frozen=True)
class Goal:
    """Goal of our own law, the result, and the verdict."""

    text: str
    found: str
    met: bool


def goals(rows: Sequence[Row]) -> list[Goal]:
    """Return the goals of our own law with the results of rows with noise up to 5 %; empty if it
    did not take part.

    A scenario meets a goal if each of its phases does. A goal without a law to compare with is left
    out.
    """
    quiet = [row for row in rows if row.noise <= MAX_COUNTED_NOISE]
    ours = {row.scenario: row for row in quiet if row.law == DEFAULT_LAW}
    if not ours:
        return []
    others: dict[str, list[Row]] = {name: [] for name in ours}
    for row in quiet:
        if row.law != DEFAULT_LAW and row.scenario in others:
            others[row.scenario].append(row)
    found = []
    # simulated, the best contestant is the oracle
    if any(others.values()) or not any(row.simulated for row in quiet):
        near = fmean(
            all(accuracy >= FOUND_SHARE for accuracy, _ in row.phases) for row in ours.values()
        )
        found.append(
            Goal(
                f"within {1 - FOUND_SHARE:.0%} of the oracle in ≥ 95%", f"{near:.1%}", near >= 0.95
            )
        )
    behind = [
        min(_behind(ours[name], [row for row in some if row.law in BASELINES]))
        for name, some in others.items()
        if any(row.law in BASELINES for row in some)
    ]
    if behind:
        count = sum(each < FOUND_SHARE for each in behind)
        *first, last = [name for name in BASELINES if any(row.law == name for row in quiet)]
        names = f"{', '.join(first)}{' and ' if first else ''}{last}"
        text = f"at most {1 - FOUND_SHARE:.0%} below {names}"
        found.append(Goal(text, f"{count} of {len(behind)}, worst {min(behind):.1%}", count == 0))
    shorter = [
        ours[name].settling / max(1.0, row.settling)
        for name, some in others.items()
        for row in some
        if row.law == REFERENCE
    ]
    if shorter:
        text = f"settling at most half of {REFERENCE}' on the same scenario (median)"
        found.append(Goal(text, f"{median(shorter):.2f} ×", median(shorter) <= 0.5))
    frugal = [
        _frugal(ours[name], [row for row in some if row.law not in FIXED])
        for name, some in others.items()
    ]
    judged = [each for each in frugal if each]
    if judged:
        for place, text in enumerate(FEWEST_THREADS_GOALS):
            more = sum(not all(phase[place] for phase in each) for each in judged)
            found.append(Goal(text, f"{more} of {len(frugal)} with more", more == 0))
    return found


def _behind(ours: Row, baselines: Sequence[Row]) -> list[float]:
    """Return throughput over that of the best baseline, phase by phase."""
    best = [
        max(accuracy for accuracy, _ in of_phase)
        for of_phase in zip(*(row.phases for row in baselines), strict=True)
    ]
    return [accuracy / most for (accuracy, _), most in zip(ours.phases, best, strict=True)]


def _frugal(ours: Row, laws: Sequence[Row]) -> list[tuple[bool, bool]]:
    """Return two verdicts for each phase in which another law brings as much.

    The first is True if ours has no more threads than the best other law, the second if it has no
    more than any such law.
    """
    judged = []
    for mine, theirs in zip(
        ours.phases, zip(*(row.phases for row in laws), strict=True), strict=False
    ):
        equal = [each for each in theirs if each[0] >= FOUND_SHARE * mine[0]]
        if equal:
            accuracy, fewest = max(equal, key=lambda each: (each[0], -each[1]))
            # that law has more throughput, and may have more threads
            better = mine[0] < FOUND_SHARE * accuracy
            judged.append(
                (
                    better or _no_more(mine[1], fewest),
                    all(_no_more(mine[1], threads) for _, threads in equal),
                )
            )
    return judged


def _no_more(ours: float, theirs: float) -> bool:
    """Return True if there are at most half a thread or 5 % more threads."""
    return ours <= max(1.05 * theirs, theirs + 0.5)
