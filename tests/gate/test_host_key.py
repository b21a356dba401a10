"""Hosts: which of their facts make two of them different, and how that is said."""

from __future__ import annotations

import re

import pytest

from harness.gate.host_key import FACTS, UNKNOWN, contradictions, differences, host_key
from harness.measurement.host import describe

HOST = {
    "cpu_model": "AMD EPYC 7763",
    "cpus_allowed": 2,
    "cgroup_quota_cpus": None,
    "governor": None,
    "kernel": "Linux 6.8.0-45-generic",
    "python": "cpython 3.11.7",
    "compiler": "g++ 12.2.0",
    "compiler_flags": "-O3 -march=native",
    "load_of_others": 0.01,
    "steal_share": 0.0,
    "hostname_hash": "abc",
}

OTHER = {
    "cpu_model": "Intel Xeon",
    "cpus_allowed": 4,
    "cgroup_quota_cpus": 1.5,
    "governor": "powersave",
    "kernel": "Linux 6.9.1",
    "python": "cpython 3.13.1 free-threaded",
    "compiler": "clang 19",
    "compiler_flags": "-O2",
}


def test_the_key_names_the_cpu_and_is_short():
    assert re.fullmatch(r"AMD EPYC 7763, 2 CPUs, [0-9a-f]{8}", host_key(HOST))
    assert host_key({**HOST, "cpus_allowed": 1}).startswith("AMD EPYC 7763, 1 CPU, ")


def test_the_key_is_the_same_in_every_process_and_release():
    assert host_key(HOST) == "AMD EPYC 7763, 2 CPUs, 086e5a97"


@pytest.mark.parametrize("name", FACTS)
def test_every_fact_that_counts_makes_another_host(name):
    changed = {**HOST, name: OTHER[name]}
    assert host_key(changed) != host_key(HOST)
    assert len(differences(changed, HOST)) == 1
    assert differences(changed, HOST)[0].startswith(f"{name} ")


@pytest.mark.parametrize(
    "passing",
    [
        {"load_of_others": 0.9},
        {"steal_share": 0.5},
        {"hostname_hash": "xyz"},
        {"kernel": "Linux 6.8.12"},
    ],
)
def test_what_passes_or_changes_nothing_does_not_count(passing):
    assert host_key({**HOST, **passing}) == host_key(HOST)
    assert differences({**HOST, **passing}, HOST) == []


def test_kernels_with_two_digits_are_told_apart():
    assert host_key({**HOST, "kernel": "Linux 6.1.0"}) != host_key(
        {**HOST, "kernel": "Linux 6.18.0"}
    )


def test_differences_say_what_base_had():
    assert differences(HOST, {**HOST, "cpus_allowed": 4, "cgroup_quota_cpus": 2.0}) == [
        "cpus_allowed 2, base had 4",
        "cgroup_quota_cpus unknown, base had 2",
    ]


def test_silence_on_one_side_is_a_difference_on_both_it_is_none():
    assert len(differences({}, HOST)) == 6
    assert len(differences(HOST, {})) == 6
    assert differences({}, {}) == []
    assert host_key({}) == UNKNOWN


def test_silence_contradicts_nothing():
    assert contradictions({"cpu_model": "AMD EPYC 7763"}, HOST) == []
    assert contradictions({**HOST, "governor": "powersave", "compiler_flags": "-O0"}, HOST) == [
        "compiler_flags -O0, base had -O3 -march=native"
    ]


def test_the_host_of_a_record_has_every_fact():
    assert set(FACTS) <= set(describe())
    assert host_key(describe()) != UNKNOWN
