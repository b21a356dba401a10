"""The runtime beside plain C++ and beside its peers, as one Markdown table.

Run  make ratios  or, for some cells in a minute,  make ratios ARGS='--rounds 3 "pipeline 10,"'

Rates are of the steady state, from a window after a warm-up; start, fill and drain are not
compared. In each round every arm of every cell runs once, in a fresh process, the arms of a cell
right after each other, in an order drawn anew. A ratio is made of two runs of one cell in one
round.
"""

from __future__ import annotations

import argparse
import random
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from harness.errors import RunFailed
from harness.measurement.lock import measuring_lock
from harness.measurement.rank_interval import Interval, coverage, median_interval, rank
from tests.benchmarks.arms import Cell, measure
from tests.benchmarks.fresh import Missing, call
from tests.benchmarks.peers import best_peers
from tests.benchmarks.steady import Span

SIZES, COSTS = (10, 100, 1000), (1, 100, 1000)
ONE_CPU = "dynamic, 1 thread, 1 CPU"


@dataclass(frozen=True)
class Comparison:
    """An arm of a cell, beside another one. Ratios: of times per hop, at most `most`; or of rates,
    at least `least`.
    """

    cell: Cell
    arm: str
    against: str | None = None
    most: float | None = None
    least: float | None = None
    speed: bool = False  # a ratio of rates
    beside_peers: bool = False

    def ratio(self, rate: float, base: float) -> float:
        return rate / base if self.speed else base / rate

    def target(self) -> str:
        return (
            f"≤ {self.most}"
            if self.most is not None
            else f"≥ {self.least}"
            if self.least is not None
            else ""
        )

    def verdict(self, interval: Interval) -> str:
        """Return True if the target is reached: by the whole interval, by none of it, or unclear."""
        if self.most is None and self.least is None:
            return ""
        inside = [
            value <= self.most if self.most is not None else value >= self.least
            for value in interval[1:]
        ]
        return "yes" if all(inside) else "unclear" if any(inside) else "no"


def of_pipeline(cell: Cell) -> list[Comparison]:
    costly = cell.cost >= 100
    comparisons = [
        Comparison(cell, "C++ chain, copy a hop", "C++ chain, in place"),
        Comparison(cell, "manual", "C++ chain, in place", most=None if costly else 1.3),
        Comparison(cell, ONE_CPU, "C++ breadth-first", most=2.0),
        Comparison(cell, "dynamic, 1 thread", "C++ breadth-first", most=2.0),
        Comparison(
            cell,
            "dynamic, 2 threads",
            "dynamic, 1 thread",
            speed=True,
            least=1.7 if costly else None,
        ),
        Comparison(
            cell,
            "dynamic, 2 threads",
            ONE_CPU,
            speed=True,
            least=1.7 if costly else None,
            beside_peers=True,
        ),
        Comparison(cell, "dedicated", beside_peers=True),
    ]
    if cell.cost < 1000:
        comparisons.append(
            Comparison(cell, "manual, one queue", "C++ two threads", speed=True, least=0.85)
        )
    return comparisons


COMPARISONS = [
    *[
        comparison
        for size in SIZES
        for cost in COSTS
        for comparison in of_pipeline(Cell("pipeline", size, cost))
    ],
    *[
        Comparison(Cell("data-parallel", width, 1), "dynamic, 2 threads", beside_peers=True)
        for width in SIZES
    ],
    Comparison(Cell("mix", 10, 1), "dynamic, 2 threads", beside_peers=True),
]

Outcome = tuple[float, bool] | str
"""tuples/s and whether the run had settled; or why there is none."""


def run(cell: Cell, arm: str, span: Span) -> Outcome:
    try:
        rate, settled = call(measure, arm, cell, (span.window_s, span.warm_up_s))
    except (Missing, RunFailed) as error:
        return str(error)
    return rate, settled


