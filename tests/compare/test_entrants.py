"""Runs of arms: simulated ones go on until they are stationary, by the rule of experiments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.compare.entrants import RunTerms, entrant, execute
from harness.experiments.experiment import Arm
from harness.experiments.file import EVENTS
from harness.graph import Graph
from harness.machines.place import Place, find_place
from harness.measurement.spec import arm_name
from harness.measurement.subject import find_subject
from harness.models import Dedicated, Dynamic, Manual, Multilevel


def run_of_arm(model, place=None, duration_s=None, **terms):
    subject = find_subject("pipeline", {"operators": "3", "cost": "30000"}, 0)
    made = RunTerms(place or find_place("xeon", cpus=4), "compare", duration_s, **terms)
    return made.run_of(Arm(arm_name(model), model), subject)


def test_simulated_arms_take_as_many_events_as_those_of_experiments():
    assert run_of_arm(Dedicated()).events == EVENTS


@pytest.mark.parametrize(
    "run",
    [
        run_of_arm(Dedicated(), duration_s=0.01),
        run_of_arm(Dedicated(), warmup=0.01),
        run_of_arm(Dedicated(), place=Place()),
        run_of_arm(Dynamic(2, elastic=True)),
        run_of_arm(Multilevel()),
    ],
    ids=["duration", "warm-up", "real", "elastic", "multilevel"],
)
def test_runs_of_another_length_or_with_a_law_are_timed(run):
    assert run.events is None


def test_slow_operators_are_not_compared_while_their_queues_fill():
    """In 20 ms of virtual time, the default of a timed run, 1,000 tuples do not fill a queue."""
    rates = {}
    for model in (Manual(), Dedicated()):
        record = execute(replace(run_of_arm(model), events=5_000_000), lambda phase: None)
        assert record["settled"]
        rates[model.name] = record["sink_tuples_per_s"]
    assert rates["dedicated"] / rates["manual"] == pytest.approx(2.87, abs=0.05)


def test_an_explained_run_until_stationary_explains_its_window_alone():
    run = replace(run_of_arm(Dedicated()), events=500_000, explained=True)
    record = execute(run, lambda phase: None)
    assert record["warmup_s"] > 0.0
    assert record["time_use"]["elapsed_s"] == pytest.approx(record["duration_s"])


@pytest.mark.parametrize(("asked_s", "window_s"), [(0.5, 1.2), (1.2, 1.2), (1.25, 2.4)])
def test_a_run_of_a_source_in_bursts_has_whole_cycles(asked_s, window_s):
    graph = Graph("bursts", 8)
    source = graph.source("source", rates=[(0.4, 1000.0), (0.8, 0.0)])
    graph.connect(source, graph.sink("sink"))
    run = run_of_arm(Manual(), place=Place(), duration_s=asked_s)
    made = entrant(Arm("manual", Manual()), "manual", run, graph)
    assert made.run.duration_s == pytest.approx(window_s)
    assert not made.notes


def test_a_run_of_a_source_without_bursts_is_as_long_as_was_asked():
    graph = Graph("even", 8)
    graph.connect(graph.source("source", rate=10.0), graph.sink("sink"))
    run = run_of_arm(Manual(), place=Place(), duration_s=0.7)
    assert entrant(Arm("manual", Manual()), "manual", run, graph).run.duration_s == 0.7
