"""Examination of a host: what disturbs measurements on it, and what to do about it.

`root` stands for `/`, so that tests can describe other hosts.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.machines.host.cgroup import ROOT, quota_cpus, read_text
from harness.machines.host.cpu import CpuCounters, allowed_cpu_numbers, allowed_cpus, others_share
from harness.measurement.cpu_use import Disturbance
from harness.measurement.host import MAX_LOAD_OF_OTHERS, MAX_STEAL, governor, huge_pages

GOOD_CLOCKS = frozenset(("tsc", "arch_sys_counter", "timebase", "kvm-clock"))
"""Clock sources that are read without a system call."""

GAP_NS = 100_000  # between two readings of the clock: the thread was interrupted meanwhile
MOST_LOST = 0.02  # share of a spinning thread's time that interruptions may take
SPIN_S = 0.5
SHOWN_NEIGHBOURS = 3
LEAST_NEIGHBOUR = 0.05  # of one CPU


@dataclass(frozen=True)
class HostFinding:
    """Result of one check. `advice`: what to do; "" if nothing is wrong, or nobody knows."""

    topic: str
    seen: str
    advice: str = ""


def examine(watch_s: float, root: Path = ROOT) -> list[HostFinding]:
    """Return what every check found. Watches the host for so many seconds."""
    return [
        _governor(root),
        _boost(root),
        _siblings(root),
        *_neighbours(watch_s, root),
        _interruptions(),
        _quota(root),
        _huge_pages(root),
        _clock(root),
    ]


def _governor(root: Path) -> HostFinding:
    found = governor(root)
    if found is None:
        return HostFinding("frequency governor", "not visible here; a hypervisor may have one")
    advice = "" if found == "performance" else "sudo cpupower frequency-set -g performance"
    return HostFinding("frequency governor", found, advice)


def _boost(root: Path) -> HostFinding:
    cpus = root / "sys/devices/system/cpu"
    boost, no_turbo = read_text(cpus / "cpufreq/boost"), read_text(cpus / "intel_pstate/no_turbo")
    if boost is None and no_turbo is None:
        return HostFinding("turbo", "not visible here")
    is_on = boost == "1" or no_turbo == "0"
    file = "cpufreq/boost" if boost is not None else "intel_pstate/no_turbo"
    value = 0 if boost is not None else 1
    off = f"echo {value} | sudo tee /sys/devices/system/cpu/{file}"
    text = "on: the frequency depends on temperature, and on how many CPUs are busy"
    return HostFinding("turbo", text if is_on else "off", off if is_on else "")


def _siblings(root: Path) -> HostFinding:
    """Look for CPUs that share a core, among those that this process may use."""
    cores: dict[str, list[int]] = {}
    for number in sorted(allowed_cpu_numbers()):
        folder = root / f"sys/devices/system/cpu/cpu{number}/topology"
        siblings = read_text(folder / "thread_siblings_list")
        cores.setdefault(siblings or f"cpu {number}", []).append(number)
    shared = [numbers for numbers in cores.values() if len(numbers) > 1]
    if not shared:
        return HostFinding("SMT siblings", "no two of the CPUs share a core, as far as is visible")
    one_each = ",".join(str(numbers[0]) for numbers in cores.values())
    return HostFinding(
        "SMT siblings",
        f"{sum(map(len, shared))} of {allowed_cpus()} CPUs share a core with another one: busy "
        "threads there slow each other down",
        f"taskset -c {one_each} millrace ...",
    )


def _neighbours(watch_s: float, root: Path) -> Iterator[HostFinding]:
    """Watch what other processes and the hypervisor take."""
    before, first = _cpu_s_by_process(), CpuCounters.now(root)
    time.sleep(watch_s)
    last, after = CpuCounters.now(root), _cpu_s_by_process()
    elapsed_s = last.clock_s - first.clock_s
    seen = Disturbance.between(first, last, allowed_cpus())
    others = seen.load_of_others
    if others is None:
        yield HostFinding("neighbours", "not visible here")
    else:
        share = others_share(first, last)
        text = f"other processes kept {others:.2f} CPUs busy ({100 * share:.0f} %)"
        names = _busiest(before, after, elapsed_s)
        text += f": {', '.join(names)}" if names else ""
        stop = "stop them, or keep them off these CPUs (taskset, cpusets)"
        yield HostFinding("neighbours", text, stop if others > MAX_LOAD_OF_OTHERS else "")
    stolen = seen.steal_share
    if stolen is None:
        yield HostFinding("stolen time", "not visible here")
    else:
        wrong = stolen > MAX_STEAL
        advice = "use a machine with CPUs of its own; nothing on this one helps" if wrong else ""
        yield HostFinding("stolen time", f"the hypervisor took {100 * stolen:.1f} %", advice)


def _interruptions() -> HostFinding:
    """Spin, and look for times at which this thread did not run."""
    begin = before = time.perf_counter_ns()
    lost = longest = 0
    while before - begin < SPIN_S * 1e9:
        now = time.perf_counter_ns()
        if now - before > GAP_NS:
            lost += now - before
            longest = max(longest, now - before)
        before = now
    share = lost / (before - begin)
    text = (
        f"a busy thread did not run {100 * share:.1f} % of the time, at most {longest / 1e6:.1f} ms"
    )
    advice = "find out by what: neighbours, stolen time, quotas" if share > MOST_LOST else ""
    return HostFinding("interruptions", text, advice)


def _quota(root: Path) -> HostFinding:
    quota, cpus = quota_cpus(root), allowed_cpus()
    if quota is None:
        return HostFinding("quota", f"none; this process may use {cpus} CPUs")
    text = f"{quota:g} CPUs of the {cpus} that this process may use"
    advice = "give the cgroup as many CPUs as threads run (docker --cpuset-cpus, not --cpus)"
    return HostFinding("quota", text, advice if quota < cpus else "")


def _huge_pages(root: Path) -> HostFinding:
    found = huge_pages(root)
    if found is None:
        return HostFinding("huge pages", "not visible here")
    file = "/sys/kernel/mm/transparent_hugepage/enabled"
    advice = f"echo madvise | sudo tee {file}" if found == "never" else ""
    return HostFinding("huge pages", found, advice)


def _clock(root: Path) -> HostFinding:
    folder = root / "sys/devices/system/clocksource/clocksource0"
    found = read_text(folder / "current_clocksource")
    if found is None:
        return HostFinding("clock", "not visible here")
    could = set((read_text(folder / "available_clocksource") or "").split()) & GOOD_CLOCKS
    if found in GOOD_CLOCKS:
        return HostFinding("clock", found)
    advice = "a better one is not available here"
    if could:
        advice = f"echo {min(could)} | sudo tee /{folder.relative_to(root)}/current_clocksource"
    return HostFinding("clock", f"{found}: each reading is a system call", advice)


def _cpu_s_by_process() -> dict[tuple[int, str], float]:
    """Return the CPU time of each other process so far, by its number and name [s]."""
    import psutil

    own = psutil.Process().pid
    found = {}
    for process in psutil.process_iter(["pid", "name", "cpu_times"]):
        times = process.info["cpu_times"]
        if times is not None and process.pid != own:
            found[process.pid, process.info["name"]] = times.user + times.system
    return found


def _busiest(
    before: dict[tuple[int, str], float], after: dict[tuple[int, str], float], elapsed_s: float
) -> list[str]:
    used = {key: (now - before[key]) / elapsed_s for key, now in after.items() if key in before}
    most = sorted(used, key=used.__getitem__, reverse=True)[:SHOWN_NEIGHBOURS]
    return [
        f"{re.sub('[^ -~]', '?', name)} ({pid}) {used[pid, name]:.2f}"
        for pid, name in most
        if used[pid, name] >= LEAST_NEIGHBOUR
    ]


def wrong_in(findings: Sequence[HostFinding]) -> list[HostFinding]:
    """Return the findings that something can be done about."""
    return [finding for finding in findings if finding.advice]
