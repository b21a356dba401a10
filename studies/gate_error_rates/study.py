"""The results of the selftest: the conditions of a recording, or of simulated noises, as rows of
rates."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from harness.errors import UserError
from harness.gate.suite import Suite
from studies.gate_error_rates.noise import NOISES
from studies.gate_error_rates.rates import ConditionResult, effect_of, row
from studies.gate_error_rates.recording import Recording
from studies.gate_error_rates.replay import Call, Injection, calls
from studies.gate_error_rates.simulate import INJECTED, simulated_calls

SAME = "base against itself"


def injected_cell(suite: Suite, name: str | None) -> Injection:
    """Return the place of the injected work: the named cell, else the first; not in the control's
    program, which is base on both sides.

    The arm is left open (""). Raises UserError for a name that no such cell has.
    """
    control = suite.program_of(suite.control)
    places = [
        Injection("", program, cell)
        for program in suite.programs
        for cell in program.cells
        if program != control
    ]
    if not places:
        raise UserError(
            f"--suite {suite.name} must have a program besides the control's, {control.name}, to "
            "inject work into"
        )
    if name is None:
        return places[0]
    for place in places:
        if place.cell.name == name:
            return place
    raise UserError(
        f"--cell must be one of {', '.join(place.cell.name for place in places)}, not {name[:80]!r}"
    )


def recorded(
    recording: Recording,
    suite: Suite,
    place: Injection,
    wanted_calls: int,
    seed: int,
    progress: Callable[[str], None],
) -> list[ConditionResult]:
    """Return a row of base against itself and one of each arm; an arm without a whole call has a
    row of no calls."""

    def replayed(name: str, injection: Injection | None) -> list[Call]:
        def tell(made: int) -> None:
            progress(f"replaying {name}, call {made + 1} of {wanted_calls}")

        return calls(
            recording.rounds, suite, injection, wanted_calls, random.Random(f"{seed} {name}"), tell
        )

    rows = [row(SAME, replayed(SAME, None))]
    for name, arm in recording.arms.items():
        made = replayed(name, Injection(name, place.program, place.cell))
        effect = effect_of(place.cell, recording.blocks(place.program.name, name))
        rows.append(_arm_row(name, made, place, effect=effect, wanted=arm.wanted))
    return rows


def simulated(
    noises: Sequence[str],
    effects: Sequence[float],
    wanted_calls: int,
    seed: int,
    progress: Callable[[str], None],
) -> list[ConditionResult]:
    """Return, for each noise, a row of base against itself and one of each effect."""
    rows = []
    for noise in noises:
        for effect in (1.0, *effects):
            progress(f"{noise}, {effect:g}")
            made = list(simulated_calls(noise, effect, wanted_calls, seed))
            rows.append(
                row(noise, made)
                if effect == 1
                else _arm_row(f"{noise} {effect:g}", made, INJECTED, wanted=effect)
            )
    return rows


def real(
    made: Mapping[str, Sequence[Call]], place: Injection, recording: Recording
) -> list[ConditionResult]:
    """Return the rows of true calls, by condition: `SAME` or the name of an arm, whose effect is
    the one recorded."""
    rows = []
    for condition, of_one in made.items():
        name = f"{condition}, true calls"
        if condition == SAME:
            rows.append(row(name, of_one))
        else:
            effect = effect_of(place.cell, recording.blocks(place.program.name, condition))
            rows.append(
                _arm_row(
                    name, of_one, place, effect=effect, wanted=recording.arms[condition].wanted
                )
            )
    return rows


def known_noises() -> tuple[str, ...]:
    """Return the names of the noises."""
    return tuple(NOISES)


def _arm_row(name: str, made: Sequence[Call], place: Injection, **more) -> ConditionResult:
    return row(name, made, place.cell, program_cells=place.program.cells, **more)
