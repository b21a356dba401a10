"""A run in which a law finds the level, on a fake engine in virtual time."""

from __future__ import annotations

import pytest

from harness.errors import RunFailed, UserError
from harness.graph import Graph, Threading
from harness.graph.annotations import in_force
from harness.measurement.control import Controller
from harness.measurement.laws import pool_law
from harness.measurement.observe import observe
from harness.measurement.period_text import replicas_text, short
from harness.measurement.process import failed_record
from harness.measurement.records import validate_record
from harness.measurement.run import run_once
from harness.measurement.spec import Run, run_of
from harness.models import Dynamic, Manual, pool_of
from harness.models.layout import layout_of

STEADY = [(1000.0, 1000.0)]

FINITE = {
    "topology": "vwap",
    "parameters": {"records": 10, "cycles": 1},
}  # its source ends by itself


def spec(**changes) -> Run:
    settings = {
        "topology": "pipeline",
        "parameters": {"operators": 4},
        "model": "dynamic",
        "elastic": True,
        "maximum": 16,
    }
    return run_of(**settings | {"duration_s": 1.0, "period_s": 0.5} | changes)


@pytest.fixture
def begin(play):
    """Plays rates, from level 1 on."""

    def play_from_one(rates=tuple(STEADY), **totals):
        engine = play(rates, **totals)
        engine.level = 1
        return engine

    return play_from_one


def test_it_adapts_until_the_level_has_stayed_for_eight_periods_and_is_then_measured_for_five(
    begin, script
):
    made = script([2, 4, 8, 4])
    engine = begin()
    record = run_once(spec())
    validate_record(record)
    assert [argument for call, argument in engine.calls if call == "set_threads"] == [2, 4, 8, 4]
    assert [sample["threads_requested"] for sample in record["adaptation"]] == [
        1,
        2,
        4,
        8,
        *[4] * 8,
    ]
    assert [sample["threads_requested"] for sample in record["samples"]] == [4] * 5
    assert {sample["elapsed_s"] for sample in record["adaptation"] + record["samples"]} == {0.5}
    assert (record["warmup_s"], record["duration_s"]) == (pytest.approx(6.0), pytest.approx(2.5)), (
        "5 periods of 0.5 s"
    )
    assert record["settled"] and record["correct"]
    assert record["elastic"] == {
        "law": "scripted", "settings": {"gain": 1.0, "bold": False}, "period_s": 0.5, "minimum": 1, "maximum": 16, "start": 1,
        "settled_level": 4, "settled_queued": 0, "places": None, "replicable": None, "settled_replicas": None,
            "changes": 0, "adaptation_s": pytest.approx(6.0), "settled": True,
    }  # fmt: skip
    assert (record["model"], record["threads"], record["arm"]) == (
        "dynamic",
        None,
        "dynamic-elastic",
    )
    assert len(made[0].readings) == 17, "the law goes on while it is measured"
    assert (
        record["adaptation"][0]["law_reason"] == "because of 1"
        and record["samples"][0]["law_state"] == "playing"
    )


def test_a_law_may_climb_to_the_cpus_that_a_quota_leaves(begin, script, monkeypatch):
    monkeypatch.setattr("harness.machines.host.cpu.usable_cpus", lambda: 3)
    script()
    begin()
    assert run_once(spec(maximum=None))["elastic"]["maximum"] == 3


def test_a_window_longer_than_five_periods_is_as_long_as_asked(begin, script):
    script()
    begin()
    record = run_once(spec(duration_s=4.0))
    assert (len(record["samples"]), record["duration_s"]) == (8, pytest.approx(4.0))


def test_what_is_not_stationary_has_not_settled_however_long_the_level_stays(begin, script):
    script()
    begin([(1000.0 * n, 1000.0 * n) for n in range(1, 15)] + [(7000.0, 7000.0)])
    record = run_once(spec())
    assert record["settled"] and 14 <= len(record["adaptation"]) <= 18


def test_a_law_that_never_settles_is_measured_after_forty_periods_and_said_to_be_unsettled(
    begin, script
):
    script([1, 2] * 500)
    begin()
    record = run_once(spec())
    validate_record(record)
    assert record["warmup_s"] == pytest.approx(20.0)
    assert (record["settled"], record["elastic"]["settled"], record["correct"]) == (
        False,
        False,
        True,
    )
    assert record["elastic"]["changes"] == 4
    assert record["elastic"]["settled_level"] in (1, 2)


