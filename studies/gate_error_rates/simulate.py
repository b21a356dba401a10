"""Simulated rounds: the noises of `noise`, and a slowdown that multiplies head's times. They take
seconds where recording takes hours.

Each call has rounds of its own, so all calls are disjoint. The suite is like the short one: two
cells, half a second for each process.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import numpy as np

from harness.gate.cell import GateCell, Metric, Program
from harness.gate.order import HEAD, block_order
from harness.gate.suite import Suite
from harness.gate.verdict import ALPHA, FACTOR
from studies.gate_error_rates.noise import NOISES
from studies.gate_error_rates.recording import BASE, CONTROL, RecordedBlock, Round
from studies.gate_error_rates.replay import Call, Injection, calls

PROCESS_S = 0.5
BUDGET_S = 132.0  # 22 rounds of two programs and the control: three looks
NS_PER_HOP = 100.0
SLOWER = "slower"  # name of the arm


def _program(name: str) -> Program:
    return Program(name, (), (GateCell(name, Metric()),))


SUITE = Suite(
    "simulated",
    (_program("one"), _program("other")),
    "one",
    factor=FACTOR,
    alpha=ALPHA,
    time_budget_s=BUDGET_S,
)
INJECTED = Injection(SLOWER, SUITE.programs[1], SUITE.cells[1])


def simulated_calls(
    noise: str, effect: float, wanted: int, seed: int, suite: Suite = SUITE
) -> Iterator[Call]:
    """Yield calls under a noise of `NOISES`. Head of one cell is slower by the ratio `effect`; 1 is
    base against itself."""
    draw = random.Random(f"{seed} {noise} {effect}")
    noises = np.random.default_rng([seed, list(NOISES).index(noise), round(effect * 1e6)])
    per_round = 4 * (len(suite.programs) + 1)
    # enough if one program's blocks took all of the time
    rounds = math.ceil(suite.time_budget_s / (4 * PROCESS_S))
    injection = None if effect == 1 else INJECTED
    for logs in NOISES[noise](noises, (wanted, rounds * per_round)):
        yield from calls(
            _rounds(np.exp(logs) * NS_PER_HOP, suite, effect, draw), suite, injection, 1, draw
        )


def _rounds(times: np.ndarray, suite: Suite, effect: float, draw: random.Random) -> list[Round]:
    """Return one call's processes as rounds, in the order in which they run, four to a block."""
    at = iter(times.tolist())
    rounds: list[Round] = []
    places = [
        *((program.name, BASE) for program in suite.programs),
        (suite.program_of(suite.control).name, CONTROL),
    ]
    while True:
        blocks: dict[tuple[str, str], RecordedBlock] = {}
        for name, arm in places:
            sides = block_order(draw)
            cell = suite.control if arm == CONTROL else name
            slower = effect != 1 and arm == BASE and name == INJECTED.program.name
            try:
                values = [
                    {cell: next(at) * (effect if slower and side == HEAD else 1.0)}
                    for side in sides
                ]
            except StopIteration:
                return rounds
            blocks[name, SLOWER if slower else arm] = RecordedBlock(
                sides, tuple(values), (PROCESS_S,) * 4
            )
        rounds.append(blocks)
