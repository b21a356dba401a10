"""A simulated run on a fake engine: virtual times may be short, the host need not be quiet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.engine import Sample
from harness.errors import RunFailed
from harness.measurement import block
from harness.measurement.block import block_order, run_block
from harness.measurement.process import failed_record
from harness.measurement.record import declaration
from harness.measurement.records import validate_record
from harness.measurement.run import run_once
from harness.measurement.spec import Run, run_of
from tests.records import example

SIMULATION = example(
    declaration.SIMULATION, seed=5, constants={"atomic.fence": 4.5}, events=123, virtual_s=0.03
)


def spec(**changes) -> Run:
    settings = {
        "topology": "pipeline",
        "parameters": {"operators": 4},
        "model": "dynamic",
        "threads": 100,
        "machine": "xeon",
    }
    return run_of(**settings | {"duration_s": 0.02} | changes)


def all_hops(sample: Sample) -> Sample:
    """Return a sample in which each of six operators gets what the sinks get."""
    return replace(sample, processed=(sample.sink_tuples,) * 6)


@pytest.fixture
def simulate(play, monkeypatch):
    """Play an engine that says what it simulated; the argument holds what `engine_of` was asked for."""

    def start(rates=((1e6, 1e6),), told=None, **simulation):
        engine = play(rates)
        engine.sample_events = lambda events: all_hops(type(engine).sample_events(engine, events))
        engine.simulation = SIMULATION | simulation

        def engine_of(layout, on, **options):
            if told is not None:
                told.update(options, on=on and (on.machine.name, on.software.name))
            return engine

        monkeypatch.setattr("harness.measurement.prepare.engine_of", engine_of)
        return engine

    return start


def test_the_engine_is_told_what_to_simulate(simulate):
    told = {}
    simulate(told=told)
    run_once(spec(software="streams-4.2", constants={"atomic.fence": 4.5}, seed=3, repeat=2))
    assert told == {
        "on": ("xeon", "streams-4.2"),
        "tuples": None,
        "changes_replicas": False,
        "constants": {"atomic.fence": 4.5},
        "seed": 5,
        "profiled": None,
        "explained": False,
    }


@pytest.mark.parametrize(("phased", "settles"), [(False, 1), (True, 0)])
def test_an_elastic_run_settles_before_its_law_looks_unless_its_load_changes(
    simulate, phased, settles
):
    engine = simulate()
    engine.phased = phased
    run_once(spec(threads=2, maximum=4, elastic=True, warmup=0))
    assert min(1, sum(call[0] == "sample_events" for call in engine.calls)) == settles


def test_bursts_of_a_simulated_run_begin_with_the_run():
    """Ten periods of 1 ms each at full speed, then as many of silence."""
    load = {
        "workers": 2,
        "cost": 1000,
        "load": "bursty-rate",
        "burst": 10,
        "silence": 10,
        "period": 1,
    }
    record = run_once(
        run_of(
            "load-balance",
            load,
            "manual",
            machine="xeon:4",
            duration_s=0.04,
            warmup=0,
            period_s=0.001,
            simulated=True,
        )
    )
    assert record["error"] is None
    sends = [
        sample["source_tuples_per_s"] > 0 for sample in [*record["adaptation"], *record["samples"]]
    ]
    assert sends == ([True] * 10 + [False] * 10) * 2


def deep(operators: int = 200, **changes) -> dict:
    parameters = {"operators": operators, "cost": 1}
    return run_once(
        run_of(
            "pipeline",
            parameters,
            "dynamic",
            machine="xeon",
            simulated=True,
            queue_capacity=64,
            **changes,
        )
    )


def test_what_a_settled_run_gets_through_arrives_at_its_sinks():
    record = deep(threads=8, duration_s=0.02)
    assert record["settled"]
    assert record["simulation"]["passed_tuples_per_s"] == pytest.approx(
        record["sink_tuples_per_s"], rel=0.05
    )


def test_what_a_run_gets_through_is_seen_before_any_tuple_arrives():
    """One thread passes 1,000 ports before the last one's turn comes, each with more and more
    tuples.
    """
    long = deep(1000, threads=1, duration_s=0.1)
    short = deep(1000, threads=1, duration_s=0.0004, warmup=0)
    assert short["sink_tuples_per_s"] == 0.0
    assert short["simulation"]["passed_tuples_per_s"] == pytest.approx(
        long["sink_tuples_per_s"], rel=0.3
    )
    validate_record(short)


def test_a_measured_run_is_asked_for_as_ever(simulate):
    told = {}
    simulate(told=told)
    record = run_once(spec(machine="local"))
    assert told == {
        "on": None,
        "tuples": None,
        "allow_threads": None,
        "changes_replicas": False,
        "explained": False,
    }
    assert (record["simulated"], record["simulation"]) == (False, None)


def test_any_machine_but_this_one_is_simulated_whatever_is_asked():
    assert spec(simulated=False).simulated
    assert spec().place.software == "millrace"
    assert not spec(machine="local").simulated
    assert spec(machine="local", simulated=True, threads=1).simulated
    assert Run.from_json(spec(constants={"a.b": 1.5}).to_json()) == spec(constants={"a.b": 1.5})


def test_times_are_virtual_and_may_be_short(simulate):
    engine = simulate()
    record = run_once(spec())
    validate_record(record)
    assert engine.calls == [
        ("start", None),
        *[("sample", 0.004)] * 2,
        *[("sample", 0.002)] * 10,
        ("stop", False),
    ]
    assert record["settled"] and record["correct"]
    assert (record["machine"], record["simulated"]) == ("xeon", True)
    assert record["simulation"] == SIMULATION | {"passed_tuples_per_s": None}, (
        "an engine that says nothing of its operators"
    )
    assert record["duration_s"] == pytest.approx(0.02)


def test_a_run_that_never_settles_is_given_up_after_ten_windows(simulate):
    simulate([(2e6, 1e6)])
    record = run_once(spec())
    assert not record["settled"]
    assert record["warmup_s"] == pytest.approx(0.2)


def test_the_period_of_a_law_may_be_shorter_than_a_tick(simulate, script):
    engine = simulate()
    script([3, 4])
    record = run_once(spec(elastic=True, threads=2, maximum=100, period_s=0.0002, duration_s=0.001))
    validate_record(record)
    assert {round(period, 9) for call, period in engine.calls if call == "sample"} == {0.0002}
    assert record["elastic"]["period_s"] == 0.0002
    assert record["elastic"]["settled_level"] == 4


def test_a_host_that_simulates_is_described_but_need_not_be_quiet(simulate, monkeypatch):
    from harness.measurement import host

    monkeypatch.setattr(host, "fitness_warnings", lambda host: ["noisy"])
    simulate()
    assert (run_once(spec())["host"]["host_fit"], run_once(spec())["host"]["host_warnings"]) == (
        True,
        [],
    )
    assert run_once(spec())["host"]["cpu_model"]
    assert run_once(spec(machine="local"))["host"]["host_warnings"] == ["noisy"]


def test_a_run_that_hit_its_bound_on_events_has_failed_and_says_so(simulate):
    simulate(bound="1,000 events simulated at 0.01 s")
    record = run_once(spec())
    validate_record(record)
    assert not record["correct"] and not record["settled"]
    assert record["error"] == "1,000 events simulated at 0.01 s"


def test_a_bound_that_ends_the_run_at_once_is_its_error_and_keeps_what_was_simulated(simulate):
    engine = simulate(bound="too many events")
    engine.sample = lambda period_s: (_ for _ in ()).throw(RunFailed("too many events"))
    record = run_once(spec())
    validate_record(record)
    assert (record["correct"], record["error"]) == (False, "too many events")
    assert record["simulation"]["events"] == 123


def test_a_lost_run_still_says_what_was_to_be_simulated():
    record = failed_record(
        spec(software="streams-4.2", constants={"os.wake_us": 2.0}, repeat=1), "lost"
    )
    validate_record(record)
    assert (record["simulation"]["software"], record["simulation"]["constants"]) == (
        "streams-4.2",
        {"os.wake_us": 2.0},
    )
    assert record["simulation"]["seed"] == 1
    counted = (
        "tuples_sent",
        "tuples_received",
        "tuples_in_flight",
        "order_violations",
        "context_switches",
        "duration_s",
    )
    assert (
        {record[name] for name in counted} == {0}
        and not record["correct"]
        and not record["settled"]
    )


def test_a_simulation_that_leaves_something_out_makes_no_record(simulate):
    engine = simulate()
    del engine.simulation["events"]
    with pytest.raises(TypeError, match="fields without a value: events"):
        run_once(spec())


def test_variants_follow_the_repeats_once_an_arm_with_the_chances_of_the_first():
    variants = [{"a.b": 1.0}, {"a.b": 2.0}]
    order = block_order({"one": spec(), "two": spec(threads=2)}, 2, 0, variants)
    assert [bool(each.constants) for each in order] == [False] * 4 + [True] * 4
    assert [(each.arm, each.constants["a.b"], each.repeat) for each in order[4:]] == [
        ("one", 1.0, 0), ("two", 1.0, 0), ("one", 2.0, 0), ("two", 2.0, 0),
    ]  # fmt: skip
    assert [each.order_in_block for each in order] == list(range(8))


def test_simulated_blocks_do_not_wait_for_who_measures(monkeypatch):
    monkeypatch.setattr(block, "measuring_lock", lambda notify: pytest.fail("it waited"))
    monkeypatch.setattr(
        block,
        "run_in_fresh_process",
        lambda spec, announce: pytest.fail("it needs no process of its own"),
    )
    monkeypatch.setattr(block, "run_once", lambda spec, announce: {"arm": spec.arm})
    assert list(run_block({"one": spec()}, 2, 0)) == [{"arm": "one"}] * 2


@pytest.mark.parametrize(("events", "each"), [(50_000, 50), (30, 1)])
def test_a_run_by_events_ends_as_soon_as_it_is_stationary(simulate, events, each):
    engine = simulate()
    record = run_once(spec(events=events))
    validate_record(record)
    taken = [events for call, events in engine.calls if call == "sample_events"]
    assert taken == [1, *[each] * 12], "after a look whether the queues begin empty"
    assert record["settled"]
    assert record["duration_s"] == pytest.approx(0.008), "two thirds of it are the window"
    assert record["warmup_s"] == pytest.approx(0.004)
    assert not [call for call, _ in engine.calls if call == "sample"]


@pytest.mark.parametrize("model", ["manual", "dedicated", "dynamic", "multilevel", "coroutine"])
def test_a_run_by_events_of_ports_that_are_threaded_by_hand_begins_under_every_model(model):
    parameters = {"records": 1000, "placement": "hand"}
    made = run_of("vwap", parameters, model, machine="xeon", events=20_000)
    record = run_once(made)
    assert record["correct"] and record["simulation"]["events"] >= 20_000, record["error"]


@pytest.mark.parametrize("law", ["gradient2", "hill_climbing", "ds2"])
def test_a_record_keeps_what_a_law_went_by_so_that_a_replay_decides_as_the_run_did(law):
    from harness.bench.replay import parse_record, replay
    from harness.measurement.records import record_line, validate_record

    made = run_of(
        "pipeline",
        {"operators": 6, "cost": 300},
        "dynamic",
        elastic=True,
        law=law,
        maximum=6,
        machine="xeon",
        simulated=True,
        duration_s=0.01,
        period_s=0.002,
    )
    record = run_once(made)
    validate_record(record)
    trace = parse_record(record_line(record))
    decided = replay(law, trace)
    steps = [
        sample
        for phase in ("adaptation", "samples")
        for sample in record[phase]
        if sample["law_state"] is not None
    ]
    steps = [sample for sample in steps if not sample["law_reason"].startswith("put off")]
    assert len(steps) >= 5
    assert [decision.reason for decision in decided] == [sample["law_reason"] for sample in steps]


TWO_PARTS = """\
operators:
  - {source: fast, rate: 40000}
  - {work: parse, busy_us: 6}
  - {work: half, busy_us: 1, selectivity: 0.5}
  - {sink: out}
  - {source: slow, rate: 500}
  - {work: aggregate, busy_us: 200}
  - {sink: board}
streams:
  - fast -> parse
  - parse -> half
  - half -> out
  - slow -> aggregate
  - aggregate -> board
"""


def test_what_sources_of_different_rates_get_through_arrives_at_the_sinks(tmp_path):
    """A tuple of `fast` passes four operators per tuple at its sink, one of `slow` one."""
    file = tmp_path / "parts.yaml"
    file.write_text(TWO_PARTS)
    run = run_of(
        "parts",
        {},
        "manual",
        machine="xeon:4",
        simulated=True,
        duration_s=0.2,
        graph_file=f"{file}",
    )
    record = run_once(run)
    assert record["error"] is None
    assert record["hops"] == pytest.approx((2 * 40000 + 500) / 20500, rel=0.01)
    assert record["simulation"]["passed_tuples_per_s"] == pytest.approx(20500, rel=0.02)
    assert record["sink_tuples_per_s"] == pytest.approx(20500, rel=0.02)
