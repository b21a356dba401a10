"""A recorded trace fed to a law, and what is refused as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.bench.replay import answer, parse_record, replay
from harness.elasticity import Bounds
from harness.errors import UserError
from tests.elasticity.traces import trace_of

GOLDEN = json.loads(Path(__file__).with_name("golden_traces.json").read_text(encoding="utf-8"))


def levels(law="pldi17", settings=None, **trace):
    return answer(law, replay(law, trace_of(**trace), settings))["levels"]


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['law']}: {case['name']}")
def test_laws_decide_as_they_always_did(case):
    asked = {
        key: value
        for key, value in case.items()
        if key not in ("name", "levels", "reasons", "states")
    }
    assert levels(**asked) == case["levels"]


def test_the_answer_has_a_level_a_reason_and_a_state_for_each_sample():
    decisions = replay("pldi17", trace_of(max=4, throughputs=[100, 200]))
    assert answer("pldi17", decisions) == {
        "law": "pldi17",
        "levels": [2, 3],
        "reasons": ["lowest level, above untrusted → up", "trend below, above untrusted → up"],
        "states": ["climbing", "climbing"],
    }


def test_answers_are_used_up_by_requests_to_climb_not_by_samples():
    rising = [100, 200, 200, 200, 300, 400]
    assert levels(max=9, start=3, throughputs=[300, 200, 200, 300, 400], cpu_ok=[False]) == [
        2,
        1,
        1,
        2,
        3,
    ]
    assert levels(max=9, throughputs=rising, cpu_ok=[True, False, False]) == [2, 2, 2, 3, 4, 5]


def test_levels_above_the_start_can_be_untrusted():
    frozen = {"law": "streams", "max": 4, "start": 2, "throughputs": [200, 100, 200, 400]}
    assert levels(**frozen) == [1, 2, 2, 2]
    assert levels(**frozen, untrust_above=True) == [1, 2, 4, 4]
    for law in ("pldi17", "elastic_load_balance", "utilisation", "fixed"):
        assert levels(law, max=4, throughputs=[100], untrust_above=True) == levels(
            law, max=4, throughputs=[100]
        )


def test_congestion_and_utilisation_are_one_a_sample():
    assert levels("elastic_load_balance", max=8, throughputs=[9, 9], congested=[True, False]) == [
        2,
        1,
    ]
    assert levels("elastic_load_balance", max=8, throughputs=[9, 9]) == [2, 2], (
        "what is not known counts as congested"
    )
    assert levels(
        "utilisation", max=8, start=3, throughputs=[9, 9, 9], utilisation=[1, None, 0.1]
    ) == [4, 4, 3]


def test_settings_reach_the_law():
    assert levels("pldi17", {"doubling": "true"}, max=9, throughputs=[100, 200, 400]) == [2, 4, 8]


def sample(time_s, throughput, threads=2, **more):
    return {
        "time_s": time_s,
        "elapsed_s": 0.5,
        "submitted_tuples_per_s": throughput,
        "threads_active": threads,
        **more,
    }


def test_the_record_of_a_run_is_a_trace_from_its_first_level_to_its_cpus():
    record = {
        "samples": [sample(0.5, 100.0), sample(1.0, 200.0)],
        "host": {"cpus_allowed": 6},
        "arm": "dynamic-2",
    }
    trace = parse_record(json.dumps(record))
    assert trace.bounds == Bounds(1, 6, 2)
    assert [(r.time_s, r.elapsed_s, r.throughput) for r in trace.readings] == [
        (0.5, 0.5, 100.0),
        (1.0, 0.5, 200.0),
    ]
    assert trace.cpu_ok == (), "climbs are granted where nothing is known of the CPUs"


def test_a_record_without_a_pool_of_threads_begins_at_one():
    assert parse_record(json.dumps({"samples": [sample(1.0, 5.0, threads=0)]})).bounds == Bounds(
        1, 1, 1
    )


def test_the_adaptation_of_an_elastic_run_comes_before_its_samples():
    record = {
        "elastic": {"law": "streams", "minimum": 2, "maximum": 9, "start": 3},
        "adaptation": [sample(0.5, 1.0, system_cpu=0.25, utilisation=None)],
        "samples": [sample(1.0, 2.0, system_cpu=0.75, utilisation=0.5)],
    }
    trace = parse_record(json.dumps(record))
    assert trace.bounds == Bounds(2, 9, 3)
    assert [(r.throughput, r.system_cpu, r.utilisation) for r in trace.readings] == [
        (1.0, 0.25, None),
        (2.0, 0.75, 0.5),
    ]
    assert trace.cpu_ok is None, "the law's own limit decides"


def test_the_reference_records_can_be_replayed():
    lines = sorted(Path(__file__).parents[2].joinpath("results/reference").rglob("*.jsonl"))[
        0
    ].read_text(encoding="utf-8")
    trace = parse_record(lines.splitlines()[0])
    assert len(replay("streams", trace)) == len(trace.readings) > 0


BAD = {
    "": "must be a JSON object, not an empty text",
    "nonsense": "must be JSON: Expecting value in line 1, column 1",
    '{"samples": [{}]} {}': "one JSON object; another text follows in line 1",
    "[1, 2]": "must be a JSON object, not [1, 2]",
    "[" * 100_000: "must be JSON: ",
    '{"samples": [1' + "0" * 5000 + "]}": "must be JSON: ",
    "{}": "a record must have the key 'samples'",
    '{"max": 4, "throughputs": [1]}': "a record must have the key 'samples'",
    **{
        f'{{"samples": [{{"submitted_tuples_per_s": {value}}}]}}': (
            f"samples[0].submitted_tuples_per_s must be a number of tuples/s from 0, not {said}"
        )
        for value, said in (
            ("NaN", "NaN"),
            ("-2", "-2"),
            ('"fast"', '"fast"'),
            ("true", "true"),
            ("1e999", "Infinity"),
            ("1" + "0" * 400, "1000"),
        )
    },
    '{"samples": []}': "samples must hold one sample at least, not []",
    '{"samples": 3}': "samples must be a list, not 3",
    '{"samples": [3]}': "samples[0] must be a JSON object, not 3",
    '{"samples": [{}]}': "samples[0].submitted_tuples_per_s must be a number of tuples/s from 0, "
    "not null",
    '{"samples": [{"submitted_tuples_per_s": 1}]}': "samples[0].time_s must be a number, not null",
    '{"samples": [{"submitted_tuples_per_s": 1, "time_s": 1, "elapsed_s": '
    "0}]}": "samples[0]: elapsed_s must be more than 0",
    '{"samples": [{"threads_active": '
    '"two"}]}': 'samples[0].threads_active must be a number, not "two"',
    '{"samples": [{}], "elastic": {"maximum": '
    "null}}": "maximum level must be from 1 to 1024 threads, not None",
}


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:60])
def test_what_is_no_trace_is_refused_in_one_short_line(text):
    with pytest.raises(UserError) as told:
        parse_record(text)
    assert BAD[text] in str(told.value)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 250


def test_a_clock_that_goes_back_in_a_record_is_refused():
    record = {"samples": [sample(1.0, 5.0), sample(0.5, 5.0)]}
    with pytest.raises(
        UserError, match=r"time_s must grow from reading to reading: 0\.5 follows 1\.0"
    ):
        replay("fixed", parse_record(json.dumps(record)))
