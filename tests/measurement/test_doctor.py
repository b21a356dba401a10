"""Tests of what the doctor says of hosts that are described by files, and of this one."""

from __future__ import annotations

import json

import pytest

from harness.cli import main
from harness.machines.host.cpu import allowed_cpu_numbers
from harness.measurement import doctor

CPU = "sys/devices/system/cpu"


@pytest.fixture
def lay(tmp_path):
    def laid(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return laid


def of_all_cpus(name, text):
    return {f"{CPU}/cpu{number}/{name}": text for number in allowed_cpu_numbers()}


CHECKS = {
    "slow governor": (
        doctor._governor,
        of_all_cpus("cpufreq/scaling_governor", "powersave\n"),
        "powersave",
        "performance",
    ),
    "good governor": (
        doctor._governor,
        of_all_cpus("cpufreq/scaling_governor", "performance\n"),
        "performance",
        "",
    ),
    "turbo": (doctor._boost, {f"{CPU}/intel_pstate/no_turbo": "0\n"}, "on: ", "echo 1"),
    "no turbo": (doctor._boost, {f"{CPU}/cpufreq/boost": "0\n"}, "off", ""),
    "slow clock": (
        doctor._clock,
        {
            "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n",
            "sys/devices/system/clocksource/clocksource0/available_clocksource": "hpet tsc\n",
        },
        "hpet",
        "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
    ),
    "huge pages": (
        doctor._huge_pages,
        {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n"},
        "never",
        "echo madvise",
    ),
    "nothing to see": (doctor._clock, {}, "not visible", ""),
}


@pytest.mark.parametrize(("check", "files", "seen", "advice"), CHECKS.values(), ids=CHECKS)
def test_a_check_says_what_it_saw_and_what_to_do(lay, check, files, seen, advice):
    found = check(lay(files))
    assert seen in found.seen
    assert advice in found.advice
    assert bool(advice) == bool(found.advice)


def test_siblings_are_named_with_one_cpu_of_each_core(lay, monkeypatch):
    monkeypatch.setattr(doctor, "allowed_cpu_numbers", lambda: {0, 1, 2, 3})
    files = {
        f"{CPU}/cpu{number}/topology/thread_siblings_list": f"{number % 2},{number % 2 + 2}\n"
        for number in range(4)
    }
    monkeypatch.setattr(doctor, "allowed_cpus", lambda: 4)
    found = doctor._siblings(lay(files))
    assert found.advice == "taskset -c 0,1 millrace ..."
    assert found.seen.startswith("4 of 4 CPUs share a core with another one")


def test_all_cpus_of_a_core_are_counted(lay, monkeypatch):
    monkeypatch.setattr(doctor, "allowed_cpu_numbers", lambda: set(range(8)))
    monkeypatch.setattr(doctor, "allowed_cpus", lambda: 8)
    files = {
        f"{CPU}/cpu{number}/topology/thread_siblings_list": "0-3\n" if number < 4 else "4-7\n"
        for number in range(8)
    }
    found = doctor._siblings(lay(files))
    assert found.seen.startswith("8 of 8 CPUs share a core")
    assert found.advice == "taskset -c 0,4 millrace ..."


def test_the_command_reports_every_check_of_this_host(capsys):
    assert main(["doctor", "--watch", "0.1", "--json"]) == 0
    topics = [finding["topic"] for finding in json.loads(capsys.readouterr().out)]
    assert {"frequency governor", "SMT siblings", "neighbours", "quota", "clock"} <= set(topics)
    assert main(["doctor", "--watch", "0.1"]) == 0
    assert "what disturbs measurements here: " in capsys.readouterr().out
