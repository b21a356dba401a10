"""A block: all arms of one cell, each `repeats` times, interleaved in random order.

In each repeat every arm runs once, in an order drawn anew, so that slow drift of the host cannot favour an arm. Each run has a
process of its own, one at a time. Nothing drifts in a simulation, and no process has anything to hide from the next: simulated
runs share ours. There, every arm also runs once with each of the block's variants: constants that replace the machine's own.
Where these cannot matter, the run is the nominal one (`measurement.variant`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from harness.measurement.lock import measuring_lock, say_on_stderr
from harness.measurement.run import measure, run_in_fresh_process
from harness.measurement.spec import RunSpec
from harness.measurement.variant import as_variant, is_unreached

Progress = Callable[[int, int, str], None]
"""Is told: runs done, runs in all, what is going on (`dynamic-2: measuring`). It is called from another thread."""


Constants = Mapping[str, float]
"""Constants of a simulated machine by path."""


def block_order(
    specs_by_arm: Mapping[str, RunSpec], repeats: int, seed: int, variants: Sequence[Constants] = ()
) -> list[RunSpec]:
    """The runs of a block in their order: for each repeat, a permutation of the arms drawn from `seed`; then the variants, with
    the chances of the first repeat.
    """
    draw = random.Random(seed)
    order: list[RunSpec] = []
    for repeat in range(repeats):
        arms = list(specs_by_arm)
        draw.shuffle(arms)
        order += [
            replace(specs_by_arm[arm], arm=arm, repeat=repeat, order_in_block=len(order) + i) for i, arm in enumerate(arms)
        ]
    for constants in variants:
        varied = [replace(spec, arm=arm, constants={**spec.constants, **constants}) for arm, spec in specs_by_arm.items()]
        order += [replace(spec, order_in_block=len(order) + i) for i, spec in enumerate(varied)]
    return order


def run_block(
    specs_by_arm: Mapping[str, RunSpec],
    repeats: int,
    seed: int,
    progress: Progress | None = None,
    notify: Callable[[str], None] = say_on_stderr,
    variants: Sequence[Constants] = (),
    finished: Sequence[dict[str, Any]] = (),
) -> Iterator[dict[str, Any]]:
    """Yield the record of each run as it ends. `notify` is told if another measuring process must be waited for.

    Simulated runs wait for nobody: another process does not change what they say. `finished`: the records of the block's first
    runs, which are not made again.
    """
    tell = progress or (lambda done, total, text: None)
    order = block_order(specs_by_arm, repeats, seed, variants)
    with nullcontext() if all(spec.simulated for spec in order) else measuring_lock(notify):
        nominal: dict[str, dict[str, Any]] = {}  # by arm, the first repeat
        for done, spec in enumerate(order):
            if done < len(finished):
                nominal.setdefault(spec.arm, finished[done])
                yield finished[done]
                continue
            run = simulate if spec.simulated else run_in_fresh_process
            first = nominal.get(spec.arm)
            if first is not None and is_unreached(spec, specs_by_arm[spec.arm], first):
                yield as_variant(first, spec)
                continue
            record = run(spec, announce=lambda phase, done=done, spec=spec: tell(done, len(order), f"{spec.arm}: {phase}"))
            nominal.setdefault(spec.arm, record)
            yield record
    tell(len(order), len(order), "done")


def simulate(spec: RunSpec, announce: Callable[[str], None]) -> dict[str, Any]:
    """Do one simulated run here; returns its record."""
    from harness.measurement.source import commit

    return measure(spec, announce) | {"commit": commit()}


def measure_block(
    specs_by_arm: Mapping[str, RunSpec],
    repeats: int,
    seed: int,
    progress: Progress | None = None,
    notify: Callable[[str], None] = say_on_stderr,
) -> list[dict[str, Any]]:
    """The records of a whole block, in the order in which they were measured."""
    return list(run_block(specs_by_arm, repeats, seed, progress, notify))
