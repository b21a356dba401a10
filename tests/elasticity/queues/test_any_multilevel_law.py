"""Tests of what every law that places queues must do, whatever it is fed with."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bench.replay import place_names, replay
from harness.elasticity import LAWS, Bounds, Decides, Layout, Reading, law_class
from harness.elasticity.cpu_limit import Answers
from harness.errors import UserError
from harness.graph import PortId
from tests.elasticity.queues.pipelines import Pipeline, drive, make_law, pipeline
from tests.elasticity.test_any_law import SHARES, THROUGHPUTS, bounds_of_levels
from tests.elasticity.traces import trace_of

GOLDEN = json.loads(Path(__file__).with_name("golden_traces.json").read_text(encoding="utf-8"))
COST = st.floats(0.0, 1.0) | st.sampled_from([0.0, 0.5, 5e-324, 1.0])


@st.composite
def layouts(draw):
    """Operators with no, one or several places, in any order; no streams, which the laws of this
    test need not know.
    """
    at = draw(st.lists(st.integers(1, 12), max_size=30))
    size = 13
    ports = [PortId(f"o{operator}", place) for place, operator in enumerate(at)]
    return Layout(ports, at, [0], [], [1.0] * size, [0.0] * size, 128, 8)


@st.composite
def periods(draw):
    """Any content; costs of some operators, of all or of none."""
    costs = draw(st.just(()) | st.lists(COST, max_size=13))
    return draw(THROUGHPUTS), costs, draw(SHARES), draw(st.booleans())


def driven(name, bounds, layout, answers, trace, switched):
    given = {
        setting.name: not setting.default
        for setting in law_class(name, Decides.QUEUES).SETTINGS
        if isinstance(setting.default, bool)
    }
    law = make_law(
        name,
        bounds,
        layout,
        None if answers is None else Answers(answers),
        given if switched else None,
    )
    threads, queued, before, decisions = bounds.start, frozenset(), frozenset(), []
    for period, (throughput, costs, busy, late) in enumerate(trace, start=1):
        seen = before if late else queued  # queues may not have gone yet
        decisions.append(
            law.step(
                Reading(float(period), 1.0, threads, throughput, busy, costs=costs, queued=seen)
            )
        )
        before, queued, threads = queued, decisions[-1].queued or frozenset(), decisions[-1].threads
    return decisions


@pytest.mark.parametrize("name", ["middleware19", "streams"])
@settings(max_examples=75)
@given(
    bounds=bounds_of_levels(),
    layout=layouts(),
    answers=st.none() | st.lists(st.booleans(), max_size=60),
    trace=st.lists(periods(), max_size=60),
    switched=st.booleans(),
)
def test_decisions_stay_within_bounds_and_places_and_repeat(
    name, bounds, layout, answers, trace, switched
):
    decisions = driven(name, bounds, layout, answers, trace, switched)
    everywhere = frozenset(range(len(layout.ports)))
    for decision in decisions:
        assert bounds.minimum <= decision.threads <= bounds.maximum
        assert decision.queued <= everywhere
        assert decision.reason and decision.state
        for operator in set(layout.at):  # M19 and IBM Streams decide on operators
            mine = {place for place, at in enumerate(layout.at) if at == operator}
            assert mine <= decision.queued or not mine & decision.queued
    assert driven(name, bounds, layout, answers, trace, switched) == decisions


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['law']}: {case['name']}")
def test_laws_decide_as_they_always_did(case):
    queues = case["queues"]
    other = ("law", "name", "levels", "queues", "queued", "reasons", "states")
    trace = trace_of(**{key: value for key, value in case.items() if key not in other})
    decisions = replay(case["law"], trace)
    assert [decision.threads for decision in decisions] == case["levels"]
    assert [place_names(decision.queued, trace.layout) for decision in decisions] == queues


@pytest.mark.parametrize("name", LAWS[Decides.QUEUES])
@pytest.mark.parametrize("costs_known", [True, False])
def test_a_pipeline_of_heavy_operators_is_left_faster_than_by_a_single_thread(name, costs_known):
    surface = Pipeline([1.0] * 20, queue=0.2)
    law = make_law(name, Bounds(2, 8, 2), pipeline(20), settings={})
    decisions = drive(law, surface.throughput, 150, surface.shares if costs_known else ())
    found = surface.throughput(decisions[-1].threads, decisions[-1].queued)
    assert found > 3.0 * surface.throughput(1, frozenset())
    assert len({(decision.threads, decision.queued) for decision in decisions[-20:]}) == 1, (
        "it settles"
    )


@pytest.mark.parametrize("name", LAWS[Decides.QUEUES])
def test_an_idle_hour_raises_nothing_and_work_that_comes_back_neither(name):
    law = make_law(name, Bounds(1, 8, 1), pipeline(6))
    surface = Pipeline([1.0] * 6)
    decisions = drive(law, surface.throughput, 30, surface.shares)
    decisions += drive(law, lambda n, on: 0.0, 60, (0.0,) * 7, after=decisions)
    decisions += drive(law, surface.throughput, 30, surface.shares, after=decisions)
    assert len(decisions) == 120


@pytest.mark.parametrize("name", LAWS[Decides.QUEUES])
def test_nothing_is_switched_where_there_is_no_place(name):
    law = make_law(name, Bounds(2, 8, 2), pipeline(0))
    assert {
        decision.queued or frozenset() for decision in drive(law, lambda n, on: 100.0 * n, 20)
    } == {frozenset()}


@pytest.mark.parametrize("name", LAWS[Decides.QUEUES])
def test_costs_that_are_no_numbers_are_none(name):
    law = make_law(name, Bounds(2, 8, 2), pipeline(3))
    assert len(drive(law, lambda n, on: 100.0 * n, 20, (math.nan, math.inf, -1.0, 0.5))) == 20


def test_unknown_laws_and_settings_are_refused_with_what_there_is():
    with pytest.raises(
        UserError,
        match="law 'pldi17' does not place queues; laws that do are: millrace, middleware19, "
        "streams",
    ):
        make_law("pldi17", Bounds(1, 8, 1), pipeline(2))
    with pytest.raises(UserError, match="law streams has no setting 'speed'; it has none"):
        make_law("streams", Bounds(1, 8, 1), pipeline(2), settings={"speed": 1})
    with pytest.raises(UserError, match="satisfaction must be from 0 to 1, not 2"):
        make_law("middleware19", Bounds(1, 8, 1), pipeline(2), settings={"satisfaction": 2})
    with pytest.raises(UserError, match="history must be true or false, not 'maybe'"):
        make_law("middleware19", Bounds(1, 8, 1), pipeline(2), settings={"history": "maybe"})
