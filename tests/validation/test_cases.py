"""Tests of which cases there are, how they are chosen, and what runs they ask for."""

from __future__ import annotations

import json
from collections import Counter

import pytest

import topologies
from harness.errors import UserError
from harness.models import Manual
from harness.validation.cases import (
    ARMS,
    COSTS,
    OWN,
    PAYLOADS,
    PREDICTED_S,
    SIZES,
    cases,
    number_name,
)
from tests.validation.made_runs import case

MODELS = (
    "manual, dedicated, dynamic-1, dynamic-2, coroutine-2, coroutine-2-random, "
    "coroutine-2-replicas-2"
)


def test_there_are_96_cases_of_24_cells_18_of_co_routines_8_of_deep_pipelines_and_26_of_new_graphs():
    every = cases()
    assert len(every) == len(set(every)) == len({str(each) for each in every}) == 148
    assert Counter(Counter(each.cell for each in every).values()) == {4: 20, 7: 6, 2: 4, 6: 3}
    assert Counter(each.kind for each in every) == {
        "known": 108, "replicas": 6, "deep": 8, "new": 26
    }  # fmt: skip
    classic = [arm for arm in ARMS if not arm.startswith("coroutine")]
    shallow = [each for each in every if each.arm in classic and each.topology in SIZES]
    assert {(each.topology, each.cost, each.payload, each.arm) for each in shallow} == {
        (topology, cost, payload, arm)
        for topology in SIZES
        for cost in COSTS
        for payload in PAYLOADS
        for arm in classic
    }


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ([], 148),
        (["topology=mix"], 24),
        (["topology=mix,cost=1"], 8),
        (["topology=pipeline-1000"], 4),
        (["topology=pipeline-100,cost=100"], 2),
        (["topology=mix", "topology=bushy"], 57),
        (["topology=unbalanced-tree,cost=1"], 6),
        (["topology=vwap"], 4),
        (["topology=vwap,cost=1"], 0),
        (["model=coroutine-2,model=coroutine-2-random"], 21),
        (["cost=1,cost=100", "model=manual, model=dynamic-2"], 40),
        (["cost=10000", "payload=4096", "topology=pipeline", "model=dedicated"], 1),
    ],
)
def test_values_of_a_name_are_alternatives_and_names_must_all_fit(filters, count):
    assert len(cases(filters)) == count


@pytest.mark.parametrize(
    ("filter", "told"),
    [
        (
            "pipeline",
            "--cells takes NAME=VALUE with NAME one of topology, cost, payload, model, not "
            "'pipeline'",
        ),
        ("", "--cells takes NAME=VALUE with NAME one of topology, cost, payload, model, not ''"),
        (
            "arm=manual",
            "--cells takes NAME=VALUE with NAME one of topology, cost, payload, model, not "
            "'arm=manual'",
        ),
        ("cost=5", "--cells: cost must be one of 1, 100, 10000, not '5'"),
        ("cost=", "--cells: cost must be one of 1, 100, 10000, not ''"),
        ("topology=mix,model=dynamic", f"--cells: model must be one of {MODELS}, not 'dynamic'"),
    ],
)
def test_a_filter_that_fits_nothing_is_told_in_one_line(filter, told):
    with pytest.raises(UserError) as caught:
        cases([filter])
    assert str(caught.value) == told


def test_every_case_can_be_run_both_ways():
    sound = set()
    for each in cases():
        for spec in (each.measured(0.2, 1), each.predicted(1)):
            asked = (spec.topology, json.dumps(spec.parameters), spec.seed)
            if asked not in sound:
                graph, parameters = topologies.build(spec.topology, spec.parameters, spec.seed)
                graph.check()
                assert parameters == spec.parameters
                sound.add(asked)
            assert spec.model.name == each.arm.partition("-")[0]
            assert (spec.experiment, spec.cell, spec.arm, spec.place.machine) == (
                "validation",
                each.cell,
                each.arm,
                "local",
            )


def test_a_prediction_is_the_measured_run_in_virtual_time_with_a_fixed_warm_up():
    real, virtual = case("dynamic-2").measured(0.2, 2), case("dynamic-2").predicted(2)
    assert (real.simulated, real.warmup, real.duration_s, real.repeat, real.model.threads) == (
        False,
        "auto",
        0.2,
        2,
        2,
    )
    assert (virtual.simulated, virtual.warmup, virtual.duration_s) == (
        True,
        PREDICTED_S[1],
        PREDICTED_S[1],
    )
    seeds = [case("dynamic-2").predicted(repeat).simulation_seed for repeat in (0, 1, 2)]
    assert len(set(seeds)) == 3 and virtual.simulation_seed == seeds[2]
    assert virtual.model == real.model


def test_queues_of_expensive_tuples_are_short_and_others_are_the_models_own():
    assert case("dedicated", cost=10_000).measured(0.2, 0).model.queue_capacity == 64
    assert case("dedicated", cost=100).measured(0.2, 0).model.queue_capacity is None
    assert case("manual", cost=10_000).measured(0.2, 0).model == Manual()  # it has no queues


def test_an_application_has_costs_and_payloads_of_its_own():
    vwap = case("dynamic-2", topology="vwap", cost=OWN, payload=OWN)
    assert vwap in cases() and str(vwap) == "vwap, dynamic-2"
    assert vwap.parameters["records"] == 10_000 and not {"cost", "payload"} & set(vwap.parameters)
    assert vwap.measured(0.2, 0).model.queue_capacity is None
    assert [number_name(number) for number in (OWN, 1, 10_000)] == ["own", "1", "10,000"]
