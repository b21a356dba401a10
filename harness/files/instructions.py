"""Instruction sets of x86-64 that compiled modules need, and that this CPU has.

`make dist` builds for a level of x86-64 (System V ABI, AMD64 supplement, section 3.1.1), and an
installation from the source for the CPU that it is built on. A module that is built for a newer CPU
would end the process by SIGILL.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
V2 = ("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3")
V3 = ("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave")
V4 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
LEVELS = {"x86-64": (), "x86-64-v2": V2, "x86-64-v3": V2 + V3, "x86-64-v4": V2 + V3 + V4}
"""Flags of /proc/cpuinfo by the level for which gcc compiles with -march=LEVEL."""


def needed(flags: Iterable[str]) -> dict[str, list[str] | str]:
    """Return what modules need that are compiled with these flags: the level, and its flags of
    /proc/cpuinfo. For -march=native these are the flags of x86-64-v4 that this CPU has.
    """
    level = next((each[7:] for each in flags if each.startswith("-march=")), "x86-64")
    if level == "native":
        return {"level": level, "flags": sorted(here() & set(LEVELS["x86-64-v4"]))}
    return {"level": level, "flags": list(LEVELS.get(level, ()))}


def missing(file: Path, cpuinfo: Path = CPUINFO) -> str | None:
    """Return, in words, what this CPU lacks of what a file of `needed` names; None if it lacks
    nothing, or the system does not list flags.
    """
    needs = json.loads(file.read_text(encoding="utf-8"))
    have = here(cpuinfo)
    lacking = [flag for flag in needs["flags"] if flag not in have]
    if not have or not lacking:
        return None
    return (
        f"this package is built for CPUs of level {needs['level']}, and this one has no "
        f"{', '.join(lacking)}; install from the source: pip install --no-binary millrace millrace"
    )


def level(cpuinfo: Path = CPUINFO) -> int:
    """Return the highest level of x86-64 whose instructions this machine's first CPU has: 1 to 4.
    It is 1 where the system does not list flags.
    """
    have = here(cpuinfo)
    return max(number for number, each in enumerate(LEVELS.values(), 1) if have.issuperset(each))


def here(cpuinfo: Path = CPUINFO) -> set[str]:
    """Return the flags of this machine's first CPU; none where the system does not list them."""
    try:
        with cpuinfo.open(encoding="utf-8") as lines:
            return next(
                (set(line.partition(":")[2].split()) for line in lines if line.startswith("flags")),
                set(),
            )
    except OSError:
        return set()
