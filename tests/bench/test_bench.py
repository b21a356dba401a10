"""All laws on all scenarios: a row for each pair, the same however many processes there are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.bench import side_by_side
from harness.bench.bench import check_name, contestants, row_of, run_bench
from harness.bench.closed_loop import run
from harness.bench.scenario import Configuration
from harness.bench.score import score
from harness.bench.side_by_side import SCENARIOS_PER_TASK
from harness.bench.threads.curves import peak, plateau, sampled
from harness.bench.threads.scenario import Event, ThreadScenario
from harness.elasticity import Bounds, make_law
from harness.errors import UserError


def some(count, noise=0.03):
    """Small scenarios, one for each seed."""
    events = (Event("scale", 25, factor=0.4),)
    return [
        ThreadScenario(
            f"s{k}",
            sampled(peak(k, 0.5), 20),
            Bounds(1, 20, 1),
            noise,
            0.01,
            events,
            50,
            seed=k,
            shape=f"peak-{k}",
            event="x",
        )
        for k in range(1, count + 1)
    ]


def quietly(done, of):
    """No progress shown."""


@pytest.fixture
def one_cpu(monkeypatch):
    monkeypatch.setattr(side_by_side, "allowed_cpus", lambda: 1)


def test_a_row_says_what_was_run_and_what_came_of_it():
    scenario = some(7)[-1]
    row = row_of("pldi17", scenario)
    trace = run(make_law("pldi17", scenario.bounds), scenario)
    assert (row.law, row.scenario, row.kind, row.event) == ("pldi17", "s7", "x", "x")
    assert (row.minimum, row.maximum, row.start, row.periods, row.seed) == (1, 20, 1, 50, 7)
    assert (row.noise, row.drift) == (0.03, 0.01)
    assert row.levels == tuple(trace.levels)
    numbers = score(scenario, trace)
    assert all(getattr(row, name) == value for name, value in vars(numbers).items())


def test_rows_come_scenario_by_scenario_in_the_order_of_the_laws(one_cpu):
    told = []
    rows = run_bench(["fixed", "pldi17"], some(3), lambda done, of: told.append((done, of)))
    assert [(row.law, row.scenario) for row in rows] == [
        (law, f"s{k}") for k in (1, 2, 3) for law in ("fixed", "pldi17")
    ]
    assert told == [(2, 6), (4, 6), (6, 6)]


def test_the_same_bench_gives_the_same_rows(one_cpu):
    assert run_bench(["millrace"], some(4), quietly) == run_bench(["millrace"], some(4), quietly)


def test_a_law_starts_anew_in_each_scenario(one_cpu):
    scenarios = some(6)
    assert (
        run_bench(["millrace"], scenarios, quietly)[-1]
        == run_bench(["millrace"], scenarios[-1:], quietly)[0]
    )


def test_an_unknown_law_is_refused(one_cpu):
    with pytest.raises(UserError, match="law 'magic' is unknown"):
        run_bench(["magic"], some(1), quietly)


@pytest.mark.heavy
def test_two_processes_give_the_rows_of_one_in_the_same_order(monkeypatch):
    laws, scenarios = ["millrace", "streams"], some(2 * SCENARIOS_PER_TASK)
    rows = {}
    for cpus in (1, 2):
        monkeypatch.setattr(side_by_side, "allowed_cpus", lambda cpus=cpus: cpus)
        rows[cpus] = run_bench(laws, scenarios, quietly)
    assert rows[1] == rows[2]
    assert len(rows[2]) == 4 * SCENARIOS_PER_TASK


def test_laws_that_cannot_search_take_part_and_are_told_what_they_need():
    assert {"millrace", "golden", "bandit", "gradient2", "ds2", "flink"} <= set(contestants())
    rises = ThreadScenario("p", sampled(peak(9, 0.5), 20), Bounds(1, 20, 1), shape="peak-9")
    idles = replace(rises, curve=sampled(plateau(9), 20), starved=True)
    for name, scenario, low, high in (
        ("ds2", rises, 9, 9),
        ("aimd", rises, 8, 10),
        ("ds2", idles, 9, 9),
        ("flink", idles, 9, 14),
    ):
        levels = row_of(name, scenario).levels[-20:]
        assert low <= min(levels) and max(levels) <= high, (name, levels)


def test_only_laws_that_need_a_target_are_told_one():
    scenario = some(1)[0]
    observed = scenario.observer()(0, Configuration(1))
    assert scenario.completed(make_law("millrace", scenario.bounds), 0, observed).target is None
    ds2, _ = scenario.contestant("ds2")
    assert scenario.completed(ds2, 0, observed).target == scenario.best(0).throughput


def test_a_law_that_curves_do_not_know_is_refused():
    with pytest.raises(UserError, match="law 'magic' is unknown"):
        check_name("magic")