def test_moves_while_measured_are_counted_and_the_level_is_their_median(begin, script):
    script([*[3] * 9, 5, 5, 4, 4, 4])
    begin()
    record = run_once(spec())
    assert [sample["threads_requested"] for sample in record["samples"]] == [3, 5, 5, 4, 4]
    assert (record["elastic"]["changes"], record["elastic"]["settled_level"]) == (2, 4)


@pytest.mark.parametrize(
    ("warmup", "samples"), [(0.0, []), (1.5, [0.5] * 3), (0.1, [0.1]), (1.2, [0.5, 0.5, 0.2])]
)
def test_a_fixed_warm_up_is_the_time_to_adapt_in(begin, script, warmup, samples):
    script([2] * 50)
    begin()
    record = run_once(spec(warmup=warmup))
    assert record["warmup_s"] == pytest.approx(warmup)
    assert [sample["elapsed_s"] for sample in record["adaptation"]] == pytest.approx(samples)
    assert record["settled"], "its measured halves agree"
    assert not record["elastic"]["settled"], "but it has not been at its level for long enough"


@pytest.mark.parametrize(
    ("changes", "limit_s", "timeout_s"),
    [({}, 20.0, 20 + 2.5 + 60), ({"period_s": 10.0}, 400.0, 400 + 50 + 60), ({"duration_s": 50.0}, 500.0, 500 + 50 + 60),
     ({"period_s": 30.0}, 600.0, 600 + 150 + 60), ({"warmup": 700.0}, 700.0, 700 + 2.5 + 60)],
)  # fmt: skip
def test_the_time_to_adapt_follows_period_and_duration_and_the_process_is_given_it(
    changes, limit_s, timeout_s
):
    assert spec(**changes).adaptation_limit_s == limit_s
    assert spec(**changes).timeout_s == timeout_s


def test_each_period_is_told(begin, script):
    script([2])
    begin()
    told: list[str] = []
    run_once(spec(), told.append)
    assert told[:4] == [
        "starting",
        "adapting",
        "adapting: 0.50 s, 1 thread, 0 queues, 3 k tuples/s, playing: because of 1",
        "adapting: 1.00 s, 2 threads, 0 queues, 3 k tuples/s, playing: because of 2",
    ]
    assert told[-3].startswith("measuring: ") and told[-1] == "stopping"


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        (0.5, "0.5"),
        (999, "999"),
        (999.6, "1 k"),
        (1000, "1 k"),
        (999_400, "999 k"),
        (999_999, "1 M"),
        (1e6, "1 M"),
        (2.5e9, "2.5 G"),
    ],
)
def test_rates_are_told_in_three_digits(rate, told):
    assert short(rate) == told


@pytest.mark.parametrize(
    ("operators", "told"),
    [(1, "busy0 1"), (6, ", ".join(f"busy{n} {n + 1}" for n in range(6)))]
    + [
        (more, ", ".join(f"busy{n} {n + 1}" for n in range(6)) + f" and {more - 6:,} more")
        for more in (7, 1500)
    ],
)
def test_replicas_of_the_first_six_operators_are_told(operators, told):
    assert replicas_text({f"busy{n}": n + 1 for n in range(operators)}) == told


def test_a_law_that_fails_ends_the_run_as_a_failed_one_that_says_why(begin, script):
    script([2, ValueError("what level?")])
    engine = begin()
    record = run_once(spec())
    validate_record(record)
    assert not record["correct"] and not record["settled"]
    assert record["error"] == "law scripted: ValueError: what level?"
    assert engine.calls[-1] == ("stop", False)
    assert len(record["adaptation"]) == 1 and record["elastic"]["settled_level"] is None


def test_a_law_that_fails_while_measured_leaves_what_was_measured(begin, script):
    script([*[1] * 9, UserError("enough")])
    begin()
    record = run_once(spec())
    validate_record(record)
    assert record["error"] == "law scripted: enough"
    assert len(record["samples"]) == 1 and record["sink_tuples_per_s"] == pytest.approx(1000)


def test_a_level_that_the_system_refuses_ends_the_run(begin, script, monkeypatch):
    script([2])
    engine = begin()

    def refuse(level: int) -> None:
        raise RunFailed("the system refuses scheduler thread 2")

    monkeypatch.setattr(engine, "set_threads", refuse)
    record = run_once(spec())
    validate_record(record)
    assert (record["correct"], record["error"]) == (False, "the system refuses scheduler thread 2")
    assert engine.calls[-1] == ("stop", False)


