"""Variants that replace what no run looked at are not simulated again, and come out as if they
were.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.measurement import block
from harness.measurement.records import validate_record
from harness.measurement.spec import Run, run_of
from harness.measurement.variant import is_unreached, one_seed_decides
from harness.models import Manual

GRAPH = {"topology": "data-parallel", "parameters": {"width": 8, "cost": 1}}
NOMINAL = run_of(**GRAPH, model="dynamic", threads=8, machine="xeon", events=20_000, warmup=0.0005)
LAST, FIRST = "atomic.contended.176", "atomic.contended.2"


def record(contenders: int | None) -> dict:
    return {"simulation": {"contenders": contenders}}


@pytest.mark.parametrize(
    ("constants", "contenders", "unreached"),
    [
        ({LAST: 30.0}, 88, True),
        ({LAST: 30.0}, 89, False),
        ({"atomic.contended.22": 30.0}, 16, True),
        ({"atomic.contended.22": 30.0}, 17, False),
        ({"atomic.contended.22": 30.0, LAST: 30.0}, 17, False),
        ({"atomic.contended.1": 30.0}, 1, False),
        ({LAST: 30.0, "transfer.rmw.same_chip": 50.0}, 1, False),
        ({LAST: 30.0}, None, False),
        ({}, 1, False),
    ],
)
def test_a_step_is_out_of_reach_of_runs_with_no_more_contenders_than_the_step_before(
    constants, contenders, unreached
):
    assert (
        is_unreached(replace(NOMINAL, constants=constants), NOMINAL, record(contenders))
        is unreached
    )


def test_constants_that_the_nominal_run_has_too_are_not_what_a_variant_replaces():
    given = replace(NOMINAL, constants={"transfer.rmw.same_chip": 50.0})
    variant = replace(NOMINAL, constants={"transfer.rmw.same_chip": 50.0, LAST: 30.0})
    assert is_unreached(variant, given, record(4))


def test_other_chances_are_another_run():
    assert not is_unreached(replace(NOMINAL, constants={LAST: 30.0}, repeat=1), NOMINAL, record(4))


def test_a_variant_that_is_not_simulated_has_the_record_that_simulating_gives(monkeypatch):
    simulated: list[Run] = []
    really = block.run_once

    def simulate(spec, announce):
        simulated.append(spec)
        return really(spec, announce)

    monkeypatch.setattr(block, "run_once", simulate)
    records = list(
        block.run_block({"dynamic-8": NOMINAL}, 1, 0, variants=[{LAST: 120.0}, {FIRST: 300.0}])
    )
    assert [spec.constants for spec in simulated] == [{}, {FIRST: 300.0}], "two threads did meet"
    assert 2 <= records[0]["simulation"]["contenders"] <= 9
    for each in records:
        validate_record(each)
    assert [each["order_in_block"] for each in records] == [0, 1, 2]
    assert len({each["run_id"] for each in records}) == 3
    truth = really(
        replace(NOMINAL, arm="dynamic-8", constants={LAST: 120.0}, order_in_block=1),
        announce=lambda text: None,
    )
    own = {"run_id", "started_at", "host"}
    assert [each["simulation"].get("reached") for each in records] == [None, False, True]
    said = {key: value for key, value in records[1]["simulation"].items() if key != "reached"}
    told = records[1] | {"simulation": said | {"wall_s": truth["simulation"]["wall_s"]}}
    assert {key: told[key] for key in told.keys() - own} == {
        key: truth[key] for key in truth.keys() - own
    }
    assert records[2]["sink_tuples_per_s"] != records[0]["sink_tuples_per_s"]


def test_a_constant_that_a_run_never_uses_is_simulated_and_not_reached():
    alone = replace(NOMINAL, model=Manual())
    ends = [{"transfer.rmw.other_socket": 100.0}, {"transfer.rmw.other_socket": 300.0}]
    records = list(block.run_block({"manual": alone}, 1, 0, variants=ends))
    assert [each["simulation"].get("reached") for each in records] == [None, False, False]


def rate(tuples_per_s: float | None, passed: float | None = None) -> dict:
    return {"sink_tuples_per_s": tuples_per_s, "simulation": {"passed_tuples_per_s": passed}}


@pytest.mark.parametrize(
    ("ends", "decides"),
    [
        ([90.0, 110.0], False),
        ([90.0, 95.0], True),
        ([105.0, 110.0], True),
        ([99.0, 95.0], False),  # by noise
        ([100.0, 110.0], False),
        ([90.0], False),
        ([90.0, None], False),
    ],
)
def test_where_both_ends_of_a_range_lie_to_one_side_a_seed_decides(ends, decides):
    assert one_seed_decides(rate(100.0), [rate(end) for end in ends]) is decides
    assert (
        one_seed_decides(rate(1.0, passed=100.0), [rate(1.0, passed=end) for end in ends if end])
        is decides
    )


def test_arms_of_which_one_seed_decides_are_simulated_with_more(monkeypatch):
    rates = {
        "steady": {0.0: 100.0, 1.0: 90.0, 2.0: 110.0},
        "wild": {0.0: 100.0, 1.0: 120.0, 2.0: 110.0},
    }

    def simulate(spec, announce):
        simulated = rate(rates[spec.arm][spec.constants.get("a.b", 0.0)])
        told = {
            "error": None,
            "submitted_tuples_per_s": 1.0,
            "cpu_seconds": 1.0,
            "latency_ns": None,
        }
        return {
            **simulated,
            **told,
            "arm": spec.arm,
            "repeat": spec.repeat,
            "order": spec.order_in_block,
            "of": spec.constants,
        }

    monkeypatch.setattr(block, "run_once", simulate)
    specs = dict.fromkeys(("steady", "wild"), NOMINAL)
    records = list(block.run_block(specs, 2, 0, variants=[{"a.b": 1.0}, {"a.b": 2.0}]))
    assert [each["order"] for each in records] == list(range(len(records)))
    runs = {
        arm: sorted(
            (each["repeat"], *each["of"].values()) for each in records if each["arm"] == arm
        )
        for arm in specs
    }
    ends = [(0, 1.0), (0, 2.0)]
    assert runs["steady"] == sorted([(0,), (1,), *ends])
    assert runs["wild"] == sorted(
        (repeat, *end) for repeat in range(4) for end in [(), (1.0,), (2.0,)]
    )
