"""Replayed calls: real calls whose processes are recorded ones."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from harness.gate.cell import GateCell, Metric, Program
from harness.gate.verdict import Exit, Verdict
from studies.gate_error_rates.recording import RecordedBlock, read
from studies.gate_error_rates.replay import (
    BASE_TREE,
    HEAD_TREE,
    Call,
    Injection,
    Taken,
    call_of,
    calls,
)
from tests.gate.made_comparisons import comparison, result
from tests.studies.gate_error_rates.made import OTHER, SUITE, write_recording

ARM = Injection("flop 1.05", OTHER, OTHER.cells[0])
A_ROUND_S = 3 * 4 * 0.5


def replayed(
    path: Path, rounds: int, injection: Injection | None = None, wanted: int = 5, **recording: float
) -> list[Call]:
    write_recording(path / "s.jsonl", rounds, **recording)
    return list(calls(read(path / "s.jsonl").rounds, SUITE, injection, wanted, random.Random(1)))


def test_base_against_itself_is_ok(tmp_path: Path) -> None:
    made = replayed(tmp_path, 40)
    assert [call.exit_code for call in made] == [Exit.OK] * 5
    assert all(set(call.verdicts.values()) == {Verdict.OK} for call in made)


def test_an_arm_regresses_in_its_cell_and_nowhere_else(tmp_path: Path) -> None:
    for call in replayed(tmp_path, 40, ARM):
        assert call.exit_code is Exit.REGRESSED
        assert call.verdicts["other"] is Verdict.REGRESSED
        # the call ends at the proof, perhaps before this one is decided
        assert call.verdicts["one"] in (Verdict.OK, Verdict.INCONCLUSIVE)
        assert set(call.slower.values()) >= {True}


def test_other_tools_see_a_rate_that_falls_as_slower_and_only_in_the_cell_with_injected_work() -> (
    None
):
    rate = result(
        "rate", Verdict.IMPROVED, metric=Metric("tuples_per_s", "tuples/s", lower_is_better=False)
    )  # by 10 %
    time = result("time", Verdict.REGRESSED)
    short = replace(result("short", Verdict.REGRESSED), base=(1.0,), head=(9.0,))
    of_time = replace(ARM, cell=time.cell)
    for cells, injection, slower in (
        ((rate,), None, True),
        ((replace(rate, base=rate.head, head=rate.base),), None, False),
        ((time,), None, True),
        ((replace(time, base=time.head, head=time.base),), None, False),
        ((rate, replace(time, head=time.base)), of_time, False),
        ((replace(rate, head=rate.base), time), of_time, True),
        ((short,), None, False),
    ):
        call = call_of(comparison(*cells), injection, disjoint=True)
        assert set(call.slower.values()) == {slower}
        assert call.verdicts == {each.cell.name: each.verdict for each in cells}


def test_a_call_takes_the_seconds_of_its_processes(tmp_path: Path) -> None:
    """Quiet numbers are decided at the first look, after twelve blocks of each."""
    (call,) = replayed(tmp_path, 40, wanted=1)
    assert call.seconds == pytest.approx(12 * A_ROUND_S, abs=A_ROUND_S)
    assert call.seconds <= SUITE.time_budget_s


def test_replaying_tells_how_far_it_is(tmp_path: Path) -> None:
    write_recording(tmp_path / "s.jsonl", 40)
    told: list[int] = []
    calls(read(tmp_path / "s.jsonl").rounds, SUITE, None, 3, random.Random(1), told.append)
    assert told == [0, 1, 2]


def test_the_time_budget_ends_a_call_that_is_not_decided(tmp_path: Path) -> None:
    (call,) = replayed(tmp_path, 40, wanted=1, noise=0.5)
    assert call.exit_code is Exit.INCONCLUSIVE
    assert SUITE.time_budget_s - A_ROUND_S <= call.seconds <= SUITE.time_budget_s


def test_calls_are_disjoint_until_the_recording_is_used_up(tmp_path: Path) -> None:
    # twelve rounds a call: the fourth would begin again with the first rounds
    made = replayed(tmp_path, 41, wanted=8)
    assert [call.disjoint for call in made] == [True] * 3 + [False] * 5


def test_a_recording_that_a_call_comes_through_twice_makes_none(tmp_path: Path) -> None:
    """Noise that decides nothing: all of 78 s, three blocks a round, or more of one that may be
    slower.
    """
    assert replayed(tmp_path, 12, noise=0.5) == []
    assert len(replayed(tmp_path, 20, noise=0.5)) == 5


def test_rounds_that_are_not_whole_are_left_out(tmp_path: Path) -> None:
    write_recording(tmp_path / "s.jsonl", 15)
    rounds = [dict(blocks) for blocks in read(tmp_path / "s.jsonl").rounds]
    for blocks in rounds[:6]:
        del blocks["other", "flop 1.05"]
    assert list(calls(rounds, SUITE, ARM, 1, random.Random(1))) == []
    assert len(list(calls(rounds, SUITE, None, 1, random.Random(1)))) == 1


def test_the_same_seed_makes_the_same_calls_and_another_one_others(tmp_path: Path) -> None:
    write_recording(tmp_path / "s.jsonl", 40, noise=0.03)
    rounds = read(tmp_path / "s.jsonl").rounds
    one, again, other = (
        list(calls(rounds, SUITE, None, 20, random.Random(seed))) for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other


def test_coins_and_not_the_recording_say_which_process_is_base(tmp_path: Path) -> None:
    """The recorded sides of base blocks differ by 20 %: a call that took them over would find
    it.
    """
    write_recording(tmp_path / "s.jsonl", 40)
    rounds = []
    for blocks in read(tmp_path / "s.jsonl").rounds:
        biased = {}
        for key, block in blocks.items():
            values = [{key[0]: 120.0 if side == "head" else 100.0} for side in block.sides]
            biased[key] = replace(block, values=tuple(values)) if key[1] == "base" else block
        rounds.append(biased)
    made = list(calls(rounds, SUITE, None, 20, random.Random(1)))
    assert sum(call.exit_code is Exit.REGRESSED for call in made) == 0


def test_a_block_gives_its_processes_by_place_or_where_injected_by_side() -> None:
    block = RecordedBlock(
        ("head", "base", "base", "head"),
        tuple({"other": float(n)} for n in range(4)),
        (1.0, 2.0, 3.0, 4.0),
    )
    order = (BASE_TREE, HEAD_TREE, HEAD_TREE, BASE_TREE)
    for injected, expected in ((None, [0.0, 1.0, 2.0, 3.0]), ("other", [1.0, 0.0, 3.0, 2.0])):
        taken = Taken([{"other": (block,)}], injected)
        assert [
            taken(tree, OTHER, {}, at // 2).values["other"] for at, tree in enumerate(order)
        ] == expected
        assert taken.clock() == 10.0


def test_the_control_has_blocks_of_its_own(tmp_path: Path) -> None:
    one = Program("one", (), (GateCell("one", Metric()),))
    first, second = (
        RecordedBlock(("base", "head", "head", "base"), ({"one": value},) * 4, (1.0,) * 4)
        for value in (1.0, 2.0)
    )
    taken = Taken([{"one": (first, second)}], None)
    trees = [BASE_TREE] * 4 + [BASE_TREE, HEAD_TREE, HEAD_TREE, BASE_TREE]
    assert [taken(tree, one, {}, at % 4 // 2).values["one"] for at, tree in enumerate(trees)] == [
        1.0
    ] * 4 + [2.0] * 4


def test_noise_alone_is_no_regression_and_no_unstable_host(tmp_path: Path) -> None:
    codes = {call.exit_code for call in replayed(tmp_path, 40, noise=0.05, wanted=30)}
    assert codes <= {Exit.INCONCLUSIVE, Exit.OK}
