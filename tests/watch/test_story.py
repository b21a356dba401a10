"""Tests of what is known of a run, from its record or as it grows."""

from __future__ import annotations

from pathlib import Path

import pytest

import topologies
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.annotations import threading
from harness.measurement.spec import run_of
from harness.watch.story import Story, story_of_record, story_of_run
from tests.watch.stories import chain, record, sample

PIPELINE = topologies.build("pipeline", {"operators": 10}, 0)[0]
SWITCHED = [
    sample(1.0, switched_on=["work3[0]", "work7[0]"], switched_off=[]),
    sample(2.0, queued_ports=2, switched_on=["sink[0]"], switched_off=["work3[0]"]),
    sample(3.0, queued_ports=2),
]


def multilevel(**changes: object) -> Story:
    return story_of_record(
        record(**{"model": "multilevel", "arm": "multilevel", **changes}), PIPELINE
    )


def test_a_period_has_the_queues_that_stood_while_it_passed() -> None:
    story = multilevel(adaptation=SWITCHED[:2], samples=SWITCHED[2:])
    queued = [sorted(period.queued) for period in story.periods]
    assert queued == [[], ["work3[0]", "work7[0]"], ["sink[0]", "work7[0]"]]
    assert [period.phase for period in story.periods] == ["adapting", "adapting", "measuring"]
    assert not story.is_doubtful


def test_under_other_models_the_queues_are_those_of_the_model() -> None:
    plain = [sample(1.0, queued_ports=11)]
    assert len(story_of_record(record(samples=plain), PIPELINE).periods[0].queued) == 11
    manual = story_of_record(
        record(samples=[sample(1.0)], model="manual", arm="manual", elastic=None), PIPELINE
    )
    assert (manual.periods[0].queued, manual.queueable, manual.heading.law) == (frozenset(), 0, "")
    dedicated = story_of_record(
        record(samples=plain, model="dedicated", arm="dedicated", elastic=None), PIPELINE
    )
    assert (
        len(dedicated.periods[0].queued) == dedicated.queueable == 11 and dedicated.switchable == []
    )


def test_queues_placed_by_hand_are_known_by_the_name_of_the_arm() -> None:
    def of(arm: str, queued_ports: int) -> Story:
        plain = [sample(1.0, queued_ports=queued_ports)]
        return story_of_record(record(samples=plain, arm=arm, threads=1, elastic=None), PIPELINE)

    assert len(of("dynamic-1-queued-30pct", 3).periods[0].queued) == 3
    assert of("dynamic-1-queued-work2,sink", 2).periods[0].queued == {"work2[0]", "sink[0]"}
    assert of("dynamic-1-queued-none", 0).periods[0].queued == frozenset()
    assert not of("dynamic-1-queued-30pct", 3).is_doubtful
    assert of("mine", 3).is_doubtful, "the name says nothing: counted are 3"
    assert of("dynamic-1-queued-join-1-", 3).is_doubtful, "a port's brackets are lost in a name"


def test_an_older_record_tells_less_and_can_be_seen_all_the_same() -> None:
    keep = ("time_s", "elapsed_s", "sink_tuples_per_s", "source_tuples_per_s", "submitted_tuples_per_s", "threads_active",
            "cpu_s", "context_switches")  # fmt: skip
    lean = {name: value for name, value in sample(1.0).items() if name in keep}
    story = story_of_record(record(samples=[lean]), PIPELINE)
    assert len(story.periods) == 1 and not story.is_doubtful


def test_a_record_that_speaks_of_another_graph_is_refused() -> None:
    with pytest.raises(
        UserError,
        match=r"switches the queue of port 'work11\[0\]', which graph 'pipeline' does not have",
    ):
        multilevel(samples=[sample(1.0, switched_on=["work11[0]"])])


STILL = {"source_tuples_per_s": 0.0, "submitted_tuples_per_s": 0.0, "sink_tuples_per_s": 0.0}


def times_of(story: Story) -> list[float]:
    return [period.sample["time_s"] for period in story.periods]


