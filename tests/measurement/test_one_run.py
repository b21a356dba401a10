"""A run and its record, on a fake engine in virtual time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.errors import UserError
from harness.machines.host.cpu import CpuCounters
from harness.measurement.observe import STALL_S
from harness.measurement.records import validate_record
from harness.measurement.run import run_once
from harness.measurement.spec import Run, run_of

STEADY = [(1000.0, 1000.0)]

FINITE = {
    "topology": "vwap",
    "parameters": {"records": 10, "cycles": 1},
}  # its source ends by itself


def spec(**changes) -> Run:
    settings = {
        "topology": "pipeline",
        "parameters": {"operators": 4, "cost": "1"},
        "model": "dynamic",
        "threads": 2,
    }
    return run_of(**settings | {"duration_s": 2.0} | changes)


def test_a_timed_run_warms_up_measures_ten_samples_and_drains(play):
    engine = play(STEADY)
    record = run_once(spec())
    validate_record(record)
    assert engine.calls == [
        ("start", None),
        *[("sample", 0.4)] * 2,
        *[("sample", 0.2)] * 10,
        ("stop", True),
    ]
    assert record["settled"] and record["correct"] and record["error"] is None
    assert record["warmup_s"] == pytest.approx(0.8)
    assert record["duration_s"] == pytest.approx(2.0)
    assert record["sink_tuples_per_s"] == pytest.approx(1000)
    assert record["submitted_tuples_per_s"] == pytest.approx(3000)
    assert record["ns_per_hop"] == pytest.approx(1e9 / (1000 * record["hops"]))
    assert record["tuples_received"] == 2800, "totals are of the whole run"
    assert record["latency_ns"] == {
        "p50": 90,
        "p90": 90,
        "p99": 90,
        "mean": 50,
        "max": 90,
        "count": 2000,
    }
    assert record["cpu_seconds"] == pytest.approx(2.0), "of the measured window alone"
    assert record["kernel_seconds"] == pytest.approx(0.5)
    assert record["context_switches"] == 10
    assert len(record["samples"]) == 10
    assert record["samples"][0]["time_s"] == pytest.approx(1.0)
    assert record["samples"][0]["source_tuples_per_s"] == pytest.approx(1000)
    assert (record["threads"], record["threads_total"], record["queue_capacity"]) == (2, 3, 1000)
    assert record["scheduling"] == {"drains": 7}
    assert record["host"]["ns_per_flop"] == 1.25


def test_time_in_the_kernel_is_null_where_the_engine_does_not_know_it(play, monkeypatch):
    engine = play(STEADY)
    known = engine.sample
    monkeypatch.setattr(engine, "sample", lambda period_s: replace(known(period_s), kernel_s=None))
    record = run_once(spec())
    validate_record(record)
    assert record["kernel_seconds"] is None
    assert record["cpu_seconds"] == pytest.approx(2.0)


@pytest.mark.parametrize(("duration_s", "load"), [(0.08, 0.05 / 0.13), (0.1, 0.02 / 0.1)])
def test_who_disturbs_a_window_too_short_for_ticks_is_told_with_its_warm_up(
    play, monkeypatch, duration_s, load
):
    play(STEADY)
    end_s = 0.05 + duration_s
    readings = iter(
        [
            CpuCounters(0.0, 0.0, 1.0, 0.0, 0),
            CpuCounters(0.05, 0.05, 1.08, 0.0, 0),
            CpuCounters(end_s, 0.13, 1.18, 0.0, 0),
        ]
    )
    monkeypatch.setattr(CpuCounters, "now", lambda: next(readings))
    record = run_once(spec(warmup=0.05, duration_s=duration_s))
    assert record["host"]["load_of_others"] == pytest.approx(load)
    assert record["host"]["steal_share"] == 0.0


@pytest.mark.parametrize(
    ("duration_s", "samples"),
    [(0.01, 2), (0.06, 2), (0.12, 2), (0.16, 3), (0.5, 10), (0.6, 10), (1000.0, 10)],
)
def test_the_measured_window_is_as_long_as_asked_and_has_two_samples_at_least(
    play, duration_s, samples
):
    play([(1e6, 1e6)])
    record = run_once(spec(duration_s=duration_s))
    assert record["duration_s"] == pytest.approx(duration_s)
    assert len(record["samples"]) == samples


def test_parameters_are_filled_in_and_name_the_cell(play):
    play(STEADY)
    record = run_once(spec())
    assert record["parameters"].keys() >= {"operators", "cost", "payload"}
    assert record["cell"].startswith("pipeline,operators=4,")
    assert record["arm"] == "dynamic-2"


def test_warming_up_is_not_measured(play):
    play([(5000.0, 10.0), (3000.0, 500.0), (1000.0, 1000.0)])
    record = run_once(spec())
    assert record["settled"]
    assert record["sink_tuples_per_s"] == pytest.approx(1000)
    assert record["warmup_s"] == pytest.approx(1.6)


def test_a_run_that_never_settles_is_measured_and_said_to_be_unsettled(play):
    play([(2000.0, 1000.0)])
    record = run_once(spec())
    assert not record["settled"]
    assert record["correct"]
    assert record["warmup_s"] == pytest.approx(20.0, abs=0.5), "10 x the duration"
    assert record["sink_tuples_per_s"] == pytest.approx(1000)


def test_a_run_whose_warm_up_ended_by_chance_is_unsettled_if_its_window_shows_it(play):
    play([(1000.0, 1000.0)] * 2 + [(1000.0, 1000.0 + 100 * n) for n in range(1, 40)])
    assert not run_once(spec())["settled"]


@pytest.mark.parametrize(("duration_s", "limit_s"), [(0.01, 3.0), (1.0, 10.0), (100.0, 60.0)])
def test_the_limit_of_the_warm_up_follows_the_duration(duration_s, limit_s):
    assert spec(duration_s=duration_s).warmup_limit_s == limit_s


@pytest.mark.parametrize("warmup", [0.0, 1.5])
def test_a_fixed_warm_up_lasts_as_long_as_asked(play, warmup):
    play([(5000.0, 10.0)] * (warmup > 0) + STEADY)
    record = run_once(spec(warmup=warmup))
    assert record["warmup_s"] == warmup
    assert record["settled"], "its measured halves agree"


def test_after_a_fixed_warm_up_a_run_whose_halves_differ_is_unsettled(play):
    play([(1000.0 * n, 1000.0 * n) for n in range(1, 12)])
    assert not run_once(spec(warmup=0.0))["settled"]


def test_a_bounded_run_is_measured_from_its_start_to_its_last_tuple(play):
    engine = play([(1000.0, 0.0), (1000.0, 1000.0)], tuples=500)
    record = run_once(spec(tuples=500))
    validate_record(record)
    assert record["settled"] and record["correct"] and record["drained"]
    assert (record["tuples_sent"], record["tuples_received"], record["warmup_s"]) == (500, 500, 0.0)
    assert record["sink_tuples_per_s"] == pytest.approx(500 / engine.time_s)
    assert record["latency_ns"]["count"] == 500
    assert record["duration_s"] == pytest.approx(engine.time_s)


def test_a_run_of_no_tuples_is_a_clean_record_without_rates(play):
    play(STEADY, tuples=0)
    record = run_once(spec(tuples=0))
    validate_record(record)
    assert record["settled"] and record["correct"]
    assert not record["sink_tuples_per_s"] and record["ns_per_hop"] is None
    assert record["latency_ns"]["p50"] is None


def test_a_long_bounded_run_has_few_samples(play):
    play([(100.0, 100.0)], tuples=1_000_000)
    record = run_once(spec(tuples=1_000_000))
    assert record["duration_s"] == pytest.approx(10_000, rel=0.2)
    assert len(record["samples"]) < 150


def test_a_bounded_run_in_which_nothing_moves_is_given_up(play):
    engine = play([(1000.0, 1000.0), (0.0, 0.0)], tuples=10**6)
    record = run_once(spec(tuples=10**6))
    validate_record(record)
    assert not record["correct"] and not record["settled"]
    assert "no tuple has moved" in record["error"]
    assert engine.time_s > STALL_S
    assert engine.calls[-1] == ("stop", False)


def test_an_operator_that_raises_ends_the_run_and_its_record_says_so(play):
    engine = play(STEADY, error="ValueError in operator 'half': negative\nvalue")
    engine.fails_after_s = 1.0
    record = run_once(spec())
    validate_record(record)
    assert not record["correct"] and not record["settled"]
    assert record["error"] == "ValueError in operator 'half': negative value"
    assert engine.time_s < 2.0, "it is not waited for"


def test_a_run_of_endless_sources_that_ends_by_itself_has_failed(play):
    engine = play([(2000.0, 1000.0)])
    engine.fails_after_s = 1.0
    record = run_once(spec())
    validate_record(record)
    assert "ended by itself" in record["error"] and not record["correct"] and not record["ended"]
    assert record["sink_tuples_per_s"] is None


@pytest.mark.parametrize(
    ("tuples", "samples"), [(1000, 3), (1700, 7)], ids=["warming up", "measuring"]
)
def test_a_run_whose_own_sources_end_is_a_success_and_is_measured_as_a_whole(play, tuples, samples):
    play(STEADY, tuples=tuples)
    record = run_once(spec(**FINITE))
    validate_record(record)
    assert (
        record["correct"]
        and record["error"] is None
        and record["ended"]
        and record["drained"]
        and record["settled"]
    )
    assert record["tuples_received"] == tuples and len(record["samples"]) == samples
    assert record["warmup_s"] == 0.0 and record["duration_s"] == pytest.approx(
        sum(s["elapsed_s"] for s in record["samples"])
    )
    assert record["sink_tuples_per_s"] == pytest.approx(tuples / record["duration_s"])
    assert record["latency_ns"]["count"] == tuples


def test_a_run_whose_own_sources_end_is_checked_as_any_other(play):
    play(STEADY, tuples=1000, order_violations=3)
    record = run_once(spec(**FINITE))
    assert (
        record["ended"]
        and not record["correct"]
        and record["error"] == "3 tuple(s) reached a sink after a later one"
    )


def test_a_run_whose_own_sources_go_on_has_not_ended(play):
    play(STEADY)
    record = run_once(spec(**FINITE))
    assert record["correct"] and not record["ended"] and record["duration_s"] == pytest.approx(2.0)


def test_tuples_left_by_a_drain_that_ran_out_of_time_are_counted_and_not_held_against_the_run(play):
    play(STEADY, in_flight=321, drained=False)
    record = run_once(spec())
    assert record["correct"]
    assert (record["tuples_in_flight"], record["drained"]) == (321, False)


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        ({"order_violations": 3}, "3 tuple(s) reached a sink after a later one"),
        ({"checksum_ok": False}, "checksum"),
        (
            {"conservation": ("a[0]: 5 of 6", "b[0]", "c[0]", "d[0]")},
            "a[0]: 5 of 6, b[0], c[0] and 1 more",
        ),
        (
            {"stuck": ("scheduler 1 in 'w3'",), "checksum_ok": False},
            "1 thread(s) did not stop: scheduler 1 in 'w3'",
        ),
    ],
)
def test_a_wrong_result_is_a_failed_run_and_says_why(play, totals, words):
    play(STEADY, **totals)
    record = run_once(spec())
    validate_record(record)
    assert not record["correct"]
    assert words in record["error"]
    assert (
        "checksum" in words or "checksum" not in record["error"]
    )  # which nobody adds up while a thread may go on
    assert record["sink_tuples_per_s"] == pytest.approx(1000), "its speed stays on record"


def test_an_engine_that_cannot_start_gives_a_failed_record(play, refusing):
    engine = play(STEADY)
    engine.start_error = refusing
    record = run_once(spec())
    validate_record(record)
    assert (record["correct"], record["error"]) == (False, str(refusing))


def test_the_engine_is_stopped_when_the_user_interrupts(play, monkeypatch):
    engine = play(STEADY)

    def interrupt(period_s: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "sample", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_once(spec())
    assert engine.calls[-1] == ("stop", False)


@pytest.mark.parametrize(
    "changes", [{"topology": "circle"}, {"model": "magic"}, {"parameters": {"operators": -1}}]
)
def test_a_spec_that_cannot_be_run_is_the_users_mistake(play, changes):
    play(STEADY)
    with pytest.raises(UserError):
        run_once(spec(**changes))


def test_a_spec_survives_the_way_to_the_child():
    original = spec(tuples=7, warmup=0.5, seed=2**63 - 1)
    assert Run.from_json(original.to_json()) == original
