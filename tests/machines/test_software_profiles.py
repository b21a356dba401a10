"""Tests of what the steps of a runtime cost: the profiles that are there, and what is wrong with
bad ones.
"""

from __future__ import annotations

import pytest

from harness.engine import open_engine
from harness.engine.open import Described, lay_out
from harness.errors import UserError
from harness.machines.constants import unit_and_meaning
from harness.machines.machine import load_machine
from harness.machines.place import find_place
from harness.machines.software import load_software, software_names
from harness.models import Coroutine, Dynamic
from topologies import build

BAD = {
    "a missing cost": ({"cost.flag": ...}, "cost.flag: missing key"),
    "a negative cost": (
        {"cost.flag.value": -1},
        "cost.flag.value: must be a number from 0 to 1e12, not -1",
    ),
    "a cost outside its range": (
        {"cost.flag.value": 99},
        "cost.flag.value: must be within its own range, 8 to 20, not 99",
    ),
    "an unknown cost": ({"cost.flags": {}}, "cost.flags: unknown key (did you mean 'flag'?)"),
    "a reference clock of 0": (
        {"reference.clock_ghz.value": 0},
        "reference.clock_ghz.value: must be a number above 0",
    ),
    "an overlap of nothing": (
        {"cost.flop_overlap.value": 0},
        "cost.flop_overlap.value: must be a number above 0",
    ),
    "a batch of nothing": ({"how.batch": 0}, "how.batch: must be 1 or more, not 0"),
    "a way to find work that is none": (
        {"how.finds_work": "steal"},
        "how.finds_work: must be ready_list or walk, not 'steal'",
    ),
    "queues of nothing": (
        {"how.queue_capacity": 0},
        "how.queue_capacity: must be null, or a whole number from 1 to 1048576, not 0",
    ),
    "a back-off without its longest wait": (
        {"how.back_off_most_ms": ...},
        "how.back_off_most_ms: missing key: idle threads back off",
    ),
    "a sweep of what is no cost": (
        {"sweep": ["cost.flags"]},
        "sweep[0]: must be the path of a constant",
    ),
    "a back-off that shrinks": (
        {"how.back_off_factor": 0.5},
        "how.back_off_factor: must be 1 or more, not 0.5",
    ),
}


def test_the_profiles_are_the_files():
    assert software_names() == [
        "cstream",
        "millrace",
        "p17-printed",
        "streams-4.2",
        "streams-locked",
    ]


def test_millrace_is_the_runtime_that_is_here():
    software = load_software("millrace")
    assert software["how.batch"] == 32
    assert software["how.finds_work"] == "ready_list"
    assert software["how.idle"] == "sleep"
    assert software["how.queue_capacity"] is None
    assert software["how.drain"] == "bounded"
    assert software.get("how.back_off_first_ns", 5.0) == 5.0


@pytest.mark.parametrize(
    ("name", "drain"), [("streams-4.2", "queue_capacity"), ("p17-printed", "whole_queue")]
)
def test_streams_has_the_algorithms_of_p17_and_bounds_drains_as_its_code_does_or_not_at_all_as_printed(
    name, drain
):
    software = load_software(name)
    assert software["how.batch"] == 1
    assert software["how.finds_work"] == "walk"
    assert software["how.idle"] == "back_off"
    assert [software[f"how.back_off_{key}"] for key in ("first_ns", "factor", "most_ms")] == [
        1,
        10,
        10,
    ]
    assert software["how.queue_capacity"] == 1000
    assert software["how.drain"] == drain


def test_what_p17_prints_costs_what_streams_costs():
    printed, streams = load_software("p17-printed"), load_software("streams-4.2")
    assert dict(printed.constants) == dict(streams.constants)
    assert printed.sweep == streams.sweep


def test_what_nobody_has_measured_of_streams_is_called_an_estimate():
    constants = load_software("streams-4.2").constants
    costs = [constant for path, constant in constants.items() if path.startswith("cost.")]
    assert {constant.tag for constant in costs} == {"estimate"}
    assert all(constant.high >= 1.5 * constant.low for constant in costs)


def test_constants_of_machine_and_software_that_are_not_measured_are_varied():
    place = find_place("xeon", software="streams-4.2")
    machine, software = load_machine("xeon").uncertain, load_software("streams-4.2").uncertain
    assert machine and software and place.uncertain == {**machine, **software}
    assert place.uncertain["cost.push_tuple"] == (8, 50)
    assert "cost.push_tuple" not in find_place("xeon").uncertain, "that is measured"


def test_a_constant_of_the_software_is_replaced_like_one_of_the_machine():
    place = find_place("xeon", software="streams-4.2")
    place.check_constants({"cost.push_tuple": 50.0, "atomic.fence": 9.0})
    with pytest.raises(UserError, match=r"'cost\.push' is no constant of the profile 'xeon'"):
        place.check_constants({"cost.push": 50.0})
    with pytest.raises(UserError, match=r"cost\.push_tuple must be a number above 0, not -1"):
        place.check_constants({"cost.push_tuple": -1.0})


