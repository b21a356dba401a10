"""The machines that are there: what they hold, how it is asked for, how numbers are replaced."""

from __future__ import annotations

import functools
import hashlib
import json
import pickle
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UserError
from harness.files.checked_yaml import SCHEMAS, read_checked
from harness.machines.constants import TAGS, unit_and_meaning
from harness.machines.machine import MACHINES, load_machine, machine_names

DESCRIBED = ("cstream", "power8", "xeon")
"""Machines that nobody here has; `local` is measured, and whatever it measures is so."""

DISTANCES = ("same_core", "same_chip", "same_module", "other_socket")


@pytest.fixture(scope="module")
def machines():
    """Each machine and the template, by name."""
    return {name: load_machine(name) for name in (*machine_names(), "template")}


def test_the_machines_are_the_files_without_the_template():
    assert machine_names() == ["cstream", "local", "power8", "xeon"]


def test_machines_are_found_from_any_working_directory(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert "xeon" in machine_names()
    assert load_machine("xeon").name == "xeon"


@pytest.mark.parametrize(
    ("name", "cpus", "cores"), [("xeon", 176, 88), ("power8", 184, 23), ("cstream", 12, 12)]
)
def test_the_papers_machines_have_as_many_cpus_as_the_papers_say(machines, name, cpus, cores):
    assert (machines[name].cpus, machines[name].cores) == (cpus, cores)


def test_a_constant_a_plain_value_and_a_table_are_asked_for_by_path(machines):
    xeon = machines["xeon"]
    assert xeon["core.fmul_latency_cycles"] == 3
    assert xeon["atomic.contended.2"] == 32
    assert xeon["topology.sockets"] == 4
    assert isinstance(xeon["cache.line"], float)
    assert xeon["cache.l3_shared_by"] == "socket"
    assert xeon.table("core.smt_mixed") == {1: 1.0, 2: 1.18}
    assert list(xeon.table("atomic.contended")) == [1, 2, 4, 8, 16, 22, 44, 88, 176]
    assert xeon.named("os.idle_exit_us") == {"C1": 2.0, "C1E": 10.0, "C3": 40.0, "C6": 133.0}
    assert xeon.constants["transfer.rmw.other_socket"].low == 118
    assert xeon.sweep["transfer.rmw.other_socket"] == (118, 190)


@functools.cache
def power8():
    """The machine of that name, read once for all examples of a property."""
    return load_machine("power8")


def test_what_is_not_there_is_a_key_error_or_the_default(machines):
    xeon = machines["xeon"]
    for path in ("transfer.rmw.same_module", "core.clock_ghz", "nonsense"):
        with pytest.raises(KeyError):
            xeon[path]
        assert xeon.get(path, 7.0) == 7.0
    for path in ("atomic", "os.idle_exit_us", "atomic.fence", "nonsense"):
        with pytest.raises(KeyError):
            xeon.table(path)


def test_the_digest_is_of_the_file_and_no_two_have_the_same(machines):
    assert (
        machines["xeon"].digest
        == hashlib.sha256((MACHINES / "xeon.yaml").read_bytes()).hexdigest()[:12]
    )
    assert len({machine.digest for machine in machines.values()}) == len(machines)


def test_replaced_numbers_are_seen_and_the_profile_stays_as_it_is(machines):
    xeon = machines["xeon"]
    other = xeon.with_constants({"transfer.rmw.other_socket": 500, "atomic.contended.2": 1.5})
    assert other["transfer.rmw.other_socket"] == 500.0
    assert other.table("atomic.contended")[2] == 1.5
    assert other.constants["transfer.rmw.other_socket"].tag == "given"
    assert (other.name, other.cpus, other.digest, other.sweep) == (
        xeon.name,
        xeon.cpus,
        xeon.digest,
        xeon.sweep,
    )
    assert xeon["transfer.rmw.other_socket"] == 145
    assert xeon.with_constants({}) == xeon


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "5", True, None])
def test_a_replacement_that_is_no_number_above_0_is_refused(machines, value):
    with pytest.raises(
        UserError,
        match=re.escape(f"constants: atomic.fence must be a number above 0, not {value!r}"),
    ):
        machines["xeon"].with_constants({"atomic.fence": value})


