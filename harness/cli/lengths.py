"""Arguments for the lengths of a run and for its threads: `--duration`, `--warmup`, `--period`,
`--allow-threads`.
"""

from __future__ import annotations

import argparse

from harness.cli.arguments import seconds, warmup, whole
from harness.engine.thread_room import MOST_ALLOWED, MOST_THREADS
from harness.machines.host.cpu import SHORTEST_S
from harness.measurement.spec import MIN_QUANTA_PER_PERIOD, VIRTUAL_DURATION_S, VIRTUAL_PERIOD_S

VIRTUAL_DURATION = f"{VIRTUAL_DURATION_S:g} s of virtual time"
UNTIL_STATIONARY = "until they are stationary"
"""Lengths of simulated runs for which none is given, by the command."""


def add_length_arguments(
    parser: argparse.ArgumentParser,
    duration_s: float,
    period_s: float,
    simulated: str = VIRTUAL_DURATION,
) -> None:
    """Add the options. `duration_s`, `period_s`: what the command takes if they are not given;
    `simulated`: the length of simulated runs then.
    """
    add_duration_argument(parser, duration_s, simulated)
    parser.add_argument(
        "--warmup",
        type=warmup,
        default="auto",
        metavar="auto|S",
        help="seconds to run before measuring, 0 allowed; auto (the default): until the run is "
        "stationary",
    )
    parser.add_argument(
        "--period",
        type=seconds(0.0),
        metavar="S",
        help=f"seconds between two decisions of a control law (default: {period_s:g}; at least "
        f"{SHORTEST_S:g}, since the "
        "system counts CPU time in ticks of 0.01 s). Simulated runs: any time above 0 (default: "
        f"{VIRTUAL_PERIOD_S:g} s of virtual time; co-routines: {MIN_QUANTA_PER_PERIOD} quanta)",
    )
    add_allow_threads_argument(parser)


def add_duration_argument(
    parser: argparse.ArgumentParser, duration_s: float, simulated: str
) -> None:
    """Add `--duration`. `duration_s`: what the command takes if it is not given; `simulated`: the
    same of simulated runs.
    """
    parser.add_argument(
        "--duration",
        type=seconds(0.0),
        metavar="S",
        help=f"seconds to measure in a run (default: {duration_s:g}; simulated runs: {simulated})",
    )


def add_allow_threads_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--allow-threads`."""
    parser.add_argument(
        "--allow-threads",
        type=whole(1, MOST_ALLOWED),
        metavar="N",
        help="real threads that a run may have, if this host has room for them (default: "
        f"{MOST_THREADS})",
    )
