"""A block: all arms of one cell, each `repeats` times, interleaved in random order.

In each repeat every arm runs once, in an order drawn anew, so that slow drift of the host cannot
favour an arm. Each run has a process of its own, one at a time. Nothing drifts in a simulation, and
no process has anything to hide from the next: simulated runs share ours. There, every arm also runs
once with each of the block's variants: constants that replace the machine's own.

A block may have `Finals`: then the best arms run again, and these runs compare them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from harness.measurement.finals import Finals
from harness.measurement.lock import measuring_lock, say_on_stderr
from harness.measurement.run import run_in_fresh_process, run_once
from harness.measurement.spec import Run
from harness.measurement.variant import mark_reached

Progress = Callable[[int, int, str], None]
"""Receives the runs done, the runs in all, and the phase (`dynamic-2: measuring`), on another
thread.
"""


Constants = Mapping[str, float]
"""Constants of a simulated machine by path."""


def block_order(
    runs_by_arm: Mapping[str, Run], repeats: int, seed: int, variants: Sequence[Constants] = ()
) -> list[Run]:
    """Return the runs of a block in their order: for each repeat, a permutation of the arms drawn
    from `seed`; then the variants, with the chances of the first repeat.
    """
    order = _interleaved(runs_by_arm, range(repeats), seed)
    for constants in variants:
        varied = [
            replace(run, arm=arm, constants={**run.constants, **constants})
            for arm, run in runs_by_arm.items()
        ]
        order += [replace(run, order_in_block=len(order) + i) for i, run in enumerate(varied)]
    return order


def final_order(
    runs_by_arm: Mapping[str, Run],
    repeats: int,
    seed: int,
    finals: Finals,
    records: Sequence[Mapping[str, Any]],
) -> list[Run]:
    """Return the final runs of a block in their order, from the records of its first runs."""
    chosen = {arm: runs_by_arm[arm] for arm in finals.arms(records)}
    later = _interleaved(chosen, range(repeats, repeats + finals.repeats), seed)
    return [
        replace(run, order_in_block=len(records) + place, final=True)
        for place, run in enumerate(later)
    ]


def _interleaved(runs_by_arm: Mapping[str, Run], repeats: range, seed: int) -> list[Run]:
    """Return for each repeat a permutation of the arms, drawn from `seed`."""
    draw = random.Random(seed)
    order: list[Run] = []
    for repeat in repeats:
        arms = list(runs_by_arm)
        draw.shuffle(arms)
        order += [
            replace(runs_by_arm[arm], arm=arm, repeat=repeat, order_in_block=len(order) + i)
            for i, arm in enumerate(arms)
        ]
    return order


def run_block(
    runs_by_arm: Mapping[str, Run],
    repeats: int,
    seed: int,
    progress: Progress | None = None,
    notify: Callable[[str], None] = say_on_stderr,
    variants: Sequence[Constants] = (),
    finished: Sequence[dict[str, Any]] = (),
    finals: Finals | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield the record of each run as it ends. `notify` gets a line if another measuring process
    must be waited for.

    Simulated runs wait for nobody: another process does not change what they say. `finished`: the
    records of the block's first runs, which are not made again. With `finals` the best arms run
    again after the others.
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
        if finals is not None:
            order += final_order(runs_by_arm, repeats, seed, finals, records)
            for done, run in enumerate(order[len(records) :], start=len(records)):
                yield record_of(run, done)
    tell(len(order), len(order), "done")
