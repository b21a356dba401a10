"""A machine of which a process may use some CPUs only: what is left of it, what it is called, what
cannot be.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UserError
from harness.machines.machine import for_people, load_machine, split_cpus
from harness.machines.place import Place, find_place

XEON, POWER8 = load_machine("xeon"), load_machine("power8")


@pytest.mark.parametrize(
    ("machine", "cpus", "sockets", "chips", "cores", "smt"),
    [
        (XEON, 1, 1, 1, 1, 1),
        (XEON, 16, 1, 1, 16, 1),  # cores before second threads
        (XEON, 22, 1, 1, 22, 1),
        (XEON, 23, 2, 1, 23, 1),  # then the next socket
        (XEON, 64, 3, 1, 64, 1),
        (XEON, 88, 4, 1, 88, 1),
        (POWER8, 4, 1, 1, 4, 1),
        (POWER8, 9, 1, 2, 9, 1),
        (POWER8, 23, 2, 2, 23, 1),
        (POWER8, 46, 2, 2, 23, 2),
    ],
)
def test_cores_come_first_socket_by_socket_and_then_all_their_second_threads(
    machine, cpus, sockets, chips, cores, smt
):
    some = machine.restricted(cpus)
    assert (some.cpus, some.sockets, some.chips_per_socket, some.cores, some.smt) == (
        cpus,
        sockets,
        chips,
        cores,
        smt,
    )
    assert some.name == f"{machine.name}:{cpus}"
    assert (some.digest, some.constants) == (machine.digest, machine.constants)


@given(st.integers(1, 88))
def test_any_number_of_cores_can_be_used(cpus):
    some = XEON.restricted(cpus)
    assert some.cpus == some.cores == cpus
    assert 0 <= some.disabled_cores < some.cores_per_chip


def test_all_cpus_are_the_machine_itself():
    assert XEON.restricted(176) is XEON
    assert load_machine("xeon:176").name == "xeon"


@pytest.mark.parametrize("cpus", [0, -1, 89, 100, 175, 177, 10**6])
def test_a_number_that_some_cores_would_have_more_threads_with_is_refused(cpus):
    with pytest.raises(UserError) as told:
        XEON.restricted(cpus)
    rule = (
        "cpus must be from 1 to 88, the cores of machine 'xeon', or 88 times a whole number up to 2"
    )
    assert str(told.value) == f"{rule}, not {cpus}"


def test_a_machine_is_loaded_with_some_of_its_cpus_by_name_and_from_a_file():
    assert load_machine("xeon:16").cpus == 16
    assert load_machine(f"{XEON.path}:64").cpus == 64


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("xeon", ("xeon", None)),
        ("xeon:16", ("xeon", 16)),
        ("a:b", ("a:b", None)),
        ("a/b.yaml:2", ("a/b.yaml", 2)),
        (":3", (":3", None)),
    ],
)
def test_a_name_may_say_how_many_cpus(word, parts):
    assert split_cpus(word) == parts


def test_people_are_told_the_number_of_cpus():
    assert [for_people(name) for name in ("xeon", "xeon:16", "power8:1")] == [
        "xeon",
        "xeon with 16 CPUs",
        "power8 with 1 CPU",
    ]


def test_a_place_is_found_with_some_cpus_and_says_so_in_names_of_files_without_a_colon():
    place = find_place("xeon", cpus=16)
    assert place == find_place("xeon:16") == Place("xeon:16", True, "millrace")
    assert (place.cpus, place.label) == (16, "xeon+16-cpus")
    assert find_place("xeon", software="streams-4.2", cpus=64).label == "xeon+64-cpus+streams-4.2"
    assert find_place("xeon", cpus=176) == find_place("xeon")
    assert place.digests == find_place("xeon").digests


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            {"cpus": 2},
            "cpus applies to simulated machines only, not to real threads, which taskset "
            "restricts: 2",
        ),
        (
            {"machine": "xeon", "cpus": 100},
            "cpus must be from 1 to 88, the cores of machine 'xeon', or 88 times",
        ),
        ({"machine": "xeon:16", "cpus": 16}, "machine 'xeon:16' says already how many CPUs it has"),
        ({"machine": "xeno:16"}, "machine 'xeno:16' is unknown; machines are: local,"),
    ],
)
def test_a_place_that_cannot_be_is_refused_in_one_line(words, told):
    with pytest.raises(UserError) as caught:
        find_place(**words)
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


def test_more_threads_than_allowed_cpus_are_refused():
    with pytest.raises(
        UserError, match="threads must be at most 16, the CPUs of machine 'xeon:16', not 17"
    ):
        find_place("xeon:16").check_levels(17, None)
