"""A block interleaves its arms: each once a repeat, in an order drawn from the seed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measurement import block
from harness.measurement.block import block_order, final_order, run_block
from harness.measurement.finals import FINALISTS, Finals
from harness.measurement.spec import PeerModel, Run, run_of


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


def with_peers(ours: int, peers: int) -> dict[str, Run]:
    """Runs of so many arms of ours, and of peers `peer-1` and so on."""
    (like,) = specs(1).values()
    named = [f"peer-{n + 1}" for n in range(peers)]
    return specs(ours) | {name: replace(like, model=PeerModel(name, "a peer 1")) for name in named}


@pytest.fixture
def fast(monkeypatch, tmp_path):
    """Rates of arms, in each of their runs; an arm without one fails."""
    rates: dict[str, float] = {}

    def run(spec, announce):
        rate = rates.get(spec.arm)
        return {
            "arm": spec.arm,
            "repeat": spec.repeat,
            "order_in_block": spec.order_in_block,
            "final": spec.final,
            "peer": spec.model.name if isinstance(spec.model, PeerModel) else None,
            "parameters": {},
            "error": None if rate else "failed",
            "correct": rate is not None,
            "sink_tuples_per_s": rate,
            "simulation": None,
            "settled": True,
        }

    monkeypatch.setattr(block, "run_in_fresh_process", run)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    return rates


def test_the_best_of_ours_and_of_the_peers_run_again_interleaved(fast):
    fast |= {f"dynamic-{n}": 100.0 + n for n in range(1, 6)}
    fast |= {f"peer-{n}": 10.0 * n for n in range(1, 5)}
    arms = with_peers(5, 5)
    records = list(run_block(arms, 2, 7, finals=Finals(4)))
    first, later = records[:20], records[20:]
    assert {record["final"] for record in first} == {False}
    assert {record["final"] for record in later} == {True}
    finalists = {"dynamic-3", "dynamic-4", "dynamic-5", "peer-2", "peer-3", "peer-4"}
    for turn in range(4):
        of_turn = later[6 * turn : 6 * turn + 6]
        assert {record["arm"] for record in of_turn} == finalists
        assert {record["repeat"] for record in of_turn} == {2 + turn}
    assert len({tuple(r["arm"] for r in later[i : i + 6]) for i in range(0, 24, 6)}) > 1
    assert [record["order_in_block"] for record in records] == list(range(44))
    assert {run.asked for run in final_order(arms, 2, 7, Finals(4), first)} <= {
        run.asked for run in block_order(arms, 2, 7)
    }, "they answer what the first runs answer"


def test_where_few_arms_work_all_of_them_are_finalists(fast):
    fast |= {"dynamic-1": 1.0, "peer-2": 2.0}
    records = list(run_block(with_peers(2, 2), 1, 0, finals=Finals(1)))
    assert sorted(record["arm"] for record in records[4:]) == ["dynamic-1", "peer-2"]


def of_arm(arm: str, rate: float, p99: float | None = None, **changes) -> dict:
    """A record of a peer in a cell with a rate of 1,000 tuples/s."""
    plain = {"arm": arm, "peer": "one 1", "parameters": {"rate": 1000}, "error": None}
    plain |= {"correct": True, "sink_tuples_per_s": rate, "simulation": None, "settled": True}
    return plain | {"latency_ns": {"p99": p99}} | changes


def test_at_a_rate_the_least_latency_of_those_that_keep_up_is_best():
    records = [
        *(of_arm("slow", 1000.0, p99) for p99 in (9.0, 9.0, 1.0)),
        *(of_arm("quick", 1000.0, p99) for p99 in (2.0, 3.0, 99.0)),
        of_arm("behind", 970.0, 0.5),
        of_arm("far-behind", 500.0, 0.1),
        of_arm("wrong", 1000.0, 0.1, correct=False),
    ]
    assert FINALISTS == 3
    assert Finals(1).arms(records) == ["quick", "slow", "behind"]


def test_final_runs_do_not_choose():
    records = [of_arm("a", 1000.0, 5.0), of_arm("b", 1000.0, 6.0)]
    records += [of_arm("b", 1000.0, 1.0, final=True)] * 5
    assert Finals(1).arms(records) == ["a", "b"]