def test_a_run_of_endless_sources_that_ends_by_itself_while_it_adapts_has_failed(begin, script):
    script()
    engine = begin()
    engine.fails_after_s = 1.0
    record = run_once(spec())
    validate_record(record)
    assert "ended by itself after 1 s" in record["error"] and record["sink_tuples_per_s"] is None


def test_a_run_whose_own_sources_end_while_it_adapts_is_measured_as_a_whole(begin, script):
    script([3])
    begin(tuples=2000)
    record = run_once(spec(**FINITE))
    validate_record(record)
    assert (
        record["correct"]
        and record["error"] is None
        and record["ended"]
        and record["warmup_s"] == 0.0
    )
    whole_s = sum(sample["elapsed_s"] for sample in record["samples"])
    assert record["sink_tuples_per_s"] == pytest.approx(2000 / whole_s) and record[
        "duration_s"
    ] == pytest.approx(whole_s)
    assert record["elastic"]["settled_level"] == 3 and record["elastic"]["changes"] == 1


@pytest.mark.heavy
def test_an_elastic_run_that_ends_while_it_adapts_is_explained_as_a_whole():
    finite = {"topology": "vwap", "parameters": {"records": 1000, "cycles": 10}}
    record = run_once(spec(**finite, explained=True, duration_s=60.0, maximum=2))
    validate_record(record)
    tuples = {each["name"]: each["tuples"] for each in record["time_use"]["operators"]}
    assert record["ended"] and sum(tuples.values()) > record["tuples_sent"] > 0


def test_a_bounded_run_is_controlled_from_its_first_tuple_to_its_last(begin, script):
    made = script([3])
    begin(tuples=5000)
    record = run_once(spec(tuples=5000))
    validate_record(record)
    assert record["settled"] and record["correct"] and record["adaptation"] == []
    assert [sample["threads_requested"] for sample in record["samples"][:3]] == [1, 3, 3]
    assert len(made[0].readings) == 9, "none after the end"
    assert record["elastic"]["settled"] and record["elastic"]["adaptation_s"] == 0.0


def test_other_runs_have_no_controller_and_their_records_say_nothing_of_laws(begin, script):
    made = script()
    begin()
    record = run_once(spec(elastic=False, maximum=None, threads=2))
    validate_record(record)
    assert made == [] and record["elastic"] is None and record["adaptation"] == []
    assert (record["threads"], record["arm"]) == (2, "dynamic-2")
    assert record["samples"][0]["law_state"] is None


def test_a_graph_that_asks_for_it_is_elastic_under_every_model(begin, script):
    made = script([2])
    graph = Graph("asks", 8)
    with in_force(Threading("dynamic", elastic=True)):
        graph.connect(graph.source("source"), graph.work("work"))
    graph.connect(graph.operators["work"], graph.sink("sink"))
    engine = begin()
    controller = Controller(engine, graph, pool_law(layout_of(graph, Manual())), 0.5)
    seen = observe(
        engine,
        spec(model="manual", elastic=False, maximum=None),
        graph,
        lambda text: None,
        controller,
    )
    assert made[0].asked == ["millrace"], "the default law"
    assert seen.settled and seen.level_settled
    assert controller.terms["minimum"] == pool_of(graph, Manual()).minimum == 1


def test_a_lost_run_has_an_elastic_arm_without_threads(script):
    script()
    record = failed_record(spec(threads=3, law="pldi17"), "killed")
    validate_record(record)
    assert (record["arm"], record["threads"], record["elastic"]) == (
        "dynamic-elastic-pldi17",
        None,
        None,
    )


def test_a_spec_with_a_law_survives_the_way_to_the_child():
    original = spec(law="pldi17", law_settings={"gain": "2"}, minimum=2, threads=3)
    assert Run.from_json(original.to_json()) == original
    made = original.model
    assert made == Dynamic(
        threads=3, elastic=True, law="pldi17", law_settings=(("gain", "2"),), minimum=2, maximum=16
    )


def test_a_law_that_draws_lots_draws_others_in_each_repeat():
    def settings(law: str, repeat: int, **given: object) -> tuple[tuple[str, object], ...]:
        asked = {"model": "multilevel", "elastic": False, "law": law, "law_settings": given}
        return spec(**asked, seed=7, repeat=repeat).model_of_repeat.law_settings

    assert [settings("middleware19", repeat) for repeat in (0, 1)] == [
        (("seed", 7),),
        (("seed", 8),),
    ]
    assert settings("middleware19", 1, seed=3, history=False) == (("seed", 3), ("history", False))
    assert settings("millrace", 1) == ()
