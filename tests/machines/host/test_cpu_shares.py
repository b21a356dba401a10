"""Tests of who used the CPUs between two readings, on hosts that are described by files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.machines.host import cpu
from harness.machines.host.cgroup import quota_use
from harness.machines.host.cpu import CpuCounters, others_share, system_share, usable_cpus

HZ = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def host(tmp_path, monkeypatch) -> Callable[..., Path]:
    """`host(stat, **files)`: a root of one allowed CPU with these user and idle ticks; `|` in names
    stands for `/`.
    """
    monkeypatch.setattr(cpu, "allowed_cpu_numbers", lambda: {1})

    def lay(busy: int = 0, idle: int = 0, **files: str) -> Path:
        files["proc|stat"] = (
            f"cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 99 0 0 0 0 0 0 0 0 0\ncpu1 {busy} 0 0 {idle} 0 0 0 0 "
            "0 0\n"
        )
        for name, text in files.items():
            path = tmp_path / name.replace("|", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return lay


def at(
    clock_s: float,
    own_s: float = 0.0,
    busy_s: float | None = 0.0,
    idle_s: float | None = 0.0,
    **more,
) -> CpuCounters:
    return CpuCounters(clock_s, own_s, busy_s, more.pop("stolen_s", 0.0), None, idle_s, **more)


def test_the_busy_share_is_that_of_all_processes_and_others_part_is_what_is_not_ours():
    first, last = at(0.0, 1.0, 10.0, 5.0), at(2.0, 2.0, 13.0, 6.0)
    assert system_share(first, last) == pytest.approx(0.75)
    assert others_share(first, last) == pytest.approx(0.5)


def test_what_the_hypervisor_took_is_busy_but_is_no_process():
    first, last = at(0.0), at(1.0, 0.2, 0.4, 0.4, stolen_s=0.2)
    assert system_share(first, last) == pytest.approx(0.6)
    assert others_share(first, last) == pytest.approx(0.2)


def test_of_a_quota_its_use_counts_if_that_is_the_larger_share():
    first = at(0.0, 0.0, 0.0, 0.0, quotas=[(2.0, 5.0), (0.5, 1.0)])
    last = at(2.0, 0.5, 1.0, 7.0, quotas=[(2.0, 6.0), (0.5, 1.9)])
    assert system_share(first, last) == pytest.approx(0.9), "0.9 s of the 1 s that half a CPU has"
    assert others_share(first, last) == pytest.approx(0.4)
    idle_cgroup = at(2.0, 0.5, 1.0, 7.0, quotas=[(2.0, 5.0), (0.5, 1.0)])
    assert system_share(first, idle_cgroup) == pytest.approx(0.125)


def test_a_quota_that_appears_between_two_readings_says_nothing():
    assert system_share(at(0.0), at(1.0, 0.0, 1.0, 1.0, quotas=[(0.1, 5.0)])) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "last", [at(0.0), at(1.0), at(1.0, busy_s=None), at(1.0, idle_s=None)], ids=str
)
def test_where_nothing_is_known_the_share_is_none(last):
    assert (system_share(at(0.0), last), others_share(at(0.0), last)) == (0.0, 0.0)


SECONDS = st.floats(-5, 100)


@example(5e-324, 0.0, 0.0, 0.0, [(0.5, 0.0)])  # half of the shortest time is none
@given(
    SECONDS,
    SECONDS,
    SECONDS,
    SECONDS,
    st.lists(st.tuples(st.floats(0.01, 64), SECONDS), max_size=3),
)
def test_whatever_the_counters_say_a_share_is_a_share(elapsed_s, own_s, busy_s, idle_s, quotas):
    first = at(0.0, quotas=[(cpus, 0.0) for cpus, _ in quotas])
    last = at(elapsed_s, own_s, busy_s, idle_s, quotas=quotas)
    assert 0.0 <= system_share(first, last) <= 1.0
    assert 0.0 <= others_share(first, last) <= 1.0


def test_readings_are_of_the_cpus_allowed(host):
    first = CpuCounters.now(host(busy=HZ, idle=3 * HZ))
    last = CpuCounters.now(host(busy=2 * HZ, idle=3 * HZ + HZ // 4))
    assert (last.busy_s, last.idle_s, last.quotas) == (2.0, 3.25, ())
    assert system_share(first, last) == pytest.approx(0.8)


VERSION_2 = {
    "proc|self|cgroup": "0::/box/inner\n",
    "sys|fs|cgroup|box|cpu.max": "150000 100000\n",
    "sys|fs|cgroup|box|cpu.stat": "usage_usec 2500000\nuser_usec 1\nnr_throttled 2\n",
    "sys|fs|cgroup|box|inner|cpu.max": "max 100000\n",
    "sys|fs|cgroup|box|inner|cpu.stat": "usage_usec 7\n",
}
VERSION_1 = {
    "proc|self|cgroup": "4:memory:/x\n3:cpu,cpuacct:/box\n",
    "sys|fs|cgroup|cpu,cpuacct|box|cpu.cfs_quota_us": "150000",
    "sys|fs|cgroup|cpu,cpuacct|box|cpu.cfs_period_us": "100000",
    "sys|fs|cgroup|cpu,cpuacct|box|cpuacct.usage": "2500000000\n",
    "sys|fs|cgroup|cpu,cpuacct|cpu.cfs_quota_us": "-1",
}


@pytest.mark.parametrize("files", [VERSION_1, VERSION_2], ids=["version 1", "version 2"])
def test_a_cgroup_with_a_quota_says_what_its_processes_used(host, files):
    assert quota_use(host(**files)) == [(1.5, 2.5)]
    assert CpuCounters.now(host(**files)).quotas == ((1.5, 2.5),)


def test_a_quota_whose_use_is_not_told_is_left_out(host):
    assert quota_use(host(**VERSION_2 | {"sys|fs|cgroup|box|cpu.stat": "what is this\n"})) == []


@pytest.mark.parametrize(
    ("quota", "cpus"), [("max", 4), ("50000", 1), ("100000", 1), ("210000", 3), ("900000", 4)]
)
def test_the_cpus_that_can_be_kept_busy_are_those_of_mask_and_quota(host, monkeypatch, quota, cpus):
    monkeypatch.setattr(cpu, "allowed_cpu_numbers", lambda: {0, 1, 5, 7})
    root = host(**{"proc|self|cgroup": "0::/\n", "sys|fs|cgroup|cpu.max": f"{quota} 100000"})
    assert usable_cpus(root) == cpus
