"""Tests of what sysfs tells: trees of files that stand for machines."""

from __future__ import annotations

import pytest

from harness.calibration.topology import Caches, Cpu, Host, cpu_list, distance

CACHES = {
    "l1d": ("1", "Data", "48K"),
    "l1i": ("1", "Instruction", "32K"),
    "l2": ("2", "Unified", "1024K"),
    "l3": ("3", "Unified", "32M"),
}


def make(root, cpus, caches=CACHES, l3_shared="0-3", line="64"):
    """A tree with `cpus`: (socket, chip, core) of each. `l3_shared`: who shares the third-level
    cache, or that of a CPU.
    """
    for number, (socket, chip, core) in enumerate(cpus):
        folder = root / f"sys/devices/system/cpu/cpu{number}"
        (folder / "topology").mkdir(parents=True)
        for name, value in (("physical_package_id", socket), ("die_id", chip), ("core_id", core)):
            (folder / "topology" / name).write_text(f"{value}\n", encoding="utf-8")
        mates = {
            "package_cpus_list": [other for other, place in enumerate(cpus) if place[0] == socket],
            "die_cpus_list": [
                other for other, place in enumerate(cpus) if place[:2] == (socket, chip)
            ],
        }
        for name, numbers in mates.items():
            (folder / "topology" / name).write_text(",".join(map(str, numbers)), encoding="utf-8")
        for index, (level, kind, size) in enumerate(caches.values()):
            cache = folder / f"cache/index{index}"
            cache.mkdir(parents=True)
            shared = (
                str(number)
                if level != "3"
                else l3_shared
                if isinstance(l3_shared, str)
                else l3_shared(number)
            )
            files = {
                "level": level,
                "type": kind,
                "size": size,
                "coherency_line_size": line,
                "shared_cpu_list": shared,
            }
            for name, text in files.items():
                (cache / name).write_text(f"{text}\n", encoding="utf-8")


@pytest.fixture
def host(tmp_path, monkeypatch):
    """Reads a machine of so many CPUs, all allowed by default."""

    def read(cpus, allowed=None, **how):
        make(tmp_path, cpus, **how)
        monkeypatch.setattr(
            "harness.calibration.topology.allowed_cpu_numbers",
            lambda: allowed or set(range(len(cpus))),
        )
        return Host.here(tmp_path)

    return read


TWO_SOCKETS = [
    (socket, chip, core)
    for socket in range(2)
    for chip in range(2)
    for core in range(2)
    for _ in range(2)
]
"""Two sockets of two chips of two cores of two hardware threads."""


def test_a_machine_is_counted_in_sockets_chips_cores_and_hardware_threads(host):
    assert host(TWO_SOCKETS).topology() == {
        "sockets": 2,
        "chips_per_socket": 2,
        "cores_per_chip": 2,
        "smt": 2,
        "disabled_cores": 0,
    }


def test_only_cpus_that_the_process_may_use_count(host):
    found = host(TWO_SOCKETS, allowed={0, 2, 4, 8})
    assert found.topology() == {
        "sockets": 2,
        "chips_per_socket": 2,
        "cores_per_chip": 2,
        "smt": 1,
        "disabled_cores": 4,
    }
    assert found.numbers == [0, 2, 4, 8]


def test_a_core_comes_before_its_second_hardware_thread(host):
    assert host(TWO_SOCKETS[:6]).numbers == [0, 2, 4, 1, 3, 5]


def test_there_is_a_pair_of_cpus_for_each_distance(host):
    assert host(TWO_SOCKETS).pairs() == {
        "same_core": [0, 1],
        "same_chip": [0, 2],
        "same_module": [0, 4],
        "other_socket": [0, 8],
    }


def test_distance_is_what_two_cpus_share_at_the_closest():
    here = Cpu(0, 0, 0, 0)
    assert distance(here, Cpu(1, 0, 0, 0)) == "same_core"
    assert distance(here, Cpu(1, 0, 0, 1)) == "same_chip"
    assert distance(here, Cpu(1, 0, 1, 0)) == "same_module"
    assert distance(here, Cpu(1, 1, 0, 0)) == "other_socket"


@pytest.mark.parametrize(
    ("shared", "by"), [("0-3", "chip"), ("0-7", "socket"), ("0-15", "machine"), ("0,1", "chip")]
)
def test_caches_are_those_of_the_first_cpu(host, shared, by):
    assert host(TWO_SOCKETS, l3_shared=shared).caches == Caches(64, 48 << 10, 1 << 20, 32 << 20, by)


@pytest.mark.parametrize("told", [True, False])
def test_a_part_of_a_die_with_a_third_level_cache_of_its_own_is_a_chip(told, host, tmp_path):
    """Two sockets of one die each, of two complexes of two cores of two hardware threads, numbered
    as Linux does.
    """
    places = [(socket, 0, core) for _ in range(2) for socket in range(2) for core in range(4)]

    def complex_of(number):
        first = number % 8 // 2 * 2
        return f"{first}-{first + 1},{first + 8}-{first + 9}"

    found = host(places, l3_shared=complex_of)
    if not told:
        for file in tmp_path.rglob("die_cpus_list"):
            file.unlink()
        found = Host.here(tmp_path)
    assert found.topology() == {
        "sockets": 2,
        "chips_per_socket": 2,
        "cores_per_chip": 2,
        "smt": 2,
        "disabled_cores": 0,
    }
    assert found.caches.l3_shared_by == "chip"
    assert found.pairs() == {
        "same_chip": [0, 1],
        "same_module": [0, 2],
        "other_socket": [0, 4],
        "same_core": [0, 8],
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"l1d": ("1", "Data", "1K")},
        {"l2": ("2", "Unified", "0K")},
        {"l3": ("3", "Unified", "many")},
        {"l2": ("2", "Unified", "64M"), "l3": ("3", "Unified", "32M")},
    ],
)
def test_implausible_caches_are_not_believed(host, wrong):
    assert host(TWO_SOCKETS, caches=CACHES | wrong).caches is None


def test_no_third_level_cache_or_no_line_is_not_made_up(host):
    assert host(TWO_SOCKETS, caches={name: CACHES[name] for name in ("l1d", "l2")}).caches is None


def test_where_nothing_is_told_every_cpu_is_a_core_of_one_chip(tmp_path, monkeypatch):
    monkeypatch.setattr("harness.calibration.topology.allowed_cpu_numbers", lambda: {3, 5})
    found = Host.here(tmp_path)
    assert found.topology() == {
        "sockets": 1,
        "chips_per_socket": 1,
        "cores_per_chip": 2,
        "smt": 1,
        "disabled_cores": 0,
    }
    assert found.caches is None
    assert found.pairs() == {"same_chip": [3, 5]}


def test_chips_that_the_system_does_not_number_are_one(host):
    assert host([(0, -1, 0), (0, -1, 1)]).topology()["chips_per_socket"] == 1


@pytest.mark.parametrize(("text", "numbers"), [("", set()), ("3", {3}), ("0-2,5", {0, 1, 2, 5})])
def test_lists_of_cpus_are_read(text, numbers):
    assert cpu_list(text) == numbers
