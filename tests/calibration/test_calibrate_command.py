"""`millrace calibrate`, with rounds that do next to nothing."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil

import pytest
import yaml

from harness.calibration.state import hand_off_constant
from harness.calibration.topology import Host
from harness.cli import main
from harness.machines.machine import load_machine
from harness.machines.software import load_software

pytestmark = pytest.mark.heavy


def words(folder, *options):
    return [
        "calibrate",
        "--quick",
        "--output",
        str(folder / "mine.yaml"),
        "--software",
        str(folder / "runtime.yaml"),
        *options,
    ]


@pytest.fixture
def calibrate(tmp_path, capsys):
    """Runs the command on files in a directory of its own; (code, what it wrote to stdout, to
    stderr).
    """

    def run(*options):
        code = main(words(tmp_path, *options))
        return code, *capsys.readouterr()

    return run


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    """The folder of a complete calibration, its code, and what it wrote to stdout."""
    folder, out = tmp_path_factory.mktemp("complete"), io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main(words(folder))
    return folder, code, out.getvalue()


@pytest.fixture
def calibrated(complete, tmp_path):
    """A directory for `calibrate` where all is calibrated already."""
    return shutil.copytree(complete[0], tmp_path, dirs_exist_ok=True)


def test_it_writes_a_machine_and_a_runtime_that_load(complete):
    folder, code, out = complete
    assert code == 0
    machine, software = load_machine(folder / "mine.yaml"), load_software(folder / "runtime.yaml")
    assert machine.name == "mine"
    assert machine.cpus == len(os.sched_getaffinity(0))
    assert machine.constants["atomic.rmw_local"].tag == "measured"
    assert (
        machine.constants["os.futex_buckets"] == load_machine("local").constants["os.futex_buckets"]
    )
    assert {
        constant.tag for path, constant in software.constants.items() if path.startswith("cost.")
    } == {"measured"}
    assert software["reference.ipc"] == machine["core.ipc"]
    lines = out.splitlines()
    assert lines[0].split() == ["constant", "median", "quartiles"]
    assert lines[-2:] == [f"wrote {folder / 'mine.yaml'}", f"wrote {folder / 'runtime.yaml'}"]


def test_only_some_groups_leave_the_rest_as_it_was(calibrate, calibrated):
    before = load_machine(calibrated / "mine.yaml")
    software = (calibrated / "runtime.yaml").read_bytes()
    code, out, _ = calibrate("--only", "cores")
    assert code == 0
    after = load_machine(calibrated / "mine.yaml")
    changed = {path for path in after.constants if not path.startswith("core.")}
    assert {path: after.constants[path] for path in changed} == {
        path: before.constants[path] for path in changed
    }
    assert (calibrated / "runtime.yaml").read_bytes() == software
    assert "cost." not in out


def test_only_the_steps_write_no_machine(calibrate, tmp_path):
    code, _, _ = calibrate("--only", "steps")
    assert code == 0
    assert not (tmp_path / "mine.yaml").exists()
    assert load_software(tmp_path / "runtime.yaml").constants["cost.drain"].tag == "measured"


def test_json_has_every_constant_and_nothing_else_is_on_stdout(calibrate):
    code, out, _ = calibrate("--json", "-", "--only", "steps", "--only", "cores")
    assert code == 0
    document = json.loads(out)
    assert set(document) == {"machine", "software", "visits", "left_out", "notices"}
    assert set(document["machine"]["core.fmul_latency_cycles"]) == {"value", "low", "high"}
    assert document["software"]["cost.push_batch"]["value"] > 0


def test_what_was_measured_in_another_state_of_the_machine_than_the_rest_is_told(
    calibrate, monkeypatch
):
    hand_offs = iter([25.0, 25.0, 26.0, 120.0])
    monkeypatch.setattr("harness.calibration.rounds.hand_off_ns", lambda host: next(hand_offs))
    code, _, err = calibrate("--only", "cores", "--only", "lines", "--only", "steps")
    assert code == 0
    assert (
        "millrace calibrate: measured in another state of the machine than the rest: steps; "
        "calibrate again" in err
    )


@pytest.mark.skipif(len(Host.here().cores) < 2, reason="one core may be used")
def test_a_part_that_is_measured_in_another_state_than_the_rest_was_is_told(calibrate, calibrated):
    path = calibrated / "mine.yaml"
    near = hand_off_constant(Host.here())
    value = load_machine(path)[near]
    machine = yaml.safe_load(path.read_text(encoding="utf-8"))
    machine["transfer"]["rmw"][near.rpartition(".")[2]] |= {
        "value": 10 * value,
        "range": [value, 100 * value],
    }
    path.write_text(yaml.safe_dump(machine), encoding="utf-8")
    code, _, err = calibrate("--only", "lines")
    assert code == 0
    assert (
        f"{near} was " in err
        and "what was not measured now is of another state of the machine" in err
    )


OTHERS = (
    "not measured, and still of 'AMD EPYC, 2 CPUs, calibrated', not of this Another CPU: "
    "core.ipc, by which costs"
)


@pytest.mark.parametrize("group", ["cores", "steps"])
def test_what_stays_of_another_cpu_is_told_and_what_scales_all_costs_first(
    group, calibrate, monkeypatch
):
    monkeypatch.setattr("harness.measurement.host.cpu_model", lambda: "Another CPU")
    code, _, err = calibrate("--only", group)
    assert code == 0
    (told,) = [line for line in err.splitlines() if "not measured, and still of" in line]
    assert told.startswith(f"millrace calibrate: {OTHERS}")
    names = told.split("; ")
    assert ("os.futex_buckets" in names, "os.idle_search_pct" in names) == (
        group == "cores",
        group == "cores",
    )
    assert "core.fmul_latency_cycles" not in told and "core.smt_fp.1" not in told
    _, _, err = calibrate("--only", group)
    assert ("not measured, and still of" in err) == (group == "steps"), (
        "the profile is that of this CPU now"
    )


def test_one_cpu_leaves_out_what_takes_two_and_says_so(calibrate, tmp_path):
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        code, out, err = calibrate("--only", "lines", "--only", "system")
    finally:
        os.sched_setaffinity(0, allowed)
    assert code == 0
    assert "transfer." not in out
    assert "one core may be used" in err
    machine = load_machine(tmp_path / "mine.yaml")
    assert machine.cpus == 1
    assert (
        machine.constants["transfer.load.same_chip"]
        == load_machine("local").constants["transfer.load.same_chip"]
    )


def test_a_system_that_refuses_is_told_in_one_line_and_nothing_is_written(
    calibrate, tmp_path, monkeypatch
):
    def refuse(setting):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setitem(
        __import__("harness.calibration.probes", fromlist=["GROUPS"]).GROUPS, "cores", refuse
    )
    code, out, err = calibrate("--only", "cores")
    assert (code, out) == (1, "")
    assert (
        err == "millrace calibrate: the system refuses a probe: Resource temporarily unavailable\n"
    )
    assert list(tmp_path.iterdir()) == []
