"""Paced sources: what levels bring, what a law reads, who meets the objective with the fewest
threads.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from harness.bench.bench import contestants, row_of
from harness.bench.closed_loop import run
from harness.bench.scenario import Configuration
from harness.bench.threads.paced import MAX_BACKLOG_S, Paced, scenarios
from harness.cli import main
from harness.elasticity import LAWS, Bounds, Decides, make_law

PROPORTIONAL = tuple(1000.0 * level for level in range(1, 17))
PLAIN = Paced(
    "one", "rising", PROPORTIONAL, (5500.0,), bound_s=0.003, bounds=Bounds(1, 16, 1), periods=40
)
LIBRARY = list(scenarios())


def useful(level, scenario=PLAIN):
    return scenario.throughput(0, Configuration(level))


def test_one_thread_waits_as_the_queue_of_one_server_does():
    one = replace(PLAIN, targets=(500.0,))
    assert one.latency_s(1, 500.0, 1000.0) == pytest.approx(1.0 / (1000.0 - 500.0)), (
        "M/M/1: 1 / (service rate - arrivals)"
    )


def test_more_threads_than_needed_leave_the_time_of_the_work_alone():
    assert PLAIN.latency_s(16, 5500.0, 16000.0) == pytest.approx(0.001, rel=1e-3)
    assert PLAIN.latency_s(5, 5500.0, 5000.0) == math.inf


def test_the_best_level_is_the_lowest_that_keeps_up_within_the_bound():
    assert useful(5) < 0.01 * 5500.0, "too few: tuples wait for seconds"
    assert PLAIN.best(0).threads == 6 and PLAIN.best(0).throughput == pytest.approx(5500.0)
    tight = replace(PLAIN, bound_s=0.00102)
    assert tight.best(0).threads > 6 and useful(6, tight) < 5500.0


def test_threads_that_idle_do_not_make_a_tuple_longer_and_those_that_contend_do():
    flat = replace(PLAIN, curve=(1000.0, 2000.0, *[2000.0] * 14))
    assert flat.needs_s(16) == pytest.approx(0.001)
    peak = replace(PLAIN, curve=(1000.0, 1500.0, *[2000.0] * 14))
    assert peak.needs_s(2) == pytest.approx(2 / 1500.0)


def test_what_waits_is_caught_up_and_no_more_waits_than_there_is_room_for():
    grows = replace(PLAIN, periods=80)
    law = make_law("fixed", Bounds(5, 16, 5))
    slow = run(law, grows)
    assert slow.throughputs == [5000.0] * 80
    observe, seen = grows.observer(), []
    for period in range(80):
        seen.append(observe(period, Configuration(1 if period < 40 else 16)))
    assert seen[39].full == (1.0,) and seen[39].latency_s > 1.0
    assert seen[40].throughput == 16000.0, "all threads are busy with what waits"
    assert seen[-1].throughput == 5500.0 and seen[-1].full == (0.0,) and seen[-1].latency_s < 0.0011
    caught_up = sum(reading.throughput - 5500.0 for reading in seen[40:])
    assert caught_up == pytest.approx(MAX_BACKLOG_S * 5500.0)


def test_useful_time_tells_true_rates():
    reading = PLAIN.observer()(0, Configuration(8))
    assert reading.tuples[1] / reading.useful_s[1] == pytest.approx(1000.0)
    assert (reading.target, reading.utilisation) == (5500.0, pytest.approx(5.5 / 8))


def test_targets_cut_a_scenario():
    two = replace(PLAIN, targets=(2000.0, 8000.0))
    assert two.segments() == [(0, 20), (20, 40)]
    assert [two.target(period) for period in (0, 19, 20, 39)] == [2000.0, 2000.0, 8000.0, 8000.0]


def test_a_law_for_targets_goes_to_the_level_at_once_and_is_scored_by_it():
    row = row_of("ds2", PLAIN)
    assert (row.bench, row.settled_threads, row.best_threads, row.threads) == ("paced", 6.0, 6, 1.0)
    assert row.accuracy == pytest.approx(1.0) and row.settling <= 2.0
    assert row_of("fixed", PLAIN).accuracy < 0.05


def test_each_law_that_has_a_setting_for_the_bound_is_told_it():
    told = {name: PLAIN.contestant(name)[0].set.get("bound") for name in LAWS[Decides.THREADS]}
    assert {name for name, bound in told.items() if bound == PLAIN.bound_s} == {"millrace", "aimd"}


def test_ours_meets_rate_and_bound_with_the_fewest_threads_and_goes_back_with_the_target():
    row = row_of("millrace", replace(PLAIN, targets=(5500.0, 2500.0, 5500.0), periods=120))
    assert row.accuracy > 0.99 and row.threads <= 4 / 3 and row.regret < 0.06, (
        "one thread more than needed at most"
    )


def test_all_laws_of_threads_take_part():
    assert contestants("paced") == list(LAWS[Decides.THREADS])


def test_the_library_can_be_met_and_has_kinds_that_only_score():
    assert len({each.name for each in LIBRARY}) == len(LIBRARY) > 200
    assert {"staircase", "late"} <= {each.kind for each in LIBRARY if each.held_out}
    for each in LIBRARY[::13]:
        assert all(
            each.best(begin).throughput > 0.999 * each.target(begin) for begin, _ in each.segments()
        ), each.name


def test_the_command_runs_it(capsys):
    assert (
        main(
            [
                "laws",
                "bench",
                "--paced",
                "--every",
                "100",
                "--jobs",
                "1",
                "--law",
                "ds2",
                "--json",
                "-",
            ]
        )
        == 0
    )
    assert len(json.loads(capsys.readouterr().out)["results"]) == 3
    assert main(["laws", "bench", "--paced", "--multilevel"]) == 2
    assert "--multilevel and --paced are two benches: give one of them" in capsys.readouterr().err
