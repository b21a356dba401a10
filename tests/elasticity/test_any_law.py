"""Tests of what every law must do, whatever it is fed with."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.elasticity import LAWS, Bounds, Decides, Layout, Link, Reading, law_class, make_law
from harness.elasticity.cpu_limit import Answers
from harness.errors import UserError
from tests.elasticity.drive import reading

SHARES = st.none() | st.floats(0.0, 1.0)
THROUGHPUTS = (
    st.floats(0.0, 1.7e308)
    | st.sampled_from([0.0, 5e-324, 100.0, 105.0, 120.0, 121.0])
    | st.floats(50.0, 200.0)
)


@st.composite
def bounds_of_levels(draw):
    maximum = draw(st.integers(1, 40) | st.sampled_from([176, 1024]))
    minimum = draw(st.just(1) | st.integers(1, maximum))
    return Bounds(minimum, maximum, draw(st.integers(minimum, maximum)))


CHAIN = Layout((), (), (0,), (Link(0, 1, 1.0, None),), (1.0, 1.0), (0.0, 0.0), 0, 8, inputs=1)


@st.composite
def traces(draw):
    """Periods of any length and content, at the law's own level."""
    periods = st.tuples(st.floats(1e-6, 1e4), THROUGHPUTS, SHARES, SHARES, SHARES, SHARES)
    return draw(st.lists(periods, max_size=80))


def drive(name, bounds, answers, trace, switched=False):
    """`switched`: every setting that is a yes or no is the other way round."""
    given = {
        setting.name: not setting.default
        for setting in law_class(name).SETTINGS
        if isinstance(setting.default, bool)
    }
    law = make_law(
        name,
        bounds,
        None if answers is None else Answers(answers),
        given if switched else None,
        CHAIN,
    )
    level, time_s, decisions = bounds.start, 0.0, []
    for elapsed_s, throughput, *shares in trace:
        time_s += elapsed_s
        decisions.append(law.step(Reading(time_s, elapsed_s, level, throughput, *shares)))
        level = decisions[-1].threads
    return decisions


@pytest.mark.parametrize("name", LAWS[Decides.THREADS])
@settings(max_examples=50)
@given(
    bounds=bounds_of_levels(),
    answers=st.none() | st.lists(st.booleans(), max_size=80),
    trace=traces(),
    switched=st.booleans(),
)
def test_levels_stay_within_the_bounds_and_the_same_trace_gives_the_same_decisions(
    name, bounds, answers, trace, switched
):
    decisions = drive(name, bounds, answers, trace, switched)
    assert all(bounds.minimum <= decision.threads <= bounds.maximum for decision in decisions)
    assert all(decision.reason and decision.state for decision in decisions)
    assert drive(name, bounds, answers, trace, switched) == decisions


@pytest.mark.parametrize("name", LAWS[Decides.THREADS])
def test_an_idle_hour_raises_nothing_and_work_that_comes_back_neither(name):
    trace = [
        (1.0, throughput, 0.0, 0.0, 0.0, 0.0)
        for throughput in [100.0] * 10 + [0.0] * 60 + [100.0] * 10
    ]
    assert len(drive(name, Bounds(1, 8, 1), (), trace)) == 80


@pytest.mark.parametrize("name", LAWS[Decides.THREADS])
def test_a_clock_that_stands_still_or_goes_back_is_refused(name):
    law = make_law(name, Bounds(1, 8, 1), layout=CHAIN)
    law.step(reading(5, 1, 100.0))
    for second in (5, 4):
        with pytest.raises(UserError, match="time_s must grow from reading to reading"):
            law.step(reading(second, 1, 100.0))


@pytest.mark.parametrize("throughput", [math.nan, math.inf, -1.0, -math.inf])
def test_a_throughput_that_no_counter_can_show_is_refused(throughput):
    with pytest.raises(
        UserError, match=f"throughput must be a number of tuples/s from 0, not {throughput!r}"
    ):
        reading(1, 1, throughput)


@pytest.mark.parametrize(
    ("field", "value"),
    [("elapsed_s", 0.0), ("elapsed_s", math.nan), ("utilisation", 1.1), ("system_cpu", -0.1)],
)
def test_a_reading_that_no_clock_can_show_is_refused(field, value):
    with pytest.raises(UserError, match=field):
        Reading(**{"time_s": 1.0, "elapsed_s": 1.0, "threads": 1, "throughput": 1.0, field: value})


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ((5, 4, 5), "minimum level must be at most the maximum level 4, not 5"),
        ((1, 4, 5), "start level must be from 1 to 4 threads, not 5"),
        ((2, 4, 1), "start level must be from 2 to 4 threads, not 1"),
        ((0, 4, 1), "minimum level must be from 1 to 1024 threads, not 0"),
        ((1, 1025, 1), "maximum level must be from 1 to 1024 threads, not 1025"),
        ((1, 2.5, 1), "maximum level must be from 1 to 1024 threads, not 2.5"),
        ((1, 4, True), "start level must be from 1 to 1024 threads, not True"),
        ((1, "9" * 99, 1), "not '999"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(levels, message):
    with pytest.raises(UserError, match=message) as told:
        Bounds(*levels)
    assert len(str(told.value)) < 120


def test_unknown_laws_and_settings_are_refused_with_what_there_is():
    with pytest.raises(UserError, match="law 'magic' is unknown; laws are: millrace, pldi17"):
        make_law("magic", Bounds(1, 8, 1))
    with pytest.raises(UserError, match="law fixed has no setting 'speed'; it has none"):
        make_law("fixed", Bounds(1, 8, 1), settings={"speed": 1})
    with pytest.raises(
        UserError, match="law utilisation has no setting 'speed'; its settings are: low, high"
    ):
        make_law("utilisation", Bounds(1, 8, 1), settings={"speed": 1})


@pytest.mark.parametrize("value", ["nan", "much", "", None, True, "0_5", "٠", [], "9" * 5000])
def test_a_setting_that_is_no_number_in_range_is_refused_by_name(value):
    with pytest.raises(UserError, match="sensitivity must be from 0 to 1, not ") as told:
        make_law("pldi17", Bounds(1, 8, 1), settings={"sensitivity": value})
    assert len(str(told.value)) < 120


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("target", -1.0, "target must be a number of tuples/s from 0, not -1.0"),
        ("latency_s", float("nan"), "latency_s must be a number of seconds from 0, not nan"),
        ("useful_s", (0.1, -0.2), r"useful_s\[1\] must be a number from 0, not -0.2"),
        ("tuples", (float("inf"),), r"tuples\[0\] must be a number from 0, not inf"),
        ("full", (-0.1,), r"full\[0\] must be a number from 0, not -0.1"),
        ("replicas", (1, 0), r"replicas\[1\] must be 1 or more, not 0"),
    ],
)
def test_a_reading_that_no_counter_can_show_is_refused(field, value, told):
    with pytest.raises(UserError, match=told):
        Reading(1.0, 1.0, 1, 100.0, **{field: value})


def test_a_law_that_must_know_the_graph_is_not_made_without_it():
    with pytest.raises(
        UserError,
        match="law middleware19 must know the graph: it decides about queues by its operators",
    ):
        make_law("middleware19", Bounds(1, 8, 1), decides=Decides.QUEUES)


def test_a_law_of_the_other_kind_is_refused_with_those_of_this_kind():
    with pytest.raises(
        UserError,
        match="law 'pldi17' does not place queues; laws that do are: millrace, middleware19, "
        "streams",
    ):
        make_law("pldi17", Bounds(1, 8, 1), decides=Decides.QUEUES)
