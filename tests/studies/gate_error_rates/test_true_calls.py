"""True calls: real `compare`, made-up processes; those that were made are not made again."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import RunFailed, UserError
from harness.gate.compare import compare
from harness.gate.series import Take
from harness.gate.tree import Tree
from harness.gate.verdict import Comparison, Exit, Verdict
from studies.gate_error_rates import recording
from studies.gate_error_rates.recording import SAMPLES, WorkAmount
from studies.gate_error_rates.replay import Call
from studies.gate_error_rates.study import SAME, real
from studies.gate_error_rates.true_calls import CALLS, Terms, read, true_calls
from tests.studies.gate_error_rates.made import PLACE, SUITE, TREE, Processes, write_recording

TERMS = Terms(SUITE.factor, SUITE.alpha, SUITE.time_budget_s)


def made(
    directory: Path, wanted: int, arm: WorkAmount | None = None, processes: Processes | None = None
) -> list[Call]:
    def compared(base: Tree, head: Tree, take: Take, seed: int) -> Comparison:
        return compare(
            base,
            head,
            SUITE,
            factor=SUITE.factor,
            alpha=SUITE.alpha,
            pairs=20,
            time_budget_s=float("inf"),
            seed=seed,
            take=take,
            lock=lambda notify: nullcontext(),
        )

    return true_calls(
        directory / CALLS,
        "same" if arm is None else arm.name,
        arm,
        PLACE,
        TREE,
        terms=TERMS,
        wanted=wanted,
        take=processes or Processes(),
        compare=compared,
        seed=1,
    )


def test_base_against_itself_and_an_arm(tmp_path: Path) -> None:
    (same,) = made(tmp_path, 1)
    (arm,) = made(tmp_path, 1, WorkAmount("flop", 1.05, 50_000_000))
    assert same.exit_code is Exit.OK
    assert arm.exit_code is Exit.REGRESSED
    assert arm.verdicts == {"one": Verdict.OK, "other": Verdict.REGRESSED}
    assert read(tmp_path / CALLS, TERMS) == {"same": [same], "flop 1.05": [arm]}


def test_calls_that_are_there_are_not_made_again(tmp_path: Path) -> None:
    first = made(tmp_path, 2)
    silent = Processes(fail=lambda number: True)
    assert made(tmp_path, 2, processes=silent) == first
    assert silent.asked == []
    assert made(tmp_path, 3)[:2] == first


def test_a_line_that_was_cut_short_is_made_again(tmp_path: Path) -> None:
    made(tmp_path, 2)
    path = tmp_path / CALLS
    path.write_bytes(path.read_bytes()[:-5])
    assert len(read(path, TERMS)["same"]) == 1
    assert len(made(tmp_path, 2)) == 2
    assert len(read(path, TERMS)["same"]) == 2


def test_a_line_that_is_no_call_is_named(tmp_path: Path) -> None:
    made(tmp_path, 1)
    with (tmp_path / CALLS).open("a", encoding="utf-8") as file:
        file.write('{"condition": "same"}\n')
    with pytest.raises(UserError, match=r"calls\.jsonl, line 2: not a call"):
        read(tmp_path / CALLS, TERMS)


def test_calls_made_on_other_terms_do_not_count(tmp_path: Path) -> None:
    made(tmp_path, 2)
    assert read(tmp_path / CALLS, replace(TERMS, factor=1.5)) == {}
    assert len(read(tmp_path / CALLS, TERMS)["same"]) == 2


def test_a_call_that_measures_nothing_ends_it_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match=r"a true call could not be made: .*exit code 3"):
        made(tmp_path, 1, processes=Processes(fail=lambda number: True))
    assert not (tmp_path / CALLS).exists()


def test_they_stand_in_the_tables_beside_the_effect_that_was_recorded(tmp_path: Path) -> None:
    write_recording(tmp_path / SAMPLES, 12, head=107.0)
    found = {
        SAME: made(tmp_path, 1),
        "flop 1.05": made(tmp_path, 1, WorkAmount("flop", 1.05, 50_000_000)),
    }
    same, arm = real(found, PLACE, recording.read(tmp_path / SAMPLES))
    assert (same.condition, same.effect) == ("base against itself, true calls", None)
    assert arm.effect is not None
    assert arm.effect.ratio == pytest.approx(1.07, abs=0.002)
    assert arm.verdicts["regressed"].count == 1