def test_dearer_software_is_slower_when_it_is_simulated():
    def rate(**constants):
        graph, _ = build("pipeline", {"operators": 4}, 0)
        engine = open_engine(graph, Dynamic(4), "xeon", software="streams-4.2", constants=constants)
        engine.start()
        return engine.sample(1e-3).sink_tuples

    assert rate(**{"cost.push_tuple": 500.0}) < 0.8 * rate()


@pytest.mark.parametrize("name", software_names())
def test_costs_are_in_ns(name):
    for path in load_software(name).constants:
        if path.startswith("cost."):
            assert unit_and_meaning("software", path)[0] == (
                "multiplies" if path.startswith("cost.flop_") else "ns"
            )


def test_a_cost_takes_longer_on_a_slower_core():
    software = load_software("streams-4.2")
    clock, ipc = software["reference.clock_ghz"], software["reference.ipc"]
    assert software.scale(clock, ipc) == 1
    assert software.scale(clock / 2, ipc) == pytest.approx(2)
    assert software.scale(clock, ipc * 4) == pytest.approx(0.25)


BASED = """\
schema_version: 1
name: own
title: one of a user
based_on: {}
how: {{batch: 8}}
cost:
  flag: {{value: 9, tag: estimate, range: [8, 10], source: a test}}
"""


def test_a_profile_may_say_only_what_differs_from_another_one(tmp_path):
    (tmp_path / "own.yaml").write_text(BASED.format("streams-4.2"))
    own, base = load_software(tmp_path / "own.yaml"), load_software("streams-4.2")
    assert (own.name, own["how.batch"], own["cost.flag"]) == ("own", 8, 9)
    same = {path: each for path, each in base.constants.items() if path != "cost.flag"}
    assert {path: own.constants[path] for path in same} == same
    assert own["how.drain"] == base["how.drain"]


def test_the_digest_of_a_profile_tells_its_base(tmp_path, software_file, monkeypatch):
    (tmp_path / "software").mkdir()
    base = tmp_path / "software" / "base.yaml"
    base.write_text(software_file({"name": "base"}).read_text())
    monkeypatch.setattr("harness.machines.constants.own_config", lambda: tmp_path)
    (tmp_path / "own.yaml").write_text(BASED.format("base"))
    before = load_software(tmp_path / "own.yaml").digest
    base.write_text(f"{base.read_text()}# another one\n")
    assert load_software(tmp_path / "own.yaml").digest != before


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("stream-4.2", "software 'stream-4.2' is unknown (did you mean 'streams-4.2'?)"),
        ("p17-printed", "based_on: must be a profile that is not based on another itself"),
    ],
)
def test_a_base_must_be_a_profile_of_its_own(base, expected, tmp_path):
    (tmp_path / "own.yaml").write_text(BASED.format(base))
    with pytest.raises(UserError) as caught:
        load_software(tmp_path / "own.yaml")
    assert expected in str(caught.value)


@pytest.mark.parametrize(("software", "locked"), [("streams-4.2", []), ("streams-locked", [11])])
def test_a_sink_behind_its_queue_is_locked_if_the_software_locks_where_streams_meet(
    software, locked
):
    graph, _ = build("data-parallel", {"width": 9}, 0)
    place = find_place("xeon", software=software)
    layout = lay_out(graph, Dynamic(4), Described(place.described(), place.costs()))
    assert [index for index, each in enumerate(layout.locked) if each] == locked


@pytest.mark.parametrize(("software", "lazy"), [("millrace", True), ("cstream", False)])
def test_a_co_routine_is_woken_for_each_tuple_if_the_software_does_that(software, lazy):
    graph, _ = build("chain", {"operators": 2}, 0)
    place = find_place("cstream", software=software)
    layout = lay_out(graph, Coroutine(2), Described(place.described(), place.costs()))
    assert {way.lazy for way in layout.ways} == {lazy}
    assert layout.batch == (32 if lazy else 1)


@pytest.mark.parametrize("case", BAD)
def test_a_bad_profile_is_told_with_file_path_rule_and_value(case, software_file):
    changes, expected = BAD[case]
    path = software_file(changes)
    with pytest.raises(UserError) as caught:
        load_software(path)
    assert str(caught.value).startswith(f"{path}: {expected}")
    assert "\n" not in str(caught.value)


def test_a_cost_may_be_nothing(software_file):
    assert (
        load_software(
            software_file({"cost.mark": {"value": 0, "tag": "measured", "source": "a test"}})
        )["cost.mark"]
        == 0
    )


def test_an_unknown_name_is_told_with_those_that_are_known():
    with pytest.raises(
        UserError,
        match=r"software 'milrace' is unknown \(did you mean 'millrace'\?\); known are: cstream, "
        r"millrace, p17-printed",
    ):
        load_software("milrace")