@pytest.mark.parametrize(
    "path", ["atomic.fense", "topology.sockets", "cache.line", "atomic.contended", ""]
)
def test_a_replacement_of_what_is_no_constant_is_refused(machines, path):
    with pytest.raises(
        UserError, match=f"constants: {path!r} is no constant of the profile 'xeon'"
    ):
        machines["xeon"].with_constants({path: 5.0})


def test_a_run_may_find_less_in_the_shared_cache_but_no_less_than_in_a_cores_own(machines):
    xeon = machines["xeon"]
    other = xeon.with_constants({"cache.l3": 8_000_000, "atomic.fence": 5.0})
    assert (other["cache.l3"], other["atomic.fence"], other["cache.l2"]) == (
        8_000_000.0,
        5.0,
        xeon["cache.l2"],
    )
    with pytest.raises(
        UserError,
        match=r"^constants: cache\.l3 must not be smaller than cache\.l2, 262144 bytes, not 1000$",
    ):
        xeon.with_constants({"cache.l3": 1000})
    with pytest.raises(
        UserError, match=r"^constants: cache\.l3 must be a number above 0, not '8 MB'$"
    ):
        xeon.with_constants({"cache.l3": "8 MB"})


@given(data=st.data())
def test_any_constant_can_be_replaced_by_any_positive_number_and_nothing_else_changes(data):
    machine = power8()
    path = data.draw(st.sampled_from(sorted(machine.constants)))
    value = data.draw(st.floats(min_value=1e-9, max_value=1e9))
    other = machine.with_constants({path: value})
    assert other[path] == value
    assert {key for key in machine.constants if other[key] != machine[key]} <= {path}


def test_a_machine_can_be_sent_to_another_process(machines):
    assert pickle.loads(pickle.dumps(machines["power8"])) == machines["power8"]


def test_a_profile_may_say_more_than_its_topology_needs(machine_file):
    small = load_machine(
        machine_file(
            {
                "topology.sockets": 1,
                "topology.chips_per_socket": 1,
                "topology.smt": 1,
                "core.clock_ghz.8": ...,
            }
        )
    )
    assert small.cpus == 4
    assert small["transfer.rmw.other_socket"] == 150


def test_a_profile_without_sweep_notes_and_idle_states_is_whole(machine_file):
    machine = load_machine(
        machine_file(
            {"sweep": ..., "notes": ..., "os.idle_exit_us": {}, "os.idle_residency_us": {}}
        )
    )
    assert machine.sweep == {}
    assert machine.named("os.idle_exit_us") == {}


def test_every_constant_says_what_it_is_worth(machines):
    for name, machine in machines.items():
        for path, constant in machine.constants.items():
            assert constant.tag in TAGS, (name, path)
            assert len(constant.source) > 3, (name, path)
            assert not re.search(r"\bS[0-9]{1,2}\b", constant.source), (
                name,
                path,
                "a number without a legend",
            )
            if constant.tag == "estimate":
                assert constant.low < constant.high or constant.low == constant.value, (name, path)
            if constant.low is not None:
                assert constant.low <= constant.value <= constant.high, (name, path)


def test_every_swept_constant_can_be_put_at_both_ends_of_its_range(machines):
    for machine in machines.values():
        for path, ends in machine.sweep.items():
            assert ends[0] < ends[1]
            assert [machine.with_constants({path: end})[path] for end in ends] == list(ends)


@pytest.mark.parametrize("name", DESCRIBED)
def test_what_is_farther_takes_longer(machines, name):
    machine = machines[name]
    for kind in ("load", "rmw"):
        times = [machine.get(f"transfer.{kind}.{distance}") for distance in DISTANCES]
        times = [time for time in times if time is not None]
        assert all(near < far for near, far in pairwise(times))
    for distance in DISTANCES:
        assert machine.get(f"transfer.load.{distance}", 0) <= machine.get(
            f"transfer.rmw.{distance}", 0
        )
    bandwidths = [
        machine[f"copy.bandwidth.{where}"]
        for where in ("own_l1", "own_l2", "l3", "modified_same_chip", "modified_other_socket")
    ]
    assert all(near > far for near, far in pairwise(bandwidths))


