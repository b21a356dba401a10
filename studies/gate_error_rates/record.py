"""Measurement of rounds into a recording: blocks as real calls measure them, four fresh processes
in a row, base and injected head.

A process that fails costs its block, and the recording notes it; several failures in a row end the
recording.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.errors import RunFailed
from harness.gate.block_ranks import Blocks
from harness.gate.cell import GateCell, Program
from harness.gate.notes import LIMITS
from harness.gate.order import HEAD, on_scale
from harness.gate.sample import ProcessSample
from harness.gate.series import SampleRow, Series, Take
from harness.gate.suite import Suite
from harness.gate.tree import Tree
from studies.gate_error_rates.calibrate import LARGE, amounts
from studies.gate_error_rates.inject import ABOUT_NS, environment
from studies.gate_error_rates.recording import (
    BASE,
    CONTROL,
    Recording,
    WorkAmount,
    Writer,
    next_round,
)

FAILURES_IN_A_ROW = 3
FEWEST_BLOCKS, MOST_BLOCKS = 6, 60  # blocks for the effect of an amount
CALIBRATION_LEVEL = 0.1  # chance of error at either end of its interval
MAX_REASON = 200  # characters


def block_rows(
    take: Take,
    tree: Tree,
    program: Program,
    draw: random.Random,
    arm: WorkAmount | None = None,
    number: int = 0,
) -> list[dict[str, Any]]:
    """Return the four processes of block `number`, measured as in a call. Raises RunFailed with the
    reason if one gives no number."""
    head, rows = replace(tree), []  # a different object than base's tree, but an equal one

    def injecting(
        side: Tree, program: Program, settings: Mapping[str, str], pair: int
    ) -> ProcessSample:
        injected = (
            environment(arm.kind, arm.amount) if arm is not None and side is head else environment()
        )
        return take(side, program, {**settings, **injected}, pair)

    series = Series(program, tree, head, repeats=0, blocks=number)
    series.block(draw, injecting, rows.append)
    if series.trouble:
        reason = next(iter(series.trouble.values())).reason
        raise RunFailed(f"{program.name}: {' '.join(reason.split())[:MAX_REASON]}")
    return [_row(row) for row in rows]


def _row(row: SampleRow) -> dict[str, Any]:
    sample = row.sample
    return {
        "position": row.position,
        "side": row.arm,
        "at": sample.started_at,
        "seconds": sample.seconds,
        "values": dict(sample.values),
        "host": sample.host.get("hostname_hash"),
        "disturbance": {name: sample.host.get(name) for name in LIMITS},
    }


def find_amounts(
    take: Take,
    tree: Tree,
    writer: Writer,
    program: Program,
    cell: GateCell,
    wanted: Sequence[WorkAmount],
    draw: random.Random,
    progress: Callable[[str], None],
) -> list[WorkAmount]:
    """Return the arms with their amounts: those in the recording, and the others by calibrating
    their kind, which are added to it."""
    known = dict(writer.recording.arms)
    missing = [arm for arm in wanted if arm.name not in known]
    for kind in dict.fromkeys(arm.kind for arm in missing):

        def measure(amount: int, close: float, kind: str = kind) -> float:
            progress(f"how much {kind} is how slow: trying {amount} in a billion tuples")
            ratio = _ratio(
                take, tree, program, cell, WorkAmount(kind, 1 + LARGE, amount), close, draw
            )
            progress(f"how much {kind} is how slow: {amount} in a billion tuples made {ratio:.4f}")
            return ratio

        arms = [arm for arm in missing if arm.kind == kind]
        start = LARGE * _for_twice(take, tree, program, cell, kind)
        for arm, amount in zip(
            arms, amounts(measure, [arm.wanted for arm in arms], start), strict=True
        ):
            known[arm.name] = WorkAmount(kind, arm.wanted, amount)
            writer.add_arm(known[arm.name])
    return [known[arm.name] for arm in wanted]


def record(
    take: Take,
    tree: Tree,
    writer: Writer,
    suite: Suite,
    program: Program,
    arms: Sequence[WorkAmount],
    *,
    calls: int,
    time_budget_s: float,
    draw: random.Random,
    progress: Callable[[str], None],
) -> None:
    """Measure rounds until they hold `calls` disjoint calls, or the time is up. The round in
    progress is finished.

    The arms' work is injected into `program`. Raises RunFailed if several processes in a row fail.
    """
    plan: list[tuple[Program, str, WorkAmount | None]] = [
        (one, BASE, None) for one in suite.programs
    ]
    plan += [
        (suite.program_of(suite.control), CONTROL, None),
        *((program, arm.name, arm) for arm in arms),
    ]
    end_s = time.monotonic() + time_budget_s
    number, measured_s = next_round(writer.recording), seconds_of_base(writer.recording)
    failures = 0
    while measured_s < (calls + 1) * suite.time_budget_s and time.monotonic() < end_s:
        draw.shuffle(plan)
        for place, (of, name, arm) in enumerate(plan):
            left_s = max(0.0, end_s - time.monotonic())
            progress(
                f"round {number + 1}, block {place + 1} of {len(plan)}, {left_s / 60:.0f} min "
                f"left: {of.name}, {name}"
            )
            try:
                rows = block_rows(take, tree, of, draw, arm, number)
            except RunFailed as error:
                writer.append([{"round": number, "failed": str(error)}])
                failures += 1
                if failures == FAILURES_IN_A_ROW:
                    raise RunFailed(
                        f"{failures} processes in a row failed, the last of them {error}"
                    ) from error
                continue
            failures = 0
            amount = 0 if arm is None else arm.amount
            writer.append(
                [
                    {"round": number, "program": of.name, "arm": name, "amount": amount, **row}
                    for row in rows
                ]
            )
            if arm is None:
                measured_s += sum(row["seconds"] for row in rows)
        number += 1


def seconds_of_base(recording: Recording) -> float:
    """Return the duration [s] of the blocks with nothing injected, which A/A calls are made of."""
    return sum(
        sum(block.seconds)
        for blocks in recording.rounds
        for (_, arm), block in blocks.items()
        if arm in (BASE, CONTROL)
    )


def _ratio(
    take: Take,
    tree: Tree,
    program: Program,
    cell: GateCell,
    arm: WorkAmount,
    close: float,
    draw: random.Random,
) -> float:
    """Return head over base in the bad direction, as `block_ranks` estimates it once half the width
    of the interval is at most `close`, or after `MOST_BLOCKS`."""
    values: dict[str, list[float]] = {BASE: [], HEAD: []}
    for count in range(1, MOST_BLOCKS + 1):
        for row in block_rows(take, tree, program, draw, arm):
            values[row["side"]].append(row["values"][cell.name])
        blocks = Blocks(on_scale(cell, values[BASE], values[HEAD]))
        if (
            count >= FEWEST_BLOCKS
            and blocks.high(CALIBRATION_LEVEL) - blocks.low(CALIBRATION_LEVEL) <= 2.0 * close
        ):
            break
    return math.exp(blocks.estimate())


def _for_twice(take: Take, tree: Tree, program: Program, cell: GateCell, kind: str) -> float:
    """Return a guess of the amount that doubles the time, from the duration of a unit, and ns per
    hop if the cell measures that."""
    hop_ns = 100.0
    if cell.metric.name == "ns_per_hop":
        hop_ns = block_rows(take, tree, program, random.Random(0))[0]["values"][cell.name]
    return 1e9 * hop_ns / ABOUT_NS[kind]
