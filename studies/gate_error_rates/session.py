"""One sitting of measuring: builds the binary, disturbs the host if asked to, finds amounts,
records, and makes true calls."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from harness.gate import compare, sample, tree
from harness.gate.series import Take
from harness.gate.suite import Suite
from harness.measurement.lock import measuring_lock
from studies.gate_error_rates import busy, identity, inject
from studies.gate_error_rates.record import find_amounts, record
from studies.gate_error_rates.recording import SAMPLES, WorkAmount, Writer
from studies.gate_error_rates.replay import Call, Injection
from studies.gate_error_rates.study import SAME
from studies.gate_error_rates.true_calls import CALLS, Terms, true_calls

if TYPE_CHECKING:
    from harness.gate.verdict import Comparison

HALF = "half"
TRUE_EFFECT = 1.05  # of the arm that true calls also use: the arm nearest to this


@dataclass(frozen=True)
class SessionOptions:
    """Options of a sitting. `show` receives messages for the moment, `note` messages that stay."""

    repository: Path
    directory: Path  # of the recording
    disturb: str
    calls: int
    time_budget_s: float
    true_calls: int
    seed: int
    show: Callable[[str], None]
    note: Callable[[str], None]


def sit(
    suite: Suite, place: Injection, arms: Sequence[WorkAmount], options: SessionOptions
) -> dict[str, list[Call]]:
    """Record until there is enough or the time is up. Then make true calls, and return them by
    condition.

    All of this holds the measuring lock, because another sitting may extend the recording while
    this one waits for it. Coins do not come from a seed: a sitting that continues another one must
    not repeat its random numbers.
    """
    commit = inject.injected_commit(options.repository)
    if inject.is_dirty(options.repository):
        options.note("the checkout has changes that are not committed: they are not measured")
    about = identity.of_recording(suite, place, commit, options.disturb)
    with measuring_lock(options.note):
        writer = Writer(options.directory / SAMPLES, about, identity.check)
        built = tree.prepare({"base": commit}, suite, options.repository, options.note)["base"]
        with _disturbing(options):
            if options.time_budget_s > 0:
                arms = _record(suite, place, arms, built, writer, options)
            if not options.true_calls:
                return {}
            known = [writer.recording.arms.get(arm.name, arm) for arm in arms]
            return _true_calls(suite, place, [arm for arm in known if arm.amount], built, options)


def _record(
    suite: Suite,
    place: Injection,
    arms: Sequence[WorkAmount],
    built: tree.Tree,
    writer: Writer,
    options: SessionOptions,
) -> Sequence[WorkAmount]:
    """Record, and return the arms with the amounts that were found."""
    draw = random.Random()
    arms = find_amounts(
        sample.take, built, writer, place.program, place.cell, arms, draw, options.show
    )
    record(
        sample.take,
        built,
        writer,
        suite,
        place.program,
        arms,
        calls=options.calls,
        time_budget_s=options.time_budget_s,
        draw=draw,
        progress=options.show,
    )
    return arms


def _disturbing(options: SessionOptions) -> AbstractContextManager[object]:
    return busy.one_cpu_half_of_the_time() if options.disturb == HALF else nullcontext()


def _true_calls(
    suite: Suite,
    place: Injection,
    arms: Sequence[WorkAmount],
    built: tree.Tree,
    options: SessionOptions,
) -> dict[str, list[Call]]:
    """Make true calls of base against itself, and of one arm; return them by condition."""
    terms = Terms(suite.factor, suite.alpha, suite.time_budget_s)

    def compared(base: tree.Tree, head: tree.Tree, take: Take, seed: int) -> Comparison:
        return compare.compare(
            base,
            head,
            suite,
            factor=terms.factor,
            alpha=terms.alpha,
            pairs=None,
            time_budget_s=terms.time_budget_s,
            seed=seed,
            take=take,
            lock=lambda notify: nullcontext(),  # the lock is held already
        )

    conditions: dict[str, WorkAmount | None] = {SAME: None}
    if arms:
        arm = min(arms, key=lambda arm: abs(arm.wanted - TRUE_EFFECT))
        conditions[arm.name] = arm
    made: dict[str, list[Call]] = {}
    for name, arm in conditions.items():
        options.show(f"true calls: {name}")
        made[name] = true_calls(
            options.directory / CALLS,
            name,
            arm,
            place,
            built,
            terms=terms,
            wanted=options.true_calls,
            take=sample.take,
            compare=compared,
            seed=options.seed,
        )
    return made
