"""The measuring of a call: blocks of all open programs in turns, until everything is decided or the
time is up.

One round is one block of every open program, in random order, so that a drift of the host affects
all of them. Programs with a cell that looks slower than the factor, but is not proven slower, get
three quarters of the time, because the verdict waits for them. The control gets one block for every
`n` blocks of the `n` programs, so its share of the time stays the same, however few programs are
open. Processes never overlap, neither here nor with other measuring of this user.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime

from harness.experiments.config import clock as shown_time
from harness.gate.cell import COUNT, GateCell
from harness.gate.decide import Control, Family
from harness.gate.errors import Interrupted
from harness.gate.instructions import counter
from harness.gate.notes import (
    Fitness,
    built_notes,
    control_notes,
    crash_notes,
    mean_notes,
    same_commit,
    side_notes,
)
from harness.gate.order import on_scale
from harness.gate.reach import (
    FACTORS,
    MIDDLE,
    MOST_BLOCKS,
    UPPER,
    least_factor,
    needed_blocks,
    scatter,
)
from harness.gate.sample import take as take_sample
from harness.gate.sequential import declare
from harness.gate.series import ARMS, SampleRow, Series, Take
from harness.gate.suite import Suite
from harness.gate.tree import Tree
from harness.gate.verdict import CellDecision, CellResult, Comparison, Verdict
from harness.measurement.lock import measuring_lock, say_on_stderr

Progress = Callable[[int, float, Mapping[str, Verdict]], None]
"""Called before each block with the number of blocks done, the most seconds left, and the verdict
on each cell so far; an open cell is inconclusive."""

UNKNOWN_RATIO = (float("nan"), 0.0, float("inf"))
"""Ratio and bounds of a cell without numbers."""

ENDED_EARLY = (
    "a cell was proven slower, which decides the call, so the others were measured no further"
)

BLOCKS_PER_SUSPECT = 3
"""Blocks of each program that looks slower for one block of another. On the same recording, three
found a slowdown of 5.5 % in 87 % of calls, one in 73 %."""


def compare(
    base: Tree,
    head: Tree,
    suite: Suite,
    *,
    factor: float,
    alpha: float,
    pairs: int | None,
    time_budget_s: float,
    seed: int,
    auto: bool = False,
    progress: Progress = lambda blocks, left_s, states: None,
    keep: Callable[[SampleRow], None] | None = None,
    take: Take = take_sample,
    notify: Callable[[str], None] = say_on_stderr,
    lock: Callable[[Callable[[str], None]], AbstractContextManager[None]] = measuring_lock,
    clock: Callable[[], float] = time.monotonic,
) -> Comparison:
    """Measure head against base. `pairs`: the number of pairs of each cell; None: as many as are
    needed, within `time_budget_s` (inf: no limit).

    A block does not begin if it would not end in time, judged by the mean of its program's blocks
    so far. `seed` decides the order of everything. `auto`: the factor is the least that can be
    decided, judged by the first round, but at least `factor`. `keep` receives each sample as it
    comes. If the samples of `take` are made up, `lock` must do nothing, and `clock` must return the
    time that the samples took.

    Raises UserError if `pairs` is too few to decide anything. Raises Interrupted, a
    KeyboardInterrupt, on Ctrl-C: it carries the comparison so far, so that no measurement is lost.
    """
    call = _Call(base, head, suite, factor, alpha, pairs, seed)
    call.keep, call.take, call.clock = keep or call.keep, take, clock
    call.notify, call.auto = notify, auto
    try:
        with lock(notify):
            call.measure(time_budget_s, progress)
    except KeyboardInterrupt:
        call.notes.append("interrupted")
        raise Interrupted(call.comparison()) from None
    return call.comparison()


class _Call:
    """One call: the tests, the programs' series, and the facts learnt about the host."""

    clock: Callable[[], float]
    take: Take
    notify: Callable[[str], None]
    auto: bool

    def __init__(
        self,
        base: Tree,
        head: Tree,
        suite: Suite,
        factor: float,
        alpha: float,
        pairs: int | None,
        seed: int,
    ) -> None:
        looks = declare(len(suite.cells), alpha, pairs)
        self.suite, self.factor, self.alpha, self.seed = suite, factor, alpha, seed
        self.family = Family(suite.cells, factor, alpha, looks)
        controlled = next(cell for cell in suite.cells if cell.name == suite.control)
        self.control = Control(controlled, factor, alpha, looks)
        self.series = [Series(program, base, head) for program in suite.programs]
        self.control_series = Series(suite.program_of(suite.control), base, base, control=True)
        self.sides = {"base": base.side, "head": head.side}
        self.fitness = Fitness()
        self.notes = [*side_notes(self.sides.items()), *base.notes, *head.notes]
        if base.directory == head.directory:
            self.notes.append(
                "base and head are the same directory: there is no difference to be found"
            )
        elif (
            base.side.commit
            and base.side.commit == head.side.commit
            and not (base.side.dirty or head.side.dirty)
        ):
            self.notes.append(same_commit(base.side.commit))
        counts = any(program.answers == COUNT for program in suite.programs) and counter()
        if counts:
            self.notes.append(f"instructions are counted by {counts.name}")
        self.started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self.begin_s: float | None = None
        self.left_out: list[Series] = []  # those for which the time budget is too small
        self.pilots = 0  # first blocks of each program that do not count
        self._draw = random.Random(seed)

    def keep(self, row: SampleRow) -> None:
        """Do nothing; replaced by the caller's function if it wants the samples."""

    def measure(self, time_budget_s: float, progress: Progress) -> None:
        """Measure round after round, until nothing is open or no block fits into the time that is
        left."""
        self.begin_s = self.clock()
        end_s = self.begin_s + time_budget_s
        planned = False
        while self._open():
            measured = False
            for series in self._round():
                if self._is_settled():
                    break
                if not series.control and not self._is_open(series):
                    continue  # decided in this round, by another cell's block: Holm's rule
                left_s = end_s - self.clock()
                if left_s <= 0.0 or series.expected_s > left_s:
                    continue
                progress(self._blocks(), left_s, self.standing())
                self._block(series)
                measured = measured or not series.control
            if self._is_settled():
                if self._open():
                    self.notes.append(ENDED_EARLY)
                break
            if not measured:
                self.notes.append(self._unfinished(time_budget_s))
                break
            if not planned:
                planned = True
                self._foretell(end_s - self.clock())
                self._plan(end_s - self.clock(), time_budget_s)
        progress(self._blocks(), max(0.0, end_s - self.clock()), self.standing())

    def _foretell(self, left_s: float) -> None:
        """Say after the first round which factor can be decided, and take it if the caller wants
        that."""
        blocks, chance = self._foreseen(left_s), UPPER if self.auto else MIDDLE
        scatters = {
            cell.name: scatter(on_scale(cell, *series.first_block(cell)), chance)
            for series in self.series
            if series.blocks
            for cell in series.sound()
            if not cell.metric.deterministic and not cell.metric.may_be_zero
        }
        if not scatters or blocks < self.family.looks.first:
            return  # for too few blocks, `_plan` says how much time is needed
        least = least_factor(list(scatters.values()), blocks, self.family.looks, self.alpha)
        if not self.auto and least <= self.factor:
            return
        worst = max(scatters, key=scatters.__getitem__)
        found = f"{least:g} or more" if least < math.inf else f"more than {FACTORS[-1]:g}"
        note = (
            f"by the first round, whose noisiest cell is {worst}, {blocks} blocks of each cell "
            f"will probably decide a factor of {found}"
        )
        if self.auto:
            self.factor = max(self.factor, min(least, FACTORS[-1]))
            self.family = Family(self.suite.cells, self.factor, self.alpha, self.family.looks)
            self.control.factor = self.control.cell.metric.factor or self.factor
            self.pilots = 1
            note += f": the factor is {self.factor:g}"
        else:
            note += f"; it is {self.factor:g}, and --factor auto takes one that can be decided"
        self.notify(note)
        self.notes.append(note)

    def _foreseen(self, left_s: float) -> int:
        """Return the number of blocks of each cell that there is time for, but those that would
        not count."""
        if self.family.looks.is_fixed:
            return self.family.looks.first
        round_s = sum(each.expected_s for each in (*self.series, self.control_series))
        more = int(min(left_s / round_s, MOST_BLOCKS)) if round_s > 0.0 else MOST_BLOCKS
        return more if self.auto else more + 1

    def _plan(self, left_s: float, time_budget_s: float) -> None:
        """Leave out the last programs after the first round if there is no time for a look at all.
        Their share of the time would be wasted, because nothing is decided before a look."""
        first = self.family.looks.first + self.pilots
        needed_s = {
            series.program.name: (first - series.blocks) * series.shortest_s
            for series in self.series
            if self._is_open(series)
        }
        control_s = (first - self.control_series.blocks) * self.control_series.shortest_s
        if control_s + sum(needed_s.values()) <= left_s:
            return
        kept, free_s = [], left_s - control_s
        for series in self.series:
            name = series.program.name
            if name in needed_s and needed_s[name] <= free_s:
                kept.append(name)
                free_s -= needed_s[name]
            elif name in needed_s:
                self.left_out.append(series)
        whole_s = time_budget_s - left_s + control_s + sum(needed_s.values())
        scope = f"measured further: {', '.join(kept)}" if kept else "nothing is measured further"
        self.notes.append(
            f"a first look at all cells needs at least {shown_time(whole_s)}, the time budget is "
            f"{shown_time(time_budget_s)}: {scope}"
        )

    def _is_settled(self) -> bool:
        """Return True if a cell is proven slower, so that nothing that may still be found changes
        the exit code: every program has answered, and only wrong results would count for more."""
        return (
            not self.family.looks.is_fixed
            and Verdict.REGRESSED in self.standing().values()
            and all(series.blocks for series in self.series)
        )

    def _unfinished(self, time_budget_s: float) -> str:
        open_cells = [
            name for name, verdict in self.standing().items() if verdict is Verdict.INCONCLUSIVE
        ]
        first = self.family.looks.first
        unseen = sum(
            result.decision.blocks < first
            for result in self.family.results()
            if result.cell.name in open_cells
        )
        reason = (
            f"the time budget of {time_budget_s:g} s ended before {len(open_cells)} cell(s) "
            "were decided"
        )
        return (
            f"{reason}; {unseen} of them had fewer than {first} blocks, which can decide nothing"
            if unseen
            else reason
        )

    def standing(self) -> dict[str, Verdict]:
        """Return the verdict on each cell so far; an open cell is inconclusive, measured or not."""
        standing = {}
        for series in self.series:
            for cell in series.program.cells:
                proven = self.family.verdict(cell.name)
                judged = self._judged(series, cell, proven)
                standing[cell.name] = (
                    judged[0]
                    if judged
                    else Verdict.INCONCLUSIVE
                    if proven is Verdict.UNMEASURED
                    else proven
                )
        return standing

    def comparison(self) -> Comparison:
        """Return the comparison as it is now."""
        control = self._control_result()
        cells = tuple(self._result(result) for result in self.family.results())
        return Comparison(
            suite=self.suite.name,
            base=self.sides["base"],
            head=self.sides["head"],
            cells=cells,
            control=control,
            control_failed=self._control_failed(control),
            factor=self.factor,
            alpha=self.alpha,
            seed=self.seed,
            started_at=self.started_at,
            seconds=0.0 if self.begin_s is None else self.clock() - self.begin_s,
            notes=(*self.notes, *mean_notes(cells, self.factor), *self._learnt(control)),
            title=self.suite.title,
            needed_s=self._needed_s(cells),
        )

    def _needed_s(self, cells: Sequence[CellResult]) -> float | None:
        """Return the time budget that would probably decide the inconclusive cells, judged by the
        noise and the durations so far. None if there are none, if the count of pairs is fixed, or
        if no duration of some program is known.
        """
        needed = {
            result.cell.name: self._needed_blocks(result)
            for result in cells
            if result.verdict is Verdict.INCONCLUSIVE
        }
        if not needed or self.family.looks.is_fixed:
            return None
        if not all(each.expected_s for each in self.series):
            return None
        counts = [
            max(each.blocks, *(needed.get(cell.name, 0) for cell in each.program.cells), 0)
            for each in self.series
        ]
        total_s = sum(
            count * each.expected_s for count, each in zip(counts, self.series, strict=True)
        )
        # a control that has not run takes as long as its program
        controls = (each for each in self.series if each.program is self.control_series.program)
        control_s = self.control_series.expected_s or next(controls).expected_s
        return total_s + sum(counts) / len(counts) * control_s

    def _needed_blocks(self, result: CellResult) -> int:
        """Return how many blocks of a program would probably decide its cell. If its bounds allow
        it, head is taken to be as fast as base, else to have the ratio that was measured."""
        cell, decision, looks = result.cell, result.decision, self.family.looks
        if not result.base or cell.metric.deterministic or cell.metric.may_be_zero:
            return self.pilots + max(looks.first, looks.next(decision.blocks) or 0)
        level = math.log(cell.metric.factor or self.factor)
        ratio = math.log(decision.ratio) if decision.low > 1.0 else 0.0
        deviation = scatter(on_scale(cell, result.base, result.head), MIDDLE)
        share = self.alpha / len(self.suite.cells)
        found = needed_blocks(deviation, abs(level - ratio), decision.blocks, looks, share)
        return self.pilots + found

    def _learnt(self, control: CellResult) -> Iterator[str]:
        """Yield notes on facts that the samples have shown."""
        yield from built_notes(self.sides["base"], self.sides["head"])
        yield from self.fitness.notes()
        for series in (*self.series, self.control_series):
            yield from crash_notes(series.program.name, series.control, series.crashes)
        if not self._control_failed(control):
            yield from control_notes(control, self.factor)

    def _round(self) -> list[Series]:
        """Return the series of the next round: the open programs in random order, and the control
        while it works."""
        leaning = set(self.family.leaning())
        chosen = [series for series in self.series if self._is_open(series)]
        suspects = [
            series
            for series in chosen
            if any(cell.name in leaning for cell in series.program.cells)
        ]
        if suspects:
            chosen += suspects * (
                BLOCKS_PER_SUSPECT * (len(chosen) - len(suspects)) // len(suspects) - 1
            )
        is_decided = self.control.cell.metric.deterministic and self.control_series.blocks
        self._draw.shuffle(chosen)
        # the control comes last, so that a call that ends at a proof does not wait for it
        if self._controlled(self.control_series) and not is_decided:
            owed = (
                sum(series.blocks for series in self.series)
                - len(self.series) * self.control_series.blocks
            )
            chosen += [self.control_series] * (1 + owed // len(self.series))
        return chosen

    def _block(self, series: Series) -> None:
        for pairs in series.block(self._draw, self.take, self._keep):
            if not series.control:
                self.family.add(pairs.cell.name, pairs.base, pairs.head)
            elif pairs.cell.name == self.suite.control:
                self.control.add(pairs.base, pairs.head)

    def _keep(self, row: SampleRow) -> None:
        self.fitness.see(row.sample.host)
        side = "base" if row.control else row.arm
        if not self.sides[side].host:
            self.sides[side] = replace(self.sides[side], host=row.sample.host)
        self.keep(row)

    def _open(self) -> bool:
        return any(self._is_open(series) for series in self.series)

    def _is_open(self, series: Series) -> bool:
        """Return True if a program has a cell that still gives numbers and that more numbers may
        decide."""
        if series in self.left_out:
            return False
        undecided = set(self.family.open())
        return any(cell.name in undecided for cell in series.sound())

    def _controlled(self, series: Series) -> bool:
        return any(cell.name == self.suite.control for cell in series.sound())

    def _blocks(self) -> int:
        return self.control_series.blocks + sum(series.blocks for series in self.series)

    def _result(self, result: CellResult) -> CellResult:
        """Return the test's result for a cell, unless a side failed: a failure is worse than any
        number."""
        name = result.cell.name
        series = next(each for each in self.series if result.cell in each.program.cells)
        judged = self._judged(series, result.cell, result.verdict)
        if judged is None:
            if result.verdict is Verdict.UNMEASURED:
                return replace(result, reason="there was no time for a block of it")
            if result.verdict is Verdict.INCONCLUSIVE and series in self.left_out:
                return replace(result, reason="left out: the time budget is too small for it")
            return result
        base, head = (tuple(series.values.get((arm, name), ())) for arm in ("base", "head"))
        return CellResult(
            result.cell,
            CellDecision(judged[0], *UNKNOWN_RATIO, min(len(base), len(head)) // 2),
            base,
            head,
            judged[1],
        )

    def _judged(
        self, series: Series, cell: GateCell, proven: Verdict
    ) -> tuple[Verdict, str] | None:
        """Return the verdict and reason for a cell that a side gives no number for. None if head is
        proven slower, because a later failure of a side does not undo that proof."""
        judged = series.judged(
            cell, self.suite.new_is_information, self.suite.removed_is_information
        )
        if judged is not None and proven is Verdict.REGRESSED and judged[0] is not Verdict.WRONG:
            return None
        return judged

    def _control_failed(self, control: CellResult) -> bool:
        """Return True if base differs from itself, or gave no number when compared with itself, so
        that nothing shows that it does not."""
        return self.control.failed or bool(control.reason)

    def _control_result(self) -> CellResult:
        result, series = self.control.result(), self.control_series
        reasons = [
            series.trouble[arm, self.suite.control].reason
            for arm in ARMS
            if (arm, self.suite.control) in series.trouble
        ]
        return replace(result, reason=reasons[0]) if reasons else result
