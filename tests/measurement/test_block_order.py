"""A block interleaves its arms: each once a repeat, in an order drawn from the seed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measurement import block
from harness.measurement.block import block_order, run_block
from harness.measurement.spec import Run, run_of


def specs(arms: int) -> dict[str, Run]:
    return {
        f"dynamic-{n + 1}": run_of("pipeline", {}, "dynamic", threads=n + 1, seed=11)
        for n in range(arms)
    }


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**63 - 1))
def test_each_repeat_runs_every_arm_once(arms, repeats, seed):
    order = block_order(specs(arms), repeats, seed)
    assert [spec.order_in_block for spec in order] == list(range(arms * repeats))
    for repeat in range(repeats):
        turn = order[repeat * arms : (repeat + 1) * arms]
        assert {spec.arm for spec in turn} == specs(arms).keys()
        assert {spec.repeat for spec in turn} == {repeat}
    assert all(
        spec.model.threads == int(spec.arm.split("-")[1]) and spec.seed == 11 for spec in order
    )


def test_the_order_is_drawn_anew_each_repeat_and_from_the_seed():
    def arms(seed: int) -> list[str]:
        return [spec.arm for spec in block_order(specs(4), 10, seed)]

    turns = {tuple(arms(1)[i : i + 4]) for i in range(0, 40, 4)}
    assert len(turns) > 3
    assert arms(1) == arms(1)
    assert arms(1) != arms(2)


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """The specs that were run; records are their arms."""
    seen: list[Run] = []

    def run(spec, announce):
        announce("measuring")
        seen.append(spec)
        return {"arm": spec.arm, "repeat": spec.repeat}

    monkeypatch.setattr(block, "run_in_fresh_process", run)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    return seen


def test_records_come_in_the_order_of_measuring_and_progress_counts_them(runs):
    told: list[tuple[int, int, str]] = []
    records = list(run_block(specs(2), 2, seed=5, progress=lambda *event: told.append(event)))
    order = block_order(specs(2), 2, 5)
    assert runs == order
    assert [record["arm"] for record in records] == [spec.arm for spec in order]
    assert told == [(n, 4, f"{spec.arm}: measuring") for n, spec in enumerate(order)] + [
        (4, 4, "done")
    ]


def test_records_that_are_done_are_not_lost_to_an_interruption(runs):
    taken = []
    for record in block.run_block(specs(2), 2, seed=5):
        taken.append(record)
        break
    assert len(taken) == len(runs) == 1
    assert len(list(run_block(specs(2), 1, seed=5))) == 2, "and the lock is free again"


@pytest.fixture
def noisy(monkeypatch, tmp_path):
    """Arms by the rates of their repeats; a rate of None is a failed run."""
    rates: dict[str, list[float | None]] = {}

    def run(spec, announce):
        rate = rates[spec.arm][spec.repeat]
        return {
            "arm": spec.arm,
            "repeat": spec.repeat,
            "order_in_block": spec.order_in_block,
            "error": None if rate is not None else "failed",
            "correct": rate is not None,
            "sink_tuples_per_s": rate,
            "simulation": None,
            "settled": True,
        }

    monkeypatch.setattr(block, "run_in_fresh_process", run)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    return rates


def test_an_arm_with_a_wide_interval_alone_runs_again_until_it_is_narrow(noisy):
    noisy["dynamic-1"] = [100.0] * 9
    noisy["dynamic-2"] = [100.0, 150.0, 120.0, *[125.0] * 6]
    records = list(run_block(specs(2), 3, 0, narrowing=block.Narrowing(1.3, 9)))
    again = [(record["arm"], record["repeat"]) for record in records[6:]]
    repeats = len(again) + 3
    assert again == [("dynamic-2", repeat) for repeat in range(3, repeats)]
    assert 3 < repeats < 9  # it ends when the interval is narrow
    assert [record["order_in_block"] for record in records] == list(range(len(records)))
    assert block.Narrowing(1.3, 9).wide(records) == []
    assert block.Narrowing(1.3, 9).wide(records[:-1]) == ["dynamic-2"]


def test_repeats_end_at_their_bound_and_a_failed_arm_gets_no_more(noisy):
    noisy["dynamic-1"] = [100.0, 1.0] * 3
    noisy["dynamic-2"] = [None] * 6
    records = list(run_block(specs(2), 2, 0, narrowing=block.Narrowing(1.3, 5)))
    assert [record["arm"] for record in records].count("dynamic-1") == 5
    assert [record["arm"] for record in records].count("dynamic-2") == 2
