"""`millrace machines` tells of each machine what it is, and of each constant what it is worth."""

from __future__ import annotations

import json

import pytest

from harness.cli import main
from harness.machines.constants import TAGS
from harness.machines.machine import MACHINES, load_machine, machine_names
from harness.machines.software import load_software, software_names


def out_of(capsys, *words: str) -> str:
    assert main(["machines", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_the_listing_has_a_line_a_machine_with_its_shape_and_its_tags(capsys):
    head, *lines = out_of(capsys).splitlines()
    assert head.split()[0] == "machine"
    assert [line.split()[0] for line in lines] == machine_names()
    for line in lines:
        machine = load_machine(line.split()[0])
        tags = [sum(each.tag == tag for each in machine.constants.values()) for tag in TAGS]
        assert "  ".join(map(str, [*tags, len(machine.uncertain)])) in " ".join(
            line.split()
        ).replace(" ", "  ")
        assert f" {machine.cpus} " in line
        assert line.endswith(machine.title)
    power8 = next(line for line in lines if line.startswith("power8"))
    assert "2 × 2 × 6 × 8, 1 off" in power8
    assert "3.1 .. 3.2 GHz" in power8


@pytest.mark.parametrize("name", ["xeon", "template", str(MACHINES / "power8.yaml")])
def test_one_machine_is_told_with_every_constant(name, capsys):
    machine = load_machine(name)
    out = out_of(capsys, name)
    lines = {line.split()[0].rstrip("*"): line for line in out.splitlines() if line}
    for path, constant in machine.constants.items():
        assert constant.tag in lines[path]
        assert lines[path].endswith(constant.source)
        assert f"{constant.value:g}" in lines[path]
        assert (f"{path}*" in lines[path]) == (path in machine.uncertain)
        assert constant.low is None or f"{constant.low:g} .. {constant.high:g}" in lines[path]
    assert lines["topology.sockets"].split() == ["topology.sockets", str(machine.sockets)]
    assert machine.digest in out
    assert lines["transfer.rmw.other_socket"].split()[2] == "ns"


def test_the_listing_fits_a_wide_terminal(capsys):
    assert max(map(len, out_of(capsys).splitlines())) <= 180


def test_json_has_the_same(capsys):
    machines = json.loads(out_of(capsys, "--json", "-"))
    assert [machine["name"] for machine in machines] == machine_names()
    assert {machine["name"]: machine["cpus"] for machine in machines}["xeon"] == 176
    assert all("constants" not in machine for machine in machines)
    one = json.loads(out_of(capsys, "xeon", "--json", "-"))
    assert one["constants"]["atomic.fence"] == {
        "value": 13.0,
        "unit": "ns",
        "tag": "estimate",
        "low": 10.0,
        "high": 20.0,
        "source": "mfence of about 33 cycles (recalled)",
        "meaning": "a sequentially consistent fence",
    }
    assert one["topology.cores_per_chip"] == 22
    assert one["sweep"]["transfer.rmw.other_socket"] == [118, 190]


def test_runtimes_are_listed_in_place_of_machines(capsys):
    _, *lines = out_of(capsys, "--software").splitlines()
    assert [line.split()[0] for line in lines] == software_names()
    one = out_of(capsys, "--software", "streams-4.2")
    for path in load_software("streams-4.2").constants:
        assert path in one
    assert "how.queue_capacity" in one
    assert (
        json.loads(out_of(capsys, "--software", "millrace", "--json", "-"))["how.queue_capacity"]
        is None
    )


def test_a_bad_file_is_one_line(tmp_path, capsys):
    path = tmp_path / "bad.yaml"
    path.write_text("name: bad\n", encoding="utf-8")
    assert main(["machines", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"millrace machines: {path}: schema_version: missing key\n"
