"""A user's own curves: what may be said, and what is refused in one line that names place, rule and
value.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bench.threads.scenario import PERIODS, Event
from harness.bench.threads.user_curves import KEYS, MAX_SCENARIOS, parse_scenarios
from harness.elasticity import Bounds
from tests.bench.user_documents import HUGE, one, parses_or_is_refused, refusal

# -- what may be said ------------------------------------------------------------------------------


def test_the_least_is_a_list_of_throughputs():
    scenario = one(throughput=[5, 7.5, 6])
    assert scenario.curve == (5.0, 7.5, 6.0)
    assert scenario.bounds == Bounds(1, 3, 1)
    assert (scenario.noise, scenario.drift, scenario.events, scenario.periods, scenario.seed) == (
        0.0,
        0.0,
        (),
        PERIODS,
        0,
    )
    assert scenario.name == "curve-1"


def test_everything_that_may_be_said_is_heard():
    scenario = one(
        name="mine",
        throughput="10 * n",
        min=2,
        max=8,
        start=3,
        noise=0.03,
        drift=0.02,
        periods=60,
        seed=7,
        events=[
            {"kind": "scale", "at": 10, "length": 5, "factor": 0.5},
            {"kind": "curve", "at": 20, "throughput": "80 / n"},
            {"kind": "burst", "at": 30, "factor": 2},
            {"kind": "idle", "at": 40, "length": 3},
            {"kind": "cpu", "at": 50},
        ],
    )
    assert (scenario.name, scenario.shape, scenario.bounds) == ("mine", "mine", Bounds(2, 8, 3))
    assert (scenario.noise, scenario.drift, scenario.periods, scenario.seed) == (0.03, 0.02, 60, 7)
    assert scenario.events == (
        Event("scale", 10, 5, 0.5),
        Event("curve", 20, None, 1.0, tuple(80.0 / n for n in range(1, 9))),
        Event("burst", 30, 1, 2.0),
        Event("idle", 40, 3),
        Event("cpu", 50, None, 0.5),
    )


def test_a_maximum_may_leave_out_the_upper_levels_of_a_list_and_the_start_is_the_minimum():
    assert one(throughput=[1, 2, 3, 4], max=3, min=2).bounds == Bounds(2, 3, 2)


def test_drift_true_makes_the_noise_wander():
    assert (
        one(throughput=[1], noise=0.05, drift=True).noise,
        one(throughput=[1], noise=0.05, drift=True).drift,
    ) == (0.0, 0.05)
    assert (
        one(throughput=[1], noise=0.05, drift=False).noise,
        one(throughput=[1], noise=0.05, drift=False).drift,
    ) == (0.05, 0.0)


def test_null_is_as_good_as_nothing_where_there_is_a_default():
    assert one(
        throughput=[1, 2], max=None, min=None, start=None, periods=None, seed=None, events=None
    ).bounds == Bounds(1, 2, 1)


# -- what is refused -------------------------------------------------------------------------------

DOCUMENTS = [
    (None, "curves must be a list of 1 to 10000 scenarios, not None"),
    ([], "curves must be a list of 1 to 10000 scenarios, not []"),
    ({"throughput": [1]}, "curves must be a list of 1 to 10000 scenarios, not {'throughput': [1]}"),
    ("n", "curves must be a list of 1 to 10000 scenarios, not 'n'"),
    ([7], "[0] must be a mapping with the keys name, throughput"),
    ([{"throughput": [1]}, None], "[1] must be a mapping"),
    ([{"name": "a"}], "[0] must have the key 'throughput'"),
    ([{"throughput": [1], "speed": 1}], "[0] has no key 'speed'; its keys are: name, throughput"),
    ([{"throughput": [1], 5: 1}], "[0] has no key 5"),
    (
        [{"throughput": [1], "name": "a"}, {"throughput": [1], "name": "a"}],
        "[1].name must not be there twice: 'a'",
    ),
]

ENTRIES = [
    ({"throughput": None}, " must have the key 'throughput'"),
    ({"throughput": []}, "throughput must be an expression or a list of 1 to 1024 numbers, not []"),
    (
        {"throughput": [1] * 1025},
        "throughput must be an expression or a list of 1 to 1024 numbers, not [1, 1,",
    ),
    ({"throughput": {"1": 5}}, "throughput must be an expression or a list"),
    ({"throughput": 5}, "throughput must be an expression or a list"),
    (
        {"throughput": [1, float("nan")]},
        "throughput[1] must be a number from 0 to 1e+18 tuples/s, not nan",
    ),
    (
        {"throughput": [float("inf")]},
        "throughput[0] must be a number from 0 to 1e+18 tuples/s, not inf",
    ),
    ({"throughput": [1, 2, -3]}, "throughput[2] must be a number from 0 to 1e+18 tuples/s, not -3"),
    ({"throughput": [True]}, "throughput[0] must be a number from 0 to 1e+18 tuples/s, not True"),
    ({"throughput": ["1e3"]}, "throughput[0] must be a number from 0 to 1e+18 tuples/s, not '1e3'"),
    (
        {"throughput": [HUGE]},
        "throughput[0] must be a number from 0 to 1e+18 tuples/s, not a very large number",
    ),
    ({"throughput": "n"}, "throughput: an expression needs the key 'max' beside it"),
    (
        {"throughput": [1, 2], "max": 3},
        "max must be at most 2, the levels that throughput has, not 3",
    ),
    ({"throughput": [1, 2], "max": 0}, "max must be a whole number from 1 to 1024, not 0"),
    ({"throughput": "n", "max": 1025}, "max must be a whole number from 1 to 1024, not 1025"),
    ({"throughput": [1], "max": True}, "max must be a whole number from 1 to 1024, not True"),
    ({"throughput": [1], "max": 1.0}, "max must be a whole number from 1 to 1024, not 1.0"),
    (
        {"throughput": [1], "max": HUGE},
        "max must be a whole number from 1 to 1024, not a very large number",
    ),
    ({"throughput": [1], "min": 2}, "minimum level must be at most the maximum level 1, not 2"),
    ({"throughput": [1, 2], "start": 3}, "start level must be from 1 to 2 threads, not 3"),
    ({"throughput": [1, 2], "start": "2"}, "start must be a whole number from 1 to 1024, not '2'"),
    (
        {"throughput": [1], "noise": -0.1},
        "noise must be a number from 0 to 1 of throughput, not -0.1",
    ),
    (
        {"throughput": [1], "noise": 1.5},
        "noise must be a number from 0 to 1 of throughput, not 1.5",
    ),
    (
        {"throughput": [1], "noise": float("nan")},
        "noise must be a number from 0 to 1 of throughput, not nan",
    ),
    (
        {"throughput": [1], "noise": True},
        "noise must be a number from 0 to 1 of throughput, not True",
    ),
    (
        {"throughput": [1], "drift": "much"},
        "drift must be a number from 0 to 1 of throughput, not 'much'",
    ),
    ({"throughput": [1], "periods": 0}, "periods must be a whole number from 1 to 100000, not 0"),
    (
        {"throughput": [1], "periods": 10**6},
        "periods must be a whole number from 1 to 100000, not 1000000",
    ),
    (
        {"throughput": [1], "seed": -1},
        "seed must be a whole number from 0 to 9223372036854775807, not -1",
    ),
    ({"throughput": [1], "name": ""}, "name must be text on one line, not ''"),
    ({"throughput": [1], "name": "  "}, "name must be text"),
    ({"throughput": [1], "name": 7}, "name must be text"),
    ({"throughput": [1], "name": "two\nlines"}, "name must be text"),
    ({"throughput": [1], "name": "\ud800"}, "name must be text"),
    ({"throughput": [1], "name": [HUGE]}, "name must be text"),
    ({"throughput": [1], "events": "idle"}, "events must be a list, not 'idle'"),
    ({"throughput": [1], "events": {}}, "events must be a list, not {}"),
    ({"throughput": [1], "events": 0}, "events must be a list, not 0"),
]

EVENTS = [
    (3, ".kind must be one of scale, curve, burst, idle, cpu, not None"),
    ({"at": 3}, ".kind must be one of scale, curve, burst, idle, cpu, not None"),
    ({"kind": "fire", "at": 3}, ".kind must be one of scale, curve, burst, idle, cpu, not 'fire'"),
    (
        {"kind": ["idle"], "at": 3},
        ".kind must be one of scale, curve, burst, idle, cpu, not ['idle']",
    ),
    ({"kind": {}, "at": 3}, ".kind must be one of scale, curve, burst, idle, cpu, not {}"),
    ({"kind": "idle"}, " must have the key 'at'"),
    ({"kind": "idle", "at": None}, " must have the key 'at'"),
    ({"kind": "idle", "at": 100}, ".at must be a whole number from 0 to 99, not 100"),
    ({"kind": "idle", "at": -1}, ".at must be a whole number from 0 to 99, not -1"),
    ({"kind": "idle", "at": True}, ".at must be a whole number from 0 to 99, not True"),
    (
        {"kind": "idle", "at": 3, "length": 0},
        ".length must be a whole number from 1 to 100000, not 0",
    ),
    (
        {"kind": "idle", "at": 3, "factor": 2},
        " has no key 'factor'; its keys are: kind, at, length",
    ),
    (
        {"kind": "scale", "at": 3, "factor": -1},
        ".factor must be a number from 0 to 1e+06 of throughput, not -1",
    ),
    (
        {"kind": "scale", "at": 3, "factor": "half"},
        ".factor must be a number from 0 to 1e+06 of throughput, not 'half'",
    ),
    (
        {"kind": "burst", "at": 3, "factor": float("nan")},
        ".factor must be a number from 0 to 1e+06 of throughput, not nan",
    ),
    ({"kind": "curve", "at": 3}, " must have the key 'throughput'"),
    ({"kind": "curve", "at": 3, "throughput": [1]}, ".throughput must be for 2 levels, not 1"),
    (
        {"kind": "curve", "at": 3, "throughput": [1, -2]},
        ".throughput[1] must be a number from 0 to 1e+18 tuples/s, not -2",
    ),
    (
        {"kind": "curve", "at": 3, "throughput": "1 / (n - 2)"},
        ".throughput has no value at level 2: ",
    ),
]


@pytest.mark.parametrize(("document", "said"), DOCUMENTS, ids=lambda value: repr(value)[:40])
def test_a_document_that_is_no_list_of_scenarios_is_refused(document, said):
    assert said in refusal(document)


@pytest.mark.parametrize(("entry", "said"), ENTRIES, ids=[said[:50] for _, said in ENTRIES])
def test_a_scenario_with_a_wrong_value_is_refused_by_its_place(entry, said):
    line = refusal([{"name": "first", "throughput": [1]}, entry])
    assert line.startswith("[1]")
    assert said in line


@pytest.mark.parametrize(("event", "said"), EVENTS, ids=[said[:50] for _, said in EVENTS])
def test_an_event_with_a_wrong_value_is_refused_by_its_place(event, said):
    line = refusal([{"throughput": [1, 2], "events": [{"kind": "idle", "at": 1}, event]}])
    assert line.startswith(f"[0].events[1]{said}")


def test_there_are_at_most_ten_thousand_scenarios():
    assert len(parse_scenarios([{"throughput": [1]}] * MAX_SCENARIOS)) == MAX_SCENARIOS
    assert "not [{'throughput'" in refusal([{"throughput": [1]}] * (MAX_SCENARIOS + 1))


def test_values_that_hold_themselves_or_unfold_endlessly_are_shown_in_short():
    endless: list = []
    endless.append(endless)
    assert "name must be text" in refusal([{"throughput": [1], "name": endless}])
    bomb: list = ["ha"]
    for _ in range(60):  # 2 to the 60 elements, if one looks at them all
        bomb = [bomb, bomb]
    assert "name must be text" in refusal([{"throughput": [1], "name": bomb}])


# -- whatever there is -----------------------------------------------------------------------------

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["n", "1/n"])
    | st.just(0).map(lambda _: HUGE)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
)
OFTEN_RIGHT = {
    "name": st.text(max_size=5),
    "throughput": st.lists(st.floats(0.0, 1e6), min_size=1, max_size=6)
    | st.sampled_from(["n", "9 - n", "log(n)"]),
    "noise": st.floats(0.0, 1.0),
    "drift": st.floats(0.0, 1.0) | st.booleans(),
    "events": st.lists(
        st.fixed_dictionaries(
            {"kind": st.sampled_from(["scale", "curve", "burst", "idle", "cpu"]) | SCALARS},
            optional={
                "at": st.integers(0, 99) | SCALARS,
                "length": st.integers(1, 9),
                "factor": SCALARS,
                "throughput": SCALARS,
            },
        ),
        max_size=2,
    ),
} | dict.fromkeys(("min", "max", "start", "periods", "seed"), st.integers(1, 8))
NEARLY = st.fixed_dictionaries(
    {"throughput": OFTEN_RIGHT["throughput"]},
    optional={key: OFTEN_RIGHT[key] | VALUES for key in KEYS if key != "throughput"},
)


@settings(max_examples=150)
@given(document=VALUES | st.lists(NEARLY, max_size=3))
def test_any_document_has_a_meaning_or_is_refused_in_one_line(document):
    parses_or_is_refused(document)
