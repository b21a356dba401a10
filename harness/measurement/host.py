"""Host fitness: on what, and how undisturbed, a run was measured. Works, with nulls, where a system
does not tell.

`root` stands for `/`, so that tests can describe other hosts.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from harness import __version__
from harness.machines.host.cgroup import ROOT, quota_cpus, read_text
from harness.machines.host.cpu import allowed_cpu_numbers
from harness.machines.host.interpreter import has_interpreter_lock
from harness.measurement.cpu_use import Disturbance

MAX_STEAL = 0.02  # share of CPU time; the limits here are guesses, not tuned
MAX_LOAD_OF_OTHERS = 0.12  # of one CPU
MIN_THROTTLED_US = 1


def describe(
    disturbance: Disturbance | None = None,
    *,
    calibrate: bool = False,
    simulates: bool = False,
    root: Path = ROOT,
) -> dict[str, Any]:
    """Return the `host` object of a record. `calibrate` measures ns per FLOP, which takes up to 20
    ms of CPU.

    A host that `simulates` need not be quiet: nothing speaks against it.
    """
    disturbance = disturbance or Disturbance()
    compiler, flags, ns_per_flop = _runtime(calibrate)
    host: dict[str, Any] = {
        "cpu_model": cpu_model(root),
        "cpus_allowed": len(allowed_cpu_numbers()),
        "cpus_online": os.cpu_count() or 1,
        "governor": governor(root),
        "huge_pages": huge_pages(root),
        "cgroup_quota_cpus": quota_cpus(root),
        "throttled_us": disturbance.throttled_us,
        "steal_share": disturbance.steal_share,
        "load_of_others": disturbance.load_of_others,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{os.uname().sysname} {os.uname().release}",
        "hostname_hash": _hash(os.uname().nodename),
        "python": _python(),
        "compiler": compiler,
        "compiler_flags": flags,
        "ns_per_flop": ns_per_flop,
        "versions": {"millrace": __version__},
    }
    warnings = [] if simulates else fitness_warnings(host)
    return {**host, "host_fit": not warnings, "host_warnings": warnings}


def fitness_warnings(host: dict[str, Any]) -> list[str]:
    """Why this host may not measure what it seems to; empty if nothing is known against it."""
    warnings = []
    governor, quota, allowed = host["governor"], host["cgroup_quota_cpus"], host["cpus_allowed"]
    steal, others, throttled = host["steal_share"], host["load_of_others"], host["throttled_us"]
    if governor is not None and governor != "performance":
        warnings.append(f"CPU frequency governor is {governor}, not performance")
    if quota is not None and quota < allowed:
        warnings.append(f"cgroup quota of {quota:g} CPUs is below the {allowed} CPUs allowed")
    if throttled is not None and throttled >= MIN_THROTTLED_US:
        warnings.append(f"cgroup was throttled for {throttled} µs")
    if steal is not None and steal > MAX_STEAL:
        warnings.append(f"the hypervisor stole {100 * steal:.1f} % of the CPU time")
    if others is not None and others > MAX_LOAD_OF_OTHERS:
        warnings.append(f"other processes kept {100 * others:.0f} % of a CPU busy")
    return warnings


def cpu_model(root: Path = ROOT) -> str:
    """Return the CPU's name; on Arm, which names none, its implementer and part; else the
    architecture."""
    fields: dict[str, str] = {}
    for line in (read_text(root / "proc/cpuinfo") or "").splitlines():
        key, colon, value = line.partition(":")
        if colon and value.strip():
            fields.setdefault(key.strip().lower(), value.strip())
    for key in ("model name", "cpu", "cpu model", "uarch"):  # x86, POWER, MIPS, RISC-V
        if key in fields:
            return fields[key]
    if "cpu part" in fields:
        return (
            f"{os.uname().machine} implementer {fields.get('cpu implementer', '?')} part "
            f"{fields['cpu part']}"
        )
    return os.uname().machine or "unknown"


def governor(root: Path = ROOT) -> str | None:
    """Return the frequency governor of the CPUs allowed; several are joined by commas; None if
    there is none to see.
    """
    cpus = root / "sys/devices/system/cpu"
    texts = (
        read_text(cpus / f"cpu{number}/cpufreq/scaling_governor")
        for number in allowed_cpu_numbers()
    )
    return ",".join(sorted({text for text in texts if text})) or None


def huge_pages(root: Path = ROOT) -> str | None:
    """Return the system's rule for huge pages: `always`, `madvise` (on request, as queues do) or
    `never`.

    None if the system does not say.
    """
    chosen = re.search(
        r"\[(\w+)\]", read_text(root / "sys/kernel/mm/transparent_hugepage/enabled") or ""
    )
    return chosen[1] if chosen else None


def _runtime(calibrate: bool) -> tuple[str, str, float | None]:
    """Compiler and flags of the compiled engine, and ns per FLOP on this host if asked for."""
    try:
        from harness.runtime import protocol
    except ImportError:  # a run may have failed for that, and its host is described all the same
        return "unknown", "", None
    build = protocol.build_info()
    return build["compiler"], build["flags"], _ns_per_flop() if calibrate else None


def _ns_per_flop() -> float:
    from harness.runtime.engine import ns_per_flop

    return ns_per_flop()


def _python() -> str:
    free_threaded = not has_interpreter_lock()
    return (
        f"{sys.implementation.name} "
        f"{sys.version.split()[0]}{' free-threaded' if free_threaded else ''}"
    )


def _hash(name: str) -> str:
    """Return 12 characters that distinguish hosts without naming them."""
    from hashlib import sha256

    return sha256(name.encode()).hexdigest()[:12]
