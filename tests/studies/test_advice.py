"""The study of advice draws held-out graphs, runs all arms of a set, and goes on where it was."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import topologies
from harness.compare.entrants import RunTerms
from harness.experiments.experiment import Arm
from harness.machines.place import find_place
from harness.models import Dynamic, Manual
from studies.advice import __main__ as study
from studies.advice import judge as judging
from studies.advice.exhaustive import arms_of, depths
from studies.advice.graphs import KINDS, draw
from studies.advice.judge import Judgement, JudgingTerms, judge
from studies.advice.report import markdown

JUDGED = Judgement(0, "pipeline operators=3", "manual", "dynamic", 0.9, 12, 30, 61.0, 20.0, "sure")


def test_graphs_depend_on_their_number_and_seed_alone():
    assert draw(7, 1) == draw(7, 1)
    assert len({draw(number, 1).title for number in range(0, 50, 5)}) == 10
    assert draw(7, 1).title != draw(7, 2).title
    assert [draw(number, 3).topology for number in range(5)] == list(KINDS)


@pytest.mark.parametrize("number", range(10))
def test_each_graph_that_is_drawn_can_be_built(number):
    drawn = draw(number, 5)
    topologies.build(drawn.topology, dict(drawn.settings), drawn.seed)[0].check()


def test_all_arms_hold_each_model_and_each_number_of_threads():
    graph = topologies.build("pipeline", {"operators": 6}, 0)[0]
    arms = arms_of(graph, find_place("cstream"))
    assert {arm.model.name for arm in arms} == {"manual", "dedicated", "dynamic", "coroutine"}
    assert {arm.threads for arm in arms if isinstance(arm.model, Dynamic)} == {1, 2, 4, 8, 11, 12}
    assert "work1,work3,work5,sink" in {getattr(arm.model, "queued", "") for arm in arms}
    assert len({f"{arm.model}" for arm in arms}) == len(arms)


def test_the_depth_of_an_operator_is_its_longest_way():
    graph = topologies.build("mix", {"width": 2, "depth": 2}, 0)[0]
    depth = depths(graph)
    assert (depth["source"], depth["work2.2"], depth["sink"]) == (0, 3, 4)


@pytest.fixture
def few(monkeypatch):
    """Two arms of a small graph, in place of all; advice is the arm that is set."""
    monkeypatch.setattr(
        judging, "arms_of", lambda graph, place: [Arm("m", Manual()), Arm("d", Dynamic(4))]
    )
    advice = {"model": "manual", "options": {}, "certainty": "sure"}
    monkeypatch.setattr(judging, "_advice", lambda drawn, terms: advice)
    return advice


def judged(cost):
    drawn = replace(draw(0, 0), settings={"operators": 6, "cost": cost, "payload": 16})
    terms = JudgingTerms(RunTerms(find_place("cstream"), "advice", 0.001), 10.0)
    return judge(0, drawn, terms, lambda step: None)


def test_advice_that_is_the_best_has_the_ratio_one(few):
    found = judged(cost=1)
    assert (found.advised, found.best, found.ratio) == ("manual", "manual", 1.0)


def test_bad_advice_is_found(few):
    found = judged(cost=1000)
    assert found.best == "dynamic:threads=4"
    assert 0.1 < found.ratio < 0.5
    assert not found.is_good


def test_advice_beyond_all_arms_may_be_better(few):
    few["model"], few["options"] = "dynamic", {"threads": 8}
    found = judged(cost=1000)
    assert found.ratio > 1.0 and found.is_good


def test_a_study_goes_on_with_the_graphs_that_it_has_not_judged(tmp_path, monkeypatch, capsys):
    kept = tmp_path / "kept.jsonl"
    kept.write_text(json.dumps(JUDGED.to_mapping()) + "\n")
    seen = []

    def one(number, drawn, terms, show):
        seen.append(number)
        return replace(JUDGED, number=number, ratio=1.0)

    monkeypatch.setattr(study, "judge", one)
    words = ["--machine", "cstream", "--graphs", "3", "--record", str(kept)]
    assert study.call(study.NAME, study, words) == 0
    assert seen == [1, 2]
    assert "2 of 3 graphs (67 %) got advice within 5 % of the best arm" in capsys.readouterr().out
    assert study.call(study.NAME, study, words) == 0
    assert seen == [1, 2]


def test_the_report_marks_bad_advice():
    text = markdown([JUDGED, replace(JUDGED, ratio=0.99)], "measured", "python")
    assert "**0.900**" in text and "| 0.990 |" in text
