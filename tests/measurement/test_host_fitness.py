"""Tests of what is said about a host, on hosts that are described by files."""

from __future__ import annotations

import os

import pytest

from harness.machines.host import cpu
from harness.machines.host.cgroup import quota_cpus, throttled_us
from harness.machines.host.cpu import CpuCounters, allowed_cpu_numbers
from harness.measurement.cpu_use import Disturbance
from harness.measurement.host import cpu_model, describe, fitness_warnings, governor, huge_pages


@pytest.fixture
def host(tmp_path):
    """`host(path=text, …)` lays files under a root; `/` in names is `|`."""

    def lay(**files: str):
        for name, text in files.items():
            path = tmp_path / name.replace("|", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return lay


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        (
            "processor\t: 0\nmodel name\t: AMD EPYC 9654\nprocessor\t: 1\nmodel name\t: other\n",
            "AMD EPYC 9654",
        ),
        (
            "processor\t: 0\ncpu\t\t: POWER8E (raw), altivec supported\n",
            "POWER8E (raw), altivec supported",
        ),
        (
            "CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
            f"{os.uname().machine} implementer 0x41 part 0xd0c",
        ),
        ("", os.uname().machine),
    ],
)
def test_a_cpu_is_named_as_well_as_its_system_can(host, cpuinfo, model):
    assert cpu_model(host(**{"proc|cpuinfo": cpuinfo})) == model


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("always [madvise] never\n", "madvise"),
        ("always madvise [never]\n", "never"),
        ("", None),
        ("odd", None),
    ],
)
def test_which_pages_queues_may_get_is_told(host, setting, told):
    assert huge_pages(host(**{"sys|kernel|mm|transparent_hugepage|enabled": setting})) == told


def test_where_nothing_is_told_there_are_nulls_and_no_warnings(tmp_path, runtime):
    report = describe(root=tmp_path)
    unknown = (
        "governor",
        "huge_pages",
        "cgroup_quota_cpus",
        "throttled_us",
        "steal_share",
        "load_of_others",
        "ns_per_flop",
    )
    assert all(report[name] is None for name in unknown)
    assert report["cpu_model"]
    assert (report["host_fit"], report["host_warnings"]) == (True, [])
    reading = CpuCounters.now(tmp_path)
    assert (reading.busy_s, reading.stolen_s, reading.throttled_us) == (None, None, None)
    assert Disturbance.between(reading, reading, 2) == Disturbance()


def test_the_engine_tells_compiler_and_speed(runtime):
    report = describe(calibrate=True)
    assert (report["compiler"], report["compiler_flags"], report["ns_per_flop"]) == (
        "g++ 12",
        "-O3",
        1.25,
    )


def test_the_host_is_told_apart_and_not_named(runtime):
    assert os.uname().nodename not in str(describe()["hostname_hash"])


def test_governors_of_the_allowed_cpus_are_joined(host):
    files = {
        f"sys|devices|system|cpu|cpu{n}|cpufreq|scaling_governor": "powersave\n"
        for n in allowed_cpu_numbers()
    }
    assert governor(host(**files)) == "powersave"
    files[next(iter(files))] = "performance\n"
    assert governor(host(**files)) in ("performance", "performance,powersave")


def test_the_smallest_quota_of_all_levels_counts_in_version_2(host):
    root = host(
        **{
            "proc|self|cgroup": "0::/box/inner\n",
            "sys|fs|cgroup|box|cpu.max": "150000 100000\n",
            "sys|fs|cgroup|box|cpu.stat": "usage_usec 5\nnr_throttled 2\nthrottled_usec 777\n",
            "sys|fs|cgroup|box|inner|cpu.max": "max 100000\n",
            "sys|fs|cgroup|box|inner|cpu.stat": "throttled_usec 7\n",
        }
    )
    assert quota_cpus(root) == 1.5
    assert throttled_us(root) == 777


