"""Traces for laws that place queues: replayed, read from records, printed, and what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import topologies
from harness.bench.replay import answer, parse_record, place_names, replay
from harness.cli import main
from harness.elasticity import layout_of
from harness.errors import UserError
from harness.graph import PortId
from harness.measurement.run import run_once
from harness.measurement.spec import run_of
from harness.models import Dynamic
from tests.elasticity.traces import trace_of

TRACE = {
    "min": 2,
    "max": 8,
    "ports": [100, 100, 1, 1],
    "throughputs": [100, 200, 200, 200, 200, 200],
}
"""The two heavy operators bring more, the light ones do not."""


def replayed(law, **trace):
    return answer(law, replay(law, trace_of(**trace)))


def test_a_trace_with_ports_is_multilevel():
    found = replayed("streams", **TRACE)
    assert found["levels"] == [2, 2, 2, 2, 4, 4]
    assert found["queued"] == [[0, 1], [0, 1, 2, 3], [0, 1], [0, 1], [0, 1], [0, 1]]
    assert found["states"] == ["placing", "placing", "placing", "waiting", "climbing", "waiting"]
    assert len(found["reasons"]) == 6
    assert found.keys() == {"law", "levels", "queued", "reasons", "states"}


def test_m19s_law_decides_otherwise_on_the_same_trace():
    found = replayed("middleware19", **TRACE)
    assert found["levels"] == [2, 2, 2, 2, 4, 4]
    assert [len(queued) for queued in found["queued"]] == [2, 4, 3, 2, 2, 4]
    assert found["queued"][3] == [0, 1]


def test_answers_to_requests_to_climb_reach_the_law():
    assert replayed("streams", **TRACE, cpu_ok=[False])["states"][4:] == ["refused", "climbing"]


def test_costs_of_a_sample_come_before_those_of_the_ports():
    heavy_last = [0.01, 0.01, 0.49, 0.49]
    assert replayed("streams", **TRACE, costs=heavy_last)["queued"][0] == [2, 3]
    each = [heavy_last, *[[0.25] * 4] * 5]
    assert replayed("streams", **TRACE, costs=each)["queued"][:2] == [[2, 3], [0, 1, 2, 3]]
    unknown = [None] * 6
    assert replayed("streams", **TRACE, costs=unknown)["queued"][0] == [0, 1, 2, 3]


def test_a_trace_without_ports_is_for_laws_of_the_thread_level():
    with pytest.raises(
        UserError,
        match="law middleware19 places queues: it needs the record of a run under the model "
        "multilevel",
    ):
        replayed("middleware19", max=4, throughputs=[1])
    with pytest.raises(
        UserError,
        match="law 'pldi17' does not place queues; laws that do are: millrace, middleware19, "
        "streams",
    ):
        replayed("pldi17", max=4, throughputs=[1], ports=2)
    assert "queued" not in replayed("streams", max=4, throughputs=[1])


# -- records


def sample(time_s, throughput, **more):
    return {
        "time_s": time_s,
        "elapsed_s": 1.0,
        "submitted_tuples_per_s": throughput,
        "threads_active": 2,
        **more,
    }


def record(**more):
    graph, parameters = topologies.build("pipeline", {"operators": 3}, 0)
    places = [str(port) for port in layout_of(graph, Dynamic(), 2).ports]
    return {
        "topology": "pipeline",
        "parameters": parameters,
        "seed": 0,
        "elastic": {"law": "streams", "minimum": 1, "maximum": 4, "start": 1, "places": places},
        "adaptation": [sample(1.0, 100.0, operator_cost=[0.0, 0.2, 0.6, 0.2, 0.0])],
        "samples": [sample(2.0, 200.0, operator_cost=[])],
        "host": {"cpus_allowed": 2},
        **more,
    }


def test_the_record_of_a_run_has_its_graph_and_its_costs():
    trace = parse_record(json.dumps(record()))
    assert [str(port) for port in trace.layout.ports] == record()["elastic"]["places"]
    assert trace.layout.links[1].target == 2
    assert trace.layout.cpus == 2
    assert [reading.costs for reading in trace.readings] == [(0.0, 0.2, 0.6, 0.2, 0.0), ()]
    decisions = replay("streams", trace)
    assert place_names(decisions[0].queued, trace.layout) == "work2"


def test_the_record_of_a_run_under_a_quota_has_the_cpus_that_its_law_knew_of():
    assert (
        parse_record(
            json.dumps(record(host={"cpus_allowed": 8, "cgroup_quota_cpus": 1.5}))
        ).layout.cpus
        == 2
    )


@pytest.mark.parametrize(
    ("run", "batch"),
    [
        ({}, 32),
        ({"simulated": True, "simulation": {"software": "streams-4.2"}}, 1),
        ({"simulated": True, "simulation": {"software": "millrace"}}, 32),
        ({"simulated": True, "simulation": {"software": "nobody knows"}}, 0),
        ({"simulated": True}, 0),
    ],
)
def test_a_record_tells_how_many_tuples_its_runtime_moved_at_once(run, batch):
    assert parse_record(json.dumps(record(**run))).layout.batch == batch


def test_the_record_of_another_law_is_a_trace_of_the_thread_level():
    other = record()
    other["elastic"]["places"] = None
    assert parse_record(json.dumps(other)).layout is None


@pytest.mark.parametrize(
    "how",
    [
        {"topology": "mine"},
        {"topology": None},
        {"parameters": [1]},
        {"parameters": {"operators": 5}},
        {"seed": "x"},
    ],
)
def test_where_the_graph_is_not_known_a_pipeline_of_its_places_stands_for_it(how):
    trace = parse_record(json.dumps(record(**how)))
    assert [str(port) for port in trace.layout.ports] == record()["elastic"]["places"]
    assert len(replay("middleware19", trace)) == 2


def test_what_the_law_went_by_is_replayed_where_a_record_has_it():
    samples = [
        sample(1.0, 100.0),
        sample(2.0, 200.0, law_tuples_per_s=230.0),
        sample(3.0, 300.0, law_tuples_per_s=None),
    ]
    trace = parse_record(json.dumps(record(samples=samples)))
    assert [reading.throughput for reading in trace.readings][-3:] == [100.0, 230.0, 300.0]


def test_what_arrives_at_the_sinks_is_replayed():
    made = parse_record(
        json.dumps(record(samples=[sample(1.0, 100.0, law_arrived=0.25), sample(2.0, 100.0)]))
    )
    assert [reading.arrived for reading in made.readings][-2:] == [0.25, None]


def test_the_record_of_a_simulated_run_has_the_described_machines_cpus():
    trace = parse_record(json.dumps(record(simulated=True, machine="xeon:16")))
    assert trace.layout.cpus == 16
    unknown = parse_record(json.dumps(record(simulated=True, machine="nowhere")))
    assert unknown.layout.cpus == 4


@pytest.mark.parametrize(
    ("more", "capacity"),
    [({"queue_capacity": 64}, 64), ({"queue_capacity": 64, "topology": "mine"}, 64), ({}, 1000)],
)
def test_the_record_of_a_run_has_its_queues(more, capacity):
    assert parse_record(json.dumps(record(**more))).layout.queue_capacity == capacity


@pytest.mark.heavy
@pytest.mark.parametrize("law", ["streams", "middleware19", "millrace"])
def test_a_run_replayed_decides_as_it_did(law):
    spec = run_of(
        topology="pipeline",
        parameters={"operators": 30, "cost": 100},
        model="multilevel",
        law=law,
        maximum=16,
        machine="xeon:16",
        simulated=True,
        warmup=0.0,
        duration_s=0.15,
        period_s=0.005,
    )
    made = run_once(spec)
    assert made["correct"]
    periods = [*made["adaptation"], *made["samples"]]
    samples = [
        sample for sample in periods if not sample["law_reason"].startswith("put off: ")
    ]  # for a thread that sleeps on
    decisions = replay(law, parse_record(json.dumps(made)))
    assert len(decisions) == len(samples) > len(periods) - 3 > 25
    assert [decision.threads for decision in decisions[:-1]] == [
        sample["threads_requested"] for sample in samples[1:]
    ]
    assert [len(decision.queued) for decision in decisions[:-1]] == [
        sample["queued_ports"] for sample in samples[1:]
    ]
    assert len({len(decision.queued) for decision in decisions}) > 1


def test_a_sample_that_the_law_did_not_see_is_left_out():
    held = sample(
        1.5, 1.0, law_state="waiting", law_reason="put off: 1 thread(s) would not suspend"
    )
    trace = parse_record(json.dumps(record(samples=[held, sample(2.0, 200.0)])))
    assert [reading.throughput for reading in trace.readings] == [100.0, 200.0]


def test_a_period_of_several_samples_is_one_reading_of_the_length_that_the_law_knew():
    samples = [
        sample(1.5, 1.0, law_state=None),
        sample(2.0, 3.0, law_state="placing", law_tuples_per_s=2.0, law_elapsed_s=1.9),
    ]
    trace = parse_record(json.dumps(record(samples=samples)))
    assert [(reading.throughput, reading.elapsed_s) for reading in trace.readings] == [
        (100.0, 1.0),
        (2.0, 1.9),
    ]


# -- what is refused


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"elastic": {"maximum": 4, "places": 3}}, "places must be a list, not 3"),
        (
            {"elastic": {"maximum": 4, "places": ["work1"]}},
            'elastic.places[0] must be a port as work1[0], not "work1"',
        ),
        (
            {"elastic": {"maximum": 4, "places": [3]}},
            "elastic.places[0] must be a port as work1[0], not 3",
        ),
        (
            {"samples": [sample(2.0, 1.0, operator_cost=3)]},
            "samples[0].operator_cost must be a list, not 3",
        ),
        (
            {"samples": [sample(2.0, 1.0, operator_cost=["x"])]},
            'samples[0].operator_cost[0] must be a number from 0, not "x"',
        ),
        (
            {"host": {"cpus_allowed": "all"}},
            'host.cpus_allowed must be a whole number from 1 to 1024, not "all"',
        ),
    ],
)
def test_a_record_that_is_none_is_refused_in_one_line(how, message):
    with pytest.raises(UserError) as refused:
        parse_record(json.dumps(record(**how)))
    assert message in str(refused.value)


@settings(max_examples=50)
@given(
    ports=st.integers(0, 30) | st.lists(st.floats(0.0, 1e6), max_size=30),
    throughputs=st.lists(st.floats(0.0, 1e9), min_size=1, max_size=60),
    least=st.integers(1, 8),
    more=st.integers(0, 60),
    cpu_ok=st.lists(st.booleans(), max_size=1),
    law=st.sampled_from(["middleware19", "streams"]),
)
def test_any_trace_is_replayed_within_bounds_and_places(
    ports, throughputs, least, more, cpu_ok, law
):
    found = replayed(
        law, ports=ports, throughputs=throughputs, min=least, max=least + more, cpu_ok=cpu_ok
    )
    places = ports if isinstance(ports, int) else len(ports)
    assert all(least <= level <= least + more for level in found["levels"])
    assert all(0 <= place < places for queued in found["queued"] for place in queued)
    assert len(found["levels"]) == len(found["queued"]) == len(throughputs)


# -- for people


def test_neighbouring_places_are_told_as_a_run():
    layout = trace_of(max=4, throughputs=[1], ports=12).layout
    assert place_names([], layout) == ""
    assert place_names([7], layout) == "7"
    assert place_names({0, 1, 2, 5, 9, 10}, layout) == "0..2, 5, 9..10"
    second = layout.__class__(
        [PortId("merge", 0), PortId("merge", 1)], [1, 1], [0], [], [1.0] * 2, [0.0] * 2, 0, 1
    )
    assert place_names({1}, second) == "merge[1]"


PLACED = record(
    adaptation=[],
    samples=[
        sample(float(second), throughput, operator_cost=[0.0, 0.495, 0.495, 0.01, 0.0])
        for second, throughput in enumerate(TRACE["throughputs"], start=1)
    ],
)


@pytest.fixture
def placed(tmp_path):
    path = tmp_path / "record.json"
    path.write_text(json.dumps(PLACED), encoding="utf-8")
    return str(path)


def test_a_replay_of_placed_queues_prints_threads_and_ports_after_each_sample(placed, capsys):
    assert main(["laws", "replay", "--law", "streams", placed]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["sample", "tuples/s", "level", "queues", "state", "ports", "reason"]
    assert lines[1].split()[:6] == ["0", "100", "1", "2", "placing", "work1..work2"]
    assert lines[1].endswith("all 2 of the heaviest group")


def test_many_ports_are_cut_short(tmp_path, capsys):
    path = tmp_path / "record.json"
    places = [f"operator{number}[0]" for number in range(80)]
    elastic = PLACED["elastic"] | {"places": places}
    path.write_text(json.dumps(PLACED | {"topology": None, "elastic": elastic}), encoding="utf-8")
    assert main(["laws", "replay", "--law", "middleware19", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "operator" in printed and max(map(len, printed.splitlines())) < 250


def test_json_of_a_replay_has_the_places_with_queues(placed, capsys):
    assert main(["laws", "replay", "--law", "middleware19", placed, "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == answer("middleware19", replay("middleware19", parse_record(json.dumps(PLACED))))
    assert len(found["queued"]) == len(PLACED["samples"])
    assert main(["laws", "replay", "--law", "middleware19", "--law-set", "history=no", placed]) == 0


@pytest.mark.parametrize(
    ("options", "document", "message"),
    [
        (
            ["--law", "streams", "--multilevel"],
            {"samples": [sample(1.0, 5.0)]},
            "--multilevel: the record must be of a run under the model multilevel",
        ),
        (["--law", "pldi17", "--multilevel"], PLACED, "law 'pldi17' does not place queues"),
        (["--law", "magic"], PLACED, "law 'magic' is unknown"),
        (
            ["--law", "middleware19", "--law-set", "satisfaction=2"],
            PLACED,
            "satisfaction must be from 0 to 1, not '2'",
        ),
        (
            ["--law", "streams", "--law-set", "speed=2"],
            PLACED,
            "law streams has no setting 'speed'; it has none",
        ),
    ],
)
def test_what_cannot_be_replayed_is_told_in_one_line(options, document, message, tmp_path, capsys):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main(["laws", "replay", *options, str(path)]) == 2
    assert message in capsys.readouterr().err


def test_the_listing_has_the_laws_that_place_queues_in_a_part_of_their_own(capsys):
    assert main(["laws", "list"]) == 0
    threads, _, placing = capsys.readouterr().out.partition("Laws that place queues")
    assert "middleware19: " in placing and "middleware19" not in threads
    assert "streams: " in placing and "streams: " in threads
    assert "satisfaction  0.6" in placing