def test_the_story_of_a_simulated_run_begins_when_its_queues_have_filled() -> None:
    story = multilevel()
    for phase, *times in (
        ("warming up", 0.1, 0.2),
        ("adapting", 0.5, 0.9),
        ("adapting", 1.3),
        ("measuring", 1.7),
    ):
        story.enter(phase)
        for time_s in times:
            assert story.add(sample(time_s))
    assert times_of(story) == [0.5, 0.9, 1.3, 1.7], "also where the clock would not tell"


def test_a_look_after_the_end_of_a_bounded_run_is_no_period() -> None:
    story = multilevel()
    story.enter("measuring")
    assert story.add(sample(0.5)) and story.add(sample(0.9))
    assert not story.add(sample(0.9, elapsed_s=0.0, **STILL)), "simulated: no time has passed"
    assert times_of(story) == [0.5, 0.9]
    assert story.add(sample(0.91, elapsed_s=0.01, **STILL)), (
        "real: nobody knows yet that the run is over"
    )
    story.end(record(samples=[sample(0.5), sample(0.9)]))
    assert times_of(story) == [0.5, 0.9]


def test_a_period_in_which_nothing_moved_is_told() -> None:
    story = multilevel(samples=[sample(0.5), sample(0.9, **STILL), sample(1.3)])
    assert times_of(story) == [0.5, 0.9, 1.3]


def test_it_says_how_the_run_ended() -> None:
    assert multilevel().outcome == "correct, settled; 9,000 tuples/s at the sinks over 2 s"
    lost = multilevel(correct=False, error="a tuple was lost\nTraceback", sink_tuples_per_s=None)
    assert lost.failed and lost.outcome == "failed: a tuple was lost"
    assert multilevel(settled=False).outcome.startswith("correct, not settled")


def test_a_run_that_begins_is_headed_by_its_law_and_place() -> None:
    spec = run_of(
        "pipeline",
        {"operators": "10"},
        "dynamic",
        elastic=True,
        maximum=8,
        period_s=0.25,
        machine="xeon",
    )
    heading = story_of_run(spec).heading
    assert heading.law == "law millrace: from 1 to 8 threads, a step every 0.25 s"
    assert (
        heading.simulated
        and heading.where == "simulated on xeon with the costs of millrace, in virtual time"
    )
    shown = "operators=10 cost=100 payload=128 rate=0"
    assert (heading.title, heading.parameters) == ("pipeline", shown)
    assert heading.arm == "dynamic-elastic"


def test_an_elastic_pool_may_be_an_annotation_s_wish() -> None:
    graph = Graph("annotated", 8)
    work = threading(model="dynamic", elastic=True)(lambda: graph.work("work", 1))()
    graph.connect(graph.source("source"), work)
    graph.connect(work, graph.sink("sink"))
    terms = record()["elastic"]
    story = story_of_record(
        record(model="manual", arm="manual", elastic=terms, samples=[sample(1.0, queued_ports=1)]),
        graph,
    )
    assert story.periods[0].queued == {"work[0]"}


def test_the_levels_of_a_simulated_run_are_those_of_its_machine(tmp_path: Path) -> None:
    path = tmp_path / "annotated.yaml"
    operators = (
        "[{source: a}, {threading: {model: dynamic, elastic: true}, operators: [{work: "
        "b}]}, {sink: c}]"
    )
    path.write_text(f"operators: {operators}\nstreams: [a -> b, b -> c]\n")
    spec = run_of("annotated", {}, "manual", machine="xeon:16", graph_file=str(path), period_s=0.25)
    assert (
        story_of_run(spec).heading.law == "law millrace: from 1 to 16 threads, a step every 0.25 s"
    )


def test_ports_are_called_by_their_operator_where_that_has_one_only() -> None:
    graph = chain(["only"])
    graph.work("join", 1, inputs=2)
    story = story_of_record(record(), graph)
    assert (story.label("only[0]"), story.label("join[1]")) == ("only", "join[1]")


def test_records_of_before_there_were_laws_are_told_too() -> None:
    old = record(samples=[sample(1.0)], model="manual", arm="manual", elastic=None)
    for name in ("elastic", "simulation", "adaptation"):
        old.pop(name, None)
    story = story_of_record(old, PIPELINE)
    assert [period.phase for period in story.periods] == ["measuring"] and story.heading.law == ""
