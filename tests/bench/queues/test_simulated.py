"""Scenarios on the simulator in place of surfaces."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from harness import elasticity
from harness.bench.closed_loop import RunCourse
from harness.bench.queues import simulated
from harness.bench.queues.scenario import scenarios
from harness.bench.queues.simulated import (
    MAX_CPUS,
    MAX_OPERATORS,
    PERIOD_MULTIPLES,
    _row,
    _variation,
    machine_of,
    period_of,
    rows_of,
    run,
    simulable,
)
from harness.bench.queues.world import QueueWorld
from harness.bench.scenario import Configuration
from harness.errors import UserError
from harness.models import Dedicated, Dynamic, Multilevel
from tests.bench.queues.small import Toy, scenario

SMALL = scenario(operators=6, costs="balanced-10000", world=QueueWorld("local", "millrace", 4))

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def usual():
    """The period of SMALL."""
    return period_of(SMALL)


@pytest.fixture
def known(usual, monkeypatch):
    """The period of SMALL is not looked for again."""
    monkeypatch.setattr(simulated, "period_of", lambda scenario: usual)


def test_as_many_scenarios_as_asked_for_none_too_large():
    chosen = simulable(scenarios(), 5)
    assert len({each.name for each in chosen}) == 5
    assert all(each.noise == 0.0 and not each.event for each in chosen)
    assert all(
        each.layout.operators <= MAX_OPERATORS and each.world.cpus <= MAX_CPUS for each in chosen
    )


def test_more_than_there_are_is_each_of_them_once():
    every = [
        SMALL,
        replace(SMALL, name="a"),
        replace(SMALL, name="noisy", noise=0.05),
        replace(SMALL, name="b"),
    ]
    assert [each.name for each in simulable(every, 100)] == [SMALL.name, "a", "b"]


@pytest.mark.parametrize(
    "world",
    [QueueWorld("local", cpus=2), QueueWorld("local", cpus=4), QueueWorld("xeon", cpus=16, smt=2)],
)
def test_the_machine_has_the_cpus_of_the_world(world):
    assert machine_of(world).cpus == world.cpus


@pytest.mark.usefixtures("known")
def test_the_surface_and_the_simulator_agree_on_what_placing_queues_brings():
    rows = {row.law: row for row in rows_of(["manual", "hand-placed"], SMALL, periods=30)}
    gained = rows["hand-placed"].accuracy / rows["manual"].accuracy
    surface, best = SMALL.surface(0), SMALL.best(0)
    assert gained == pytest.approx(best.throughput / surface.throughput((), 1), rel=0.3)
    assert (rows["hand-placed"].settled_threads, rows["hand-placed"].settled_parts) == (
        best.threads,
        len(best.queued),
    )


STREAMS = replace(SMALL, world=QueueWorld("local", "streams-4.2", 4))


@pytest.mark.parametrize("model", [Dedicated(), Dynamic(2), Multilevel()])
def test_queues_of_ibm_streams_hold_a_small_part_of_a_period(model):
    assert simulated._engine(STREAMS, model).queue_capacity == simulated.STREAMS_QUEUE_CAPACITY
    assert simulated._engine(SMALL, model).queue_capacity > simulated.STREAMS_QUEUE_CAPACITY


@pytest.mark.slow
def test_the_manual_model_has_no_queues_to_shorten(monkeypatch):
    monkeypatch.setattr(simulated, "MAX_QUIET_NOISE", math.inf)  # any period will do
    assert [each.parts for each in run("manual", STREAMS, 2).configurations] == [0, 0]


@pytest.mark.slow
def test_a_period_is_as_long_as_steady_throughput_needs(usual, monkeypatch):
    monkeypatch.setattr(simulated, "PERIOD_MULTIPLES", PERIOD_MULTIPLES[:3])
    monkeypatch.setattr(simulated, "MAX_QUIET_NOISE", 0.5 * usual.noise)
    longer = period_of(SMALL)
    assert 0.0 < longer.noise < usual.noise
    assert longer.length_s / usual.length_s in PERIOD_MULTIPLES[1:3]
    monkeypatch.setattr(simulated, "MAX_QUIET_NOISE", 0.0)
    assert period_of(SMALL).length_s / usual.length_s == PERIOD_MULTIPLES[2]


def test_throughput_is_to_be_steady_with_the_best_queues_and_with_all_of_them(monkeypatch):
    looked = []
    place = simulated._place
    monkeypatch.setattr(simulated, "_place", lambda *at: looked.append(at[-1]) or place(*at))
    period_of(SMALL)
    every = frozenset(range(len(SMALL.layout.ports)))
    assert looked == [SMALL.best(0).queued, every, every]


def test_what_varies_from_one_period_to_the_next_is_the_mean_of_as_many_rates_as_it_is_long():
    assert _variation([1.0, 3.0] * 4, 1) == pytest.approx(0.5345, abs=1e-4)
    assert _variation([1.0, 3.0] * 4, 2) == 0.0
    assert _variation([0.0] * 4, 1) == _variation([0.0, 9.0, 0.0, 0.0], 1) == math.sqrt(4)


def test_a_row_says_how_noisy_its_scenario_is(usual):
    rows = rows_of(["manual"], SMALL, periods=20)
    assert rows[0].noise == usual.noise > 0.0


@pytest.mark.usefixtures("known")
def test_a_law_is_in_the_loop(monkeypatch):
    monkeypatch.setattr(elasticity, "law_class", lambda name, decides: Toy)
    done = run("millrace", SMALL, periods=12)
    assert done.levels[:3] == [1, 1, 1] and done.levels[-1] == 4
    assert [each.parts for each in done.configurations][:3] == [0, 0, 0] and [
        each.parts for each in done.configurations
    ][-1] == 4
    assert done.throughputs[-1] > 1.5 * done.throughputs[1]


def test_a_placement_that_moves_is_not_at_rest_however_many_queues_it_has():
    here, there = Configuration(1, frozenset({1})), Configuration(1, frozenset({2}))
    moving, still = RunCourse([here, there] * 30, [1.0] * 60), RunCourse([here] * 60, [1.0] * 60)
    rows = [_row("millrace", SMALL, run, still, 1.0, 0.02) for run in (still, moving)]
    assert rows[0].settling == 0.0 == rows[0].changes
    assert rows[1].settling == 60.0 and rows[1].changes > 25.0


@pytest.mark.usefixtures("known")
def test_the_best_contestant_is_the_measure_of_all():
    rows = rows_of(["manual", "dedicated", "dynamic"], replace(SMALL, name="s"), periods=20)
    assert [row.settled_threads for row in rows[:2]] == [1, 7]
    assert max(row.accuracy for row in rows) == 1.0
    assert len({row.best_throughput for row in rows}) == 1


def test_an_unknown_law_is_refused():
    with pytest.raises(UserError, match="law 'magic' is not on the bench"):
        run("magic", SMALL)
