"""The blocks of one program: fresh processes of both sides in random order, and their results for
each side and cell."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from harness.gate.cell import COUNT, GateCell, Program
from harness.gate.order import PAIRS, block_order
from harness.gate.sample import ProcessSample
from harness.gate.tree import Tree
from harness.gate.verdict import Verdict

Arm = Literal["base", "head"]
ARMS: tuple[Arm, Arm] = ("base", "head")

Take = Callable[[Tree, Program, Mapping[str, str], int], ProcessSample]
"""Function like `sample.take`, of tree, program, more environment, and number of the pair. If a
cell is deterministic, both pairs of a block have the number of the first."""

PADDING, MOST_PADDING = "MILLRACE_PADDING", 4096
"""A variable of random length [bytes], drawn for each process. The start of the stack depends on
the size of the environment, and a program may be faster at some addresses than at others (Mytkowicz
et al., ASPLOS 2009). The random length turns a bias of one side, and so a wrong verdict, into noise
of both sides. Instructions are counted without it: they do not depend on addresses."""

HASH_SEED, HASH_SEEDS = "PYTHONHASHSEED", 2**32
"""The variable that decides the hashes of Python's texts, and the number of its values. It is drawn
for each pair. With one seed for all, the luck of that seed would count as a difference: whether two
names of head collide."""


PROCESSES = 2 * PAIRS  # of a block

REPEATS = 2
"""Number of processes of a program and side, in a whole call, that may end without an answer and
are started again. One crash says little about a side's speed and must not hide what is known of it.
A side that crashes more often is broken."""


@dataclass(frozen=True)
class SampleRow:
    """A sample and its position in the call."""

    program: str
    control: bool  # both arms are base
    block: int  # of the program, from 0
    position: int  # in the block, 0 .. 3; the first process of each side is a pair
    arm: Arm
    sample: ProcessSample


class Trouble(NamedTuple):
    """The reason why a side gives no number of a cell."""

    wrong: bool  # its results are not correct; False: it failed
    reason: str
    absent: bool = False  # the program answered, but does not know the cell


class Pairs(NamedTuple):
    """A block's values of a cell: those of its two pairs."""

    cell: GateCell
    base: tuple[float, float]
    head: tuple[float, float]


