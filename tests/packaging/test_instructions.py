"""Tests of what a CPU must have for compiled modules, and of the error if it lacks it."""

from __future__ import annotations

import json

from harness.files import instructions
from harness.files.instructions import LEVELS, missing, needed


def cpuinfo(tmp_path, *flags):
    file = tmp_path / "cpuinfo"
    file.write_text(f"processor\t: 0\nflags\t\t: fpu {' '.join(flags)}\n\nprocessor\t: 1\n")
    return file


def built_for(tmp_path, level):
    file = tmp_path / "built_for.json"
    file.write_text(json.dumps(needed(["-O3", f"-march={level}"])))
    return file


def test_a_cpu_of_the_level_lacks_nothing(tmp_path):
    for level, flags in LEVELS.items():
        assert missing(built_for(tmp_path, level), cpuinfo(tmp_path, *flags)) is None


def test_an_older_cpu_is_told_what_it_lacks(tmp_path):
    older = cpuinfo(tmp_path, *LEVELS["x86-64-v2"])
    said = missing(built_for(tmp_path, "x86-64-v3"), older)
    assert "x86-64-v3" in said
    assert "avx2" in said
    assert "\n" not in said


def test_modules_for_this_cpu_run_on_it(tmp_path):
    assert missing(built_for(tmp_path, "native")) is None


def test_a_system_without_a_list_of_flags_refuses_nothing(tmp_path):
    assert missing(built_for(tmp_path, "x86-64-v4"), tmp_path / "none") is None


def test_the_level_of_a_cpu_is_the_highest_whose_flags_it_has(tmp_path):
    for number, flags in enumerate(LEVELS.values(), start=1):
        assert instructions.level(cpuinfo(tmp_path, *flags)) == number
    assert instructions.level(cpuinfo(tmp_path, *set(LEVELS["x86-64-v4"]) - {"avx2"})) == 2
    assert instructions.level(tmp_path / "none") == 1
