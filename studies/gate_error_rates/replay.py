"""Calls of the gate over recorded rounds: a real call, `compare.compare`, whose processes are those
of the recording.

A call begins at some round, and its block n of a program is that of the n-th round from there. Its
clock is the time that the processes took. Where nothing is injected, the call's own coin decides
which process is base and which is head.

The first calls use rounds that no call before has used: they are *disjoint*. When the recording is
used up, later calls begin anywhere, with fresh coins. The first round follows the last one, so that
long calls are not left out. But no call may use a round twice: if one does, the recording is too
short for any call.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from harness.gate.cell import GateCell, Program
from harness.gate.compare import compare
from harness.gate.order import BASE as BASE_SIDE
from harness.gate.order import HEAD
from harness.gate.sample import ProcessSample
from harness.gate.suite import Suite
from harness.gate.tree import Tree
from harness.gate.verdict import CellResult, Comparison, Exit, Side, Verdict, exit_code
from studies.gate_error_rates.recording import BASE, CONTROL, RecordedBlock, Round
from studies.gate_error_rates.yardsticks import YARDSTICKS, Yardstick

BASE_TREE, HEAD_TREE = (Tree(Path(side), "", Side(side, None)) for side in (BASE_SIDE, HEAD))
"""Trees of a replayed call; nothing runs in them."""


@dataclass(frozen=True)
class Injection:
    """The arm whose blocks replace those with nothing injected, its program, and the cell of that
    program that is judged."""

    arm: str
    program: Program
    cell: GateCell


@dataclass(frozen=True)
class Call:
    """Result of one call. `slower`: by yardstick, True if it calls the injected cell slower; in A/A
    calls, any cell."""

    disjoint: bool
    exit_code: Exit
    verdicts: Mapping[str, Verdict]  # by cell
    seconds: float
    slower: Mapping[str, bool] = field(default_factory=dict)


class Taken:
    """Replacement for processes: `take` of `compare`, and its clock. `rounds` begin with the call's
    first."""

    def __init__(
        self, rounds: Sequence[Mapping[str, Sequence[RecordedBlock]]], injected: str | None
    ) -> None:
        self.used = 0  # rounds
        self._rounds = rounds
        self._injected = injected
        # trees asked for so far, by program and round
        self._taken: dict[tuple[str, int], list[Tree]] = {}
        self._seconds = 0.0

    def clock(self) -> float:
        """Return the seconds that the processes so far took."""
        return self._seconds

    def __call__(
        self, tree: Tree, program: Program, environment: Mapping[str, str], pair: int
    ) -> ProcessSample:
        """Return the next process of its block. The control's program has two blocks a round;
        either may be the control's."""
        number = pair // 2
        self.used = max(self.used, number + 1)
        before = self._taken.setdefault((program.name, number), [])
        block = self._rounds[number % len(self._rounds)][program.name][len(before) // 4]
        position = len(before) % 4
        if program.name == self._injected:
            side = HEAD if tree is HEAD_TREE else BASE_SIDE
            position = [at for at, was in enumerate(block.sides) if was == side][before.count(tree)]
        before.append(tree)
        self._seconds += block.seconds[position]
        return ProcessSample(block.values[position], seconds=block.seconds[position])


def calls(
    rounds: Sequence[Round],
    suite: Suite,
    injection: Injection | None,
    wanted: int,
    draw: random.Random,
    progress: Callable[[int], None] = lambda made: None,
) -> list[Call]:
    """Return `wanted` calls, the disjoint ones first; none if a call came to a round again, because
    then too few were recorded.

    `progress` receives the number of calls made, before each call.
    """
    usable = [
        taken
        for taken in (_of_a_call(blocks, suite, injection) for blocks in rounds)
        if taken is not None
    ]
    made: list[Call] = []
    start, first_pass = 0, True
    while usable and len(made) < wanted:
        progress(len(made))
        taken = Taken(
            usable[start:] + usable[:start], None if injection is None else injection.program.name
        )
        comparison = compare(
            BASE_TREE,
            HEAD_TREE,
            suite,
            factor=suite.factor,
            alpha=suite.alpha,
            pairs=None,
            time_budget_s=suite.time_budget_s,
            seed=draw.getrandbits(48),
            take=taken,
            notify=lambda text: None,
            lock=lambda notify: nullcontext(),
            clock=taken.clock,
        )
        if taken.used > len(usable):
            return []
        end = start + taken.used
        made.append(call_of(comparison, injection, disjoint=first_pass and end <= len(usable)))
        first_pass = first_pass and end < len(usable)
        start = end if first_pass else draw.randrange(len(usable))
    return made


def call_of(comparison: Comparison, injection: Injection | None, disjoint: bool) -> Call:
    """Return the verdicts of a comparison, and those of the yardsticks on its samples."""
    asked = [
        result for result in comparison.cells if injection is None or result.cell == injection.cell
    ]
    return Call(
        disjoint,
        exit_code(comparison),
        {result.cell.name: result.verdict for result in comparison.cells},
        comparison.seconds,
        {
            name: any(_slower(yardstick, result) for result in asked)
            for name, yardstick in YARDSTICKS.items()
        },
    )


def _of_a_call(
    blocks: Round, suite: Suite, injection: Injection | None
) -> dict[str, tuple[RecordedBlock, ...]] | None:
    """Return the blocks that a call measures in a round, by program; None if the round is
    incomplete."""
    arms = {program.name: (BASE,) for program in suite.programs}
    arms[suite.program_of(suite.control).name] = (BASE, CONTROL)
    if injection is not None:
        arms[injection.program.name] = (injection.arm,)
    if any((program, arm) not in blocks for program, of_one in arms.items() for arm in of_one):
        return None
    return {
        program: tuple(blocks[program, arm] for arm in of_one) for program, of_one in arms.items()
    }


def _slower(yardstick: Yardstick, result: CellResult) -> bool:
    """Return a yardstick's verdict. It knows only times, so a rate is turned into the time of
    one."""
    if len(result.base) < 2:
        return False
    if result.cell.metric.lower_is_better:
        return yardstick(result.base, result.head)
    return yardstick([1 / value for value in result.base], [1 / value for value in result.head])
