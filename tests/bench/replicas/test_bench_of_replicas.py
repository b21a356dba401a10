"""The bench of laws of replicas: scores of a run, rows, the table, the command."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import median

import numpy as np
import pytest

from harness.bench import side_by_side
from harness.bench.bench import check_name, row_of, run_bench
from harness.bench.closed_loop import run, trace_of
from harness.bench.replicas.scenario import (
    CHANGE_AT,
    CHOSEN_ON,
    HELD_OUT,
    LOADS,
    ReplicaScenario,
    drawn,
    scenarios,
)
from harness.bench.report import as_frame, summary
from harness.bench.scenario import Configuration
from harness.bench.score import score
from harness.cli import main
from harness.elasticity import LAWS, Bounds, Decides, Decision, Law
from harness.elasticity.cpu_limit import LastPeriod
from harness.errors import UserError
from tests.elasticity.replicas.small import world

BUSY = world((40.0,), target=100_000.0)
BEGIN = Configuration(1, replicas=(1, 1, 1))


class Toy(Law):
    """Five threads and four replicas from the third period on."""

    name = "toy"
    summary = "for tests"
    decides = Decides.REPLICAS
    place = (5, (1, 4, 1))

    def cpu_limit(self):
        """Never asked."""
        return LastPeriod(1.0)

    def decide(self, reading):
        """Return the decision, as above."""
        self.seen = [*getattr(self, "seen", []), reading]
        if len(self.seen) < 3:
            return Decision(reading.threads, "waits", "waiting")
        return Decision(self.place[0], "goes", "settled", replicas=self.place[1])


def scenario(*phases, **options) -> ReplicaScenario:
    given = {"bounds": Bounds(1, 12, 1), "periods": 30} | options
    return ReplicaScenario("small", "chain", "paced", phases or ((0, BUSY),), **given)


def test_a_law_gets_what_it_asks_for_and_reads_what_that_brings():
    law = Toy(Bounds(1, 12, 1))
    trace = run(law, scenario(), BEGIN)
    assert trace.levels[:4] == [1, 1, 1, 5] and [
        each.replicas for each in trace.configurations[2:4]
    ] == [(1, 1, 1), (1, 4, 1)]
    before, after = law.seen[0], law.seen[10]
    assert before.tuples[1] / before.useful_s[1] == pytest.approx(25_000, rel=1e-6), "a true rate"
    assert after.replicas == (1, 4, 1) and after.target == 100_000.0
    assert after.tuples[0] == pytest.approx(
        10.0 * BUSY.rate(5, np.array((1.0, 4.0, 1.0))), rel=1e-6
    )


def test_noise_is_the_same_whatever_the_law_does():
    free = scenario((0, replace(BUSY, target=None)), noise=0.05, seed=3)
    one, other = (trace_of("millrace", free) for _ in range(2))
    assert one == other
    toy = Toy(Bounds(1, 12, 1))
    first = run(toy, free, BEGIN)
    assert first.throughputs[0] == one.throughputs[0]


def test_the_score_of_a_run():
    trace = run(Toy(Bounds(1, 12, 1)), scenario(), BEGIN)
    numbers = score(scenario(), trace)
    rate = BUSY.rate(5, np.array((1.0, 4.0, 1.0)))
    assert numbers.accuracy == pytest.approx(rate / 100_000.0, rel=0.01)
    assert (numbers.settling, numbers.changes) == (3.0, 0.0)
    assert (numbers.settled_threads, numbers.settled_parts) == (5, 6)
    assert numbers.threads == pytest.approx(5 / 5) and numbers.parts == pytest.approx(6 / 7)


def test_more_than_is_needed_is_told():
    law = Toy(Bounds(1, 12, 1))
    law.place = (10, (1, 8, 1))
    numbers = score(scenario(), run(law, scenario(), BEGIN))
    assert numbers.accuracy == pytest.approx(1.0)
    assert numbers.threads == pytest.approx(10 / 5) and numbers.parts == pytest.approx(10 / 7)


def test_a_scenario_is_scored_in_each_of_its_worlds():
    two = scenario((0, BUSY), (15, replace(BUSY, target=20_000.0)))
    numbers = score(two, run(Toy(Bounds(1, 12, 1)), two, BEGIN))
    assert len(numbers.rates) == 2 and numbers.rates[1] == pytest.approx(20_000.0)
    assert numbers.threads == pytest.approx(5.0), "of the second load one thread is enough"


def test_the_library_has_all_kinds_and_loads_and_is_the_same_each_time():
    library = list(scenarios())
    assert {each.kind for each in library} == {*CHOSEN_ON, *HELD_OUT} and not set(CHOSEN_ON) & set(
        HELD_OUT
    )
    assert {each.event for each in library} == set(LOADS)
    assert len({each.name for each in library}) == len(library)
    assert drawn("tree", 7) == drawn("tree", 7)
    hinders = [
        {index for index, share in enumerate(world.serial) if share} - set(world.layout.replicable)
        for scenario in library
        for _, world in scenario.phases
    ]
    assert not any(hinders), (
        "only operators that may have replicas have some that hinder each other"
    )
    assert any(any(world.serial) for scenario in library for _, world in scenario.phases)
    assert all(
        len(each.phases) == (1 if each.event in ("full", "paced") else 2) for each in library
    )
    assert all(begin in (0, CHANGE_AT) for each in library for begin, _ in each.phases)


def test_rows_are_the_same_however_many_processes_there_are(monkeypatch):
    some = [drawn("chain", number) for number in range(3)]
    alone = run_bench(["cstream", "millrace"], some, lambda done, of: None, jobs=1)
    monkeypatch.setattr(side_by_side, "SCENARIOS_PER_TASK", 2)
    assert run_bench(["cstream", "millrace"], some, lambda done, of: None, jobs=2) == alone
    assert [(row.law, row.scenario) for row in alone] == [
        (law, each.name) for each in some for law in ("cstream", "millrace")
    ]


def test_a_law_of_another_kind_is_refused():
    with pytest.raises(
        UserError,
        match="law 'pldi17' does not choose replicas; laws that do are: millrace, cstream",
    ):
        check_name("pldi17", "replicas")


@pytest.mark.slow
def test_our_law_needs_at_most_half_the_periods_and_brings_as_much_on_a_sample_of_the_library():
    """Scenarios of the bench, whose results are in docs/appendices/laws-bench.md; this is a scenario of each kind and three
    loads.
    """
    some = [drawn(kind, number) for kind in CHOSEN_ON + HELD_OUT for number in (6, 13, 21)]
    ours, theirs = ([row_of(law, each) for each in some] for law in ("millrace", "cstream"))
    assert median(row.settling for row in ours) <= 0.5 * median(row.settling for row in theirs)
    assert sum(row.accuracy >= 0.97 for row in ours) >= 13
    assert (
        sum(row.threads <= 1.05 for row in ours) >= 12
        and sum(row.parts <= 1.05 for row in ours) >= 12
    )


def test_the_table_has_kinds_that_only_score_apart():
    rows = [
        row_of(law, drawn(kind, 1))
        for law in ("cstream", "millrace")
        for kind in ("chain", "mixed")
    ]
    text = summary(rows)
    held_out = text.index("graphs that only score")
    chosen_on = text.index("numbers were chosen on**")
    assert held_out < chosen_on
    assert text.count("| cstream ") == text.count("| millrace ") == 2
    assert "millrace over cstream" in text
    frame = as_frame(rows)
    assert len(frame) == 4 and "levels" not in frame and set(frame["held_out"]) == {True, False}


def test_the_command_runs_it(capsys):
    assert (
        main(["laws", "bench", "--replicas", "--every", "150", "--jobs", "1", "--json", "-"]) == 0
    )
    rows = json.loads(capsys.readouterr().out)["results"]
    assert {row["law"] for row in rows} == set(LAWS[Decides.REPLICAS])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--multilevel"], "--multilevel and --replicas are two benches"),
        (["--law", "pldi17"], "does not choose replicas"),
    ],
)
def test_what_does_not_belong_to_it_is_refused(words, told, capsys):
    assert main(["laws", "bench", "--replicas", *words]) == 2
    assert told in capsys.readouterr().err
