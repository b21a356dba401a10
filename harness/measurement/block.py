"""A block: all arms of one cell, each `repeats` times, interleaved in random order.

In each repeat every arm runs once, in an order drawn anew, so that slow drift of the host cannot
favour an arm. Each run has a process of its own, one at a time. Nothing drifts in a simulation, and
no process has anything to hide from the next: simulated runs share ours. There, every arm also runs
once with each of the block's variants: constants that replace the machine's own.

Of a noisy arm a few repeats leave a wide interval. So a block may have a `Narrowing`: arms whose
interval is too wide run again, until it is narrow enough or a bound is reached. The rule looks at
the width of an interval alone, and at one arm at a time, so it favours none.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from harness.measurement.interval import mean_interval
from harness.measurement.lock import measuring_lock, say_on_stderr
from harness.measurement.records import rate_of
from harness.measurement.run import run_in_fresh_process, run_once
from harness.measurement.spec import Run
from harness.measurement.variant import mark_reached

Progress = Callable[[int, int, str], None]
"""Receives the runs done, the runs in all, and the phase (`dynamic-2: measuring`), on another
thread.
"""


Constants = Mapping[str, float]
"""Constants of a simulated machine by path."""


@dataclass(frozen=True)
class Narrowing:
    """Rule for more repeats. `spread`: upper over lower end of the interval of a mean, at most;
    `repeats`: most runs of an arm.
    """

    spread: float
    repeats: int

    def wide(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return the arms of the records whose mean rate has a wider interval. An arm with fewer
        than two correct runs has none, and is no such arm.
        """
        rates: dict[str, list[float]] = defaultdict(list)
        for record in records:
            if record["error"] is None and record["correct"]:
                rates[record["arm"]].append(rate_of(record) or 0.0)
        intervals = {arm: mean_interval(seen) for arm, seen in rates.items() if len(seen) > 1}
        return [arm for arm, (_, low, high) in intervals.items() if high > self.spread * low]


def block_order(
    runs_by_arm: Mapping[str, Run], repeats: int, seed: int, variants: Sequence[Constants] = ()
) -> list[Run]:
    """Return the runs of a block in their order: for each repeat, a permutation of the arms drawn
    from `seed`; then the variants, with the chances of the first repeat.
    """
    draw = random.Random(seed)
    order: list[Run] = []
    for repeat in range(repeats):
        arms = list(runs_by_arm)
        draw.shuffle(arms)
        order += [
            replace(runs_by_arm[arm], arm=arm, repeat=repeat, order_in_block=len(order) + i)
            for i, arm in enumerate(arms)
        ]
    for constants in variants:
        varied = [
            replace(run, arm=arm, constants={**run.constants, **constants})
            for arm, run in runs_by_arm.items()
        ]
        order += [replace(run, order_in_block=len(order) + i) for i, run in enumerate(varied)]
    return order


def run_block(
    runs_by_arm: Mapping[str, Run],
    repeats: int,
    seed: int,
    progress: Progress | None = None,
    notify: Callable[[str], None] = say_on_stderr,
    variants: Sequence[Constants] = (),
    finished: Sequence[dict[str, Any]] = (),
    narrowing: Narrowing | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the record of each run as it ends. `notify` gets a line if another measuring process
    must be waited for.

    Simulated runs wait for nobody: another process does not change what they say. `finished`: the
    records of the block's first runs, which are not made again. With `narrowing` arms whose
    interval is too wide run again.
    """
    tell = progress or (lambda done, total, text: None)
    order = block_order(runs_by_arm, repeats, seed, variants)
    nominal: dict[tuple[str, int], dict[str, Any]] = {}  # by arm and repeat

    def record_of(run: Run, done: int) -> dict[str, Any]:
        own = runs_by_arm[run.arm]
        is_variant = dict(run.constants) != dict(own.constants)
        beside = nominal.get((run.arm, run.repeat)) if is_variant else None
        if done < len(finished):
            record = finished[done]
        else:
            how = run_once if run.simulated else run_in_fresh_process
            record = how(run, announce=lambda phase: tell(done, len(order), f"{run.arm}: {phase}"))
            if beside is not None:
                mark_reached(record, beside)
        if not is_variant:
            nominal[run.arm, run.repeat] = record
        return record

    with nullcontext() if all(run.simulated for run in order) else measuring_lock(notify):
        records = []
        for done, run in enumerate(order):
            records.append(record_of(run, done))
            yield records[-1]
        if narrowing is not None:
            draw = random.Random(seed)
            for repeat in range(repeats, narrowing.repeats):
                arms = narrowing.wide(records)
                draw.shuffle(arms)
                for arm in arms:
                    done = len(records)
                    again = replace(runs_by_arm[arm], arm=arm, repeat=repeat, order_in_block=done)
                    order.append(again)
                    records.append(record_of(again, done))
                    yield records[-1]
    tell(len(order), len(order), "done")
