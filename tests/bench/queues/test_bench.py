"""All contestants on all scenarios: a row for each pair, the same however many processes there
are.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.bench.bench import row_of, run_bench
from harness.bench.closed_loop import trace_of
from harness.bench.score import score
from harness.errors import UserError
from tests.bench.queues.small import scenario

SOME = [replace(scenario(operators), name=f"s{operators}") for operators in (3, 4, 5)]
LAWS = ["manual", "dynamic", "hand-placed"]


def quietly(done, of):
    """No progress shown."""


def test_a_row_says_what_was_run_and_what_came_of_it():
    row = row_of("dynamic", SOME[1])
    trace = trace_of("dynamic", SOME[1])
    assert (row.law, row.scenario, row.kind, row.operators, row.places, row.maximum) == (
        "dynamic",
        "s4",
        "pipeline",
        6,
        5,
        16,
    )
    assert row.levels == tuple(trace.levels) and row.counts == (5,) * 40
    assert all(getattr(row, name) == value for name, value in vars(score(SOME[1], trace)).items())


def test_rows_come_scenario_by_scenario():
    told = []
    rows = run_bench(LAWS, SOME, lambda done, of: told.append((done, of)), jobs=1)
    assert [(row.scenario, row.law) for row in rows] == [
        (each.name, law) for each in SOME for law in LAWS
    ]
    assert told == [(3, 9), (6, 9), (9, 9)]


def test_an_unknown_law_is_refused_before_anything_runs():
    with pytest.raises(UserError, match="law 'magic' is not on the bench"):
        run_bench(["manual", "magic"], SOME, quietly, jobs=2)


@pytest.mark.heavy
def test_two_processes_give_the_rows_of_one():
    assert run_bench(LAWS, SOME, quietly, jobs=1) == run_bench(LAWS, SOME, quietly, jobs=2)
