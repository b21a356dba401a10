"""A block: all arms of one cell, each `repeats` times, interleaved in random order.

In each repeat every arm runs once, in an order drawn anew, so that slow drift of the host cannot
favour an arm. Each run has a process of its own, one at a time. Nothing drifts in a simulation, and
no process has anything to hide from the next: simulated runs share ours. There, every arm also runs
once with each of the block's variants: constants that replace the machine's own. Where these cannot
matter, the run is the nominal one; where one seed decides what they do, there are more seeds
(`measurement.variant`).
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from harness.measurement.lock import measuring_lock, say_on_stderr
from harness.measurement.run import measure, run_in_fresh_process
from harness.measurement.spec import Run
from harness.measurement.variant import (
    VARIANT_SEEDS,
    as_variant,
    is_unreached,
    mark_reached,
    one_seed_decides,
)

Progress = Callable[[int, int, str], None]
"""Receives the runs done, the runs in all, and the phase (`dynamic-2: measuring`), on another
thread.
"""


Constants = Mapping[str, float]
"""Constants of a simulated machine by path."""

Varied = tuple[tuple[str, float], ...]
"""Constants of a variant in order, as a key."""


def block_order(
    runs_by_arm: Mapping[str, Run], repeats: int, seed: int, variants: Sequence[Constants] = ()
) -> list[Run]:
    """The runs of a block in their order: for each repeat, a permutation of the arms drawn from
    `seed`; then the variants, with the chances of the first repeat.
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
) -> Iterator[dict[str, Any]]:
    """Yield the record of each run as it ends. `notify` gets a line if another measuring process
    must be waited for.

    Simulated runs wait for nobody: another process does not change what they say. `finished`: the
    records of the block's first runs, which are not made again.
    """
    tell = progress or (lambda done, total, text: None)
    order = block_order(runs_by_arm, repeats, seed, variants)
    nominal: dict[tuple[str, int], dict[str, Any]] = {}  # by arm and repeat
    varied: dict[str, dict[Varied, dict[str, Any]]] = defaultdict(
        dict
    )  # by arm, of the first repeat

    def record_of(run: Run, done: int) -> dict[str, Any]:
        own = runs_by_arm[run.arm]
        is_variant = dict(run.constants) != dict(own.constants)
        beside = nominal.get((run.arm, run.repeat)) if is_variant else None
        if done < len(finished):
            record = finished[done]
        elif beside is not None and is_unreached(run, replace(own, repeat=run.repeat), beside):
            record = as_variant(beside, run)
        else:
            how = simulate if run.simulated else run_in_fresh_process
            record = how(run, announce=lambda phase: tell(done, len(order), f"{run.arm}: {phase}"))
            if beside is not None:
                mark_reached(record, beside)
        if not is_variant:
            nominal[run.arm, run.repeat] = record
        elif run.repeat == 0:
            varied[run.arm][tuple(sorted(run.constants.items()))] = record
        return record

    with nullcontext() if all(run.simulated for run in order) else measuring_lock(notify):
        for done, run in enumerate(order):
            yield record_of(run, done)
        doubtful = {
            arm: run
            for arm, run in runs_by_arm.items()
            if variants and _needs_seeds(nominal[arm, 0], varied[arm])
        }
        more = further_seeds(doubtful, repeats, variants, len(order))
        order += more
        for done, run in enumerate(more, len(order) - len(more)):
            yield record_of(run, done)
    tell(len(order), len(order), "done")


def _needs_seeds(nominal: Mapping[str, Any], varied: Mapping[Varied, Mapping[str, Any]]) -> bool:
    """Return True if one seed decides what some constant does to an arm."""
    ends: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for constants, record in varied.items():
        ends[tuple(path for path, _ in constants)].append(record)
    return any(one_seed_decides(nominal, records) for records in ends.values())


def further_seeds(
    runs_by_arm: Mapping[str, Run], repeats: int, variants: Sequence[Constants], done: int
) -> list[Run]:
    """The runs of arms with further seeds, up to `VARIANT_SEEDS`: nominal ones that are not there
    yet, and all variants.
    """
    more: list[Run] = []
    for arm, run in runs_by_arm.items():
        for repeat in range(1, max(VARIANT_SEEDS, repeats)):
            each = replace(run, arm=arm, repeat=repeat)
            more += [each] if repeat >= repeats else []
            more += [
                replace(each, constants={**run.constants, **constants}) for constants in variants
            ]
    return [replace(run, order_in_block=done + place) for place, run in enumerate(more)]


def simulate(run: Run, announce: Callable[[str], None]) -> dict[str, Any]:
    """Do one simulated run here; returns its record."""
    from harness.measurement.source import commit

    return measure(run, announce) | {"commit": commit()}