@dataclass
class Series:
    """A program, measured on `base` and `head`; for the control both are the same tree."""

    program: Program
    base: Tree
    head: Tree
    control: bool = False
    repeats: int = REPEATS
    blocks: int = 0
    seconds: float = 0.0  # of all blocks
    shortest_process_s: float = math.inf
    # by arm: errors of processes that were started again
    crashes: dict[Arm, list[str]] = field(default_factory=dict)
    trouble: dict[tuple[Arm, str], Trouble] = field(default_factory=dict)  # by arm and cell
    # by arm and cell, in the order of the blocks
    values: dict[tuple[Arm, str], list[float]] = field(default_factory=dict)

    @property
    def expected_s(self) -> float:
        """Expected duration of the next block: the mean of those before; 0 if there are none."""
        return self.seconds / self.blocks if self.blocks else 0.0

    @property
    def shortest_s(self) -> float:
        """Least duration of a block that is likely: as if all its processes were the shortest."""
        return (
            PROCESSES * self.shortest_process_s if math.isfinite(self.shortest_process_s) else 0.0
        )

    def sound(self) -> list[GateCell]:
        """Return the cells of which both sides still give numbers."""
        return [
            cell
            for cell in self.program.cells
            if not any((arm, cell.name) in self.trouble for arm in ARMS)
        ]

    def first_block(self, cell: GateCell) -> tuple[Sequence[float], Sequence[float]]:
        """Return both sides' values of a sound cell in the first block."""
        base, head = (self.values[arm, cell.name][:PAIRS] for arm in ARMS)
        return base, head

    def judged(
        self, cell: GateCell, new: bool = False, removed: bool = False
    ) -> tuple[Verdict, str] | None:
        """Return the verdict on a cell that is not sound, with the reason; None if it is sound.

        `new`: a cell without a number in base is information, not an error. `removed`: likewise a
        cell of base that head does not know.
        """
        base, head = (self.trouble.get((arm, cell.name)) for arm in ARMS)
        if head is not None and head.wrong:
            return Verdict.WRONG, f"head: {head.reason}"
        if head is not None and base is not None:
            return Verdict.UNMEASURED, f"base: {base.reason}; head: {head.reason}"
        if head is not None:
            return (
                Verdict.REMOVED if removed and head.absent else Verdict.FAILED,
                f"head: {head.reason}",
            )
        if base is not None:
            return Verdict.NEW if new else Verdict.FIXED, f"base: {base.reason}"
        return None

    def block(
        self, draw: random.Random, take: Take, keep: Callable[[SampleRow], None]
    ) -> Sequence[Pairs]:
        """Run four processes, or fewer if a side fails. Return the values of the sound cells.

        A process that gave no answer is started again (at most `repeats` on each side), unless it
        hung. A side that has failed does not run again; the other side does if it has no result
        yet.
        """
        order = block_order(draw)
        seen: dict[str, list[ProcessSample]] = {arm: [] for arm in ARMS}
        hash_seeds = [draw.randrange(HASH_SEEDS) for _ in range(PAIRS)]
        for position, arm in enumerate(order):
            failed, other = self._failed(arm), self._failed("head" if arm == "base" else "base")
            if failed or (other and self._known(arm)):
                continue
            pair = 0 if self._is_deterministic() else len(seen[arm])
            fixed = {HASH_SEED: str(hash_seeds[pair])}
            sample = self._sample(arm, position, pair, fixed, draw, take, keep)
            self._learn(arm, sample)
            seen[arm].append(sample)
        self.blocks += 1
        return [Pairs(cell, *(_two(seen[arm], cell) for arm in ARMS)) for cell in self.sound()]

    def _sample(
        self,
        arm: Arm,
        position: int,
        pair: int,
        fixed: Mapping[str, str],
        draw: random.Random,
        take: Take,
        keep: Callable[[SampleRow], None],
    ) -> ProcessSample:
        """Run one process, and another one in its place if it gave no answer and may be repeated.
        `pair` is its number in the block, 0 or 1, among those of its side; `fixed` has the
        variables that both sides of a pair share.
        """
        tree = self.base if arm == "base" else self.head
        crashes = self.crashes.setdefault(arm, [])
        while True:
            length = 0 if self.program.answers == COUNT else draw.randrange(MOST_PADDING)
            environment = {PADDING: "x" * length, **fixed}
            sample = take(tree, self.program, environment, PAIRS * self.blocks + pair)
            self.seconds += sample.seconds
            self.shortest_process_s = min(self.shortest_process_s, sample.seconds)
            keep(SampleRow(self.program.name, self.control, self.blocks, position, arm, sample))
            if sample.error is None or sample.timed_out or len(crashes) >= self.repeats:
                return sample
            crashes.append(sample.error)

    def _learn(self, arm: Arm, sample: ProcessSample) -> None:
        reason = sample.wrong or sample.error
        for cell in self.program.cells:
            if reason is not None:
                self.trouble[arm, cell.name] = Trouble(sample.wrong is not None, reason)
            elif cell.name in sample.values:
                self.values.setdefault((arm, cell.name), []).append(sample.values[cell.name])
            else:
                reason_of_cell = sample.missing.get(cell.name, "the answer has no such number")
                self.trouble[arm, cell.name] = Trouble(
                    False, reason_of_cell, cell.name in sample.absent
                )

    def _is_deterministic(self) -> bool:
        """Return True if a cell must have one value in a block, so that both pairs get the same
        numbers.
        """
        return any(cell.metric.deterministic for cell in self.program.cells)

    def _failed(self, arm: str) -> bool:
        """Return True if a side gives no number of any cell any more."""
        return all((arm, cell.name) in self.trouble for cell in self.program.cells)

    def _known(self, arm: str) -> bool:
        """Return True if a side has a result, good or bad, of any cell."""
        return any(
            (arm, cell.name) in each
            for each in (self.values, self.trouble)
            for cell in self.program.cells
        )


def _two(samples: Sequence[ProcessSample], cell: GateCell) -> tuple[float, float]:
    first, second = (sample.values[cell.name] for sample in samples)
    return first, second