def test_a_container_that_sees_its_cgroup_as_the_root_has_its_quota(host):
    assert (
        quota_cpus(host(**{"proc|self|cgroup": "0::/\n", "sys|fs|cgroup|cpu.max": "50000 100000"}))
        == 0.5
    )


def test_quota_and_throttling_in_version_1(host):
    root = host(
        **{
            "proc|self|cgroup": "4:memory:/x\n3:cpu,cpuacct:/box\n",
            "sys|fs|cgroup|cpu,cpuacct|box|cpu.cfs_quota_us": "200000",
            "sys|fs|cgroup|cpu,cpuacct|box|cpu.cfs_period_us": "100000",
            "sys|fs|cgroup|cpu,cpuacct|cpu.cfs_quota_us": "-1",
            "sys|fs|cgroup|cpu,cpuacct|cpu.cfs_period_us": "100000",
            "sys|fs|cgroup|cpu,cpuacct|box|cpu.stat": "nr_periods 3\nthrottled_time 5000000\n",
        }
    )
    assert quota_cpus(root) == 2.0
    assert throttled_us(root) == 5000


def test_no_quota_is_none(host):
    root = host(**{"proc|self|cgroup": "0::/a\n", "sys|fs|cgroup|a|cpu.max": "max 100000\n"})
    assert quota_cpus(root) is None


def test_cpu_time_is_counted_on_the_cpus_allowed_only(host, monkeypatch):
    monkeypatch.setattr(cpu, "allowed_cpu_numbers", lambda: {1})
    hz = os.sysconf("SC_CLK_TCK")
    stat = (
        f"cpu  1 1 1 1 1 1 1 1 0 0\ncpu0 {9 * hz} 0 0 0 0 0 0 0 0 0\ncpu1 {hz} {hz} {hz} 9 9 "
        f"{hz} {hz} {2 * hz} 0 0\nintr 5\n"
    )
    reading = CpuCounters.now(host(**{"proc|stat": stat}))
    assert (reading.busy_s, reading.stolen_s, reading.idle_s) == (5.0, 2.0, pytest.approx(18 / hz))


def test_the_load_of_others_is_what_this_process_did_not_use():
    first = CpuCounters(clock_s=0.0, own_s=1.0, busy_s=100.0, stolen_s=10.0, throttled_us=5)
    last = CpuCounters(clock_s=2.0, own_s=2.5, busy_s=102.5, stolen_s=10.4, throttled_us=25)
    seen = Disturbance.between(first, last, cpus=2)
    assert seen.load_of_others == pytest.approx(0.5)
    assert seen.steal_share == pytest.approx(0.1)
    assert seen.throttled_us == 20


def test_windows_too_short_for_the_systems_clock_tell_nothing():
    first = CpuCounters(clock_s=0.0, own_s=0.0, busy_s=0.0, stolen_s=0.0, throttled_us=None)
    assert (
        Disturbance.between(first, CpuCounters(0.05, 0.05, 0.5, 0.0, None), cpus=2) == Disturbance()
    )


def test_a_stat_file_that_stands_still_tells_nothing():
    first = CpuCounters(clock_s=0.0, own_s=0.0, busy_s=0.0, stolen_s=0.0, throttled_us=None)
    assert (
        Disturbance.between(first, CpuCounters(1.0, 1.0, 0.0, 0.0, None), cpus=2) == Disturbance()
    )


QUIET = {
    "governor": "performance", "cgroup_quota_cpus": 4.0, "cpus_allowed": 4, "steal_share": 0.02,
    "load_of_others": 0.12, "throttled_us": 0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"governor": "powersave"}, "governor is powersave"),
        ({"cgroup_quota_cpus": 1.5}, "quota of 1.5 CPUs is below the 4"),
        ({"steal_share": 0.021}, "stole 2.1 %"),
        ({"load_of_others": 0.13}, "13 % of a CPU"),
        ({"throttled_us": 900}, "throttled for 900"),
    ],
)
def test_each_disturbance_is_warned_of(changes, words):
    assert fitness_warnings(QUIET) == []
    (warning,) = fitness_warnings(QUIET | changes)
    assert words in warning