@pytest.mark.parametrize("name", DESCRIBED)
def test_a_line_that_nobody_else_wants_costs_a_local_operation(machines, name):
    machine = machines[name]
    assert machine["atomic.contended.1"] == machine["atomic.rmw_local"]
    assert (
        machine["atomic.rmw_local"]
        < machine["atomic.cas_local"]
        < machine["atomic.lock_unlock_local"]
    )
    assert machine["atomic.cas_factor.1"] == pytest.approx(
        machine["atomic.cas_local"] / machine["atomic.rmw_local"], rel=0.05
    )


@pytest.mark.parametrize("name", DESCRIBED)
def test_more_hardware_threads_do_more_but_no_more_than_as_many_cores(machines, name):
    for path in ("core.smt_fp", "core.smt_mixed"):
        table = machines[name].table(path)
        assert all(less <= more for less, more in pairwise(table.values()))
        assert all(throughput <= threads for threads, throughput in table.items())


@pytest.mark.parametrize("name", DESCRIBED)
def test_deeper_idle_takes_longer_to_enter_and_to_leave(machines, name):
    for path in ("os.idle_exit_us", "os.idle_residency_us"):
        times = list(machines[name].named(path).values())
        assert times == sorted(times)


def test_every_constant_has_a_unit_and_a_meaning(machines):
    for machine in machines.values():
        for path in machine.constants:
            unit, meaning = unit_and_meaning("machine", path)
            assert meaning
            assert ("_us" in path) == unit.startswith("µs"), path
            assert ("_ns" not in path) or unit == "ns", path
            assert (unit == "GB/s") == (path.startswith("copy.") and ".call" not in path), path
    assert unit_and_meaning("machine", "core.clock_ghz.22") == unit_and_meaning(
        "machine", "core.clock_ghz.1"
    )
    assert unit_and_meaning("machine", "transfer.rmw.same_chip") == (
        "ns",
        "an atomic read-modify-write that finds it there: half of a ping-pong: to another core of "
        "the chip",
    )


def test_the_template_has_every_key_of_the_schema_with_a_comment():
    machine = load_machine("template")
    held = {*machine.constants, *machine.plain, "sweep"}
    for path in keys_of(json.loads((SCHEMAS / "machine.schema.json").read_text(encoding="utf-8"))):
        assert any(each == path or each.startswith(f"{path}.") for each in held), path
    lines = (MACHINES / "template.yaml").read_text(encoding="utf-8").splitlines()
    rooms = [line for line in lines if re.match(r"[a-z]+:$", line)]
    assert set(rooms) <= {"core:", "latency:", "atomic:", "copy:"}, (
        "rooms whose keys have comments of their own"
    )
    plain = ("sockets:", "cores_per_chip:", "source:")
    for before, line in pairwise(lines):
        if re.match(r"  [a-z0-9_]+:", line) and not line.strip().startswith(plain):
            assert "#" in line or before.strip().startswith("#"), line


def keys_of(schema: dict) -> list[str]:
    """The dotted paths of a schema's keys, down to constants and tables."""
    found = []

    def walk(node: dict, place: str) -> None:
        node = {**schema["$defs"].get(node.get("$ref", "").rpartition("/")[2], {}), **node}
        if "value" in node.get("properties", {}) or "properties" not in node:
            found.append(place)
            return
        for key, inner in node["properties"].items():
            walk(inner, f"{place}.{key}".lstrip("."))

    walk(schema, "")
    return found


def test_a_profile_that_has_changed_is_read_again(tmp_path):
    path = tmp_path / "mine.yaml"
    text = (
        (MACHINES / "local.yaml")
        .read_text(encoding="utf-8")
        .replace('name: "local"', 'name: "mine"')
    )
    path.write_text(text, encoding="utf-8")
    first = load_machine(path)
    path.write_text(text.replace(first.title, "another"), encoding="utf-8")
    assert load_machine(path).title == "another" != first.title


def test_values_that_a_reader_changes_are_its_own():
    path = MACHINES / "local.yaml"
    read_checked(path, "machine", numbered=True)["topology"].clear()
    assert read_checked(path, "machine", numbered=True)["topology"]