def session(
    comparisons: Sequence[Comparison], rounds: int, span: Span, seed: int
) -> dict[tuple[Cell, str], list[Outcome]]:
    """The outcomes of every arm that the comparisons name, one a round."""
    arms: dict[Cell, dict[str, None]] = {}
    for comparison in comparisons:
        of_cell = arms.setdefault(comparison.cell, {})
        of_cell.update(
            {arm: None for arm in (comparison.against, comparison.arm) if arm is not None}
        )
    outcomes: dict[tuple[Cell, str], list[Outcome]] = {
        (cell, arm): [] for cell, of_cell in arms.items() for arm in of_cell
    }
    draw = random.Random(seed)
    for number in range(1, rounds + 1):
        begin = time.monotonic()
        for cell in draw.sample(list(arms), len(arms)):
            with measuring_lock():
                for arm in draw.sample(list(arms[cell]), len(arms[cell])):
                    outcomes[cell, arm].append(run(cell, arm, span))
        print(
            f"round {number} of {rounds}: {time.monotonic() - begin:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    return outcomes


class Others:
    """CPUs that processes of others kept busy, on average since this was made."""

    def __init__(self) -> None:
        self.begin_s, self.busy_s = time.monotonic(), self._busy_s()

    def cpus(self) -> float:
        return max(0.0, (self._busy_s() - self.busy_s) / (time.monotonic() - self.begin_s))

    @staticmethod
    def _busy_s() -> float:
        """CPU time of everybody less that of this process and of those that it has started and seen
        end [s].
        """
        everybody = psutil.cpu_times()
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return (
            everybody.user + everybody.system - sum(used.ru_utime + used.ru_stime for used in own)
        )


def row(comparison: Comparison, outcomes: dict[tuple[Cell, str], list[Outcome]]) -> tuple[str, ...]:
    cell, mine = comparison.cell, outcomes[comparison.cell, comparison.arm]
    base = outcomes[cell, comparison.against] if comparison.against is not None else mine
    pairs = [
        (a, b)
        for a, b in zip(mine, base, strict=True)
        if not isinstance(a, str) and not isinstance(b, str)
    ]
    if not pairs:
        reason = next(outcome for outcome in (*mine, *base) if isinstance(outcome, str))
        return str(cell), comparison.arm, reason.replace("|", "/")[:120], "", "", "", "", ""
    rate = statistics.median(a[0] for a, _ in pairs)
    unsettled = "" if all(a[1] for a, _ in pairs) else "~"
    lost = (
        f" ({len(mine) - len(pairs)} of {len(mine)} rounds failed)"
        if len(pairs) < len(mine)
        else ""
    )
    versus = verdict = ""
    if comparison.against is not None:
        interval = median_interval([comparison.ratio(a[0], b[0]) for a, b in pairs])
        versus = (
            f"{interval.median:.2f} [{interval.low:.2f} – {interval.high:.2f}] × the "
            f"{'rate' if comparison.speed else 'time'}"
        )
        versus += f" of {comparison.against}{lost}"
        verdict = comparison.verdict(interval)
    beside = ""
    if comparison.beside_peers:
        beside = "; ".join(
            f"{peer.name}{'' if peer.queue else ' (no queues)'} "
            f"{'' if peer.steady else '~'}{amount(peer.tuples_per_s)}: "
            f"{rate / peer.tuples_per_s:.2f} ×"
            for peer in best_peers(cell)
        )
    hop = f"{1e9 / (rate * cell.hops):.{1 if rate * cell.hops > 1e7 else 0}f}"
    return (
        str(cell),
        comparison.arm,
        unsettled + amount(rate),
        hop,
        versus,
        comparison.target(),
        verdict,
        beside,
    )


def amount(rate: float) -> str:
    """A rate with three digits: 1.23M, 45.6k, 789."""
    for unit, factor in (("M", 1e6), ("k", 1e3)):
        if rate >= factor:
            return f"{rate / factor:.3g}{unit}"
    return f"{rate:.3g}"


NOTE = """\
Medians of {rounds} rounds. A ratio's interval is between two of its values, and holds its median with probability {sure:.0%}.
~: not stationary when it was measured (queues still filling, or a noisy host). A rate is the executions of operators over the
hops of a tuple, which does not depend on how full the queues are. Other processes kept {others:.2f} CPUs busy
meanwhile: where that is much more than 0, arms with two threads were at a disadvantage, those that spin most of all.
"""
HEADINGS = (
    "cell",
    "arm",
    "tuples/s",
    "ns/hop",
    "ratio",
    "target",
    "reached",
    "best peer, on another machine of the same kind",
)


def report(
    comparisons: Sequence[Comparison],
    outcomes: dict[tuple[Cell, str], list[Outcome]],
    rounds: int,
    others: float,
) -> None:
    sure = coverage(rounds, rank(rounds))
    print(NOTE.format(rounds=rounds, sure=sure, others=others))
    for cells in (
        HEADINGS,
        ("---",) * len(HEADINGS),
        *[row(comparison, outcomes) for comparison in comparisons],
    ):
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "only", nargs="*", help="cells whose name begins so, e.g. 'pipeline 10,' (default: all)"
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="default 7, which take about a quarter of an hour"
    )
    parser.add_argument(
        "--window",
        type=float,
        default=Span.window_s,
        help="seconds that are measured in a run (default %(default)s)",
    )
    parser.add_argument(
        "--warm-up",
        type=float,
        default=Span.warm_up_s,
        help="seconds of a warm-up, at most (default %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the order of the runs (default 1)")
    words = parser.parse_args()
    if words.rounds < 1 or words.window <= 0 or words.warm_up < 0:
        parser.error("--rounds must be 1 or more, --window above 0, --warm-up 0 or more")
    comparisons = [
        each
        for each in COMPARISONS
        if not words.only or str(each.cell).startswith(tuple(words.only))
    ]
    if not comparisons:
        parser.error(f"no cell's name begins with {' or '.join(map(repr, words.only))}")
    others = Others()
    outcomes = session(comparisons, words.rounds, Span(words.window, words.warm_up), words.seed)
    report(comparisons, outcomes, words.rounds, others.cpus())


if __name__ == "__main__":
    main()
