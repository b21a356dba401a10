"""Whatever is wrong in a machine's profile: one line with the file, the path, the rule and the
value.
"""

from __future__ import annotations

import pytest

from harness.errors import UserError
from harness.machines.machine import load_machine, machine_names


def leaf(value: object = 5, **more: object) -> dict:
    return {"value": value, "tag": "estimate", "range": [4, 6], "source": "a test"} | more


BAD = {
    "a missing constant": ({"atomic.fence": ...}, "atomic.fence: missing key"),
    "a missing room": ({"transfer": ...}, "transfer: missing key"),
    "a negative constant": (
        {"atomic.fence": leaf(-5)},
        "atomic.fence.value: must be a number above 0, 1e12 at most, not -5",
    ),
    "a constant of nothing": (
        {"os.wake_us": leaf(0)},
        "os.wake_us.value: must be a number above 0, 1e12 at most, not 0",
    ),
    "a clock of 0": (
        {"core.clock_ghz.1": leaf(0)},
        "core.clock_ghz.1.value: must be a number above 0, 1e12 at most, not 0",
    ),
    "a word for a number": (
        {"atomic.fence": leaf("few")},
        "atomic.fence.value: must be a number above 0, 1e12 at most, not 'few'",
    ),
    "yes for a number": (
        {"atomic.fence": leaf(True)},
        "atomic.fence.value: must be a number above 0, 1e12 at most, not true",
    ),
    "an infinite constant": (
        {"atomic.fence": leaf(float("inf"))},
        "atomic.fence.value: must be a number above 0, 1e12 at most",
    ),
    "not a number": (
        {"atomic.fence": leaf(float("nan"))},
        "atomic.fence.value: must be a finite number, not NaN",
    ),
    "a number of 400 digits": (
        {"atomic.fence": leaf(10**400)},
        "atomic.fence.value: must be a number above 0, 1e12 at most, not 1000",
    ),
    "a bare number": (
        {"atomic.fence": 5},
        "atomic.fence: must be a constant, as in {value: 7.3, tag: measured, source: ...}, not 5",
    ),
    "no value": ({"atomic.fence.value": ...}, "atomic.fence.value: missing key"),
    "no tag": ({"atomic.fence.tag": ...}, "atomic.fence.tag: missing key"),
    "no source": ({"atomic.fence.source": ...}, "atomic.fence.source: missing key"),
    "an empty source": (
        {"atomic.fence": leaf(source="")},
        "atomic.fence.source: must not be empty, not ''",
    ),
    "a tag that is none": (
        {"atomic.fence": leaf(tag="guess")},
        "atomic.fence.tag: must be measured, adjacent or estimate, not 'guess'",
    ),
    "an estimate without a range": (
        {"atomic.fence.range": ...},
        "atomic.fence.range: missing key: an estimate says between what the value may be",
    ),
    "a reversed range": (
        {"atomic.fence": leaf(range=[6, 4])},
        "atomic.fence.range: must be [low, high] with low below high, not [6, 4]",
    ),
    "a value below its range": (
        {"atomic.fence": leaf(3)},
        "atomic.fence.value: must be within its own range, 4 to 6, not 3",
    ),
    "a value above its range": (
        {"atomic.fence": leaf(6.5)},
        "atomic.fence.value: must be within its own range, 4 to 6, not 6.5",
    ),
    "a range of one number": ({"atomic.fence": leaf(range=[5])}, "atomic.fence.range: must"),
    "a range from 0": (
        {"atomic.fence": leaf(range=[0, 6])},
        "atomic.fence.range[0]: must be a number above 0, 1e12 at most, not 0",
    ),
    "a misspelt key of a constant": (
        {"atomic.fence": leaf(sauce="x")},
        "atomic.fence.sauce: unknown key (did you mean 'source'?)",
    ),
    "an unknown constant": (
        {"atomic.fences": leaf()},
        "atomic.fences: unknown key (did you mean 'fence'?)",
    ),
    "an unknown room": ({"gpu": {}}, "gpu: unknown key"),
    "an unknown distance": (
        {"transfer.load.other_chip": leaf()},
        "transfer.load.other_chip: unknown key",
    ),
    "a table that does not begin with 1": (
        {"atomic.contended.1": ...},
        "atomic.contended: must begin with 1, not [2, 32]",
    ),
    "a clock without one busy core": (
        {"core.clock_ghz.1": ...},
        "core.clock_ghz: must begin with 1, not [8]",
    ),
    "an empty table": ({"atomic.cas_factor": {}}, "atomic.cas_factor: must begin with 1, not []"),
    "a table by 0": (
        {"atomic.contended": {0: leaf()}},
        "atomic.contended: must be a table by whole numbers from 1 to 999999, not '0'",
    ),
    "a table by words": (
        {"atomic.contended": {"two": leaf()}},
        "atomic.contended: must be a table by whole numbers",
    ),
    "a number for a table": (
        {"atomic.contended": 7},
        "atomic.contended: must be a table by number",
    ),
    "an SMT table that is too short": (
        {"core.smt_mixed.2": ...},
        "core.smt_mixed: must have each of 1 to 2 hardware threads, not [1]",
    ),
    "more hardware threads than the tables": (
        {"topology.smt": 4},
        "core.smt_fp: must have each of 1 to 4 hardware threads, not [1, 2]",
    ),
    "an SMT table that is relative to nothing": (
        {"core.smt_fp.1": leaf()},
        "core.smt_fp.1.value: must be 1, as all others are relative to it, not 5.0",
    ),
    "a clock by more cores than there are": (
        {"core.clock_ghz.9": leaf(2, range=[1, 3])},
        "core.clock_ghz: must be of 1 to 8 busy cores, those of a socket, not 9",
    ),
    "no sockets": ({"topology.sockets": 0}, "topology.sockets: must be 1 or more, not 0"),
    "half a core": (
        {"topology.cores_per_chip": 1.5},
        "topology.cores_per_chip: must be a whole number, not 1.5",
    ),
    "all cores switched off": (
        {"topology.disabled_cores": 16},
        "topology.disabled_cores: must be below 16, the number of cores, not 16",
    ),
    "far too many CPUs": (
        {"topology.sockets": 4096, "topology.cores_per_chip": 4096},
        "topology: must make at most 65536 logical CPUs",
    ),
    "no way between sockets": (
        {"transfer.rmw.other_socket": ..., "sweep": []},
        "transfer.rmw.other_socket: missing key: the machine has 2 sockets",
    ),
    "no way between the chips of a socket": (
        {"transfer.load.same_module": ...},
        "transfer.load.same_module: missing key: the machine has 2 chips a socket",
    ),
    "no copies between sockets": (
        {"copy.bandwidth.dram_remote": ...},
        "copy.bandwidth.dram_remote: missing key: the machine has 2 sockets",
    ),
    "a line that is no power of two": (
        {"cache.line": 96},
        "cache.line: must be a power of two, not 96",
    ),
    "a second-level cache below the first": (
        {"cache.l2": 16384},
        "cache.l2: must not be smaller than l1d, 32768 bytes, not 16384",
    ),
    "a third-level cache below the second": (
        {"cache.l3": 1000},
        "cache.l3: must not be smaller than l2, 524288 bytes, not 1000",
    ),
    "a cache shared by nobody known": (
        {"cache.l3_shared_by": "rack"},
        "cache.l3_shared_by: must be chip, socket or machine, not 'rack'",
    ),
    "an idle state without residency": (
        {"os.idle_residency_us.C6": ...},
        "os.idle_residency_us.C6: missing key: os.idle_exit_us has it",
    ),
    "an idle state without exit": (
        {"os.idle_exit_us.C1": ...},
        "os.idle_exit_us.C1: missing key: os.idle_residency_us has it",
    ),
    "a sweep of what is no constant": (
        {"sweep": ["atomic.fense"]},
        "sweep[0]: must be the path of a constant, as in atomic.fence, not 'atomic.fense' "
        "(did you mean 'atomic.fence'?)",
    ),
    "a sweep of a whole table": (
        {"sweep": ["atomic.contended"]},
        "sweep[0]: must be the path of a constant",
    ),
    "a sweep without a range": (
        {"sweep": ["core.clock_ghz.1"]},
        "sweep[0]: must be a constant with a range, not 'core.clock_ghz.1'",
    ),
    "a sweep that names one twice": (
        {"sweep": ["os.wake_us", "os.wake_us"]},
        "sweep: must not name anything twice",
    ),
    "another form of file": ({"schema_version": 2}, "schema_version: must be 1, not 2"),
    "a name that is a path": ({"name": "a/b"}, "name: must be a word of letters, digits"),
}

