"""Profiles with measured constants: what is replaced, and that what is written is read back."""

from __future__ import annotations

import datetime

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.calibration.profile import (
    as_yaml,
    checked,
    machine_profile,
    put,
    read,
    software_profile,
    source_of,
)
from harness.calibration.rounds import MeasuredConstant
from harness.calibration.topology import Caches, Cpu, Host
from harness.errors import RunFailed
from harness.machines.machine import MACHINES, load_machine
from harness.machines.software import SOFTWARE, load_software

HOST = Host(
    (Cpu(0, 0, 0, 0), Cpu(1, 0, 0, 1), Cpu(2, 0, 0, 2)),
    Caches(64, 32768, 524288, 1 << 24, "socket"),
)
SOURCE = "calibrate on a CPU, 2026-11-21"


def profile(measured, base="template"):
    return machine_profile(read(MACHINES / f"{base}.yaml"), "mine", HOST, "A CPU", measured, SOURCE)


def loaded(document, tmp_path, load=load_machine):
    path = tmp_path / "mine.yaml"
    path.write_bytes(checked(document, "mine", load))
    return load(path)


def test_measured_constants_are_read_back_with_quartiles_as_their_range(tmp_path):
    machine = loaded(
        profile(
            {
                "os.wake_us": MeasuredConstant(20.5, 19.0, 22.25),
                "copy.call": MeasuredConstant(0.0012346, 0.001, 0.002),
            }
        ),
        tmp_path,
    )
    wake = machine.constants["os.wake_us"]
    assert (wake.value, wake.tag, wake.low, wake.high, wake.source) == (
        20.5,
        "measured",
        19.0,
        22.25,
        SOURCE,
    )
    assert machine["copy.call"] == 0.001235
    assert machine.name == "mine"
    assert machine.title == "A CPU, 3 CPUs, calibrated"


def test_topology_and_caches_are_those_of_the_host(tmp_path):
    machine = loaded(profile({"core.clock_ghz.1": MeasuredConstant(3.0, 3.0, 3.0)}), tmp_path)
    assert (machine.sockets, machine.cores_per_chip, machine.smt, machine.cpus) == (1, 3, 1, 3)
    assert machine["cache.l2"] == 524288
    assert machine["cache.l3_shared_by"] == "socket"


@pytest.mark.parametrize(("holds", "l3"), [(5_000_000.4, 5_000_000), (1e9, 1 << 24)])
def test_a_shared_cache_is_as_large_as_what_copies_find_there_and_no_larger_than_the_hosts(
    holds, l3, tmp_path
):
    machine = loaded(
        profile(
            {
                "cache.l3": MeasuredConstant(holds, holds, holds),
                "core.clock_ghz.1": MeasuredConstant(3.0, 3.0, 3.0),
            }
        ),
        tmp_path,
    )
    assert machine["cache.l3"] == l3


def test_what_was_not_measured_stays_as_it_is_in_the_base(tmp_path):
    base = load_machine("template")
    machine = loaded(
        profile(
            {
                "os.wake_us": MeasuredConstant(20.5, 19.0, 22.25),
                "core.clock_ghz.1": MeasuredConstant(3.0, 3.0, 3.0),
            }
        ),
        tmp_path,
    )
    kept = (
        set(base.constants)
        - {"os.wake_us"}
        - {path for path in base.constants if path.startswith("core.clock_ghz.")}
    )
    assert {path: machine.constants[path] for path in kept} == {
        path: base.constants[path] for path in kept
    }
    assert set(machine.sweep) <= set(base.sweep)


@pytest.mark.parametrize("here", [True, False])
def test_a_kernel_without_eevdf_does_not_keep_the_slice_of_the_base(here, tmp_path):
    measured = {
        "os.sched_latency_us": MeasuredConstant(8e3, 8e3, 8e3),
        "core.clock_ghz.1": MeasuredConstant(3.0, 3.0, 3.0),
    }
    if here:
        measured["os.sched_base_slice_us"] = MeasuredConstant(1400.0, 1400.0, 1400.0)
    machine = loaded(profile(measured), tmp_path)
    assert machine.get("os.sched_base_slice_us", None) == (1400.0 if here else None)


def test_a_table_is_replaced_as_a_whole(tmp_path):
    measured = {
        f"atomic.contended.{count}": MeasuredConstant(float(count), float(count), float(count))
        for count in (1, 2, 3)
    }
    machine = loaded(
        profile(measured | {"core.clock_ghz.1": MeasuredConstant(3.0, 3.0, 3.0)}), tmp_path
    )
    assert machine.table("atomic.contended") == {1: 1.0, 2: 2.0, 3: 3.0}
    assert len(machine.table("atomic.cas_factor")) == len(
        load_machine("template").table("atomic.cas_factor")
    )


def test_calibrating_again_gives_the_same_file(tmp_path):
    measured = {
        "core.clock_ghz.1": MeasuredConstant(3.0, 2.9, 3.1),
        "transfer.load.same_chip": MeasuredConstant(40.0, 39.0, 41.0),
    }
    once = checked(profile(measured), "mine", load_machine)
    path = tmp_path / "mine.yaml"
    path.write_bytes(once)
    again = machine_profile(read(path), "mine", HOST, "A CPU", measured, SOURCE)
    assert checked(again, "mine", load_machine) == once


def test_software_costs_hold_on_the_core_of_the_machine_profile(tmp_path):
    ipc = read(MACHINES / "local.yaml")["core"]["ipc"]
    measured = {
        "cost.call_batch": MeasuredConstant(2.4, 2.3, 2.5),
        "reference.clock_ghz": MeasuredConstant(4.2, 4.1, 4.3),
    }
    software = loaded(
        software_profile(read(SOFTWARE / "millrace.yaml"), "mine", ipc, measured, SOURCE),
        tmp_path,
        load_software,
    )
    assert software["cost.call_batch"] == 2.4
    assert software["reference.clock_ghz"] == 4.2
    assert software["reference.ipc"] == load_machine("local")["core.ipc"]
    assert software["how.batch"] == 32
    assert software["cost.drain"] == load_software("millrace")["cost.drain"]


def test_what_makes_no_profile_is_told_in_one_line_and_not_written():
    with pytest.raises(
        RunFailed, match=r"^what was measured makes no profile: os\.wake_us.*above 0"
    ) as told:
        checked(profile({"os.wake_us": MeasuredConstant(-1.0, -1.0, -1.0)}), "mine", load_machine)
    assert "\n" not in str(told.value)


@given(st.floats(1e-9, 1e12))
def test_every_number_is_read_back_as_a_number(value):
    document = {
        "number": value,
        "leaf": {"value": value, "range": [value, value], "source": 'a "source": # of it'},
        "none": None,
    }
    assert yaml.safe_load(as_yaml(document)) == document


def test_put_makes_what_is_missing_on_the_way():
    document = {"a": {"b": 1}}
    put(document, "a.c.2", 5)
    assert document == {"a": {"b": 1, "c": {2: 5}}}


def test_a_source_names_the_cpu_and_the_day():
    assert source_of("A CPU", datetime.date(2026, 11, 21)) == SOURCE.replace("a CPU", "A CPU")
