"""The simulator's event core beside SimPy, on the same queueing networks: events per second, as one Markdown table.

Run  make sim-bench  or, in half a minute,  make sim-bench ARGS='--rounds 3 --seconds 0.3'

An event is an arrival from outside or the end of a service, the same ones in every program, so that what counts is how long a
program takes for the network and not how many entries its agenda needs for it. SimPy is there twice: with a process for each
customer, as its documentation teaches it, and with nothing but callbacks, the least that its agenda can do. In each round every
program runs once on each network, in a fresh process, in an order drawn anew; a ratio is made of two runs of one round.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from harness.errors import RunFailed
from harness.measurement.lock import measuring_lock
from harness.measurement.rank_interval import coverage, median_interval, rank
from tests.benchmarks.fresh import Missing, call
from tests.simulator.simpy_queues import Network, Outcome, with_callbacks, with_processes

NETWORKS: dict[str, Network] = {
    "M/D/1 x 10 in a row, load 0.8": Network((1.0,) * 10, exponential=False, arrival_rate=0.8),
    "closed, 20 customers, 10 stations": Network((1.0,) * 10, customers=20),
    "closed, 1,000 customers, 1,000 stations": Network((1.0,) * 1000, customers=1000),
}
CORE = "event core"
TARGET = 10.0  # times as many events per second as SimPy
PROBE_EVENTS = 20_000  # of a first run, from which follows how long the measured one is


def with_event_core(network: Network, seed: int, until: float) -> Outcome:
    """The network on the simulator's event core. Raises Missing if this build has none."""
    try:
        from harness.simulator.queueing import simulate
    except ImportError as error:
        raise Missing("harness.simulator.queueing") from error
    return simulate(network, seed, until)


Program = Callable[[Network, int, float], Outcome]
PROGRAMS: dict[str, Program] = {CORE: with_event_core, "SimPy, processes": with_processes, "SimPy, callbacks": with_callbacks}


def measure(program: str, network: str, seed: int, seconds: float) -> float:
    """Events per second of a run of about so many seconds: what a fresh process is asked for."""
    simulate, of = PROGRAMS[program], NETWORKS[network]
    until = PROBE_EVENTS / events_per_unit(of)
    begin = time.perf_counter()
    simulate(of, seed, until)
    until *= max(1.0, seconds / (time.perf_counter() - begin))
    begin = time.perf_counter()
    events = simulate(of, seed, until).events
    return events / (time.perf_counter() - begin)


def events_per_unit(network: Network) -> float:
    """About how many events a unit of simulated time has."""
    if network.arrival_rate is not None:
        return network.arrival_rate * (1 + len(network.services))
    stations = len(network.services)
    return network.customers * stations / (network.customers + stations - 1) / max(network.services)


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
                except (Missing, RunFailed) as error:
                    rates[network, program].append(str(error))
        print(f"round {number} of {rounds}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return rates


HEADINGS = ("network", "program", "events/s", f"{CORE} is faster by", "target", "reached")


def row(network: str, program: str, rates: Rates) -> tuple[str, ...]:
    """A line of the table: the median rate, and the median ratio of the event core's to it with its interval."""
    mine, core = rates[network, program], rates[network, CORE]
    known = [rate for rate in mine if not isinstance(rate, str)]
    if not known:
        return network, program, str(mine[0])[:120], "", "", ""
    median = f"{statistics.median(known) / 1e6:.3g} M"
    ratios = [
        ours / rate for ours, rate in zip(core, mine, strict=True) if not isinstance(ours, str) and not isinstance(rate, str)
    ]
    if program == CORE or not ratios:
        return network, program, median, "", "", ""
    found = median_interval(ratios)
    reached = "yes" if found.low >= TARGET else "unclear" if found.high >= TARGET else "no"
    return network, program, median, f"{found.median:.1f} [{found.low:.1f} – {found.high:.1f}] ×", f"≥ {TARGET:g}", reached


def report(rates: Rates, rounds: int) -> None:
    """Print the table."""
    sure = coverage(rounds, rank(rounds))
    print(f"Medians of {rounds} rounds; an interval holds the true median with probability {sure:.0%}.\n")
    lines: Sequence[Sequence[str]] = [HEADINGS, ("---",) * len(HEADINGS), *(row(*key, rates) for key in rates)]
    for cells in lines:
        print("| " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7, help="default 7, which take about a minute")
    parser.add_argument("--seconds", type=float, default=0.5, help="that a program runs, about (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the order of the runs (default 1)")
    words = parser.parse_args()
    if words.rounds < 1 or words.seconds <= 0:
        parser.error("--rounds must be 1 or more, --seconds above 0")
    report(session(words.rounds, words.seconds, words.seed), words.rounds)


if __name__ == "__main__":
    main()
