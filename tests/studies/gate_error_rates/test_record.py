"""Rounds as they are measured: blocks like those of a call, and only the arm's head has anything
injected.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import RunFailed
from studies.gate_error_rates import identity
from studies.gate_error_rates.record import block_rows, find_amounts, record
from studies.gate_error_rates.recording import WorkAmount, Writer, read
from tests.studies.gate_error_rates.made import ABOUT, OTHER, SUITE, TREE, Processes

FLOP = WorkAmount("flop", 1.05, 50_000_000)


def recorded(
    path: Path,
    take: Processes,
    calls: int = 1,
    time_budget_s: float = 60.0,
    arms: tuple[WorkAmount, ...] = (FLOP,),
    progress: Callable[[str], None] = lambda text: None,
) -> Writer:
    writer = Writer(path, ABOUT, identity.check)
    record(
        take,
        TREE,
        writer,
        SUITE,
        OTHER,
        arms,
        calls=calls,
        time_budget_s=time_budget_s,
        draw=random.Random(1),
        progress=progress,
    )
    return writer


def test_a_round_is_a_block_of_each_program_one_of_the_control_and_one_of_each_arm(
    tmp_path: Path,
) -> None:
    recorded(tmp_path / "s.jsonl", Processes(seconds=5.0))
    found = read(tmp_path / "s.jsonl")
    whole = {("one", "base"), ("other", "base"), ("one", "control"), ("other", "flop 1.05")}
    assert all(set(blocks) == whole for blocks in found.rounds)
    assert len({tuple(blocks) for blocks in found.rounds}) > 1 or len(found.rounds) < 3, (
        "the order is drawn anew"
    )


def test_each_block_says_where_the_recording_is(tmp_path: Path) -> None:
    told: list[str] = []
    recorded(
        tmp_path / "s.jsonl", Processes(seconds=5.0), time_budget_s=180.0, progress=told.append
    )
    assert [line.partition(" min left: ")[0] for line in told[:5]] == [
        *(f"round 1, block {block} of 4, 3" for block in (1, 2, 3, 4)),
        "round 2, block 1 of 4, 3",
    ]
    assert {line.partition(" min left: ")[2] for line in told[:4]} == {
        "one, base", "other, base", "one, control", "other, flop 1.05",
    }  # fmt: skip


def test_only_the_head_of_an_arm_has_work_injected(tmp_path: Path) -> None:
    take = Processes()
    rows = block_rows(take, TREE, OTHER, random.Random(3), FLOP, number=7)
    for row, (_, settings, pair) in zip(rows, take.asked, strict=True):
        assert settings["MILLRACE_EXTRA_FLOP"] == ("50000000" if row["side"] == "head" else "0")
        assert settings["MILLRACE_EXTRA_SLEEP"] == "0"
        assert pair == 14 + row["position"] // 2
    assert sorted(row["side"] for row in rows) == ["base", "base", "head", "head"]


def test_a_line_keeps_what_others_did_meanwhile_and_not_all_of_the_host(tmp_path: Path) -> None:
    row = block_rows(Processes(), TREE, OTHER, random.Random(3))[0]
    assert row["host"] == "abc"
    assert row["disturbance"] == {"steal_share": None, "load_of_others": 0.5, "throttled_us": 0}


def test_recording_ends_when_there_is_enough_for_the_calls(tmp_path: Path) -> None:
    recorded(tmp_path / "s.jsonl", Processes(seconds=2.0), calls=2)
    found = read(tmp_path / "s.jsonl")
    a_round_s = 3 * 4 * 2.0  # with nothing injected: two programs and the control
    assert len(found.rounds) == -(-3 * SUITE.time_budget_s // a_round_s)


def test_without_arms_all_of_the_time_goes_to_base_against_itself(tmp_path: Path) -> None:
    recorded(tmp_path / "s.jsonl", Processes(seconds=5.0), arms=())
    assert all(
        {arm for _, arm in blocks} == {"base", "control"}
        for blocks in read(tmp_path / "s.jsonl").rounds
    )


def test_a_second_recording_adds_rounds(tmp_path: Path) -> None:
    recorded(tmp_path / "s.jsonl", Processes(seconds=2.0), calls=1)
    before = read(tmp_path / "s.jsonl").rounds
    recorded(tmp_path / "s.jsonl", Processes(seconds=2.0), calls=3)
    after = read(tmp_path / "s.jsonl").rounds
    a_round_s = 3 * 4 * 2.0  # as above
    assert (len(before), len(after)) == (
        -(-2 * SUITE.time_budget_s // a_round_s),
        -(-4 * SUITE.time_budget_s // a_round_s),
    )
    assert after[: len(before)] == before


def test_a_process_that_fails_costs_its_block_only(tmp_path: Path) -> None:
    recorded(tmp_path / "s.jsonl", Processes(seconds=2.0, fail=lambda number: number == 6))
    sizes = [len(blocks) for blocks in read(tmp_path / "s.jsonl").rounds]
    assert sizes[0] == 3
    assert set(sizes[1:]) == {4}
    assert read(tmp_path / "s.jsonl").failed == 1


def test_processes_that_keep_failing_end_it_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(
        RunFailed, match=r"3 processes in a row failed, the last of them .*: exit code 3"
    ) as told:
        recorded(tmp_path / "s.jsonl", Processes(fail=lambda number: number > 8))
    assert "\n" not in str(told.value)


def test_amounts_are_found_once_and_kept(tmp_path: Path) -> None:
    path, take = tmp_path / "s.jsonl", Processes()
    wanted = [WorkAmount("flop", 1.02), WorkAmount("flop", 1.1)]

    def found() -> list[WorkAmount]:
        writer = Writer(path, ABOUT, identity.check)
        return find_amounts(
            take, TREE, writer, OTHER, OTHER.cells[0], wanted, random.Random(5), lambda text: None
        )

    first = found()
    assert [arm.wanted for arm in first] == [1.02, 1.1]
    assert first[0].amount == pytest.approx(20_000_000, rel=0.2)
    assert first[1].amount == pytest.approx(100_000_000, rel=0.2)
    asked = len(take.asked)
    assert found() == first
    assert len(take.asked) == asked


def test_the_made_up_processes_are_slower_by_what_is_injected() -> None:
    rows = [
        row
        for _ in range(20)
        for row in block_rows(Processes(), TREE, OTHER, random.Random(3), FLOP)
    ]
    medians = [
        statistics.median(row["values"]["other"] for row in rows if row["side"] == side)
        for side in ("base", "head")
    ]
    assert medians[1] / medians[0] == pytest.approx(1.05, abs=0.002)