BAD_TEXTS = {
    "no YAML": ("core: {clock: ]}\n", "line 1: not YAML: "),
    "a tab": ("core:\n\tclock_ghz: 1", "line 2: not YAML: "),
    "a constant given twice": (
        "atomic:\n  fence: 1\n  fence: 2\n",
        "line 3: not YAML: key 'fence' is given twice",
    ),
    "a number given twice in a table": (
        "atomic:\n  contended: {1: 5, '1': 6}\n",
        "line 2: not YAML: key '1' is given twice",
    ),
    "a key that is neither text nor whole number": (
        "core: {1.5: 2}",
        "line 1: not YAML: key '1.5' is no text",
    ),
    "nothing": ("", "must hold keys and values, as in KEY: VALUE; found nothing"),
    "a list": ("- core", "must hold keys and values, as in KEY: VALUE; found list"),
}


def told(path: object) -> str:
    """Return what is wrong with the machine at a path, which must be one line that a person can
    read.
    """
    with pytest.raises(UserError) as caught:
        load_machine(path)
    text = str(caught.value)
    assert "\n" not in text
    assert len(text) < 600
    return text


@pytest.mark.parametrize("case", BAD)
def test_a_bad_profile_is_told_with_file_path_rule_and_value(case, machine_file):
    changes, expected = BAD[case]
    path = machine_file(changes)
    assert told(path).startswith(f"{path}: {expected}")


@pytest.mark.parametrize("case", BAD_TEXTS)
def test_a_file_that_is_no_profile_at_all_is_told_where(case, tmp_path):
    text, expected = BAD_TEXTS[case]
    path = tmp_path / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    message = told(path)
    assert message.startswith(str(path))
    assert expected in message


def test_a_file_that_is_not_there_is_told(tmp_path):
    path = tmp_path / "none.yaml"
    assert told(path) == f"{path}: cannot be read: No such file or directory"
    assert told(f"{tmp_path}/none") == f"{tmp_path}/none: cannot be read: No such file or directory"
    assert told(tmp_path) == f"{tmp_path}: cannot be read: Is a directory"


@pytest.mark.parametrize("name", ["xeom", "", "XEON", "9" * 5000])
def test_an_unknown_name_is_told_with_those_that_are_known(name):
    message = told(name)
    assert message.startswith("machine '")
    assert message.endswith(f"; known are: {', '.join(machine_names())}")
    assert ("did you mean 'xeon'?" in message) == (name == "xeom")


def test_a_file_among_the_machines_must_have_the_name_that_it_tells(machine_file, monkeypatch):
    path = machine_file()
    monkeypatch.setattr("harness.machines.machine.MACHINES", path.parent)
    assert told("mine") == f"{path}: name: must be the file's, 'mine', not 'template'"
