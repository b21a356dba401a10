"""The simulator's event core beside SimPy, on the same queueing networks: events per second, as one
Markdown table.

Run  make sim-bench  or, in half a minute,  make sim-bench ARGS='--rounds 3 --seconds 0.3'

An event is an arrival from outside or the end of a service, the same ones in every program, so that
what counts is how long a program takes for the network and not how many entries its agenda needs
for it. SimPy is there twice: with a process for each customer, as its documentation teaches it, and
with nothing but callbacks, the least that its agenda can do. In each round every program runs once
on each network, in a fresh process, in an order drawn anew; a ratio is made of two runs of one
round.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Sequence

from harness.errors import RunFailed
from harness.measurement.lock import measuring_lock
from harness.measurement.rank_interval import coverage, median_interval, rank
from tests.benchmarks.event_programs import CORE, NETWORKS, PROGRAMS, measure
from tests.benchmarks.fresh import call

TARGET = 10.0  # times as many events per second as SimPy

Rates = dict[tuple[str, str], list[float | str]]
"""Events per second by network and program, one a round; or why there is none."""


def session(rounds: int, seconds: float, seed: int) -> Rates:
    """Measure all programs on all networks."""
    rates: Rates = {(network, program): [] for network in NETWORKS for program in PROGRAMS}
    draw = random.Random(seed)
    for number in range(1, rounds + 1):
        begin = time.monotonic()
        with measuring_lock():
            for network, program in draw.sample(list(rates), len(rates)):
                try:
                    rates[network, program].append(call(measure, program, network, number, seconds))
                except RunFailed as error:
                    rates[network, program].append(str(error))
        print(
            f"round {number} of {rounds}: {time.monotonic() - begin:.0f} s",
            file=sys.stderr,
            flush=True,
        )
    return rates


HEADINGS = ("network", "program", "events/s", f"{CORE} is faster by", "target", "reached")


def row(network: str, program: str, rates: Rates) -> tuple[str, ...]:
    """A line of the table: the median rate, and the median ratio of the event core's to it with its
    interval.
    """
    mine, core = rates[network, program], rates[network, CORE]
    known = [rate for rate in mine if not isinstance(rate, str)]
    if not known:
        return network, program, str(mine[0])[:120], "", "", ""
    median = f"{statistics.median(known) / 1e6:.3g} M"
    ratios = [
        ours / rate
        for ours, rate in zip(core, mine, strict=True)
        if not isinstance(ours, str) and not isinstance(rate, str)
    ]
    if program == CORE or not ratios:
        return network, program, median, "", "", ""
    found = median_interval(ratios)
    reached = "yes" if found.low >= TARGET else "unclear" if found.high >= TARGET else "no"
    return (
        network,
        program,
        median,
        f"{found.median:.1f} [{found.low:.1f} – {found.high:.1f}] ×",
        f"≥ {TARGET:g}",
        reached,
    )


def report(rates: Rates, rounds: int) -> None:
    """Print the table."""
    sure = coverage(rounds, rank(rounds))
    print(
        f"Medians of {rounds} rounds; an interval holds the true median with probability "
        f"{sure:.0%}.\n"
    )
    lines: Sequence[Sequence[str]] = [
        HEADINGS,
        ("---",) * len(HEADINGS),
        *(row(*key, rates) for key in rates),
    ]
    for cells in lines:
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rounds", type=int, default=7, help="default 7, which take about a minute"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.5,
        help="that a program runs, about (default %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the order of the runs (default 1)")
    words = parser.parse_args()
    if words.rounds < 1 or words.seconds <= 0:
        parser.error("--rounds must be 1 or more, --seconds above 0")
    report(session(words.rounds, words.seconds, words.seed), words.rounds)


if __name__ == "__main__":
    main()
